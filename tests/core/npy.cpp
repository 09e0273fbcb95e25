#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <xgrad/core/npy.hpp>

#include "folder.hpp"
#include "throws.hpp"

namespace {

using xgrad::Array;
using xgrad::array_equal;
using xgrad::FileError;
using xgrad::Index;
using xgrad::load_npy;
using xgrad::NpzFile;
using xgrad::Shape;

std::string file(const std::string& name) { return XGRAD_SOURCE_DIR "/tests/corpus/npy/" + name; }

/// Runs a line of Python with NumPy; false when there is no NumPy.
bool numpy(const std::string& line) {
  static const bool there = std::system("/usr/bin/python3 -c 'import numpy' 2>/dev/null") == 0;
  if (there && std::system(("/usr/bin/python3 -c \"import numpy as np\n" + line + '"').c_str()) != 0)
    ADD_FAILURE() << "NumPy says no: " << line;
  return there;
}

const Array<double> one_to_six{{1, 2, 3}, {4, 5, 6}};

TEST(Npy, SER_06_VersionsOrdersEndsAndKeys) {
  for (const char* name : {"version_1", "version_2", "version_3", "key_order", "big_endian", "python2_long"})
    EXPECT_TRUE(array_equal(load_npy<double>(file(std::string("good_") + name + ".npy")), one_to_six)) << name;
  EXPECT_TRUE(array_equal(load_npy<double>(file("good_column_major.npy")), Array<double>{{1, 3, 5}, {2, 4, 6}}));
  EXPECT_EQ(xgrad::item(load_npy<double>(file("good_rank_0.npy"))), 1);
  EXPECT_EQ(load_npy<double>(file("good_rank_0.npy")).shape(), Shape{});
  EXPECT_EQ(load_npy<double>(file("good_empty.npy")).shape(), (Shape{0, 3}));
  EXPECT_EQ(load_npy<double>(file("good_type_little_f4.npy"))(2), 3);
  EXPECT_THROWS(FileError, load_npy<double>(file("bad_structured.npy")),
                "its type is structured; save each field as an array of its own");
  EXPECT_THROWS(FileError, load_npy<double>(file("bad_trailing.npy")),
                "1 bytes follow after the numbers of shape (2, 3)");
}

TEST(Npy, EveryTypeConverts) {
  // Each file holds 0, 1, 3 (booleans: 0, 1, 1) in another type.
  const auto files = corpus("npy", "good_type_", ".npy");
  EXPECT_EQ(files.size(), 17u);
  for (const auto& path : files) {
    const bool boolean = path.find("_b1") != path.npos;
    const double three = boolean ? 1 : 3;
    EXPECT_TRUE(array_equal(load_npy<double>(path), Array<double>{0, 1, three})) << path;
    EXPECT_TRUE(array_equal(load_npy<float>(path), Array<float>{0, 1, static_cast<float>(three)})) << path;
    if (path.find("f2") == path.npos && path.find("f4") == path.npos && path.find("f8") == path.npos) {
      EXPECT_TRUE(array_equal(load_npy<std::int64_t>(path), Index{0, 1, static_cast<std::int64_t>(three)})) << path;
    } else {
      EXPECT_THROWS(FileError, load_npy<std::int64_t>(path), "holds real numbers but integers are asked for");
    }
  }
}

TEST(Npy, ColumnMajorOfHigherRank) {
  // 2 x 3 x 4 numbers whose value tells their place, 100 i + 10 j + k, stored first axis fastest.
  const Folder folder;
  std::string dict = "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3, 4), }";
  std::string bytes = "\x93NUMPY\1";
  bytes += '\0';
  bytes += static_cast<char>(dict.size());
  bytes += '\0';
  bytes += dict;
  for (int k = 0; k < 4; ++k)
    for (int j = 0; j < 3; ++j)
      for (int i = 0; i < 2; ++i) {
        const float x = static_cast<float>(100 * i + 10 * j + k);
        bytes.append(reinterpret_cast<const char*>(&x), 4);
      }
  put_bytes(folder / "x.npy", bytes);
  const auto a = load_npy<float>(folder / "x.npy");
  ASSERT_EQ(a.shape(), (Shape{2, 3, 4}));
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t j = 0; j < 3; ++j)
      for (std::size_t k = 0; k < 4; ++k) EXPECT_EQ(a(i, j, k), static_cast<float>(100 * i + 10 * j + k));
}

template <class A>
void round_trip(const A& a) {
  const Folder folder;
  xgrad::save_npy(folder / "x.npy", a);
  EXPECT_TRUE(array_equal(load_npy<typename A::value_type>(folder / "x.npy"), a));
  EXPECT_EQ(bytes_of(folder / "x.npy").size() % 64, a.size() * sizeof(typename A::value_type) % 64);
}

TEST(Npy, RoundTrip) {
  round_trip(Array<float>{{1.5f, -0.f, std::numeric_limits<float>::infinity()}});
  round_trip(Array<double>{0.1, 4.9e-324, -1e308});
  round_trip(Index{std::numeric_limits<std::int64_t>::min(), 0, std::numeric_limits<std::int64_t>::max()});
  round_trip(xgrad::full<double>({}, 2.5));
  round_trip(xgrad::zeros<float>({0, 3}));
  round_trip(xgrad::ones<float>({2, 1, 3, 1, 2, 1}));
}

TEST(Npy, CorpusIsReadOrRefused) {
  const auto bad = corpus("npy", "bad_", ".npy");
  EXPECT_GE(bad.size(), 28u);
  for (const auto& path : bad) {
    const std::size_t growth = peak_growth([&] {
      EXPECT_THROWS(FileError, load_npy<double>(path), "[load_npy] " + path + " is no .npy file that can be read: ");
    });
    if (memory_is_measurable()) {
      EXPECT_LT(growth, std::size_t{1} << 20) << path;
    }
  }
}

TEST(Npz, ReadsStoredAndDeflated) {
  for (const char* name : {"good_stored.npz", "good_deflated.npz"}) {
    NpzFile in(file(name));
    EXPECT_EQ(in.names(), (std::vector<std::string>{"x", "y"}));
    EXPECT_TRUE(array_equal(in.get<std::int64_t>("y"), Index{7, -1}));
    EXPECT_TRUE(array_equal(in.get<double>("x"), Array<double>{{0, 1, 2}, {3, 4, 5}}));
    EXPECT_THROWS(FileError, in.get<double>("z"), "has no array \"z\"; see names()");
  }
  EXPECT_TRUE(NpzFile(file("good_empty.npz")).names().empty());
}

TEST(Npz, RoundTrip) {
  const Folder folder;
  const Array<float> x{{1, 2}, {3, 4}};
  const Index labels{0, 1};
  xgrad::save_npz(folder / "a.npz", {{"x", x}, {"labels", labels}, {"γ", xgrad::full<double>({}, 0.1)}});
  NpzFile in(folder / "a.npz");
  EXPECT_EQ(in.names(), (std::vector<std::string>{"x", "labels", "γ"}));
  EXPECT_TRUE(array_equal(in.get<float>("x"), x));
  EXPECT_TRUE(array_equal(in.get<std::int64_t>("labels"), labels));
  EXPECT_EQ(xgrad::item(in.get<double>("γ")), 0.1);
  EXPECT_THROWS(std::invalid_argument, xgrad::save_npz(folder / "b.npz", {{"x", x}, {"x", x}}),
                "[save_npz] two arrays are named \"x\"");
  EXPECT_THROWS(std::invalid_argument, xgrad::save_npz(folder / "b.npz", {{std::string(65'001, 'x'), x}}),
                "a name may have 65000 bytes but one has 65001");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"a.npz"});
}

TEST(Npz, CorpusIsReadOrRefused) {
  const auto bad = corpus("npy", "bad_", ".npz");
  EXPECT_GE(bad.size(), 15u);
  for (const auto& path : bad) {
    const std::size_t growth = peak_growth([&] {
      EXPECT_THROW(
          {
            NpzFile in(path);
            for (const auto& name : in.names()) in.get<double>(name);
          },
          FileError)
          << path;
    });
    if (memory_is_measurable()) {
      EXPECT_LT(growth, std::size_t{1} << 20) << path;
    }
  }
  EXPECT_THROWS(FileError, NpzFile(file("bad_checksum.npz")).get<double>("x"),
                "\"x.npy\" is damaged: its checksum is wrong");
  EXPECT_THROWS(FileError, NpzFile(file("bad_cut.npz")), "the directory at its end is missing");
  EXPECT_THROWS(FileError, NpzFile(file("bad_same_name.npz")), "two arrays are named \"x\"");
}

TEST(Npz, EveryCutAndEveryFlippedByteIsErrorOrArray) {
  const Folder folder;
  for (const char* name : {"good_stored.npz", "good_deflated.npz"}) {
    const std::string whole = bytes_of(file(name));
    const auto read = [&](const std::string& bytes) {
      put_bytes(folder / "x", bytes);
      try {
        NpzFile in(folder / "x");
        for (const auto& array : in.names()) in.get<double>(array);
        return true;
      } catch (const FileError&) {
        return false;
      }
    };
    for (std::size_t size = 0; size < whole.size(); ++size) EXPECT_FALSE(read(whole.substr(0, size))) << name << size;
    for (std::size_t i = 0; i < whole.size(); ++i) {
      std::string flipped = whole;
      flipped[i] = static_cast<char>(flipped[i] ^ 0x40);
      read(flipped);
    }
  }
}

TEST(Npy, NumPyReadsWhatWeWrite) {
  const Folder folder;
  xgrad::save_npy(folder / "a.npy", one_to_six);
  xgrad::save_npy(folder / "b.npy", xgrad::zeros<float>({0, 3}));
  xgrad::save_npy(folder / "c.npy", xgrad::full<double>({}, 2.5));
  xgrad::save_npz(folder / "d.npz", {{"x", one_to_six}, {"i", Index{-1, 2}}});
  const std::string cd = "import os; os.chdir('" + folder.str() + "')\n";
  if (!numpy(cd +
             "a = np.load('a.npy'); assert a.dtype == '<f8' and (a == [[1, 2, 3], [4, 5, 6]]).all()\n"
             "b = np.load('b.npy'); assert b.dtype == '<f4' and b.shape == (0, 3)\n"
             "c = np.load('c.npy'); assert c.shape == () and c == 2.5\n"
             "d = np.load('d.npz'); assert d.files == ['x', 'i'] and (d['x'] == a).all() and list(d['i']) == [-1, 2]\n"
             "e = np.random.default_rng(0).normal(size=(3, 5, 7)); np.save('e.npy', e); np.save('f.npy', e.T)\n"
             "np.savez_compressed('g.npz', e=e, z=np.zeros(100000))"))
    GTEST_SKIP()
        << "no NumPy at /usr/bin/python3 (apt-get install python3-numpy); the checked-in files stand in for it";
  const auto e = load_npy<double>(folder / "e.npy"), f = load_npy<double>(folder / "f.npy");
  ASSERT_EQ(f.shape(), (Shape{7, 5, 3}));
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 5; ++j)
      for (std::size_t k = 0; k < 7; ++k) ASSERT_EQ(e(i, j, k), f(k, j, i));
  NpzFile g(folder / "g.npz");
  EXPECT_TRUE(array_equal(g.get<double>("e"), e));
  EXPECT_TRUE(array_equal(g.get<double>("z"), xgrad::zeros<double>({100'000})));
}

}  // namespace
