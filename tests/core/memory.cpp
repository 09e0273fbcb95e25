#include <gtest/gtest.h>
#include <xgrad/core/memory.hpp>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <thread>
#include <utility>
#include <vector>

#include "sanitizer.hpp"

namespace {

namespace memory = xgrad::memory;

// Blocks are only kept without sanitizers; with them every request goes to the system, and that is what is expected.
std::uint64_t expected(std::uint64_t kept, std::uint64_t passed_through) {
  return memory::pooled() ? kept : passed_through;
}

template <class F>
std::uint64_t new_allocations(F f) {
  const std::uint64_t before = memory::system_allocations();
  f();
  return memory::system_allocations() - before;
}

TEST(Memory, FreedBlocksAreUsedAgain) {
  memory::release();
  void* first = memory::allocate(1000);
  memory::deallocate(first, 1000);
  const auto count = new_allocations([&] {
    for (int i = 0; i < 100; ++i) {
      void* again = memory::allocate(990);  // of the same size class
      EXPECT_TRUE(again == first || !memory::pooled());
      memory::deallocate(again, 990);
    }
  });
  EXPECT_EQ(count, expected(0, 100));
}

TEST(Memory, SteadyStateAsksTheSystemForNothing) {
  const auto step = [] {
    std::vector<std::pair<void*, std::size_t>> blocks;
    for (std::size_t bytes = 1; bytes < 5000000; bytes = bytes * 3 + 1)
      for (int i = 0; i < 3; ++i) blocks.emplace_back(memory::allocate(bytes), bytes);
    for (const auto& [block, bytes] : blocks) memory::deallocate(block, bytes);
    return blocks.size();
  };
  const std::size_t blocks = step();
  EXPECT_EQ(new_allocations([&] { step(), step(); }), expected(0, 2 * blocks));
}

// Every byte is written, so that AddressSanitizer sees a block shorter than asked for; without it two live blocks that
// overlap disagree.
TEST(Memory, BlocksAreAlignedLongEnoughAndApart) {
  std::vector<std::size_t> sizes{0};
  for (std::size_t power = 1; power <= (std::size_t{1} << 20); power *= 2)
    for (const std::size_t base : {power, power + power / 4, power + power / 2, power + power / 4 * 3})
      for (const std::size_t bytes : {base - 1, base, base + 1}) sizes.push_back(bytes);
  for (std::size_t bytes = 1; bytes < 700; ++bytes) sizes.push_back(bytes);
  for (int round = 0; round < 2; ++round) {  // fresh blocks, then kept ones
    std::vector<unsigned char*> blocks;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      auto* block = static_cast<unsigned char*>(memory::allocate(sizes[i]));
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(block) % 64, 0u) << sizes[i];
      std::memset(block, int(i % 251), sizes[i]);
      blocks.push_back(block);
    }
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      for (std::size_t j = 0; j < sizes[i]; ++j) ASSERT_EQ(blocks[i][j], i % 251) << sizes[i];
      memory::deallocate(blocks[i], sizes[i]);
    }
  }
}

// A block freed under one size is handed out for every size of its class: all of them must fit into the smallest.
TEST(Memory, AKeptBlockFitsWhoeverGetsIt) {
  for (std::size_t small = 1; small < 3000; small += 7) {
    memory::release();
    void* block = memory::allocate(small);
    memory::deallocate(block, small);
    for (std::size_t bytes = small + 1; bytes < small * 2 + 64; ++bytes) {
      std::uint64_t fresh = 0;
      void* other = nullptr;
      fresh = new_allocations([&] { other = memory::allocate(bytes); });
      std::memset(other, 1, bytes);
      if (memory::pooled() && fresh == 0) {
        EXPECT_LE(bytes, small < 64 ? 64 : small + small / 4 + 1) << small;
      }
      memory::deallocate(other, bytes);
      if (fresh) break;
    }
  }
}

TEST(Memory, ReleaseGivesBlocksBack) {
  memory::deallocate(memory::allocate(123456), 123456);
  memory::release();
  void* block = nullptr;
  EXPECT_EQ(new_allocations([&] { block = memory::allocate(123456); }), 1u);
  memory::deallocate(block, 123456);
}

TEST(Memory, AnotherThreadMayFree) {
  std::vector<void*> blocks;
  for (int i = 0; i < 100; ++i) blocks.push_back(memory::allocate(256));
  std::thread([&] {
    for (void* block : blocks) memory::deallocate(block, 256);
  }).join();
  // The thread has ended and left its blocks to all.
  EXPECT_EQ(new_allocations([&] {
              for (void*& block : blocks) block = memory::allocate(256);
            }),
            expected(0, 100));
  for (void* block : blocks) memory::deallocate(block, 256);
}

// A loader thread that allocates batches and a trainer that frees them, both alive: memory must go round.
TEST(Memory, AThreadThatOnlyFreesDoesNotHoard) {
  const std::size_t bytes = std::size_t{1} << 19;
  std::thread trainer;
  const auto count = new_allocations([&] {
    trainer = std::thread([&] {
      for (int round = 0; round < 200; ++round) {
        void* block = nullptr;
        std::thread([&] { block = memory::allocate(bytes); }).join();
        memory::deallocate(block, bytes);
      }
    });
    trainer.join();
  });
  if (memory::pooled()) {
    EXPECT_LE(count, 4u);
  } else {
    EXPECT_EQ(count, 200u);
  }
}

TEST(Memory, ManyThreadsAtOnce) {
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      std::vector<std::pair<unsigned char*, std::size_t>> live;
      std::uint32_t random = t + 1;
      for (int i = 0; i < 5000; ++i) {
        random = random * 1664525 + 1013904223;
        const std::size_t bytes = 1 + (random >> 8) % 4000;
        auto* block = static_cast<unsigned char*>(memory::allocate(bytes));
        block[0] = block[bytes - 1] = static_cast<unsigned char>(t);
        live.emplace_back(block, bytes);
        if (live.size() > 50) {
          const auto [old, size] = live[random % 50];
          EXPECT_EQ(old[0], t);
          EXPECT_EQ(old[size - 1], t);
          memory::deallocate(old, size);
          live.erase(live.begin() + random % 50);
        }
        if (i % 1000 == 0) memory::release();
      }
      for (const auto& [block, size] : live) memory::deallocate(block, size);
    });
  }
  for (auto& thread : threads) thread.join();
}

struct Holder {
  void* block = nullptr;
  ~Holder() {
    memory::deallocate(block, 64);
    memory::deallocate(memory::allocate(64), 64);
  }
};

// Destroyed after the allocator's own thread_local objects, since it was made before them.
TEST(Memory, ThreadLocalObjectsMayUseItWhileTheThreadEnds) {
  memory::release();
  std::thread([] {
    thread_local Holder holder;
    holder.block = memory::allocate(64);
    memory::deallocate(memory::allocate(64), 64);
  }).join();
  // Both blocks are there for others, the one freed last too.
  void* blocks[2] = {};
  EXPECT_EQ(new_allocations([&] {
              for (void*& block : blocks) block = memory::allocate(64);
            }),
            expected(0, 2));
  for (void* block : blocks) memory::deallocate(block, 64);
}

int finish(int code) {
  static Holder first;  // made before main's thread first frees a block, so destroyed long after
  first.block = memory::allocate(64);
  std::exit(code);
}

TEST(MemoryDeathTest, ObjectsWithStaticLifetimeMayUseItAtExit) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(finish(0), testing::ExitedWithCode(0), "");
}

TEST(Memory, NullAndImpossibleSizes) {
  memory::deallocate(nullptr, 10);
  memory::Allocator<double> allocator;
  EXPECT_THROW((void)allocator.allocate(std::numeric_limits<std::size_t>::max() / 8 + 1), std::bad_array_new_length);
  EXPECT_TRUE(allocator == memory::Allocator<float>());
  EXPECT_FALSE(allocator != memory::Allocator<float>());
  if (!under_sanitizer()) {  // they end the program instead
    EXPECT_THROW((void)allocator.allocate(std::numeric_limits<std::size_t>::max() / 32), std::bad_alloc);
  }
}

}  // namespace
