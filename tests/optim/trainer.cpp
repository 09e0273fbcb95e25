#include "optim/trainer.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "throws.hpp"

namespace {

using xgrad::Array;
using xgrad::NonFinite;
using xgrad::Trainer;
using xgrad::TrainerOptions;
using V = xgrad::Variable<double>;

/// A model of one number w, whose objective is mean((w - y)^2) or what a test makes of it.
class One : public xgrad::Module<double> {
 public:
  explicit One(double start) : w(xgrad::full<double>({1}, start), true) {}
  void visit(xgrad::Visitor<double>& v) override { v("w", w); }
  V w;
};

/// Rows 0, ..., n - 1 whose losses are given, times w (so that w's gradient is their mean).
xgrad::Objective<double> given(One& model, std::vector<double> losses) {
  const std::size_t count = losses.size();
  return {count, [&model, losses = std::move(losses)](const xgrad::Index& rows) {
            double sum = 0;
            for (const std::int64_t row : rows) sum += losses[static_cast<std::size_t>(row)];
            return xgrad::sum(model.w) * (sum / static_cast<double>(rows.size()));
          }};
}

/// Validation losses that come one after another, whatever the rows.
xgrad::Objective<double> scripted(std::vector<double> values) {
  return {1, [values = std::move(values), next = std::size_t{0}](const xgrad::Index&) mutable {
            return V(values.at(next++));
          }};
}

/// What `f(log)` prints.
template <class F>
std::string printed(F f) {
  std::FILE* log = std::tmpfile();
  f(log);
  const auto size = static_cast<std::size_t>(std::ftell(log));
  std::rewind(log);
  std::string result(size, '\0');
  EXPECT_EQ(std::fread(result.data(), 1, size, log), size);
  std::fclose(log);
  return result;
}

template <class T>
class TrainerOf : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(TrainerOf, Types, );

TYPED_TEST(TrainerOf, IsThePlainLoop) {
  using T = TypeParam;
  const Rows<T> data(50, 1), valid(20, 2);
  const auto options_of = [] {
    auto options = quiet(6, 8);
    options.lr = [](std::uint64_t step) { return xgrad::schedule::cosine(step, 0.02, 42); };
    options.clip_norm = 0.5;
    return options;
  };
  xgrad::Rng a(3), b(3);
  Net<T> trained(a), by_hand(b);
  xgrad::Adam<T> adam(trained.parameters()), adam_by_hand(by_hand.parameters());
  Trainer<T> trainer(trained, adam, options_of());
  const auto loss = [&](const auto& x, const auto& y) { return xgrad::mse_loss(trained(x), y); };
  const auto report = trainer.fit({data.x, data.y, loss});

  // The order of an epoch is the trainer's own; the rest is the loop of README.
  std::uint64_t step = 0;
  std::vector<double> losses;
  for (std::uint64_t epoch = 0; epoch < 6; ++epoch) {
    xgrad::Rng parent;
    parent.set_state({0, 0, ~epoch});
    xgrad::Rng order = parent.split();
    double sum = 0;
    for (auto [x, y] : xgrad::batches(data.x, data.y, 8, order)) {
      adam_by_hand.set_lr(xgrad::schedule::cosine(step++, 0.02, 42));
      const auto l = xgrad::mse_loss(by_hand(x), y);
      adam_by_hand.zero_grad();
      l.backward();
      xgrad::clip_grad_norm(adam_by_hand.parameters(), 0.5);
      adam_by_hand.step();
      sum += static_cast<double>(l.item()) * static_cast<double>(x.shape()[0]);
    }
    losses.push_back(sum / 50);
  }
  EXPECT_TRUE(same_state(xgrad::state(trained), xgrad::state(by_hand)));
  ASSERT_EQ(report.history.size(), 6u);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(report.history[i].train_loss, losses[i]);
    EXPECT_EQ(report.history[i].step, 7 * (i + 1));
    EXPECT_EQ(report.history[i].epoch, i + 1);
    EXPECT_TRUE(std::isnan(report.history[i].validation_loss));
  }
  EXPECT_EQ(report.steps, 42u);
  EXPECT_LT(losses.back(), 0.5 * losses.front());
}

TYPED_TEST(TrainerOf, ValidatesInEvaluationModeAndRestoresTheBest) {
  using T = TypeParam;
  const Rows<T> data(40, 1), valid(30, 2);
  xgrad::Rng rng(3);
  Net<T> model(rng);
  xgrad::Adam<T> adam(model.parameters());
  auto options = quiet(12, 8);
  options.lr = [](std::uint64_t step) { return step < 30 ? 0.01 : 1; };  // spoils what it learned in six epochs
  std::vector<xgrad::State<T>> states;
  options.after_evaluation = [&](const xgrad::Metrics&) { states.push_back(xgrad::state(model)); };
  const auto loss = [&](const auto& x, const auto& y) { return xgrad::mse_loss(model(x), y); };
  const auto report = Trainer<T>(model, adam, options).fit({data.x, data.y, loss}, {valid.x, valid.y, loss});

  ASSERT_EQ(report.history.size(), 12u);
  std::size_t best = 0;
  for (std::size_t i = 0; i < 12; ++i)
    if (report.history[i].validation_loss < report.history[best].validation_loss) best = i;
  ASSERT_LT(best, 11u) << "nothing to restore";
  EXPECT_EQ(report.best_step, report.history[best].step);
  EXPECT_EQ(report.best_loss, report.history[best].validation_loss);
  EXPECT_FALSE(report.stopped_early);
  EXPECT_TRUE(same_state(xgrad::state(model), states[best]));
  EXPECT_FALSE(same_state(xgrad::state(model), states.back()));
  EXPECT_TRUE(model.is_training());
  const xgrad::EvalScope<T> scope(model);
  const auto again = static_cast<double>(loss(xgrad::Variable<T>(valid.x), xgrad::Variable<T>(valid.y)).item());
  EXPECT_NEAR(again, report.best_loss, 1e-5 * again);  // all rows at once instead of by eights
}

TEST(TrainerTest, DAT_04_MeansWeighRows) {
  One model(1);
  xgrad::SGD<double> sgd(model.parameters(), {0});
  const auto report =
      Trainer<double>(model, sgd, quiet(1, 2)).fit(given(model, {1, 2, 3, 4, 10}), given(model, {1, 2, 3, 4, 10}));
  EXPECT_EQ(report.history.at(0).train_loss, 4);  // in any order; the mean of means in this order is 5
  EXPECT_EQ(report.history.at(0).validation_loss, 4);
  for (const std::size_t size : {1, 2, 3, 4, 5, 100}) EXPECT_EQ(given(model, {1, 2, 3, 4, 10}).mean(size), 4);
  EXPECT_EQ(given(model, {1, 2, 3, 4, 10}).mean(~std::size_t{0}), 4);
}

TEST(TrainerTest, EachEpochHasEveryRowOnceInAnotherOrder) {
  One model(0);
  xgrad::SGD<double> sgd(model.parameters(), {0});
  const auto orders = [&](std::uint64_t seed, bool drop_last) {
    auto options = quiet(2, 4);
    options.seed = seed;
    options.drop_last = drop_last;
    std::vector<std::int64_t> seen;
    const xgrad::Objective<double> train(10, [&](const xgrad::Index& rows) {
      seen.insert(seen.end(), rows.begin(), rows.end());
      return xgrad::sum(model.w);
    });
    Trainer<double>(model, sgd, options).fit(train);
    return seen;
  };
  const auto rows = orders(0, false);
  ASSERT_EQ(rows.size(), 20u);
  std::vector<std::int64_t> first(rows.begin(), rows.begin() + 10), second(rows.begin() + 10, rows.end());
  EXPECT_NE(first, second);
  for (auto* epoch : {&first, &second}) {
    std::sort(epoch->begin(), epoch->end());
    for (std::int64_t i = 0; i < 10; ++i) EXPECT_EQ((*epoch)[static_cast<std::size_t>(i)], i);
  }
  EXPECT_EQ(orders(0, false), rows);
  EXPECT_NE(orders(1, false), rows);
  EXPECT_EQ(orders(0, true).size(), 16u);
}

TEST(TrainerTest, EarlyStopping) {
  const auto run = [](const std::vector<double>& values, auto... change) {
    One model(1);
    xgrad::SGD<double> sgd(model.parameters(), {1});  // w falls by 1 a step
    auto options = quiet(values.size(), 1);
    options.patience = 2;
    (change(options), ...);
    const auto report = Trainer<double>(model, sgd, options).fit(given(model, {1}), scripted(values));
    return std::make_pair(report, model.w.item());
  };
  {
    const auto [report, w] = run({5, 4, 4.5, 3, 3, 3.1, 0});
    EXPECT_TRUE(report.stopped_early);
    EXPECT_EQ(report.steps, 6u);
    EXPECT_EQ(report.best_step, 4u);
    EXPECT_EQ(report.best_loss, 3);
    EXPECT_EQ(w, 1 - 4);
  }
  {
    const auto [report, w] = run({5, 4, 4.5, 3, 3, 3.1, 0}, [](auto& o) { o.restore_best = false; });
    EXPECT_EQ(report.best_step, 4u);
    EXPECT_EQ(w, 1 - 6);
  }
  {
    const auto [report, w] = run({1, 2, 3, 2.5, 3}, [](auto& o) { o.maximize = true; });
    EXPECT_TRUE(report.stopped_early);
    EXPECT_EQ(report.best_step, 3u);
    EXPECT_EQ(report.best_loss, 3);
  }
  {
    const auto [report, w] = run({5, 4.9, 4.8, 4}, [](auto& o) { o.min_improvement = 0.25; });
    EXPECT_EQ(report.steps, 3u);
    EXPECT_EQ(report.best_loss, 5);
  }
  {  // NaN is never better, also than nothing
    const auto [report, w] = run({NAN, NAN, 1});
    EXPECT_EQ(report.steps, 2u);
    EXPECT_EQ(report.best_step, 0u);
    EXPECT_TRUE(std::isnan(report.best_loss));
    EXPECT_EQ(w, 1 - 2);
  }
  EXPECT_FALSE(run({3, 3, 3}, [](auto& o) { o.patience = 0; }).first.stopped_early);
}

TEST(TrainerTest, StepsAndIntervals) {
  One model(0);
  xgrad::SGD<double> sgd(model.parameters(), {0});
  const Folder folder;
  auto options = quiet(100, 2, folder.str());
  options.steps = 11;
  options.evaluate_every = 4;
  options.checkpoint_every = 3;
  options.keep = 2;
  int updates = 0;
  options.after_step = [&] { ++updates; };
  const auto report = Trainer<double>(model, sgd, options).fit(given(model, {1, 1, 1, 1, 1}));
  ASSERT_EQ(report.history.size(), 3u);
  EXPECT_EQ(report.history[0].step, 4u);
  EXPECT_EQ(report.history[0].epoch, 2u);  // an epoch has 3 steps
  EXPECT_EQ(report.history[1].step, 8u);
  EXPECT_EQ(report.history[2].step, 11u);  // the end is always evaluated and kept
  EXPECT_EQ(updates, 11);
  EXPECT_EQ(xgrad::CheckpointFolder<double>(folder.str()).steps(), (std::vector<std::uint64_t>{9, 11}));
}

TEST(TrainerTest, NonFiniteEndsTheRun) {
  for (const double bad : {double(NAN), double(INFINITY)}) {
    One model(1);
    xgrad::SGD<double> sgd(model.parameters(), {1});
    auto options = quiet(3, 1);
    std::vector<double> seen;
    options.after_step = [&] { seen.push_back(model.w.item()); };
    // The fifth step's loss is bad: epoch 3 of 2 rows.
    int step = 0;
    const xgrad::Objective<double> train(
        2, [&](const xgrad::Index&) { return ++step == 5 ? xgrad::sum(model.w) * bad : xgrad::sum(model.w); });
    EXPECT_THROWS(std::runtime_error, Trainer<double>(model, sgd, options).fit(train),
                  std::string("the loss must be finite but is ") + (std::isnan(bad) ? "NaN" : "-inf"));
    step = 0;
    EXPECT_THROWS(std::runtime_error, Trainer<double>(model, sgd, options).fit(train), "at step 5 (epoch 3, batch 1)");
    EXPECT_EQ(model.w.item(), seen.back()) << "the model is as the step before left it";
  }
}

TEST(TrainerTest, NonFiniteGradientEndsTheRunOrIsSkippedAndCounted) {
  One model(1);
  xgrad::SGD<double> sgd(model.parameters(), {0.25});
  int step = 0;
  const xgrad::Objective<double> train(4, [&](const xgrad::Index&) {
    ++step;
    // sqrt(0) is finite, its gradient is not.
    if (step == 2) return xgrad::sum(xgrad::sqrt(model.w * 0.0));
    return xgrad::sum(model.w) * (step == 3 ? double(NAN) : 1.0);
  });
  auto options = quiet(1, 1);
  EXPECT_THROWS(std::runtime_error, Trainer<double>(model, sgd, options).fit(train),
                "[Trainer] at step 2 (epoch 1, batch 2): [GradGuard] gradients must be finite but that of w holds");
  EXPECT_EQ(model.w.item(), 0.75);

  options.non_finite = NonFinite::skip;
  step = 0;
  int updates = 0;
  options.after_step = [&] { ++updates; };
  const auto report = Trainer<double>(model, sgd, options).fit(train);
  EXPECT_EQ(report.skipped, 2u);
  EXPECT_EQ(report.history.at(0).skipped, 2u);
  EXPECT_EQ(report.steps, 4u);
  EXPECT_EQ(updates, 2);
  EXPECT_EQ(model.w.item(), 0.25);
  EXPECT_EQ(report.history.at(0).train_loss, (0.75 + 0.5) / 2) << "the mean is over what was trained on";
}

TEST(TrainerTest, ErrorsOfOptionsAndData) {
  One model(1);
  xgrad::SGD<double> sgd(model.parameters(), {1});
  const auto with = [&](auto change) {
    auto options = quiet(1, 1);
    change(options);
    return Trainer<double>(model, sgd, options);
  };
  using E = std::invalid_argument;
  EXPECT_THROWS(E, with([](auto& o) { o.epochs = 0; }), "epochs or steps must be at least 1 but both are 0");
  EXPECT_THROWS(E, with([](auto& o) { o.batch_size = 0; }), "batch_size must be at least 1 but is 0");
  EXPECT_THROWS(E, with([](auto& o) { o.keep = 0; }), "keep must be at least 1 but is 0");
  EXPECT_THROWS(E, with([](auto& o) { o.clip_norm = NAN; }), "clip_norm must be > 0 but is nan");
  EXPECT_THROWS(E, with([](auto& o) { o.min_improvement = -1; }), "min_improvement must be >= 0 but is -1");
  EXPECT_THROWS(E, with([](auto& o) { o.checkpoint_every = 1; }), "checkpoint_every needs a folder");
  EXPECT_THROWS(E, with([](auto& o) { o.patience = 1; }).fit(given(model, {1})), "patience needs a validation");
  auto trainer = with([](auto& o) { o.batch_size = 2, o.drop_last = true; });
  EXPECT_THROWS(E, trainer.fit(given(model, {})), "there must be rows to train on but are none");
  EXPECT_THROWS(E, trainer.fit(given(model, {1, 2}), given(model, {})), "there must be rows to validate on");
  EXPECT_THROWS(E, trainer.fit(given(model, {1})), "batch_size 2 with drop_last leaves no batch of 1 rows");
  EXPECT_THROWS(E, given(model, {}).mean(1), "needs at least one row");
  EXPECT_THROWS(E, given(model, {1}).mean(0), "batch_size must be at least 1");
  const auto rows = xgrad::zeros<double>({2, 3}), more = xgrad::zeros<double>({3, 3});
  const auto vector = [&](const V& x, const V&) { return xgrad::sum(x, 1) * model.w; };
  EXPECT_THROWS(xgrad::ShapeError, trainer.fit({rows, rows, vector}),
                "[Objective] a loss must be one number but has shape (2,); reduce it with mean");
  EXPECT_THROWS(xgrad::ShapeError, trainer.fit({rows, more, vector}), "equally many rows");
  xgrad::Rng rng(1);
  trainer.remember("a", rng);
  EXPECT_THROWS(E, trainer.remember("a", rng), "two things to remember are named \"a\"");
  EXPECT_THROWS(E, trainer.remember("a.b", rng), "without dots");
  EXPECT_THROWS(E, trainer.remember("", rng), "not empty");
  EXPECT_EQ(model.w.item(), 1);
}

TEST(TrainerTest, ClassesAsIndexArrays) {
  // The sign of a number, learned by cross-entropy from labels 0 and 1.
  xgrad::Rng rng(1);
  const Array<float> x = rng.normal<float>({64, 1});
  auto y = xgrad::zeros<std::int64_t>({64});
  for (std::size_t i = 0; i < 64; ++i) y(i) = x(i, 0) > 0;
  xgrad::Linear<float> model(1, 2, rng);
  xgrad::Adam<float> adam(model.parameters(), {0.1});
  const auto loss = [&](const auto& a, const auto& b) { return xgrad::cross_entropy(model(a), b); };
  const auto report = Trainer<float>(model, adam, quiet(20, 16)).fit({x, y, loss});
  EXPECT_LT(report.history.back().train_loss, 0.5 * report.history.front().train_loss);
}

TEST(TrainerTest, SaysHowFarItIs) {
  const auto run = [](bool patient, std::FILE* log) {
    One model(1);
    xgrad::SGD<double> sgd(model.parameters(), {0});
    auto options = quiet(4, 2);
    options.log = log;
    options.patience = patient ? 0 : 1;
    Trainer<double>(model, sgd, options).fit(given(model, {1, 1, 1, 1}), scripted({0.5, 0.25, 1, 1}));
  };
  EXPECT_EQ(printed([&](std::FILE* log) { run(true, log); }),
            "epoch 1, step 1 of 8, loss 1\n"
            "epoch 1, step 2 of 8, loss 1, validation 0.5, best 0.5 at step 2\n"
            "epoch 2, step 3 of 8, loss 1, validation 0.5, best 0.5 at step 2\n"
            "epoch 2, step 4 of 8, loss 1, validation 0.25, best 0.25 at step 4\n"
            "epoch 3, step 5 of 8, loss 1, validation 0.25, best 0.25 at step 4\n"
            "epoch 3, step 6 of 8, loss 1, validation 1, best 0.25 at step 4\n"
            "epoch 4, step 7 of 8, loss 1, validation 1, best 0.25 at step 4\n"
            "epoch 4, step 8 of 8, loss 1, validation 1, best 0.25 at step 4\n"
            "best validation 0.25 at step 4: the model is back there\n");
  EXPECT_NE(printed([&](std::FILE* log) {
              run(false, log);
            }).find("stopped early: 1 evaluations without a better one, at step 6\nbest validation 0.25 at step 4"),
            std::string::npos);
}

}  // namespace
