// The published benchmark of `regression --splits`: one setting, every split of a folder, the mean error.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>
#include <xgrad/xgrad.hpp>

#include "regressor.hpp"

/// What is the same for all data sets. The values were chosen on validation rows: see results.md.
struct Setting {
  std::size_t width = 50, members = 5, batch = 32;
  std::size_t steps = 10000, epochs = 100;  // each network learns for so many steps or epochs, whichever is longer
  double lr = 3e-3, weight_decay = 1e-2, dropout = 0.1;
  std::size_t splits = 1000;  // at most this many
  bool validate = false;      // test on a fifth of the training rows; the test rows are not looked at
};

/// The numbers of a file, which count something from 0 to count - 1, each once and in ascending order.
inline std::vector<std::int64_t> read_numbers(const std::string& file, std::size_t count, const char* of_what) {
  std::vector<std::int64_t> numbers;
  for (const double number : xgrad::read_table(file).values) {
    if (!(number >= 0 && number < static_cast<double>(count) && number == std::floor(number)))
      xgrad::fail<xgrad::FileError>(file, number, " is not the number of a ", of_what, "; they go from 0 to ",
                                    count - 1);
    numbers.push_back(static_cast<std::int64_t>(number));
  }
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

/// The numbers from 0 to count - 1 that are not in an ascending list.
inline std::vector<std::int64_t> all_but(const std::vector<std::int64_t>& some, std::size_t count) {
  std::vector<std::int64_t> others;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(count); ++i)
    if (!std::binary_search(some.begin(), some.end(), i)) others.push_back(i);
  return others;
}

struct Rows {
  xgrad::Array<float> x, y;  // (rows, features) and (rows, 1)

  Rows take(const xgrad::Index& rows) const { return {xgrad::take(x, rows), xgrad::take(y, rows)}; }
};

/// Trains a network by AdamW on the rows of `fold.train`, standardized; gives its weights, a running average, as they
/// were when the error on `fold.test` was least.
inline void train_member(Regressor<float>& model, const Rows& rows, const xgrad::Split& fold, const Setting& setting,
                         xgrad::Rng& rng) {
  const Rows learn = rows.take(fold.train), watch = rows.take(fold.test);
  xgrad::AdamWOptions options;
  options.weight_decay = setting.weight_decay;
  xgrad::AdamW<float> adam(xgrad::decay_groups(model), options);
  xgrad::Ema<float> ema(model, 0.99);
  const std::size_t steps = std::max(setting.steps, setting.epochs * learn.x.shape()[0] / setting.batch);
  const std::size_t warm_up = steps / 20, looks = 100;
  xgrad::State<float> best = xgrad::state(model);
  double least = INFINITY;
  for (std::size_t k = 0, look = 1; k < steps;) {
    for (auto [x, y] : xgrad::batches(learn.x, learn.y, setting.batch, rng)) {
      adam.set_lr(k < warm_up ? xgrad::schedule::linear_warmup(k, setting.lr, warm_up)
                              : xgrad::schedule::cosine(k - warm_up, setting.lr, steps - warm_up));
      const auto loss = xgrad::mse_loss(model(x), y);
      adam.zero_grad();
      loss.backward();
      adam.step();
      ema.update();
      if (++k * looks >= look * steps) {
        ++look;
        const xgrad::NoGrad off;
        const xgrad::EvalScope<float> eval(model);
        const xgrad::EmaScope<float> averaged(ema);
        if (const double error = rmse(model(watch.x).value(), watch.y); error < least) {
          least = error;
          best = xgrad::state(model);
        }
      }
      if (k == steps) break;
    }
  }
  xgrad::load_state(model, best);
}

/// The mean prediction of networks that were each trained without another fold of the training rows.
inline xgrad::Array<float> ensemble(const Rows& train, const xgrad::Array<float>& x, const Setting& setting,
                                    xgrad::Rng& rng) {
  const xgrad::Standardizer<float> scale_x(train.x), scale_y(train.y);
  const Rows rows{scale_x.apply(train.x), scale_y.apply(train.y)};
  xgrad::Array<float> total = xgrad::zeros<float>({x.shape()[0], std::size_t(1)});
  for (const xgrad::Split& fold : xgrad::k_fold(train.x.shape()[0], setting.members, rng)) {
    Regressor<float> model(x.shape()[1], setting.width, rng, setting.dropout);
    train_member(model, rows, fold, setting, rng);
    const xgrad::NoGrad off;
    const xgrad::EvalScope<float> eval(model);
    total += model(scale_x.apply(x)).value();
  }
  return scale_y.undo(total / static_cast<float>(setting.members));
}

/// Trains and tests on each split of a folder: data.txt, index_features.txt and index_target.txt (columns, from 0),
/// index_test_0.txt, ... (rows, from 0; those not in it are for training).
inline void run_splits(const std::string& folder, const Setting& setting, std::uint64_t seed) {
  const auto file = [&](const std::string& name) { return (std::filesystem::path(folder) / name).string(); };
  const xgrad::Array<double> table = xgrad::read_table(file("data.txt")).values;
  const std::size_t count = table.shape()[0], columns = table.shape()[1];
  const auto features = read_numbers(file("index_features.txt"), columns, "column");
  const auto targets = read_numbers(file("index_target.txt"), columns, "column");
  if (targets.size() != 1)
    xgrad::fail<xgrad::FileError>(file("index_target.txt"), "needs one column but has ", targets.size());
  if (std::binary_search(features.begin(), features.end(), targets[0]))
    xgrad::fail<xgrad::FileError>(file("index_target.txt"), "column ", targets[0], " is among the features");
  Rows all{xgrad::empty<float>({count, features.size()}), xgrad::empty<float>({count, std::size_t(1)})};
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < features.size(); ++j) all.x(i, j) = static_cast<float>(table(i, features[j]));
    all.y(i, 0) = static_cast<float>(table(i, targets[0]));
  }

  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  xgrad::Rng root(seed);
  std::vector<double> errors;
  for (std::size_t k = 0; k < setting.splits; ++k) {
    const std::string test_file = file("index_test_" + std::to_string(k) + ".txt");
    if (k > 0 && !std::filesystem::exists(test_file)) break;
    const auto tested = read_numbers(test_file, count, "row");
    const auto trained = all_but(tested, count);
    if (trained.size() < 3 * setting.members)
      xgrad::fail<xgrad::FileError>(test_file, "leaves ", trained.size(), " rows to train on; ", 3 * setting.members,
                                    " are needed");
    xgrad::Rng rng = root.split();
    Rows train = all.take(xgrad::from(trained, {trained.size()})),
         test = all.take(xgrad::from(tested, {tested.size()}));
    if (setting.validate) {
      const auto part = xgrad::train_test_split(trained.size(), 0.2, rng);
      test = train.take(part.test);
      train = train.take(part.train);
    }
    errors.push_back(rmse(ensemble(train, test.x, setting, rng), test.y));
    std::printf("split %zu: %zu rows to train on, RMSE on the other %zu: %.3f; %.1f s so far\n", k, train.x.shape()[0],
                test.x.shape()[0], errors.back(), seconds());
    std::fflush(stdout);
  }
  const double n = static_cast<double>(errors.size());
  double mean = 0, squares = 0;
  for (const double e : errors) mean += e / n;
  for (const double e : errors) squares += (e - mean) * (e - mean);
  std::printf("%s RMSE %.3f +- %.3f (standard error, %zu splits), %.1f s\n", setting.validate ? "validation" : "test",
              mean, errors.size() > 1 ? std::sqrt(squares / (n - 1) / n) : NAN, errors.size(), seconds());
}
