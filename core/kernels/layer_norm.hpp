// LayerNorm and RMSNorm on rows in memory, forward and backward. Ba, Kiros, Hinton 2016; Zhang, Sennrich 2019.
//
// Rows are contiguous. Statistics are kept in double also for float: a mean rounded to float would spoil rows with a
// large common offset. No rows, or rows of width 0, are fine.
#pragma once

#include <cstddef>

namespace xgrad {

/// How a row is scaled.
enum class NormForm {
  population,  ///< (x - mean) / sqrt(variance + eps), variance = sum((x - mean)^2) / width
  unbiased,    ///< (x - mean) / (std + eps), std = sqrt(sum((x - mean)^2) / (width - 1)); width must be at least 2
};

/// y = gamma * (x - mean) * rstd + beta for each row. A constant row gives exactly beta. eps must be above 0.
template <class T>
void layer_norm_forward(const T* x,  // (rows, width)
                        std::size_t rows, std::size_t width,
                        const T* gamma,  // (width), or nullptr: ones
                        const T* beta,   // (width), or nullptr: zeros
                        double eps, NormForm form,
                        T* y,           // (rows, width)
                        double* mean,   // (rows) saved for backward, or nullptr
                        double* rstd);  // (rows) saved for backward, or nullptr

/// dx, dgamma and dbeta from dy and what forward saved. Writes, does not add. For a constant row the derivative of the
/// deviation counts as 0.
template <class T>
void layer_norm_backward(const T* dy,  // (rows, width)
                         const T* x,   // (rows, width)
                         std::size_t rows, std::size_t width,
                         const T* gamma,  // (width), or nullptr: ones
                         NormForm form,
                         const double* mean,  // (rows)
                         const double* rstd,  // (rows)
                         T* dx,               // (rows, width), or nullptr: not needed
                         T* dgamma,           // (width), or nullptr
                         T* dbeta);           // (width), or nullptr

/// y = gamma * x * rrms for each row, rrms = 1 / sqrt(mean(x^2) + eps).
template <class T>
void rms_norm_forward(const T* x,  // (rows, width)
                      std::size_t rows, std::size_t width,
                      const T* gamma,  // (width), or nullptr: ones
                      double eps,
                      T* y,           // (rows, width)
                      double* rrms);  // (rows) saved for backward, or nullptr

/// dx and dgamma from dy and what forward saved. Writes, does not add.
template <class T>
void rms_norm_backward(const T* dy,  // (rows, width)
                       const T* x,   // (rows, width)
                       std::size_t rows, std::size_t width,
                       const T* gamma,      // (width), or nullptr: ones
                       const double* rrms,  // (rows)
                       T* dx,               // (rows, width), or nullptr: not needed
                       T* dgamma);          // (width), or nullptr

}  // namespace xgrad
