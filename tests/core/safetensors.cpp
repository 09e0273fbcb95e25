#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <xgrad/core/safetensors.hpp>

#include "folder.hpp"
#include "throws.hpp"

namespace {

using xgrad::Array;
using xgrad::FileError;
using xgrad::Index;
using xgrad::SafetensorsFile;
using xgrad::Shape;

std::string file(const std::string& name) {
  return XGRAD_SOURCE_DIR "/tests/corpus/safetensors/" + name + ".safetensors";
}

std::string little_endian(std::uint64_t n) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(n >> (8 * i) & 255);
  return bytes;
}

std::string with_header(const std::string& header, const std::string& data = "") {
  return little_endian(header.size()) + header + data;
}

const std::string one("\0\0\x80\x3f", 4);

TEST(Safetensors, RoundTripKeepsTypesShapesNumbersAndText) {
  const Folder folder;
  const Array<float> a{{1.5f, -2.f, 3.f}, {0.1f, std::numeric_limits<float>::denorm_min(), -0.f}};
  const Array<double> b{0.1, std::numeric_limits<double>::infinity(), 4.9e-324};
  const Index c{std::numeric_limits<std::int64_t>::min(), -1, std::numeric_limits<std::int64_t>::max()};
  xgrad::save_safetensors(folder / "x", {{"a", a}, {"b", b}, {"c", c}}, {{"key", "v\"\n\\"}, {"γ", ""}});
  SafetensorsFile in(folder / "x");
  EXPECT_TRUE(xgrad::array_equal(in.get<float>("a"), a));
  EXPECT_TRUE(std::signbit(in.get<float>("a")(1, 2)));
  EXPECT_TRUE(xgrad::array_equal(in.get<double>("b"), b));
  EXPECT_TRUE(xgrad::array_equal(in.get<std::int64_t>("c"), c));
  EXPECT_TRUE(xgrad::array_equal(in.get<double>("a"), xgrad::from<double>(a)));
  EXPECT_EQ(in.metadata(), (xgrad::Metadata{{"key", "v\"\n\\"}, {"γ", ""}}));
  EXPECT_EQ(in.find("a")->type, xgrad::NumberType::f32);
  EXPECT_EQ(in.find("none"), nullptr);
  EXPECT_EQ(xgrad::load_safetensors<float>(folder / "x").size(), 3u);
}

TEST(Safetensors, WritesThePublishedLayout) {
  const Folder folder;
  xgrad::save_safetensors(folder / "x", {{"f", Array<float>{1.f}}, {"d", xgrad::full<double>({1, 1}, 2.0)}},
                          {{"k", "v"}});
  // Wider numbers first, so that both are aligned; the header ends at a multiple of 8.
  std::string header = R"({"__metadata__":{"k":"v"},"d":{"dtype":"F64","shape":[1,1],"data_offsets":[0,8]},)"
                       R"("f":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}})";
  while (header.size() % 8) header += ' ';
  EXPECT_EQ(bytes_of(folder / "x"), with_header(header, std::string("\0\0\0\0\0\0\0\x40", 8) + one));
}

TEST(Safetensors, ReadsEveryNumberType) {
  const Folder folder;
  const std::pair<const char*, std::string> cases[] = {
      {"BOOL", {"\1\0", 2}},
      {"U8", "\1\xff"},
      {"I8", "\1\xff"},
      {"U16", {"\1\0\xff\xff", 4}},
      {"I16", {"\1\0\xff\xff", 4}},
      {"U32", {"\1\0\0\0\xff\xff\xff\xff", 8}},
      {"I32", {"\1\0\0\0\xff\xff\xff\xff", 8}},
      {"U64", {"\1\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\x7f", 16}},
      {"I64", {"\1\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff", 16}}};
  const double second[] = {0, 255, -1, 65535, -1, 4294967295, -1, 9223372036854775807.0, -1};
  for (std::size_t i = 0; i < std::size(cases); ++i) {
    const auto& [type, data] = cases[i];
    put_bytes(folder / "x",
              with_header(std::string("{\"a\":{\"dtype\":\"") + type + "\",\"shape\":[2],\"data_offsets\":[0," +
                              std::to_string(data.size()) + "]}}",
                          data));
    SafetensorsFile in(folder / "x");
    EXPECT_EQ(in.get<double>("a")(0), 1) << type;
    EXPECT_EQ(in.get<double>("a")(1), second[i]) << type;
    EXPECT_EQ(in.get<std::int64_t>("a")(0), 1) << type;
    if (i != 7) {
      EXPECT_EQ(in.get<std::int64_t>("a")(1), static_cast<std::int64_t>(second[i])) << type;
    }
  }
  SafetensorsFile narrow(file("good_half_and_brain"));
  EXPECT_EQ(narrow.get<double>("h")(0), 1.5);
  EXPECT_EQ(narrow.get<double>("h")(1), -0x1p-24);
  EXPECT_EQ(narrow.get<float>("b")(0), 1.5f);
  EXPECT_EQ(narrow.get<float>("b")(1), -std::numeric_limits<float>::infinity());
}

TEST(Safetensors, AllHalvesAsTheirDefinitionSays) {
  const Folder folder;
  std::string data;
  for (int bits = 0; bits < 65536; ++bits) data += {static_cast<char>(bits & 255), static_cast<char>(bits >> 8)};
  put_bytes(folder / "x", with_header(R"({"a":{"dtype":"F16","shape":[65536],"data_offsets":[0,131072]}})", data));
  const auto a = SafetensorsFile(folder / "x").get<float>("a");
  for (int bits = 0; bits < 65536; ++bits) {
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double magnitude = exponent == 0   ? std::ldexp(fraction, -24)
                             : exponent < 31 ? std::ldexp(1024 + fraction, exponent - 25)
                             : fraction == 0 ? std::numeric_limits<double>::infinity()
                                             : std::nan("");
    if (std::isnan(magnitude)) {
      ASSERT_TRUE(std::isnan(a(bits)));
    } else {
      ASSERT_EQ(a(bits), bits & 0x8000 ? -magnitude : magnitude) << bits;
    }
    ASSERT_EQ(std::signbit(a(bits)), bits >= 0x8000);
  }
}

TEST(Safetensors, WhatDoesNotConvertIsRefused) {
  const Folder folder;
  xgrad::save_safetensors(folder / "x", {{"a", Array<float>{1.f}}});
  EXPECT_THROWS(FileError, SafetensorsFile(folder / "x").get<std::int64_t>("a"),
                "\"a\" holds real numbers but integers are asked for; read it as float or double");
  EXPECT_THROWS(FileError, SafetensorsFile(folder / "x").get<float>("b"), "has no tensor named \"b\"; see entries()");
  put_bytes(folder / "u",
            with_header(R"({"a":{"dtype":"U64","shape":[1],"data_offsets":[0,8]}})", std::string(8, '\xff')));
  EXPECT_THROWS(FileError, SafetensorsFile(folder / "u").get<std::int64_t>("a"), "holds an integer above 2^63 - 1");
  EXPECT_EQ(SafetensorsFile(folder / "u").get<double>("a")(0), 0x1p64);
}

TEST(Safetensors, SER_01_RepeatedNames) {
  EXPECT_THROWS(FileError, SafetensorsFile(file("bad_ser01a_repeated_name")), "the name \"a\" is given twice");
  EXPECT_THROWS(FileError, SafetensorsFile(file("bad_ser01b_repeated_escaped_name")), "the name \"a\" is given twice");
}

TEST(Safetensors, SER_03_LengthTruncationPadding) {
  const auto refused = [](const std::string& name, const std::string& part) {
    std::size_t growth = peak_growth([&] { EXPECT_THROWS(FileError, SafetensorsFile(file(name)), part); });
    if (memory_is_measurable()) {
      EXPECT_LT(growth, std::size_t{1} << 20) << name;
    }
  };
  refused("bad_ser03a_empty", "it has 0 bytes but needs 8");
  refused("bad_ser03a_seven_bytes", "it has 7 bytes but needs 8");
  refused("bad_ser03b_length_wraps", "has a length of 18446744073709551615 but at most 100000000 is allowed");
  refused("bad_ser03c_length_100000001", "has a length of 100000001 but at most 100000000 is allowed");
  refused("bad_ser03d_cut_in_header", "it is cut short: the header needs 54 bytes but 22 follow");
  refused("bad_ser03d_cut_in_data", "it is cut short: the tensors need 4 bytes but 3 follow");
  refused("bad_ser03f_padded_with_zeros", "must end with \"}\" and spaces");
  refused("bad_ser03g_space_before_brace", "must start with \"{\"");
  EXPECT_EQ(SafetensorsFile(file("good_ser03e_padded_with_spaces")).get<float>("a")(0), 1.f);
  EXPECT_TRUE(SafetensorsFile(file("good_ser03h_empty")).entries().empty());
}

TEST(Safetensors, SER_04_OffsetsUnalignedAndEmpty) {
  EXPECT_THROWS(FileError, SafetensorsFile(file("bad_ser04a_gap")),
                "\"b\" begins at byte 8 of the data but the one before it ends at 4");
  EXPECT_THROWS(FileError, SafetensorsFile(file("bad_ser04b_overlap")),
                "\"b\" begins at byte 4 of the data but it is taken up to 8");
  EXPECT_THROWS(FileError, SafetensorsFile(file("bad_ser04c_reversed")), "data_offsets end before they begin");
  EXPECT_THROWS(FileError, SafetensorsFile(file("bad_ser04d_trailing_byte")), "1 bytes at its end belong to no tensor");
  SafetensorsFile e(file("good_ser04e_unaligned"));
  EXPECT_EQ(e.get<std::int64_t>("m")(0), 7);
  EXPECT_TRUE(xgrad::array_equal(e.get<float>("w"), Array<float>{1.5f, -2.25f}));
  SafetensorsFile f(file("good_ser04f_scalar_and_empty"));
  EXPECT_EQ(f.get<float>("s").shape(), Shape{});
  EXPECT_EQ(xgrad::item(f.get<float>("s")), 2.5f);
  EXPECT_EQ(f.get<float>("z").shape(), (Shape{0, 3}));
  EXPECT_THROWS(FileError, SafetensorsFile(file("bad_ser04g_metadata_number")),
                "__metadata__ must be an object of strings but \"k\" is a number");

  const Folder folder;
  const Array<float> x{1.f};
  EXPECT_THROWS(std::invalid_argument, xgrad::save_safetensors(folder / "x", {{"__metadata__", x}}),
                "no tensor may be named \"__metadata__\"");
  EXPECT_THROWS(std::invalid_argument, xgrad::save_safetensors(folder / "x", {{"a", x}, {"a", x}}),
                "two tensors are named \"a\"");
  EXPECT_THROWS(std::invalid_argument, xgrad::save_safetensors(folder / "x", {{"\xff", x}}), "must be UTF-8");
  EXPECT_TRUE(folder.names().empty());
  xgrad::save_safetensors(folder / "x", {{"layer.γ", x}, {"with \"quote\"", x}, {"", x}});
  const std::string bytes = bytes_of(folder / "x");
  auto loaded = xgrad::load_safetensors<float>(folder / "x");
  ASSERT_EQ(loaded.size(), 3u);
  EXPECT_EQ(loaded[0].first, "layer.γ");
  EXPECT_EQ(loaded[1].first, "with \"quote\"");
  xgrad::save_safetensors(folder / "y", std::vector<xgrad::NamedArray>(loaded.begin(), loaded.end()));
  EXPECT_EQ(bytes_of(folder / "y"), bytes);
}

TEST(Safetensors, CorpusIsReadOrRefused) {
  const auto bad = corpus("safetensors", "bad_", ".safetensors"), good = corpus("safetensors", "good_", ".safetensors");
  EXPECT_GE(bad.size(), 40u);
  EXPECT_GE(good.size(), 5u);
  for (const auto& path : bad) {
    const std::size_t growth = peak_growth([&] {
      EXPECT_THROWS(FileError, SafetensorsFile{path}, "[load_safetensors] " + path + " is no safetensors file: ");
    });
    if (memory_is_measurable()) {
      EXPECT_LT(growth, 2 * std::filesystem::file_size(path) + (std::size_t{1} << 20)) << path;
    }
  }
  for (const auto& path : good) EXPECT_NO_THROW(xgrad::load_safetensors<double>(path)) << path;
}

TEST(Safetensors, EveryCutOfAGoodFileIsRefused) {
  const Folder folder;
  const std::string whole = bytes_of(file("good_ser04e_unaligned"));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    put_bytes(folder / "x", whole.substr(0, size));
    EXPECT_THROW(SafetensorsFile(folder / "x"), FileError) << size;
  }
}

TEST(Safetensors, LongPaddingIsRead) {
  const Folder folder;
  put_bytes(folder / "x", with_header("{}" + std::string(20'000'000, ' ')));
  const std::size_t growth = peak_growth([&] { EXPECT_TRUE(SafetensorsFile(folder / "x").entries().empty()); });
  if (memory_is_measurable()) {
    EXPECT_LT(growth, std::size_t{25'000'000});
  }
}

TEST(Safetensors, HugeHeadersTakeNoMoreThanTwiceTheFile) {
  const Folder folder;
  std::string text = "{\"" + std::string(60'000'000, 'a');  // one name without end
  std::string names = "{", lists = "{\"a\":{\"shape\":[";
  for (int i = 0; i < 1'000'000; ++i)
    names += '"' + std::to_string(i) + R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)";
  for (int i = 0; i < 20'000'000; ++i) lists += "1,";
  const std::string lines(60'000'000, '\n');
  names.back() = '}';
  for (const std::string& header : {text + "}", text + "\":1}", "{}" + std::string(60'000'000, ' ') + "x", names + "x}",
                                    names, lists + "1]}}", "{" + lines + "x}"}) {
    put_bytes(folder / "x", with_header(header));
    const std::size_t size = header.size() + 8;
    std::size_t growth = peak_growth([&] { EXPECT_THROW(SafetensorsFile(folder / "x"), FileError); });
    if (memory_is_measurable()) {
      EXPECT_LT(growth, 2 * size + (std::size_t{1} << 24)) << header.substr(0, 30);
    }
  }
}

}  // namespace
