#include <gtest/gtest.h>

#include <cmath>
#include <xgrad/core/standardize.hpp>

#include "throws.hpp"

namespace {

using xgrad::Standardizer;

TEST(Standardizer, GivesMeanZeroAndDeviationOne) {
  const auto x = xgrad::from<double>({1, 10, 2, 30, 3, 20, 6, 40}, {4, 2});
  const Standardizer<double> scale(x);
  EXPECT_DOUBLE_EQ(scale.mean()(0), 3);
  EXPECT_DOUBLE_EQ(scale.mean()(1), 25);
  EXPECT_DOUBLE_EQ(scale.std()(0), std::sqrt(3.5));  // (4 + 1 + 0 + 9) / 4
  EXPECT_DOUBLE_EQ(scale.std()(1), std::sqrt(125));
  const auto z = scale.apply(x);
  EXPECT_DOUBLE_EQ(z(3, 0), 3 / std::sqrt(3.5));
  EXPECT_DOUBLE_EQ(z(0, 1), -15 / std::sqrt(125));
  const auto back = scale.undo(z);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(back.data()[i], x.data()[i], 1e-14 * 40);
}

TEST(Standardizer, MeasuresOnlyTheRowsItWasMadeFrom) {
  const Standardizer<float> scale(xgrad::from<float>({0, 2}, {2, 1}));
  EXPECT_FLOAT_EQ(scale.apply(xgrad::full<float>({1, 1}, 5))(0, 0), 4);
}

TEST(Standardizer, ShiftsConstantColumnsToZero) {
  const auto x = xgrad::full<double>({10, 2}, 0.1);  // ten times 0.1 does not sum to 1
  const Standardizer<double> scale(x);
  EXPECT_EQ(scale.std()(0), 1);
  EXPECT_TRUE(xgrad::array_equal(scale.apply(x), xgrad::zeros<double>({10, 2})));
  EXPECT_TRUE(xgrad::array_equal(scale.undo(xgrad::zeros<double>({10, 2})), x));
}

TEST(Standardizer, KeepsDigitsOfALargeOffset) {
  const Standardizer<double> scale(xgrad::from<double>({1e9, 1e9 + 1, 1e9 + 2, 1e9 + 3}, {4, 1}));
  EXPECT_NEAR(scale.std()(0), std::sqrt(1.25), 1e-12);
}

TEST(Standardizer, RefusesOtherShapes) {
  EXPECT_THROWS(xgrad::ShapeError, Standardizer<double>(xgrad::zeros<double>({0, 3})),
                "[Standardizer] needs (rows, columns) with at least one row but got (0, 3)");
  EXPECT_THROWS(xgrad::ShapeError, Standardizer<double>(xgrad::zeros<double>({3})), "but got (3,)");
  const Standardizer<double> scale(xgrad::ones<double>({2, 3}));
  EXPECT_THROWS(xgrad::ShapeError, scale.apply(xgrad::ones<double>({2, 2})),
                "[Standardizer] was made for (rows, 3) but got (2, 2)");
  EXPECT_THROWS(xgrad::ShapeError, scale.undo(xgrad::ones<double>({3})), "but got (3,)");
}

}  // namespace
