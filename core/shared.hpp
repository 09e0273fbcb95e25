// Shared<X>: the reference-counted pointer of the graph, one word wide, that never recurses when it lets go.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "memory.hpp"

namespace xgrad {

/// Base of what a Shared points to. Its memory comes from the pool.
class Counted {
 public:
  Counted() noexcept = default;
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  virtual ~Counted() = default;

  /// From the pool.
  /// @{
  static void* operator new(std::size_t bytes) { return memory::allocate(bytes); }
  static void operator delete(void* p, std::size_t bytes) noexcept { memory::deallocate(p, bytes); }
  /// @}

 private:
  template <class X>
  friend class Shared;

  // The first and the last user are alone with the object, so they need no atomic read-modify-write; in a graph of
  // small ops, that is every other step.
  void add_use() noexcept {
    if (uses_.load(std::memory_order_relaxed) == 0) uses_.store(1, std::memory_order_relaxed);
    else uses_.fetch_add(1, std::memory_order_relaxed);
  }
  void remove_use() noexcept {
    if (uses_.load(std::memory_order_acquire) == 1 || uses_.fetch_sub(1, std::memory_order_acq_rel) == 1) bury();
  }
  /// Deletes this object, or queues it when a deletion is already running on this thread. So a chain of a million
  /// nodes, linked through edges or through Variables captured in derivatives, falls apart in a loop on a flat stack.
  void bury() noexcept;

  Counted* next_ = nullptr;
  std::atomic<std::uint32_t> uses_{0};
};

/// A pointer that counts its uses in the object itself, safe to copy and destroy from any thread.
template <class X>
class Shared {
 public:
  /// Points to nothing.
  /// @{
  Shared() noexcept = default;
  Shared(std::nullptr_t) noexcept {}
  /// @}
  /// Adds a use of *p, which must come from `new`; the last use deletes it. Copies add one, moves do not; a Shared of a
  /// derived class converts.
  /// @{
  explicit Shared(X* p) noexcept : p_(p) {
    if (p_) p_->add_use();
  }
  Shared(const Shared& other) noexcept : Shared(other.p_) {}
  Shared(Shared&& other) noexcept : p_(std::exchange(other.p_, nullptr)) {}
  template <class Y>
  Shared(Shared<Y> other) noexcept : p_(other.detach()) {}
  Shared& operator=(Shared other) noexcept {
    std::swap(p_, other.p_);
    return *this;
  }
  /// @}
  ~Shared() {
    if (p_) p_->remove_use();
  }

  /// As of any pointer; == compares addresses.
  /// @{
  X* get() const noexcept { return p_; }
  X* operator->() const noexcept { return p_; }
  X& operator*() const noexcept { return *p_; }
  explicit operator bool() const noexcept { return p_ != nullptr; }
  friend bool operator==(const Shared& a, const Shared& b) noexcept { return a.p_ == b.p_; }
  friend bool operator!=(const Shared& a, const Shared& b) noexcept { return a.p_ != b.p_; }
  /// @}

  /// True when no other Shared points to the same object.
  bool unique() const noexcept { return p_ && p_->uses_.load(std::memory_order_acquire) == 1; }

  /// Gives up the pointer with its count: for conversion between Shareds only.
  X* detach() noexcept { return std::exchange(p_, nullptr); }

 private:
  X* p_ = nullptr;
};

}  // namespace xgrad
