#include <gtest/gtest.h>

#include <cmath>
#include <xgrad/core/checkpoint.hpp>
#include <xgrad/core/checkpoint_folder.hpp>

#include "folder.hpp"
#include "foreign_locale.hpp"
#include "throws.hpp"

namespace {

using xgrad::FileError;
using xgrad::State;
using Checkpoints = xgrad::CheckpointFolder<float>;

State<float> state_of(float x) {
  State<float> s;
  s.arrays = {{"w", xgrad::full<float>({2, 3}, x)}, {"empty", xgrad::zeros<float>({0})}};
  s.generators = {{"rng", {~std::uint64_t{0}, 3, 1}}};
  s.numbers = {{"epoch", 0.1}, {"best", INFINITY}};
  return s;
}

TEST(CheckpointFolder, GivesBackTheNewest) {
  const Folder folder;
  Checkpoints checkpoints(folder / "a/b");
  EXPECT_FALSE(checkpoints.newest());
  checkpoints.save(2, state_of(2));
  checkpoints.save(10, state_of(10));  // "10" sorts before "2"
  const auto found = checkpoints.newest();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->step, 10u);
  EXPECT_TRUE(found->damaged.empty());
  EXPECT_TRUE(xgrad::array_equal(found->state.array("w"), state_of(10).arrays[0].second));
  EXPECT_EQ(found->state.generator("rng"), state_of(10).generators[0].second);
  EXPECT_EQ(found->state.number("epoch"), 0.1);
  EXPECT_EQ(found->state.number("best"), INFINITY);
  EXPECT_EQ(found->state.numbers.size(), 2u);
}

TEST(CheckpointFolder, IsReadInEveryLocale) {
  const Folder folder;
  Checkpoints checkpoints(folder.str());
  State<float> state;
  state.arrays = {{"w", xgrad::ones<float>({1024, 2})}};
  state.numbers = {{"lr", 0.25}};
  checkpoints.save(1, state);
  const ForeignLocale locale;
  EXPECT_TRUE(checkpoints.newest());
  checkpoints.save(1'000'000, state);
  const auto found = checkpoints.newest();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->step, 1'000'000u);
  EXPECT_EQ(found->state.number("lr"), 0.25);
}

TEST(CheckpointFolder, ANumberOfTheUserMayBeCalledChecksum) {
  const Folder folder;
  Checkpoints checkpoints(folder.str());
  State<float> state = state_of(2);
  state.numbers.emplace_back("checksum", 7);
  checkpoints.save(1, state);
  EXPECT_EQ(checkpoints.newest()->state.number("checksum"), 7);
  EXPECT_EQ(checkpoints.newest()->state.numbers.size(), 3u);
  state.numbers.back().first = "CheckpointFolder.checksum";
  EXPECT_THROWS(std::invalid_argument, checkpoints.save(2, state),
                "two entries are named \"CheckpointFolder.checksum\"");
}

TEST(CheckpointFolder, KeepsTheLastFew) {
  const Folder folder;
  Checkpoints checkpoints(folder.str(), 2);
  put_bytes(folder / "checkpoint_x.safetensors", "of someone else");
  put_bytes(folder / "notes.txt", "of the user");
  for (const std::uint64_t step : {1, 5, 1000000000, 1000000001}) checkpoints.save(step, state_of(1));
  EXPECT_EQ(checkpoints.steps(), (std::vector<std::uint64_t>{1000000000, 1000000001}));
  EXPECT_EQ(folder.names(),
            (std::vector<std::string>{"checkpoint_1000000000.safetensors", "checkpoint_1000000001.safetensors",
                                      "checkpoint_x.safetensors", "notes.txt"}));
}

TEST(CheckpointFolder, PassesOverDamage) {
  const Folder folder;
  Checkpoints checkpoints(folder.str(), 2);
  checkpoints.save(1, state_of(1));
  checkpoints.save(2, state_of(2));
  const std::string good = bytes_of(checkpoints.file(2));
  put_bytes(checkpoints.file(2), good.substr(0, good.size() / 2));
  auto found = checkpoints.newest();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->step, 1u);
  ASSERT_EQ(found->damaged.size(), 1u);
  EXPECT_NE(found->damaged[0].find(checkpoints.file(2)), std::string::npos) << found->damaged[0];

  // One changed bit in any byte: seen, or harmless, but never other numbers.
  for (std::size_t byte = 0; byte < good.size(); ++byte) {
    const std::size_t bit = 8 * byte + byte * 5 % 8;
    std::string bytes = good;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    put_bytes(checkpoints.file(2), bytes);
    found = checkpoints.newest();
    ASSERT_TRUE(found);
    const auto expected = state_of(static_cast<float>(found->step));
    ASSERT_TRUE(xgrad::array_equal(found->state.array("w"), expected.arrays[0].second)) << "bit " << bit;
    ASSERT_EQ(found->state.generator("rng"), expected.generators[0].second) << "bit " << bit;
    ASSERT_EQ(found->state.number("epoch"), 0.1) << "bit " << bit;
    ASSERT_EQ(xgrad::differences(xgrad::names_of(found->state), xgrad::names_of(expected), true), "") << "bit " << bit;
  }

  // A damaged one of a later step takes no good one's place.
  checkpoints.save(1, state_of(1));
  put_bytes(checkpoints.file(9), "damaged");
  checkpoints.save(3, state_of(3));
  checkpoints.save(4, state_of(4));
  EXPECT_EQ(checkpoints.steps(), (std::vector<std::uint64_t>{3, 4, 9}));
  EXPECT_EQ(checkpoints.newest()->step, 4u);
}

TEST(CheckpointFolder, Errors) {
  const Folder folder;
  EXPECT_THROWS(std::invalid_argument, Checkpoints(folder.str(), 0), "must keep at least 1 checkpoint but keep is 0");
  put_bytes(folder / "file", "");
  EXPECT_THROWS(FileError, Checkpoints(folder / "file"),
                "[CheckpointFolder] cannot make the folder " + (folder / "file"));
  Checkpoints checkpoints(folder.str());
  for (const std::uint64_t step : {1, 2}) put_bytes(checkpoints.file(step), "damaged");
  EXPECT_THROWS(FileError, checkpoints.newest(),
                "no checkpoint in " + folder.str() + " can be read; remove them to begin anew:\n  [read_state] " +
                    checkpoints.file(2));
  // A file that another program wrote has no checksum.
  xgrad::save_state(checkpoints.file(2), state_of(1));
  EXPECT_THROWS(FileError, checkpoints.newest(), "does not hold what was written: the checksum differs");
}

}  // namespace
