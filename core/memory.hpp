// The allocator behind every Array and graph node: freed blocks are kept and handed out again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

// A namespace of its own: argument lookup on an xtensor expression visits the namespace of the
// allocator, and must not find all of xgrad there.
/// Memory for arrays and graph nodes.
namespace xgrad::memory {

/// Returns a block of at least `bytes` bytes, aligned to 64; reuses a freed block of the same size class.
/// Throws std::bad_alloc. Safe to call from any thread, also during thread exit and static destruction.
void* allocate(std::size_t bytes);

/// Gives back a block from `allocate`, with the size that was asked for. Any thread may free any block.
void deallocate(void* block, std::size_t bytes) noexcept;

/// Returns the kept blocks of the calling thread, those of threads that have ended, and those beyond what each running
/// thread keeps for itself (1 MiB per size class), to the system.
void release() noexcept;

/// True when freed blocks are kept. False under sanitizers and valgrind and with XGRAD_NO_POOL=1 in the
/// environment, so that those tools see every allocation.
bool pooled() noexcept;

/// How often this process has asked the system for memory; a training loop in steady state adds nothing.
std::uint64_t system_allocations() noexcept;

/// A standard allocator on `allocate`/`deallocate`.
template <class T>
struct Allocator {
  /// What the standard library asks of an allocator; all allocators are equal, whatever their type.
  /// @{
  using value_type = T;
  Allocator() noexcept = default;
  template <class U>
  Allocator(const Allocator<U>&) noexcept {}
  T* allocate(std::size_t n) {
    if (n > static_cast<std::size_t>(-1) / sizeof(T)) throw std::bad_array_new_length();
    return static_cast<T*>(memory::allocate(n * sizeof(T)));
  }
  void deallocate(T* p, std::size_t n) noexcept { memory::deallocate(p, n * sizeof(T)); }
  template <class U>
  bool operator==(const Allocator<U>&) const noexcept {
    return true;
  }
  template <class U>
  bool operator!=(const Allocator<U>&) const noexcept {
    return false;
  }
  /// @}
};

}  // namespace xgrad::memory
