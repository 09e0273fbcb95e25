#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <random>
#include <thread>
#include <xgrad/core/checkpoint.hpp>
#include <xgrad/core/checkpoint_folder.hpp>
#include <xgrad/core/file.hpp>
#include <xgrad/core/npy.hpp>
#include <xgrad/core/plot.hpp>
#include <xgrad/core/standardize.hpp>
#include <xgrad/core/table.hpp>
#include <xgrad/optim/metrics.hpp>

#include "folder.hpp"
#include "throws.hpp"

namespace {

using xgrad::FileError;

void write_file(const std::string& path, const std::string& bytes) {
  xgrad::OutputFile file("save", path);
  file.write(bytes.data(), bytes.size());
  file.commit();
}

/// Runs f in a process of its own; its result, or 128 + the signal that ended it.
template <class F>
int in_child(F f) {
  const pid_t child = fork();
  if (child == 0) {
    int result = 99;
    try {
      result = f();
    } catch (const std::exception& e) {
      std::fprintf(stderr, "%s\n", e.what());
    }
    _exit(result);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// What a failed save must leave: the old bytes and nothing else.
int old_file_is_alone(const std::string& folder, const std::string& message) {
  try {
    write_file(folder + "/model", std::string(4 << 20, 'n'));
    return 1;
  } catch (const FileError& e) {
    if (std::string(e.what()).find(message) == std::string::npos) {
      std::fprintf(stderr, "got: %s\n", e.what());
      return 2;
    }
  }
  if (bytes_of(folder + "/model") != "old") return 3;
  return std::distance(std::filesystem::directory_iterator(folder), {}) == 1 ? 0 : 4;
}

TEST(File, WritesAndReadsBack) {
  const Folder folder;
  write_file(folder / "a", "hello");
  xgrad::InputFile file("load", folder / "a");
  EXPECT_EQ(file.size(), 5u);
  char text[4] = {};
  file.read(text, 3);
  EXPECT_STREQ(text, "hel");
  EXPECT_EQ(file.remaining(), 2u);
  EXPECT_THROWS(
      FileError, file.read(text, 3),
      "[load] " + (folder / "a") + " is cut short: byte 6 is needed but the file has 5; copy or save it again");
  file.seek(4);
  file.read(text, 1);
  EXPECT_EQ(text[0], 'o');
  EXPECT_THROWS(FileError, file.seek(6), "is cut short: byte 6");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"a"});
}

TEST(File, WhatCannotBeReadIsNamed) {
  const Folder folder;
  EXPECT_THROWS(FileError, xgrad::InputFile("load", folder / "none"),
                "[load] cannot open " + (folder / "none") + ": No such file or directory; check the path");
  EXPECT_THROWS(FileError, xgrad::InputFile("load", "no-such-file"),
                "[load] cannot open no-such-file: No such file or directory; check the path, which begins at /");
  EXPECT_THROWS(FileError, xgrad::InputFile("load", folder.str()), "it is a folder; give the path of a file");
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_THROWS(FileError, xgrad::InputFile("load", folder / "pipe"), "it is not a regular file");
}

TEST(File, UncommittedWritingLeavesNothing) {
  const Folder folder;
  write_file(folder / "a", "old");
  {
    xgrad::OutputFile file("save", folder / "a");
    file.write("new", 3);
  }
  EXPECT_EQ(bytes_of(folder / "a"), "old");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"a"});
}

TEST(File, LeftOverOfAKilledProcessIsOverwritten) {
  const Folder folder;
  put_bytes(folder / "a.tmp", "a long left-over");
  write_file(folder / "a", "new");
  EXPECT_EQ(bytes_of(folder / "a"), "new");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"a"});
}

TEST(File, KeepsPermissionsAndFollowsLinks) {
  const Folder folder;
  write_file(folder / "a", "old");
  ASSERT_EQ(chmod((folder / "a").c_str(), 0640), 0);
  std::filesystem::create_symlink("a", folder / "link");
  write_file(folder / "link", "new");
  EXPECT_EQ(bytes_of(folder / "a"), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  struct stat status;
  ASSERT_EQ(stat((folder / "a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0640u);
}

TEST(File, FollowsALinkToNothingYet) {
  const Folder folder;
  std::filesystem::create_directory(folder / "sub");
  std::filesystem::create_symlink("sub/b", folder / "a");
  std::filesystem::create_symlink(folder / "a", folder / "absolute");
  write_file(folder / "absolute", "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "a"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "absolute"));
  EXPECT_EQ(bytes_of(folder / "sub/b"), "new");
}

TEST(File, WritersOfOnePathTakeTurns) {
  const Folder folder;
  std::vector<std::thread> writers;
  for (char c : {'a', 'b', 'c', 'd'})
    writers.emplace_back([&folder, c] {
      for (int i = 0; i < 20; ++i) write_file(folder / "shared", std::string(100'000, c));
    });
  for (auto& writer : writers) writer.join();
  const std::string bytes = bytes_of(folder / "shared");
  EXPECT_EQ(bytes, std::string(100'000, bytes.at(0)));
  EXPECT_EQ(folder.names(), std::vector<std::string>{"shared"});
}

TEST(File, SER_08_A_KilledWhileSaving) {
  const Folder folder;
  const std::string path = folder / "model.safetensors";
  // 50 MB; the version is every one of the numbers.
  xgrad::State<float> model;
  model.arrays.emplace_back("weight", xgrad::zeros<float>({12'500'000}));
  auto& weight = model.arrays[0].second;
  const auto save_in_a_child = [&](int first, int last) {
    const pid_t child = fork();
    for (int version = first; child == 0 && version <= last; ++version) {
      std::fill(weight.data(), weight.data() + weight.size(), static_cast<float>(version));
      xgrad::save_state(path, model);
    }
    if (child == 0) _exit(0);
    return child;
  };
  int status = 0;
  const auto start = std::chrono::steady_clock::now();
  waitpid(save_in_a_child(0, 0), &status, 0);
  ASSERT_EQ(status, 0);
  // The longest that a child may live, from what one save takes there; then held where two kills of three come after
  // one.
  double longest = 2.5 * std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

  std::mt19937 random(8);
  std::uniform_real_distribution<double> moment(0, 1);
  int version = 0, changed = 0;
  for (int kill_number = 0; kill_number < 50; ++kill_number) {
    const pid_t child = save_in_a_child(version + 1, version + 1000);
    std::this_thread::sleep_for(std::chrono::duration<double>(longest * moment(random)));
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "the child ended by itself";

    const auto loaded = xgrad::read_state<float>(path);
    const auto& numbers = loaded.array("weight");
    ASSERT_EQ(numbers.size(), weight.size());
    const int now = static_cast<int>(numbers(0));
    ASSERT_GE(now, version);
    ASSERT_EQ(std::count(numbers.begin(), numbers.end(), static_cast<float>(now)),
              static_cast<std::ptrdiff_t>(numbers.size()));
    ASSERT_LE(folder.names().size(), 2u) << "left-overs pile up";
    changed += now != version;
    longest *= now > version + 1 ? 0.5 : now != version ? 0.9 : 1.25;
    version = now;
  }
  EXPECT_GT(changed, 5) << "the kills came too early to test anything";
  EXPECT_LT(changed, 50) << "no kill came while a file was written";
  xgrad::save_state(path, model);
  EXPECT_EQ(folder.names(), std::vector<std::string>{"model.safetensors"});
}

TEST(File, SER_08_B_FileTooLargeForTheLimit) {
  const Folder folder;
  write_file(folder / "model", "old");
  EXPECT_EQ(in_child([&] {
              std::signal(SIGXFSZ, SIG_IGN);
              const rlimit limit{1 << 20, 1 << 20};
              setrlimit(RLIMIT_FSIZE, &limit);
              return old_file_is_alone(folder.str(), "[save] cannot write " + (folder / "model") +
                                                         ": File too large; make room or choose another disk");
            }),
            0);
}

TEST(File, SER_08_B_FullFileSystem) {
  const Folder folder;
  constexpr int may_not_mount = 77;
  // A file system of 1 MiB, seen by the child alone.
  const int result = in_child([&] {
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", "none", MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("tmpfs", folder.str().c_str(), "tmpfs", 0, "size=1m") != 0)
      return may_not_mount;
    write_file(folder / "model", "old");
    return old_file_is_alone(folder.str(), "No space left on device; make room or choose another disk");
  });
  if (result == may_not_mount)
    GTEST_SKIP() << "this system lets nobody mount a small file system; the test by a limit of size stands";
  EXPECT_EQ(result, 0);
}

TEST(File, SER_08_C_MissingFolder) {
  const Folder folder;
  EXPECT_THROWS(
      FileError, write_file(folder / "none/model", "new"),
      "[save] cannot write " + (folder / "none/model.tmp") + ": No such file or directory; does the folder exist?");
  EXPECT_THROWS(FileError, write_file(folder.str(), "new"), "it is a folder; give the path of a file");
  EXPECT_THROWS(FileError, write_file("/dev/full", "new"), "[save] cannot write /dev/full: it is not a regular file");
  EXPECT_TRUE(folder.names().empty());
}

TEST(File, SER_08_C_ReadOnlyFolder) {
  const Folder folder;
  write_file(folder / "model", "old");
  // Root may write anywhere, so the child becomes somebody else, who must be able to read what is left.
  constexpr int nobody_else = 98;
  const auto by_another_user = [&](bool owns_folder) {
    return in_child([&] {
      if (geteuid() == 0 && ((owns_folder && chown(folder.str().c_str(), 65534, 65534) != 0) || seteuid(65534) != 0))
        return nobody_else;
      return old_file_is_alone(folder.str(), "Permission denied; check the permissions of file and folder");
    });
  };
  ASSERT_EQ(chmod((folder / "model").c_str(), 0644), 0);
  ASSERT_EQ(chmod(folder.str().c_str(), 0555), 0);
  const int in_read_only_folder = by_another_user(false);
  ASSERT_EQ(chmod(folder.str().c_str(), 0755), 0);
  if (in_read_only_folder == nobody_else) GTEST_SKIP() << "root cannot become another user here";
  EXPECT_EQ(in_read_only_folder, 0);
  ASSERT_EQ(chmod((folder / "model").c_str(), 0444), 0);
  EXPECT_EQ(by_another_user(true), 0) << "a write-protected file was replaced";
}

TEST(File, SER_08_D_ReplacesAnExistingFile) {
  const Folder folder;
  write_file(folder / "model", "an old file that is longer");
  write_file(folder / "model", "new");
  EXPECT_EQ(bytes_of(folder / "model"), "new");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"model"});
}

TEST(File, AnEmptyPathIsRefusedByEveryReaderAndWriter) {
  const Folder folder;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.str());
  const xgrad::Array<float> a = xgrad::ones<float>({2, 3});
  xgrad::Standardizer<float> module(a);
  const std::string text = "needs the path of a file but it is empty";
  EXPECT_THROWS(FileError, xgrad::InputFile("who", ""), "[who] " + text);
  EXPECT_THROWS(FileError, xgrad::OutputFile("who", ""), "[who] " + text);
  EXPECT_THROWS(FileError, xgrad::load_npy<float>(""), "[load_npy] " + text);
  EXPECT_THROWS(FileError, xgrad::save_npy("", a), "[save_npy] " + text);
  EXPECT_THROWS(FileError, xgrad::NpzFile(""), "[NpzFile] " + text);
  EXPECT_THROWS(FileError, xgrad::save_npz("", {{"a", a}}), "[save_npz] " + text);
  EXPECT_THROWS(FileError, xgrad::SafetensorsFile(""), "[load_safetensors] " + text);
  EXPECT_THROWS(FileError, xgrad::load_safetensors<float>(""), "[load_safetensors] " + text);
  EXPECT_THROWS(FileError, xgrad::save_safetensors("", {{"a", a}}), "[save_safetensors] " + text);
  EXPECT_THROWS(FileError, xgrad::save("", module), text);
  EXPECT_THROWS(FileError, xgrad::load("", module), "[load] " + text);
  EXPECT_THROWS(FileError, xgrad::save_state<float>("", {}), text);
  EXPECT_THROWS(FileError, xgrad::read_state<float>(""), "[read_state] " + text);
  EXPECT_THROWS(FileError, xgrad::CheckpointFolder<float>(""),
                "[CheckpointFolder] needs the path of a folder but it is empty");
  EXPECT_THROWS(FileError, xgrad::read_table(""), "[read_table] " + text);
  EXPECT_THROWS(FileError, xgrad::write_table("", a), "[write_table] " + text);
  EXPECT_THROWS(FileError, xgrad::MetricsFile("", {}), "[MetricsFile] " + text);
  EXPECT_TRUE(xgrad::MetricsFile::read("", 1).empty()) << "as for any path without a file";
  EXPECT_THROWS(FileError, xgrad::plot("", {}, nullptr), "[plot] " + text);
  EXPECT_EQ(folder.names(), std::vector<std::string>{});
  std::filesystem::current_path(before);
}

}  // namespace
