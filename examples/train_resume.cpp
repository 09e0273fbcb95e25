// A long run that may be killed at any moment: started again, it goes on as if nothing had happened.
//
//     train_resume [--folder FOLDER] [--epochs N]
//
// Stop it with Ctrl-C or kill -9, start it again, and compare with a run that was left alone. In the folder are
// checkpoints, metrics.csv and, at the end, curves.png and the model.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <xgrad/xgrad.hpp>

#include "regressor.hpp"

/// y = the sum of sin(3 x) over four features, and noise of deviation 0.1.
struct Data {
  Data(std::size_t rows, xgrad::Rng& rng) : x(rng.uniform<float>({rows, 4}, -1, 1)) {
    y = xgrad::sum(xgrad::sin(x * 3.f), 1, xgrad::keep_dims) + rng.normal<float>({rows, 1}, 0, 0.1f);
  }
  xgrad::Array<float> x, y;
};

void run(const std::string& folder, std::size_t epochs) {
  xgrad::Rng rng(1);
  const Data train(2000, rng), valid(500, rng);
  Regressor<float> model(4, 32, rng);
  xgrad::AdamW<float> adam(xgrad::decay_groups(model));

  xgrad::TrainerOptions options;
  options.epochs = epochs;
  options.lr = [&](std::uint64_t step) { return xgrad::schedule::cosine(step, 5e-3, epochs * 63); };
  options.patience = 20;
  options.folder = folder;
  xgrad::Trainer<float> trainer(model, adam, options);
  const auto loss = [&](const auto& x, const auto& y) { return xgrad::mse_loss(model(x), y); };
  const auto report = trainer.fit({train.x, train.y, loss}, {valid.x, valid.y, loss});

  xgrad::save(folder + "/model.safetensors", model);
  std::printf("validation RMSE %.4f (the noise has 0.1) after %.0f steps; the model is in %s/model.safetensors\n",
              std::sqrt(report.best_loss), static_cast<double>(report.best_step), folder.c_str());
}

int main(int argc, char** argv) {
  std::string folder = "train_resume";
  std::size_t epochs = 60;
  CLI::App app{"Trains in a folder from which it can go on when it was stopped."};
  app.add_option("--folder", folder, "for checkpoints, metrics, picture and model")->capture_default_str();
  app.add_option("--epochs", epochs, "most epochs to train for")->capture_default_str()->check(CLI::Range(1, 1000000));
  CLI11_PARSE(app, argc, argv);
  try {
    run(folder, epochs);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "train_resume: %s\n", error.what());
    return 1;
  }
}
