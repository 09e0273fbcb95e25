// Array<T>: the plain numbers under everything. The one file that includes xtensor's array headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#if __has_include(<xtensor/containers/xarray.hpp>)  // 0.26 and later sort their headers into folders
#include <xtensor/containers/xarray.hpp>
#else
#include <xtensor/xarray.hpp>
#endif

#include "check.hpp"
#include "memory.hpp"

// xtensor 0.24 with g++ in C++20 and later takes the shape type of an xarray for a fixed-rank one of rank 4
// (its guard names C++17 alone); reducers then do not compile or write out of bounds. This puts it right.
#if XTENSOR_VERSION_MAJOR == 0 && XTENSOR_VERSION_MINOR < 26
namespace xt::detail {
template <>
struct xtype_for_shape<svector<std::size_t, 4, std::allocator<std::size_t>, true>> {
  template <class T, layout_type L>
  using type = xarray<T, L>;
};
}  // namespace xt::detail
#endif

namespace xgrad {

/// Extent of each axis; empty for a 0-d array (one number).
using Shape = xt::svector<std::size_t, 4, std::allocator<std::size_t>, true>;

/// A row-major, contiguous xtensor array with xgrad's allocator: the same type under every compiler flag.
/// Careful: `Array<float>{2, 3}` holds the two numbers 2 and 3; `zeros<float>({2, 3})` has the shape (2, 3).
template <class T>
using Array = xt::xarray_container<xt::uvector<T, memory::Allocator<T>>, xt::layout_type::row_major, Shape>;

/// Row numbers, class labels, permutations: signed, so that -1 can be refused.
using Index = Array<std::int64_t>;

static_assert(std::is_same_v<typename xt::temporary_type<Array<double>>::type::shape_type, Shape>,
              "this xtensor takes the shape of an Array for a fixed-rank one; reducers would corrupt memory");

/// True for xtensor expressions (arrays, views, lazy sums), false for Variables and numbers.
template <class E>
inline constexpr bool is_expression = xt::is_xexpression<std::decay_t<E>>::value;

/// For the deleted overloads that refuse real numbers where an Index is wanted: xtensor would cut off their fractions.
template <class E>
using if_real = std::enable_if_t<is_expression<E> && std::is_floating_point_v<typename std::decay_t<E>::value_type>>;

/// True when two shapes are the same. (Their own == calls memcmp, which for a few words costs more than it compares.)
inline bool same_shape(const Shape& a, const Shape& b) noexcept {
  const std::size_t n = a.size();
  bool same = n == b.size();
  for (std::size_t i = 0; same && i < n; ++i) same = a[i] == b[i];
  return same;
}

/// "(2, 3)", "(4,)" for one axis, "()" for a 0-d array.
std::string to_string(const Shape& shape);

/// Product of the extents; 1 for a 0-d shape. Throws ShapeError when that of those above 0 is 2^63 or more.
std::size_t element_count(const Shape& shape);

/// An array of the given shape whose numbers are not set.
template <class T>
Array<T> empty(const Shape& shape) {
  element_count(shape);  // xtensor would allocate what is left of an overflowing product
  return Array<T>(shape);
}

/// An array filled with one value.
template <class T>
Array<T> full(const Shape& shape, T value) {
  element_count(shape);
  return Array<T>(shape, value);
}

/// An array of zeros.
template <class T>
Array<T> zeros(const Shape& shape) {
  return full<T>(shape, T(0));
}

/// An array of ones.
template <class T>
Array<T> ones(const Shape& shape) {
  return full<T>(shape, T(1));
}

/// start, start + step, ... up to but without stop; none when they lead away from it. Throws std::invalid_argument for
/// a step of 0, a bound or step that is NaN, infinite bounds, and 2^53 numbers or more. Whole numbers are counted
/// exactly.
template <class T>
Array<T> arange(T start, T stop, T step = T(1));

/// 0, 1, ..., stop - 1.
template <class T>
Array<T> arange(T stop) {
  return arange<T>(T(0), stop);
}

/// `count` numbers from start to stop, both included and exact; one number gives start. Of a whole T they are rounded
/// down (to -inf), as in NumPy.
template <class T>
Array<T> linspace(T start, T stop, std::size_t count);

/// A copy of `element_count(shape)` numbers from memory, in row-major order.
template <class T>
Array<T> from(const T* data, const Shape& shape) {
  auto result = empty<T>(shape);
  for (std::size_t i = 0; i < result.size(); ++i) result.data()[i] = data[i];
  return result;
}

/// The numbers of a vector in the given shape; throws ShapeError when their count does not fit.
template <class T>
Array<T> from(const std::vector<T>& data, const Shape& shape) {
  if (data.size() != element_count(shape))
    fail<ShapeError>("from", "shape ", to_string(shape), " holds ", element_count(shape), " numbers but got ",
                     data.size());
  return from(data.data(), shape);
}

/// The numbers of a vector as a one-axis array.
template <class T>
Array<T> from(const std::vector<T>& data) {
  return from(data.data(), {data.size()});
}

/// Evaluates any xtensor expression into an Array (of T when given, else of the expression's own type).
template <class T = void, class E, class = std::enable_if_t<is_expression<E>>>
auto from(const E& expression) {
  using V = std::conditional_t<std::is_void_v<T>, typename std::decay_t<E>::value_type, T>;
  if constexpr (std::is_same_v<std::decay_t<E>, Array<V>>) return expression;
  else return Array<V>(xt::cast<V>(expression));
}

/// An Array as it is, any other expression evaluated: what functions that take expressions pass on.
/// @{
template <class T>
const Array<T>& evaluated(const Array<T>& a) {
  return a;
}
template <class E, class = std::enable_if_t<is_expression<E> && !std::is_same_v<E, Array<typename E::value_type>>>>
Array<typename E::value_type> evaluated(const E& expression) {
  return from(expression);
}
/// @}

/// The only number of an array of size one; throws ShapeError for any other size.
template <class T>
T item(const Array<T>& a) {
  if (a.size() != 1) fail<ShapeError>("item", "needs exactly one number but the shape is ", to_string(a.shape()));
  return *a.data();
}

/// True when all shapes and numbers agree; NaN equals nothing.
template <class T>
bool array_equal(const Array<T>& a, const Array<T>& b);

/// NumPy-like text: nested brackets, at most 6 entries per axis with "..." between, `digits` significant digits.
template <class T>
std::string to_string(const Array<T>& a, int digits = 6);

/// Prints `to_string(a)`. (A function and not operator<<, which would compete with xtensor's own.)
template <class T>
void print(std::ostream& out, const Array<T>& a, int digits = 6);

/// Turns an axis counted from the end (-1 is the last) into one counted from the front; throws ShapeError naming
/// `who` when it is not in [-rank, rank).
std::size_t normalize_axis(const char* who, std::ptrdiff_t axis, std::size_t rank);

/// NumPy's broadcast of two shapes; throws ShapeError naming `who` when they do not broadcast.
Shape broadcast_shape(const char* who, const Shape& a, const Shape& b);

/// Throws ShapeError "[who] what must have shape want but has shape got" unless the two agree.
void check_shape(const char* who, const char* what, const Shape& want, const Shape& got);

/// Which axes a reduction runs over: one axis, a list, or (by default) all. Negative axes count from the end.
/// An empty list `{}` also means all axes.
class Axes {
 public:
  /// All axes.
  Axes() = default;
  /// One axis.
  /// @{
  Axes(int axis) : axes_{axis} {}
  Axes(std::ptrdiff_t axis) : axes_{axis} {}
  Axes(std::size_t axis) : axes_{static_cast<std::ptrdiff_t>(axis)} {}
  /// @}
  /// A list of axes; an empty one means all.
  /// @{
  Axes(std::initializer_list<std::ptrdiff_t> axes) : axes_(axes.begin(), axes.end()) {}
  Axes(const std::vector<std::ptrdiff_t>& axes) : axes_(axes.begin(), axes.end()) {}
  Axes(const xt::svector<std::ptrdiff_t, 4>& axes) : axes_(axes) {}
  /// @}

  /// True when it means all axes.
  bool all() const { return axes_.empty(); }

  /// The axes counted from the front, sorted; throws ShapeError for an axis out of range or given twice.
  xt::svector<std::size_t, 4> resolve(const char* who, std::size_t rank) const;

 private:
  xt::svector<std::ptrdiff_t, 4> axes_;
};

/// Spelled at the call: `sum(x, -1, keep_dims)` leaves reduced axes in place with extent 1.
inline constexpr bool keep_dims = true;

}  // namespace xgrad

/// Lets `function`, declared for Array<T> as its first argument, take any other xtensor expression there (one copy).
#define XGRAD_TAKES_EXPRESSIONS(function)                                                         \
  template <class E, class... Rest,                                                               \
            class = std::enable_if_t<!std::is_same_v<E, ::xgrad::Array<typename E::value_type>>>> \
  auto function(const xt::xexpression<E>& e, Rest&&... rest) {                                    \
    return ::xgrad::function(::xgrad::from(e.derived_cast()), std::forward<Rest>(rest)...);       \
  }
