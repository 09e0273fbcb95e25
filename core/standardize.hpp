// Standardizer: columns with mean 0 and standard deviation 1.
#pragma once

#include "module.hpp"

namespace xgrad {

/// Maps each column of a table to mean 0 and (population) standard deviation 1, as measured on the rows it was made
/// from: the training part, never the test part. A column that is constant there is only shifted to 0. Any finite
/// numbers will do whose differences are numbers of T too. The mean is kept in T: of float columns with an offset of
/// 1e6 deviations it leaves up to 0.03.
///
///     xgrad::Standardizer<double> scale(train);
///     model(scale.apply(test));
///
/// It is a module whose mean and deviation are buffers, so that it is saved on its own, `save(path, scale)`, or as a
/// member of the model it belongs to, `v("scale", scale)`. To load, make one of the right width.
template <class T>
class Standardizer : public Module<T> {
 public:
  /// For loading: mean 0 and deviation 1 for each column, which changes nothing.
  explicit Standardizer(std::size_t columns);

  /// Measures the columns of (rows, columns); throws ShapeError for another rank or no rows.
  explicit Standardizer(const Array<T>& rows);

  /// (x - mean) / std for each column; throws ShapeError unless x is (any number of rows, columns).
  Array<T> apply(const Array<T>& x) const;
  /// x * std + mean: undoes `apply`.
  Array<T> undo(const Array<T>& x) const;

  void visit(Visitor<T>& v) override;
  std::string name() const override { return "Standardizer"; }

  const Array<T>& mean() const noexcept { return mean_; }  ///< (columns,)
  const Array<T>& std() const noexcept { return std_; }    ///< (columns,), 1 where the column was constant

 private:
  Array<T> mean_, std_;
};

}  // namespace xgrad
