#include "memory.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define XGRAD_UNDER_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define XGRAD_UNDER_SANITIZER 1
#endif
#endif

namespace xgrad::memory {
namespace {

// Size classes: 64 bytes, then four steps per doubling, so that at most a fifth of a block is unused.
constexpr std::size_t kSmallest = 64;
constexpr std::size_t kDoublings = 42, kClasses = 4 * kDoublings;

std::size_t class_of(std::size_t bytes) {
  if (bytes <= kSmallest) return 0;
  const auto top = static_cast<std::size_t>(63 - __builtin_clzll(bytes - 1));  // 2^top < bytes <= 2^(top+1)
  const std::size_t step = std::size_t{1} << (top - 2);
  const std::size_t quarter = (bytes - 1 - (std::size_t{1} << top)) / step;
  return (top - 6) * 4 + quarter + 1;
}

std::size_t size_of(std::size_t size_class) {
  if (size_class == 0) return kSmallest;
  const std::size_t top = 6 + (size_class - 1) / 4;
  return (std::size_t{1} << top) + (((size_class - 1) % 4 + 1) << (top - 2));
}

struct Block {
  Block* next;
};

std::atomic<std::uint64_t> system_calls{0};

void* from_system(std::size_t bytes) {
  system_calls.fetch_add(1, std::memory_order_relaxed);
  return ::operator new (bytes, std::align_val_t{64});
}

void to_system(void* block) noexcept { ::operator delete (block, std::align_val_t{64}); }

struct Lists {
  std::array<Block*, kClasses> head{};
  std::array<std::size_t, kClasses> count{};

  void push(std::size_t size_class, void* p) noexcept {
    head[size_class] = ::new (p) Block{head[size_class]};
    ++count[size_class];
  }
  void* pop(std::size_t size_class) noexcept {
    Block* block = head[size_class];
    if (!block) return nullptr;
    head[size_class] = block->next;
    --count[size_class];
    return block;
  }
  void clear() noexcept {
    for (std::size_t c = 0; c < kClasses; ++c)
      while (void* p = pop(c)) to_system(p);
  }
};

// Blocks that any thread may take: what ended threads left behind, and what a thread kept beyond its share (a thread
// that only frees what another allocates would else hoard without end). Never destroyed: objects with static lifetime
// free into it.
struct Shared {
  std::mutex mutex;
  std::atomic<bool> any{false};
  Lists lists;

  void push(std::size_t size_class, void* p) noexcept {
    const std::lock_guard<std::mutex> lock(mutex);
    lists.push(size_class, p);
    any.store(true, std::memory_order_relaxed);
  }
  void* pop(std::size_t size_class) noexcept {
    if (!any.load(std::memory_order_relaxed)) return nullptr;
    const std::lock_guard<std::mutex> lock(mutex);
    return lists.pop(size_class);
  }
};

Shared& shared() {
  static auto* const instance = new Shared;
  return *instance;
}

// Most bytes that a thread keeps for itself in one size class (but always one block).
constexpr std::size_t kOwnShare = std::size_t{1} << 20;

// `lists` is trivially destructible, so it stays usable while and after the thread's other objects die;
// once `closed`, blocks go straight to the shared ones.
thread_local Lists lists;
thread_local bool closed = false;

struct AtThreadExit {
  ~AtThreadExit() {
    closed = true;
    for (std::size_t c = 0; c < kClasses; ++c)
      while (void* p = lists.pop(c)) shared().push(c, p);
  }
};

bool decide_pooled() {
#ifdef XGRAD_UNDER_SANITIZER
  return false;
#else
  const char* off = std::getenv("XGRAD_NO_POOL");
  if (off && *off && std::strcmp(off, "0") != 0) return false;
  const char* preload = std::getenv("LD_PRELOAD");  // valgrind's tools announce themselves here
  return !(preload && std::strstr(preload, "vgpreload"));
#endif
}

}  // namespace

bool pooled() noexcept {
  static const bool value = decide_pooled();
  return value;
}

std::uint64_t system_allocations() noexcept { return system_calls.load(std::memory_order_relaxed); }

void* allocate(std::size_t bytes) {
  if (!pooled() || bytes > (std::size_t{1} << 46)) return from_system(bytes ? bytes : 1);
  const std::size_t c = class_of(bytes);
  if (void* p = lists.pop(c)) return p;
  if (void* p = shared().pop(c)) return p;
  return from_system(size_of(c));
}

void deallocate(void* block, std::size_t bytes) noexcept {
  if (!block) return;
  if (!pooled() || bytes > (std::size_t{1} << 46)) return to_system(block);
  const std::size_t c = class_of(bytes);
  if (closed || (lists.count[c] + 1) * size_of(c) > std::max(kOwnShare, size_of(c))) return shared().push(c, block);
  static thread_local AtThreadExit at_exit;
  (void)at_exit;
  lists.push(c, block);
}

void release() noexcept {
  lists.clear();
  Shared& all = shared();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.lists.clear();
  all.any.store(false, std::memory_order_relaxed);
}

}  // namespace xgrad::memory
