#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>
#include <xgrad/core/checkpoint.hpp>
#include <xgrad/optim/schedule.hpp>

#include "folder.hpp"
#include "throws.hpp"

namespace {

namespace schedule = xgrad::schedule;
using xgrad::ReduceOnPlateau;

template <class F>
void expect_rates(const std::vector<double>& want, F rate) {
  for (std::size_t k = 0; k < want.size(); ++k) EXPECT_NEAR(rate(k), want[k], 1e-15) << "k = " << k;
}

TEST(Schedule, OPT_06_WarmupReachesThePeakAndStartsAboveZero) {
  expect_rates({1, 2, 3, 4, 5, 5, 5}, [](std::size_t k) { return schedule::linear_warmup(k, 5, 5); });
  expect_rates({3, 3}, [](std::size_t k) { return schedule::linear_warmup(k, 3, 0); });
}

TEST(Schedule, OPT_06_CosineAndItsEnd) {
  expect_rates({1, 0.8535533905932738, 0.5, 0.1464466094067262, 0, 0, 0},
               [](std::size_t k) { return schedule::cosine(k, 1, 4); });
  EXPECT_EQ(schedule::cosine(std::numeric_limits<std::uint64_t>::max(), 1, 4, 0.25), 0.25);
  EXPECT_EQ(schedule::cosine(0, 1, 0, 0.25), 0.25);  // no steps: at the end at once
  // Resuming needs k alone: the value after k = 2 is that of k = 3 in any process.
  EXPECT_NEAR(schedule::cosine(2 + 1, 1, 4), 0.1464466, 1e-7);
}

TEST(Schedule, OPT_06_WarmupThenCosineMeetAtThePeak) {
  const std::size_t warm = 3, total = 8;
  std::vector<double> rates;
  for (std::size_t k = 0; k < total; ++k)
    rates.push_back(k < warm ? schedule::linear_warmup(k, 6, warm) : schedule::cosine(k - warm, 6, total - warm));
  EXPECT_EQ(rates[0], 2);
  EXPECT_EQ(rates[2], 6);
  EXPECT_EQ(rates[3], 6);
  EXPECT_LT(rates[4], 6);
  EXPECT_GT(rates[7], 0);  // no update is spent on rate 0
}

TEST(Schedule, ConstantLinearStepExponential) {
  expect_rates({0.3, 0.3}, [](std::size_t k) { return schedule::constant(k, 0.3); });
  expect_rates({4, 3, 2, 1, 0, 0}, [](std::size_t k) { return schedule::linear(k, 4, 4); });
  expect_rates({1, 2, 3, 3}, [](std::size_t k) { return schedule::linear(k, 1, 2, 3); });
  expect_rates({8, 8, 4, 4, 2}, [](std::size_t k) { return schedule::step(k, 8, 2, 0.5); });
  expect_rates({8, 4, 2, 1}, [](std::size_t k) { return schedule::exponential(k, 8, 0.5); });
  EXPECT_THROWS(std::invalid_argument, schedule::step(3, 8, 0), "[schedule::step] every must be at least 1 but is 0");
}

TEST(Schedule, OneCycleRisesFallsAndStays) {
  std::vector<double> rates;
  for (std::size_t k = 0; k < 30; ++k) rates.push_back(schedule::one_cycle(k, 5, 20, {0.5, 10, 100}));
  EXPECT_DOUBLE_EQ(rates[0], 0.5);
  EXPECT_DOUBLE_EQ(rates[9], 5);  // update number 10 of 20
  for (std::size_t k = 0; k < 29; ++k) EXPECT_TRUE(k < 9 ? rates[k] < rates[k + 1] : rates[k] >= rates[k + 1]) << k;
  EXPECT_DOUBLE_EQ(rates[19], 0.005);
  EXPECT_DOUBLE_EQ(rates[29], 0.005);
  for (const std::size_t steps : {0, 1, 2, 3})  // too few for both slopes
    for (std::size_t k = 0; k < 5; ++k)
      for (const double rise : {0.0, 0.3, 1.0}) {
        const double rate = schedule::one_cycle(k, 5, steps, {rise, 10, 100});
        EXPECT_TRUE(rate >= 0.005 * (1 - 1e-15) && rate <= 5) << rate << " at " << k << " of " << steps;
      }
}

TEST(Schedule, OneCycleOfOneSlope) {
  const auto up = [](std::size_t k, std::size_t steps = 4) { return schedule::one_cycle(k, 1, steps, {1, 10, 100}); };
  EXPECT_DOUBLE_EQ(up(0), 0.1);
  EXPECT_DOUBLE_EQ(up(1), 0.1 + 0.9 * 0.25);  // (1 - cos(pi / 3)) / 2
  EXPECT_DOUBLE_EQ(up(2), 0.1 + 0.9 * 0.75);
  for (const std::size_t k : {3, 4, 100}) EXPECT_EQ(up(k), 1) << k;
  EXPECT_EQ(up(0, 1), 1);
  const auto down = [](std::size_t k) { return schedule::one_cycle(k, 1, 4, {0, 10, 100}); };
  EXPECT_EQ(down(0), 1);
  for (const std::size_t k : {1, 2}) EXPECT_LT(down(k), down(k - 1));
  for (const std::size_t k : {3, 100}) EXPECT_DOUBLE_EQ(down(k), 0.001);
}

TEST(Schedule, OneCycleRefusesImpossibleOptions) {
  EXPECT_THROWS(std::invalid_argument, schedule::one_cycle(0, 1, 9, {1.5}),
                "[schedule::one_cycle] rise must be in [0, 1] but is 1.5");
  EXPECT_THROWS(std::invalid_argument, schedule::one_cycle(0, 1, 9, {0.5, 0, 3}),
                "[schedule::one_cycle] start_div and final_div must be > 0 but are 0 and 3");
}

TEST(ReduceOnPlateau, CutsAfterPatienceAndStartsCountingAnew) {
  ReduceOnPlateau plateau({0.5, 1});
  double lr = 8;
  std::vector<double> rates;
  for (const double loss : {3.0, 2.0, 2.0, 2.0, 2.0, 2.0, 1.0, 1.0}) rates.push_back(lr = plateau(lr, loss));
  EXPECT_EQ(rates, (std::vector<double>{8, 8, 8, 4, 4, 2, 2, 2}));
  EXPECT_EQ(plateau.best(), 1);
}

TEST(ReduceOnPlateau, AShareOfANegativeValueIsOfItsSize) {
  xgrad::PlateauOptions options;
  options.threshold = 0.1;
  options.patience = 0;
  ReduceOnPlateau down(options);
  down(1, -100);
  EXPECT_EQ(down(1, -105), 0.1);  // better by less than a tenth
  EXPECT_EQ(down(1, -111), 1);
  EXPECT_EQ(down.best(), -111);
  options.maximize = true;
  ReduceOnPlateau up(options);
  up(1, -100);
  EXPECT_EQ(up(1, -95), 0.1);
  EXPECT_EQ(up(1, -89), 1);
}

TEST(ReduceOnPlateau, NeverRaisesTheRateAndTakesNaNForBad) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  ReduceOnPlateau plateau({0.5, 0, 1e-4, true, false, 0, 1});
  EXPECT_EQ(plateau(0.5, nan), 0.5);  // below min_lr already
  EXPECT_EQ(plateau(4, nan), 2);
  EXPECT_EQ(plateau(1.5, nan), 1);
  EXPECT_TRUE(std::isinf(plateau.best()));
  ReduceOnPlateau wide({0.5, 0, 1});  // threshold 1: a share of infinity must not swallow the first value
  EXPECT_EQ(wide(4, 3), 4);
  EXPECT_EQ(wide.best(), 3);
}

TEST(ReduceOnPlateau, OPT_06_ResumesFromItsState) {
  const Folder folder;
  const xgrad::PlateauOptions options{0.5, 1, 1e-4, true, false, 1};
  for (std::size_t stop = 0; stop < 8; ++stop) {
    ReduceOnPlateau whole(options);
    auto running = std::make_unique<ReduceOnPlateau>(options);
    double lr = 8, other = 8;
    const std::vector<double> losses = {3, 2, 2, 2, 2, 2, 2, 1};
    for (std::size_t k = 0; k < losses.size(); ++k) {
      if (k == stop) {
        xgrad::save_state<float>(folder / "plateau", running->state<float>());
        running = std::make_unique<ReduceOnPlateau>(options);
        running->load_state(xgrad::read_state<float>(folder / "plateau"));
      }
      lr = whole(lr, losses[k]);
      other = (*running)(other, losses[k]);
      EXPECT_EQ(lr, other) << "stopped before " << stop << ", k = " << k;
    }
    EXPECT_EQ(lr, 2);
  }
}

TEST(ReduceOnPlateau, RefusesImpossibleOptionsAndStates) {
  EXPECT_THROWS(std::invalid_argument, ReduceOnPlateau({1.0}), "[ReduceOnPlateau] factor must be in (0, 1) but is 1");
  EXPECT_THROWS(std::invalid_argument, ReduceOnPlateau({0.5, 1, -1}),
                "[ReduceOnPlateau] threshold must be >= 0 but is -1");
  EXPECT_THROWS(std::invalid_argument, ReduceOnPlateau({0.5, 1, 0, true, false, 0, -2}),
                "[ReduceOnPlateau] min_lr must be >= 0 but is -2");
  ReduceOnPlateau plateau;
  plateau(1, 3);
  auto state = plateau.state<double>();
  state.numbers[0].second = 1;
  state.numbers[1].second = 0.5;
  EXPECT_THROWS(std::invalid_argument, plateau.load_state(state),
                "[ReduceOnPlateau] bad must be a whole number from 0 but is 0.5");
  EXPECT_THROWS(std::invalid_argument, plateau.load_state(xgrad::State<double>()), "has no number named \"best\"");
  EXPECT_EQ(plateau.best(), 3);
}

}  // namespace
