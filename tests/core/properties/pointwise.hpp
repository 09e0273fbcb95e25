// Functions number by number, of one array and of two or three that broadcast, special values among them.
#pragma once

#include <xgrad/core/kernels/binary.hpp>
#include <xgrad/core/kernels/elementwise.hpp>

#include "source.hpp"

namespace property {

using Ld = long double;  // the loops are a precision above what they check

template <class T>
struct Unary {
  const char* name;
  Array<T> (*function)(const Array<T>&);
  Ld (*want)(Ld);
  double rel, abs;
};

inline Ld damped(Ld x, Ld factor) { return factor == 0 ? Ld(0) : x * factor; }  // 0 at -inf
inline Ld logistic(Ld x) { return 1 / (1 + std::exp(-x)); }
inline Ld normal_cdf(Ld x) { return std::erfc(-x / std::sqrt(Ld(2))) / 2; }
inline Ld normal_pdf(Ld x) { return std::exp(-x * x / 2) / std::sqrt(2 * std::acos(Ld(-1))); }

template <class T>
const std::vector<Unary<T>>& unary_table() {
  // Float forms of tanh, erf and their like are polynomials, good to a few units in the last place of 1.
  constexpr bool is_float = sizeof(T) == 4;
  constexpr double rel = 20 * reference::unit<T>(), abs = is_float ? 4e-7 : 1e-15, tiny = std::numeric_limits<T>::min();
  static const std::vector<Unary<T>> table{
      {"abs", xgrad::abs<T>, [](Ld x) { return std::abs(x); }, 0, 0},
      {"square", xgrad::square<T>, [](Ld x) { return x * x; }, rel, 0},
      {"sign", xgrad::sign<T>, [](Ld x) { return std::isnan(x) ? x : Ld((x > 0) - (x < 0)); }, rel, 0},
      {"exp", xgrad::exp<T>, [](Ld x) { return std::exp(x); }, rel, tiny},
      {"log", xgrad::log<T>, [](Ld x) { return std::log(x); }, rel, 0},
      {"log1p", xgrad::log1p<T>, [](Ld x) { return std::log1p(x); }, rel, 0},
      {"expm1", xgrad::expm1<T>, [](Ld x) { return std::expm1(x); }, rel, 0},
      {"sqrt", xgrad::sqrt<T>, [](Ld x) { return std::sqrt(x); }, rel, 0},
      {"rsqrt", xgrad::rsqrt<T>, [](Ld x) { return x == 0 ? Ld(INFINITY) : 1 / std::sqrt(x); }, rel, 0},
      {"sin", xgrad::sin<T>, [](Ld x) { return std::sin(x); }, rel, 0},
      {"cos", xgrad::cos<T>, [](Ld x) { return std::cos(x); }, rel, 0},
      {"tanh", xgrad::tanh<T>, [](Ld x) { return std::tanh(x); }, rel, 0},
      {"erf", xgrad::erf<T>, [](Ld x) { return std::erf(x); }, rel, abs},
      {"sigmoid", xgrad::sigmoid<T>, logistic, rel, tiny},
      {"softplus", xgrad::softplus<T>, [](Ld x) { return x > 50 ? x : std::log1p(std::exp(x)); }, rel, abs},
      {"relu", xgrad::relu<T>, [](Ld x) { return x > 0 || std::isnan(x) ? x : Ld(0); }, 0, 0},
      {"gelu", xgrad::gelu<T>, [](Ld x) { return damped(x, normal_cdf(x)); }, rel, 4 * abs},
      {"gelu_tanh", xgrad::gelu_tanh<T>,
       [](Ld x) { return damped(x, logistic(2 * std::sqrt(2 / std::acos(Ld(-1))) * (x + Ld(0.044715) * x * x * x))); },
       rel, 4 * abs},
      {"silu", xgrad::silu<T>, [](Ld x) { return damped(x, logistic(x)); }, rel, abs},
      {"normal_cdf", xgrad::normal_cdf<T>, normal_cdf, rel, abs},
      {"normal_pdf", xgrad::normal_pdf<T>, normal_pdf, rel, abs},
      {"gelu_grad", xgrad::gelu_grad<T>, [](Ld x) { return normal_cdf(x) + damped(x, normal_pdf(x)); }, rel, 8 * abs},
      {"silu_grad", xgrad::silu_grad<T>, [](Ld x) { return logistic(x) + damped(x, logistic(x) * logistic(-x)); }, rel,
       8 * abs},
  };
  return table;
}

template <class T>
void unary(Draw& draw) {
  with_source<T>(draw, draw.shape(), true, [&](const Array<T>& x, const auto& e) {
    const Unary<T>& f = unary_table<T>()[draw.below(unary_table<T>().size())];
    const Array<T> input = xgrad::from(e);  // what each function does with an expression
    check<T>(
        f.name + (" of " + xgrad::to_string(x, 17)), x.shape(), [&] { return f.function(input); },
        [&](const Position& p) { return static_cast<double>(f.want(static_cast<Ld>(at(x, p)))); }, f.rel, f.abs);
  });
}

template <class T>
struct Binary {
  const char* name;
  Array<T> (*function)(const Array<T>&, const Array<T>&);
  T (*want)(T, T);
};

template <class T>
const std::vector<Binary<T>>& binary_table() {
  static const std::vector<Binary<T>> table{
      {"add", xgrad::add<T>, [](T x, T y) { return x + y; }},
      {"sub", xgrad::sub<T>, [](T x, T y) { return x - y; }},
      {"mul", xgrad::mul<T>, [](T x, T y) { return x * y; }},
      {"div", xgrad::div<T>, [](T x, T y) { return x / y; }},
      {"pow", xgrad::pow<T>, [](T x, T y) { return std::pow(x, y); }},
      {"maximum", xgrad::maximum<T>, [](T x, T y) { return std::isnan(x) ? x
                                                           : x > y       ? x
                                                                         : y; }},
      {"minimum", xgrad::minimum<T>, [](T x, T y) { return std::isnan(x) ? x
                                                           : x < y       ? x
                                                                         : y; }},
      {"greater", xgrad::greater<T>, [](T x, T y) { return T(x > y); }},
      {"greater_equal", xgrad::greater_equal<T>, [](T x, T y) { return T(x >= y); }},
      {"less", xgrad::less<T>, [](T x, T y) { return T(x < y); }},
      {"less_equal", xgrad::less_equal<T>, [](T x, T y) { return T(x <= y); }},
      {"equal", xgrad::equal<T>, [](T x, T y) { return T(x == y); }},
      {"not_equal", xgrad::not_equal<T>, [](T x, T y) { return T(x != y); }},
  };
  return table;
}

template <class T>
void binary(Draw& draw) {
  const Shape shape = draw.shape(), other = partner(draw, shape);
  const bool swap = draw.coin();
  with_source<T>(draw, swap ? other : shape, true, [&](const Array<T>& a, const auto& e) {
    const Array<T> b = draw.array<T>(swap ? shape : other, true), left = xgrad::from(e);
    const Binary<T>& f = binary_table<T>()[draw.below(binary_table<T>().size())];
    check<T>(
        f.name + (" of " + xgrad::to_string(a) + " and " + xgrad::to_string(b)), common_shape(a.shape(), b.shape()),
        [&] { return f.function(left, b); },
        [&](const Position& p) { return f.want(static_cast<T>(at(a, p)), static_cast<T>(at(b, p))); },
        4 * reference::unit<T>());
  });
}

template <class T>
void where(Draw& draw) {
  const Shape shape = draw.shape(), second = partner(draw, shape), third = partner(draw, shape);
  with_source<T>(draw, second, true, [&](const Array<T>& a, const auto& e) {
    const Array<T> b = draw.array<T>(third, true);
    Array<T> condition = draw.array<T>(shape, true);
    for (std::size_t i = 0; i < condition.size(); ++i)
      if (draw.coin()) condition.data()[i] = draw.coin() ? T(0) : -T(0);
    auto all = common_shape(a.shape(), b.shape());
    if (all) all = common_shape(*all, shape);
    check<T>(
        "where of " + text(shape) + text(a.shape()) + text(third), all, [&] { return xgrad::where(condition, e, b); },
        [&](const Position& p) { return at(condition, p) != 0 ? at(a, p) : at(b, p); });
  });
}

template <class T>
void clip(Draw& draw) {
  with_source<T>(draw, draw.shape(), true, [&](const Array<T>& x, const auto& e) {
    const T lo = draw.number<T>(true), hi = draw.number<T>(true);
    check<T>(
        "clip of " + xgrad::to_string(x) + " to " + std::to_string(lo) + ", " + std::to_string(hi),
        lo <= hi ? std::optional<Shape>(x.shape()) : std::nullopt, [&] { return xgrad::clip(e, lo, hi); },
        [&](const Position& p) {
          const auto v = static_cast<T>(at(x, p));
          return v < lo ? lo : v > hi ? hi : v;
        },
        reference::unit<T>());
  });
}

}  // namespace property
