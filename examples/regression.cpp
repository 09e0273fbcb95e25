// Trains a LayerNorm + feed-forward network on a text table of numbers by SGD, and tests it on rows held out.
//
//     regression [TABLE] [--test FILE] [--target COLUMN] [--seed N] [--picture FILE.png]
//     regression --splits FOLDER
//
// Without a table it takes the concrete data in examples/data. With --splits it runs the published benchmark: see
// splits.hpp.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <xgrad/xgrad.hpp>

#include "format.hpp"
#include "regressor.hpp"
#include "splits.hpp"

using xgrad::Array;
using xgrad::Series;

struct Data {
  Array<float> x, y;  // (rows, features) and (rows, 1)
};

/// The given rows of a table, split into features and target column.
Data pick(const Array<double>& table, const std::vector<std::size_t>& rows, std::size_t target) {
  const std::size_t columns = table.shape()[1];
  Data data{xgrad::empty<float>({rows.size(), columns - 1}), xgrad::empty<float>({rows.size(), 1})};
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t j = 0, k = 0; j < columns; ++j)
      (j == target ? data.y(i, 0) : data.x(i, k++)) = static_cast<float>(table(rows[i], j));
  return data;
}

/// The rows to test on: those that a file lists (counted from 0), or a tenth drawn at random.
std::vector<std::size_t> test_rows(const std::string& file, std::size_t count, xgrad::Rng& rng) {
  if (!file.empty()) {
    const auto rows = read_numbers(file, count, "row");
    return {rows.begin(), rows.end()};
  }
  const auto order = rng.permutation(count);
  std::vector<std::size_t> rows(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count / 10));
  std::sort(rows.begin(), rows.end());
  return rows;
}

/// A network with the scales of the data it was trained on: numbers in the units of the table go in and come out.
struct Trained {
  Trained(const Data& train, xgrad::Rng& rng)
      : scale_x(train.x), scale_y(train.y), model(train.x.shape()[1], 32, rng) {}

  Array<float> predict(const Array<float>& x) {
    const xgrad::NoGrad off;
    return scale_y.undo(model(scale_x.apply(x)).value());
  }

  xgrad::Standardizer<float> scale_x, scale_y;
  Regressor<float> model;
};

/// Trains on `train` for `epochs` epochs, the learning rate falling along a line that reaches 0 after `schedule` of
/// them; calls `after(epoch, trained)` after each.
template <class F>
Trained fit(const Data& train, std::size_t epochs, std::size_t schedule, xgrad::Rng rng, F after) {
  Trained trained(train, rng);
  const Array<float> x_all = trained.scale_x.apply(train.x), y_all = trained.scale_y.apply(train.y);
  xgrad::SGDOptions options;
  options.momentum = 0.9;
  options.weight_decay = 1e-4;
  xgrad::SGD<float> sgd(trained.model.parameters(), options);
  for (std::size_t epoch = 1; epoch <= epochs; ++epoch) {
    sgd.set_lr(0.05 * (1 - static_cast<double>(epoch - 1) / static_cast<double>(schedule)));
    for (auto [x, y] : xgrad::batches(x_all, y_all, 32, rng)) {
      const auto loss = xgrad::mse_loss(trained.model(x), y);
      sgd.zero_grad();
      loss.backward();
      xgrad::clip_grad_norm(sgd.parameters(), 5);
      sgd.step();
    }
    after(epoch, trained);
  }
  return trained;
}

void run(const std::string& table_file, const std::string& test_file, std::size_t target, std::uint64_t seed,
         std::size_t most_epochs, const std::string& picture) {
  const Array<double> table = xgrad::read_table(table_file).values;
  const std::size_t count = table.shape()[0], columns = table.shape()[1];
  if (columns < 2 || count < 20)
    xgrad::fail<xgrad::FileError>(table_file, "needs at least 2 columns and 20 rows but has ", columns, " and ", count);
  if (target == 0) target = columns;
  if (target > columns)
    xgrad::fail<xgrad::FileError>(table_file, "has ", columns, " columns but the target is column ", target);

  // Held-out rows for the test; of the others a fifth, drawn at random, to choose how long to train.
  xgrad::Rng rng(seed);
  const auto tested = test_rows(test_file, count, rng);
  std::vector<std::size_t> rest, learned, validated;
  for (std::size_t i = 0; i < count; ++i)
    if (!std::binary_search(tested.begin(), tested.end(), i)) rest.push_back(i);
  if (tested.empty() || rest.size() < 10)
    xgrad::fail<xgrad::FileError>(test_file, "leaves ", rest.size(), " rows to train on and ", tested.size(),
                                  " to test on");
  const auto order = rng.permutation(rest.size());
  for (std::size_t i = 0; i < rest.size(); ++i)
    (i < rest.size() / 5 ? validated : learned).push_back(rest[static_cast<std::size_t>(order(i))]);
  const Data train = pick(table, rest, target - 1), test = pick(table, tested, target - 1);
  const Data learn = pick(table, learned, target - 1), validate = pick(table, validated, target - 1);
  std::printf("%s: %zu rows, %zu features; %zu rows to train on, %zu to test on\n", table_file.c_str(), count,
              columns - 1, rest.size(), tested.size());

  std::size_t epochs = 1;
  std::vector<double> curve;
  xgrad::Progress choosing(most_epochs);
  fit(learn, most_epochs, most_epochs, rng.split(), [&](std::size_t epoch, Trained& trained) {
    curve.push_back(rmse(trained.predict(validate.x), validate.y));
    if (curve.back() < curve[epochs - 1]) epochs = epoch;
    choosing.show(epoch, format("choosing the epochs: %zu of %zu, validation RMSE %.3f, best %.3f after %zu", epoch,
                                most_epochs, curve.back(), curve[epochs - 1], epochs));
  });

  xgrad::Progress training(epochs);
  Trained trained = fit(train, epochs, most_epochs, rng.split(), [&](std::size_t epoch, Trained&) {
    training.show(epoch, format("training on all training rows: epoch %zu of %zu", epoch, epochs));
  });

  const auto prediction = trained.predict(test.x);
  const double error = rmse(prediction, test.y);
  const double spread = std::sqrt(static_cast<double>(xgrad::item(xgrad::variance(test.y))));
  std::printf("test RMSE %.3f\n", error);
  if (spread > 0) std::printf("test R2   %.3f\n", 1 - error * error / (spread * spread));
  else std::printf("test R2   undefined: the target is the same in all test rows\n");

  Series points{
      "test rows", "points pt 7 ps 0.5", {test.y.begin(), test.y.end()}, {prediction.begin(), prediction.end()}};
  Series diagonal{"truth", "lines lw 1 lc rgb '#888888'", points.x, points.x};
  Series validation{"validation RMSE", "lines lw 2", {}, curve};
  for (std::size_t i = 0; i < curve.size(); ++i) validation.x.push_back(static_cast<double>(i + 1));
  xgrad::plot(picture,
              {{"prediction by true value", "", {points, diagonal}}, {"validation error by epoch", "", {validation}}});
}

int main(int argc, char** argv) {
  std::string table, test, picture = "regression.png";
  std::size_t target = 0, epochs = 400;
  std::uint64_t seed = 1;
  CLI::App app{"Trains on a text table of numbers and reports the error on rows held out."};
  app.add_option("table", table, "a text table of numbers (default: the concrete data of examples/data)");
  app.add_option("--test", test, "file with the numbers of the test rows, from 0 (default: a random tenth)");
  app.add_option("--target", target, "column to predict, from 1 (default: the last)");
  app.add_option("--epochs", epochs, "most epochs to train for")->capture_default_str()->check(CLI::Range(1, 1000000));
  app.add_option("--seed", seed, "seed of split, weights and order of batches")->capture_default_str();
  app.add_option("--picture", picture, "where the picture goes")->capture_default_str();
  std::string folder;
  Setting setting;
  app.add_option("--splits", folder, "folder with the splits of a published benchmark: all are run, by one setting");
  const auto add = [&](const char* name, auto& value, const char* text, double least, double most) {
    app.add_option(name, value, text)
        ->capture_default_str()
        ->check(CLI::Range(least, most))
        ->group("Setting of --splits");
  };
  add("--first", setting.splits, "only the first splits", 1, 1000);
  add("--width", setting.width, "width of the network", 1, 10000);
  add("--members", setting.members,
      "networks whose mean is the prediction, each trained without another part of the rows", 2, 100);
  add("--steps", setting.steps, "updates of each network, at least", 100, 1e9);
  add("--least-epochs", setting.epochs, "passes over its rows, at least", 0, 1e6);
  add("--lr", setting.lr, "largest learning rate", 0, 1);
  add("--decay", setting.weight_decay, "weight decay", 0, 100);
  add("--dropout", setting.dropout, "dropout in the feed-forward network", 0, 0.99);
  app.add_flag("--validate", setting.validate, "test on a fifth of the training rows, to choose a setting")
      ->group("Setting of --splits");
  CLI11_PARSE(app, argc, argv);
  if (table.empty()) {
    table = EXAMPLES_DATA "/concrete.txt";
    if (test.empty()) test = EXAMPLES_DATA "/concrete_test.txt";
  }
  try {
    if (!folder.empty()) run_splits(folder, setting, seed);
    else run(table, test, target, seed, epochs, picture);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "regression: %s\n", error.what());
    return 1;
  }
}
