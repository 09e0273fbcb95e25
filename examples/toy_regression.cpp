// Learns a noisy function of one variable with a LayerNorm + feed-forward network and plain SGD.
//
//     toy_regression [--seed N] [--epochs N] [--noise SIGMA] [--picture FILE.png]
#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <xgrad/xgrad.hpp>

#include "format.hpp"
#include "regressor.hpp"

using xgrad::Array;
using xgrad::Series;

double truth(double x) { return std::sin(3 * x) + 0.3 * x; }

struct Data {
  Array<float> x, y;  // (count, 1)
};

/// Points in [-2, 2] whose y is the truth plus normal noise.
Data sample(std::size_t count, double sigma, xgrad::Rng& rng) {
  Data data{rng.uniform<float>({count, 1}, -2, 2), rng.normal<float>({count, 1}, 0, static_cast<float>(sigma))};
  for (std::size_t i = 0; i < count; ++i) data.y(i, 0) += static_cast<float>(truth(data.x(i, 0)));
  return data;
}

/// The straight line that fits the training data best, on the test data: what a model without a curve could do.
double error_of_best_line(const Data& train, const Data& test) {
  const double mx = xgrad::item(xgrad::mean(train.x)), my = xgrad::item(xgrad::mean(train.y));
  double xy = 0, xx = 0, squares = 0;
  for (std::size_t i = 0; i < train.x.size(); ++i) {
    xy += (train.x(i, 0) - mx) * (train.y(i, 0) - my);
    xx += (train.x(i, 0) - mx) * (train.x(i, 0) - mx);
  }
  for (std::size_t i = 0; i < test.x.size(); ++i)
    squares += std::pow(test.y(i, 0) - (my + xy / xx * (test.x(i, 0) - mx)), 2);
  return std::sqrt(squares / static_cast<double>(test.x.size()));
}

void draw(const std::string& path, Regressor<float>& model, const Data& train, const std::vector<double>& losses) {
  const xgrad::NoGrad off;
  const auto grid = xgrad::linspace<float>(-2, 2, 201);
  const auto fit = model(xgrad::reshape(grid, {-1, 1})).value();
  Series points{"data",
                "points pt 7 ps 0.4 lc rgb '#9999bb'",
                {train.x.begin(), train.x.end()},
                {train.y.begin(), train.y.end()}};
  Series line{"fit", "lines lw 2 lc rgb '#cc3333'", {grid.begin(), grid.end()}, {fit.begin(), fit.end()}};
  Series curve{"mean squared error", "lines lw 2 lc rgb '#3333cc'", {}, losses};
  for (std::size_t i = 0; i < losses.size(); ++i) curve.x.push_back(static_cast<double>(i + 1));
  xgrad::plot(path, {{"data and fit", "", {points, line}}, {"training loss by epoch", "set logscale y", {curve}}});
}

int main(int argc, char** argv) {
  std::uint64_t seed = 1;
  std::size_t epochs = 150;
  double sigma = 0.2;
  std::string picture = "toy_regression.png";
  CLI::App app{"Learns a noisy function of one variable."};
  app.add_option("--seed", seed, "seed of data, weights and order of batches")->capture_default_str();
  app.add_option("--epochs", epochs, "passes over the training data")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000000));
  app.add_option("--noise", sigma, "standard deviation of the noise")
      ->capture_default_str()
      ->check(CLI::Range(0.001, 100.0));
  app.add_option("--picture", picture, "where the picture of data, fit and loss goes")->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  xgrad::Rng rng(seed);
  const Data train = sample(2000, sigma, rng), test = sample(1000, sigma, rng);
  Regressor<float> model(1, 32, rng);
  std::printf("%s\n", model.summary().c_str());

  xgrad::SGD<float> sgd(model.parameters(), {0.05, 0.9});
  xgrad::Progress progress(epochs);
  std::vector<double> losses;
  for (std::size_t epoch = 1; epoch <= epochs; ++epoch) {
    sgd.set_lr(xgrad::schedule::linear(epoch - 1, 0.05, epochs));
    xgrad::WeightedMean mean;
    for (auto [x, y] : xgrad::batches(train.x, train.y, 32, rng)) {
      const auto loss = xgrad::mse_loss(model(x), y);
      sgd.zero_grad();
      loss.backward();
      sgd.step();
      mean.add(loss.item(), x.shape()[0]);
    }
    losses.push_back(mean.value());
    progress.show(epoch, format("epoch %zu of %zu, loss %.4f", epoch, epochs, losses.back()));
  }

  const xgrad::NoGrad off;
  const double train_error = rmse(model(train.x).value(), train.y), test_error = rmse(model(test.x).value(), test.y);
  const double line_error = error_of_best_line(train, test);
  std::printf("\nRMSE, and as a multiple of the noise (sigma = %g):\n", sigma);
  std::printf("  training data       %.4f  %.2f sigma\n", train_error, train_error / sigma);
  std::printf("  test data           %.4f  %.2f sigma\n", test_error, test_error / sigma);
  std::printf("  best straight line  %.4f  %.2f sigma\n", line_error, line_error / sigma);
  draw(picture, model, train, losses);
}
