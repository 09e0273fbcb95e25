// Dropout: numbers set to 0 at random while training. Srivastava et al. 2014, in the inverted form.
#pragma once

#include "../core/kernels/dropout.hpp"
#include "../core/module.hpp"

namespace xgrad {

/// Each number is 0 with probability p, else x / (1 - p), so that the mean stays; p = 1 gives zeros.
///
/// With `training` off or p = 0 it is x itself, and no random number is used; else the generator goes on by one block,
/// whatever the shape. The mask depends on the generator and the position alone, and is the same in float and double;
/// p counts to a multiple of 2^-16. No mask is stored: backward makes it again. Throws std::invalid_argument unless p
/// is in [0, 1].
template <class T>
Variable<T> dropout(const Variable<T>& x, double p, Rng& rng, bool training = true);

/// The same with the mask that belongs to a key (see kernels/dropout.hpp), such as `rng.next()`.
template <class T>
Variable<T> dropout(const Variable<T>& x, double p, std::uint64_t key);

/// `dropout` in training mode, the identity in evaluation mode.
///
/// It keeps a generator of its own, split off the one given, so its masks do not depend on what others draw. To repeat
/// a mask, set the generator back: `layer.rng = before`.
template <class T>
class Dropout : public Module<T> {
 public:
  /// Throws std::invalid_argument unless p is in [0, 1].
  Dropout(double p, Rng& rng);

  /// x with numbers dropped, or x itself in evaluation mode.
  Variable<T> operator()(const Variable<T>& x);
  void visit(Visitor<T>& v) override;
  std::string name() const override { return "Dropout"; }

  /// The probability.
  double p() const noexcept { return p_; }

 private:
  double p_;  // first, so that a p out of range is refused before the parent is split

 public:
  Rng rng;  ///< Where the masks come from; one block a call.
};

}  // namespace xgrad
