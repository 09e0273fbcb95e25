// Objective<T>: rows of data with a loss.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>

#include "../core/batches.hpp"
#include "../core/variable.hpp"

namespace xgrad {

/// Rows of data and what a model's loss on some of them is.
///
///     const auto loss = [&](const auto& x, const auto& y) { return xgrad::mse_loss(model(x), y); };
///     xgrad::Objective<float> train(features, targets, loss);
template <class T>
class Objective {
 public:
  /// `loss(x, y)` gets the same rows of both arrays, as `batches` gives them, and returns their mean loss, one number.
  /// Refers to the arrays, which must outlive it. Throws ShapeError for 0-d arrays or unequal row counts.
  template <class X, class Y, class Loss>
  Objective(const Array<X>& x, const Array<Y>& y, Loss loss)
      : Objective((detail::check_batches(x.shape(), y.shape(), 1), x.shape()[0]),
                  [&x, &y, loss = std::move(loss)](const Index& rows) mutable -> Variable<T> {
                    const BatchOf<X> batch_x = detail::gather_rows(x, rows.data(), rows.size());
                    const BatchOf<Y> batch_y = detail::gather_rows(y, rows.data(), rows.size());
                    return loss(batch_x, batch_y);
                  }) {}
  /// For data of any other kind: `loss` gets the numbers of the rows, each in [0, row_count).
  Objective(std::size_t row_count, std::function<Variable<T>(const Index& rows)> loss)
      : row_count_(row_count), loss_(std::move(loss)) {}

  // The arrays would be gone.
  template <class X, class Y, class Loss>
  Objective(const Array<X>&&, const Array<Y>&, Loss) = delete;
  template <class X, class Y, class Loss>
  Objective(const Array<X>&, const Array<Y>&&, Loss) = delete;
  template <class X, class Y, class Loss>
  Objective(const Array<X>&&, const Array<Y>&&, Loss) = delete;

  /// How many rows the data have.
  std::size_t row_count() const noexcept { return row_count_; }
  /// The mean loss over these rows; throws ShapeError unless it is one number.
  Variable<T> loss(const Index& rows) const;

  /// The mean loss over all rows, some at a time in their own order, each row counting the same in batches of any size.
  /// Records nothing. Throws std::invalid_argument without rows or for batch_size 0, ShapeError when a loss is not one
  /// number.
  double mean(std::size_t batch_size) const;

 private:
  std::size_t row_count_;
  std::function<Variable<T>(const Index& rows)> loss_;
};

}  // namespace xgrad
