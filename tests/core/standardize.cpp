#include <gtest/gtest.h>

#include <cmath>
#include <xgrad/core/checkpoint.hpp>
#include <xgrad/core/standardize.hpp>

#include "folder.hpp"
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

template <class T>
void expect_unit_column(T a, T b) {
  const auto x = xgrad::from<T>({a, b}, {2, 1});
  const auto z = Standardizer<T>(x).apply(x);
  EXPECT_FLOAT_EQ(static_cast<float>(z(0, 0)), a < b ? -1.0f : 1.0f) << a << ' ' << b;
  EXPECT_FLOAT_EQ(static_cast<float>(z(1, 0)), a < b ? 1.0f : -1.0f) << a << ' ' << b;
}

TEST(Standardizer, DeviationsWhoseSquaresAreNoNumbers) {
  expect_unit_column<double>(0, 1e-170);
  expect_unit_column<double>(0, 1e200);
  expect_unit_column<double>(1.5e308, 0);
  expect_unit_column<double>(-1e-300, 1e-300);
  expect_unit_column<float>(0, 1e-36f);
  expect_unit_column<float>(3e38f, 0);
  // Half of the least number is none: its column comes out finite, and comes back.
  const auto x = xgrad::from<float>({0, std::numeric_limits<float>::denorm_min()}, {2, 1});
  const Standardizer<float> scale(x);
  EXPECT_TRUE(std::isfinite(scale.apply(x)(1, 0)));
  EXPECT_TRUE(xgrad::array_equal(scale.undo(scale.apply(x)), x));
}

TEST(Standardizer, IsSavedAloneOrWithItsModel) {
  const Folder folder;
  xgrad::Rng rng(1);
  const auto x = rng.normal<float>({20, 3}, 5, 2);
  Standardizer<float> scale(x), loaded(3);
  EXPECT_TRUE(xgrad::array_equal(loaded.apply(x), x));
  xgrad::save(folder / "scale", scale);
  xgrad::load(folder / "scale", loaded);
  EXPECT_TRUE(xgrad::array_equal(loaded.apply(x), scale.apply(x)));

  struct Model : xgrad::Module<float> {
    explicit Model(Standardizer<float> s) : scale(std::move(s)) {}
    void visit(xgrad::Visitor<float>& v) override { v("scale", scale); }
    Standardizer<float> scale;
  };
  Model model(std::move(scale)), fresh(Standardizer<float>(3));
  const auto state = xgrad::state(model);
  ASSERT_EQ(state.arrays.size(), 2u);
  EXPECT_EQ(state.arrays[0].first, "scale.mean");
  EXPECT_EQ(state.arrays[1].first, "scale.std");
  xgrad::load_state(fresh, state);
  EXPECT_TRUE(xgrad::array_equal(fresh.scale.undo(x), loaded.undo(x)));
  EXPECT_TRUE(model.parameters().empty());  // nothing to train
  Standardizer<float> narrow(2);
  EXPECT_THROWS(xgrad::FileError, xgrad::load(folder / "scale", narrow), "mean");
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
