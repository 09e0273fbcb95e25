#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <ctime>
#include <tuple>
#include <xgrad/core/random.hpp>
#include <xgrad/core/table.hpp>

#include "folder.hpp"
#include "foreign_locale.hpp"
#include "throws.hpp"

namespace {

using xgrad::FileError;
using xgrad::Header;
using xgrad::read_table;
using xgrad::Table;

/// A file of this text, gone at the end of the scope.
struct File {
  explicit File(const std::string& text) { put_bytes(path, text); }
  const Folder folder;
  const std::string path = folder / "table";
};

Table read(const std::string& text, xgrad::TableOptions options = {}) { return read_table(File(text).path, options); }

void expect_rows(const Table& table, const std::vector<double>& want, std::size_t columns) {
  EXPECT_TRUE(xgrad::array_equal(table.values, xgrad::from(want, {want.size() / columns, columns})))
      << xgrad::to_string(table.values);
}

std::string error(const std::string& text, xgrad::TableOptions options = {}) {
  const File file(text);
  try {
    read_table(file.path, options);
  } catch (const FileError& e) {
    std::string what = e.what();
    EXPECT_EQ(what.find('\n'), std::string::npos) << "a message is one line";
    const auto at = what.find(file.path);
    EXPECT_NE(at, std::string::npos) << "the file is not named in: " << what;
    return at == std::string::npos ? what : what.replace(at, file.path.size(), "FILE");
  }
  return "no error";
}

TEST(Table, FindsTheDelimiter) {
  for (const char* text : {"1,2.5\n-3,4e2\n", "1;2.5\n-3;4e2\n", "1\t2.5\n-3\t4e2\n", "1 2.5\n-3    4e2\n",
                           "  1, 2.5 \n -3 ,4e2", "1 \t2.5 \n-3 \t4e2 \n\n", "+1 2.5\n-3 +4e2"}) {
    SCOPED_TRACE(text);
    const Table table = read(text);
    expect_rows(table, {1, 2.5, -3, 400}, 2);
    EXPECT_TRUE(table.columns.empty());
  }
}

TEST(Table, TakesAGivenDelimiter) {
  expect_rows(read("1|2\n3|4", {'|'}), {1, 2, 3, 4}, 2);
  expect_rows(read("1 \t 2\n3\t4", {' '}), {1, 2, 3, 4}, 2);
  EXPECT_EQ(error("1,2\n3,4", {';', Header::none}), "[read_table] FILE, line 1, column 1: \"1,2\" is not a number");
}

TEST(Table, DAT_02_Header) {
  const Table table = read("a,\"b c\"\n1,2\n");
  EXPECT_EQ(table.columns, (std::vector<std::string>{"a", "b c"}));
  expect_rows(table, {1, 2}, 2);
  EXPECT_EQ(read("length, in m\twidth\n1\t2\n").columns, (std::vector<std::string>{"length, in m", "width"}));
  EXPECT_EQ(read("2019,2020\n1,2\n", {'\0', Header::present}).columns, (std::vector<std::string>{"2019", "2020"}));
  expect_rows(read("2019,2020\n1,2\n"), {2019, 2020, 1, 2}, 2);
}

TEST(Table, DAT_02_AHeaderIsNeverReadAsNumbersNorARowAsAHeader) {
  EXPECT_EQ(error("a,b\n1,2\n", {'\0', Header::none}), "[read_table] FILE, line 1, column 1: \"a\" is not a number");
  EXPECT_EQ(error("1,b\n1,2\n"), "[read_table] FILE, line 1, column 2: \"b\" is not a number");
  EXPECT_EQ(error("a,b\n"), "[read_table] FILE, line 1, column 1: \"a\" is no number, and no row of numbers follows");
}

TEST(Table, DAT_02_MarkLineEndsAndBlankLines) {
  expect_rows(read("\xEF\xBB\xBF"
                   "1,2\r\n3,4\r\n\r\n"),
              {1, 2, 3, 4}, 2);
  expect_rows(read("\n\n1,2\n\n3,4\n \t \n"), {1, 2, 3, 4}, 2);
  EXPECT_EQ(read("\xEF\xBB\xBF"
                 "a,b\r\n1,2")
                .columns,
            (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(error("\r\n1,2\r\n\r\n3,x\r\n"), "[read_table] FILE, line 4, column 2: \"x\" is not a number");
}

TEST(Table, DAT_02_LineEndsOfEverySystem) {
  for (const std::string end : {"\n", "\r\n", "\r"})
    for (const std::string between : {",", ";", "\t", " "})
      for (const std::string& last : {std::string(), end, end + end}) {
        const std::string first = "a" + between + "\"b c\"" + end, row = "\"1\"" + between + "2" + end;
        const Table table = read(first + row + "3" + between + "\" 4 \"" + last);
        EXPECT_EQ(table.columns, (std::vector<std::string>{"a", "b c"}));
        expect_rows(table, {1, 2, 3, 4}, 2);
        EXPECT_EQ(error(row + end + "3" + between + "x" + last),
                  "[read_table] FILE, line 3, column 2: \"x\" is not a number");
      }
  expect_rows(read("1\r2\r3\r"), {1, 2, 3}, 1);
  expect_rows(read("1\n2\r3\r\n4"), {1, 2, 3, 4}, 1);
  expect_rows(read("1 2\r\r\n3 4\r\r\n"), {1, 2, 3, 4}, 2);
  EXPECT_EQ(error("\r\r\n\r"), "[read_table] FILE is empty");
}

TEST(Table, DAT_02_AReturnWithinQuotesEndsNoLine) {
  EXPECT_EQ(read("\"a\rb\", \"c\"\"\r\",d\n1,2,3\n").columns, (std::vector<std::string>{"a\rb", "c\"\r", "d"}));
  EXPECT_EQ(read("\"a\rb\"\r1\r\"2\"\r").columns, (std::vector<std::string>{"a\rb"}));
  EXPECT_EQ(error("1,\"2\r\"\n"), "[read_table] FILE, line 1, column 2: \"2?\" is not a number");
  // Quotes that open no field, or are not closed, hold nothing together.
  expect_rows(read("5\" pipe,b\r1,2\r3,4"), {1, 2, 3, 4}, 2);
  expect_rows(read("5\" pipe,6\"\r1,2\r3,4"), {1, 2, 3, 4}, 2);
  expect_rows(read("a,5\" pipe\r\" 1 \",2\r3,4"), {1, 2, 3, 4}, 2);
  EXPECT_EQ(error("1,2\r3,\"4\r5,6\r"), "[read_table] FILE, line 2, column 2: \"\"4\" is not a number");
}

TEST(Table, DAT_02_ManyLinesTakeTimeInProportion) {
  for (const std::string line : {"1\r", "\"1\"\r", "\"\"\"1\"\r"}) {
    std::string text;
    for (int i = 0; i < 300'000; ++i) text += line;
    const std::clock_t start = std::clock();
    const File file(text);
    try {
      read_table(file.path);
    } catch (const FileError&) {
    }
    EXPECT_LT(std::clock() - start, 10 * CLOCKS_PER_SEC) << line;
  }
}

TEST(Table, DAT_02_MissingNumbers) {
  EXPECT_EQ(error("1,,3\n"), "[read_table] FILE, line 1, column 2: a number is missing; set missing to read NaN");
  EXPECT_EQ(error("1,2\n3,\n"), "[read_table] FILE, line 2, column 2: a number is missing; set missing to read NaN");
  EXPECT_EQ(error("1\t2\t3\n4\t5\t\n"),
            "[read_table] FILE, line 2, column 3: a number is missing; set missing to read NaN");
  EXPECT_EQ(error("1 ? 3\n"), "[read_table] FILE, line 1, column 2: a number is missing; set missing to read NaN");
}

TEST(Table, DAT_02_MissingNumbersAsNaN) {
  const xgrad::TableOptions options{'\0', Header::automatic, false, xgrad::Missing::nan};
  for (const char* text : {"1,,3\n,5,\n", "1\t\t3\n\t5\t\n", "1 ; NA; 3\r\n?;5;\"NA\"\r\n", "1 ? 3\nNA 5 ?\n"}) {
    SCOPED_TRACE(text);
    const Table table = read(text, options);
    ASSERT_EQ(table.values.shape(), (xgrad::Shape{2, 3}));
    EXPECT_TRUE(table.columns.empty());
    for (const auto& [i, j, want] : std::vector<std::tuple<int, int, double>>{{0, 0, 1}, {0, 2, 3}, {1, 1, 5}})
      EXPECT_EQ(table.values(i, j), want);
    for (const auto& [i, j] : std::vector<std::pair<int, int>>{{0, 1}, {1, 0}, {1, 2}})
      EXPECT_TRUE(std::isnan(table.values(i, j))) << i << ", " << j;
  }
  // A row of missing values alone is no header, and neither option lets other words or the word nan through.
  EXPECT_EQ(read("NA,?\n1,2\n", options).values.shape(), (xgrad::Shape{2, 2}));
  EXPECT_EQ(read("a,?\n1,2\n", options).columns, (std::vector<std::string>{"a", "?"}));
  EXPECT_EQ(error("1,none\n", options), "[read_table] FILE, line 1, column 2: \"none\" is not a number");
  EXPECT_EQ(error("1,nan\n", options),
            "[read_table] FILE, line 1, column 2: \"nan\" is not finite; set allow_nonfinite to read it");
}

TEST(Table, DAT_02_QuotesAroundFields) {
  const Table table = read("\"x, in m\", \"say \"\"y\"\"\" ,z\n\"1.5\",2,\" 3 \"\n");
  EXPECT_EQ(table.columns, (std::vector<std::string>{"x, in m", "say \"y\"", "z"}));
  expect_rows(table, {1.5, 2, 3}, 3);
  EXPECT_EQ(read("\"a b\" \t c\n1 2\n").columns, (std::vector<std::string>{"a b", "c"}));
  EXPECT_EQ(read("5\" pipe,b\n1,2\n").columns, (std::vector<std::string>{"5\" pipe", "b"}));
  EXPECT_EQ(error("1,\"2\n"), "[read_table] FILE, line 1, column 2: \"\"2\" is not a number");
  EXPECT_EQ(error("1,\"2\"3\n"), "[read_table] FILE, line 1, column 2: \"\"2\"3\" is not a number");
}

TEST(Table, ColumnsByName) {
  const Table table = read("a,b,c,b\n1,2,3,4\n");
  EXPECT_EQ(table.column("c"), 2u);
  EXPECT_THROWS(std::invalid_argument, table.column("d"), "[Table] no column named \"d\" among 4");
  EXPECT_THROWS(std::invalid_argument, table.column("b"), "[Table] 2 columns named \"b\" among 4");
}

TEST(Table, DAT_02_NonFiniteNumbersByOption) {
  EXPECT_EQ(error("1,nan\n"),
            "[read_table] FILE, line 1, column 2: \"nan\" is not finite; set allow_nonfinite to "
            "read it");
  const Table table = read("nan,inf,-inf\n", {'\0', Header::automatic, true});
  EXPECT_TRUE(std::isnan(table.values(0, 0)));
  EXPECT_EQ(table.values(0, 1), std::numeric_limits<double>::infinity());
  EXPECT_EQ(table.values(0, 2), -std::numeric_limits<double>::infinity());
}

TEST(Table, DAT_02_RangeAndDigits) {
  EXPECT_EQ(error("1,1e400\n"), "[read_table] FILE, line 1, column 2: \"1e400\" is outside the range of double");
  EXPECT_EQ(error("1,1e-400\n"), "[read_table] FILE, line 1, column 2: \"1e-400\" is outside the range of double");
  expect_rows(read("4.9e-324,1.7976931348623157e308\n"), {4.9e-324, 1.7976931348623157e308}, 2);
  expect_rows(read("0.30000000000000004 0.3333333333333333 123456789.123"), {0.1 + 0.2, 1.0 / 3, 123456789.123}, 3);
}

TEST(Table, DAT_02_LocaleDoesNotMatter) {
  const ForeignLocale locale;
  const Table table = read("1.5;2.5\n");
  expect_rows(table, {1.5, 2.5}, 2);
  EXPECT_EQ(error("1,5;2,5\n1,5;2,5\n", {'\0', Header::none}),
            "[read_table] FILE, line 1, column 1: \"1,5\" is not a number");
}

TEST(Table, RaggedRows) {
  EXPECT_EQ(error("1 2 3\n4 5\n"), "[read_table] FILE, line 2, column 3: the row has 2 fields but line 1 has 3");
  EXPECT_EQ(error("a,b\n1,2\n1,2,3\n"), "[read_table] FILE, line 3, column 3: the row has 3 fields but line 1 has 2");
}

TEST(Table, RaggedRowsTakeNoMemoryForWhatIsNotThere) {
  std::string many = "1", separated = "1", rows;
  for (int i = 1; i < 300'000; ++i) many += ",1", separated += " 1";
  for (int i = 0; i < 300'000; ++i) rows += "1\n";
  const std::string short_row = "[read_table] FILE, line 2, column 2: the row has 1 fields but line 1 has 300000";
  EXPECT_EQ(error(many + '\n' + rows), short_row);
  EXPECT_EQ(error(separated + '\n' + rows), short_row);
  EXPECT_EQ(error(many + '\n' + many + '\n' + rows),
            "[read_table] FILE, line 3, column 2: the row has 1 fields but line 1 has 300000");
  EXPECT_EQ(error("a" + many.substr(1) + '\n' + rows, {'\0', Header::present}), short_row);
  EXPECT_EQ(error(many + '\n' + "1,x\n" + rows), "[read_table] FILE, line 2, column 2: \"x\" is not a number");
  // Rows of the same count, as short as can be, are read.
  const xgrad::TableOptions missing{',', Header::none, false, xgrad::Missing::nan};
  EXPECT_EQ(read("1,2,3\n,,\n,,\n", missing).values.shape(), (xgrad::Shape{3, 3}));
}

TEST(Table, NonNumbersAreShownShortAndOnOneLine) {
  EXPECT_EQ(error("1,2x\n"), "[read_table] FILE, line 1, column 2: \"2x\" is not a number");
  EXPECT_EQ(error("1,0x10\n"), "[read_table] FILE, line 1, column 2: \"0x10\" is not a number");
  EXPECT_EQ(error("1,+-2\n"), "[read_table] FILE, line 1, column 2: \"+-2\" is not a number");
  EXPECT_EQ(error("1,a\x01"
                  "b\n"),
            "[read_table] FILE, line 1, column 2: \"a?b\" is not a number");
  EXPECT_EQ(error("1," + std::string(100, 'x') + "\n"),
            "[read_table] FILE, line 1, column 2: \"" + std::string(24, 'x') + "...\" is not a number");
}

/// True when both hold the same bits.
bool same_bits(const xgrad::Array<double>& a, const xgrad::Array<double>& b) {
  return a.shape() == b.shape() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

TEST(WriteTable, DAT_02_ReadingGivesBackTheSameBits) {
  const Folder folder;
  std::vector<double> numbers = {0.1 + 0.2, 1.0 / 3, 123456789.123, 4.9e-324, -0.0, 1.7976931348623157e308, 1e22, 5};
  xgrad::Rng rng(3);
  while (numbers.size() < 6000) {  // every bit pattern but NaN and infinities
    const std::uint64_t bits = rng.next();
    double x;
    std::memcpy(&x, &bits, sizeof x);
    if (std::isfinite(x)) numbers.push_back(x);
  }
  const auto values = xgrad::from(numbers, {1500, 4});
  for (const char delimiter : {',', ';', '\t', ' ', '|'}) {
    xgrad::write_table(folder / "t", values, {"a", "b", "c", "d"}, delimiter);
    const Table table = read_table(folder / "t", {delimiter});
    EXPECT_TRUE(same_bits(table.values, values)) << delimiter;
    EXPECT_EQ(table.columns.size(), 4u);
  }
}

TEST(WriteTable, DAT_02_LocaleDoesNotMatter) {
  const Folder folder;
  const ForeignLocale locale;
  xgrad::write_table(folder / "t", xgrad::from<double>({1.5, 1234567}, {1, 2}));
  EXPECT_EQ(bytes_of(folder / "t"), "1.5,1234567\n");
}

TEST(WriteTable, WordsForWhatIsNotFinite) {
  const Folder folder;
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  xgrad::write_table(folder / "t", xgrad::from<float>({nan, inf, -inf, 0.5f}, {2, 2}), {"x", "y"});
  EXPECT_EQ(bytes_of(folder / "t"), "x,y\nnan,inf\n-inf,0.5\n");
  EXPECT_TRUE(std::isnan(read_table(folder / "t", {'\0', Header::automatic, true}).values(0, 0)));
}

TEST(WriteTable, NamesComeBack) {
  const Folder folder;
  const std::vector<std::string> names = {"\xef\xbb\xbfmark", "plain name", "a, b", "say \"x\"", "", "tab\there", "?"};
  for (const char delimiter : {',', ';', '\t', ' '}) {
    xgrad::write_table(folder / "t", xgrad::ones<double>({1, 7}), names, delimiter);
    EXPECT_EQ(read_table(folder / "t", {delimiter}).columns, names) << bytes_of(folder / "t");
  }
}

TEST(WriteTable, EveryNameComesBackByDefault) {
  const Folder folder;
  std::vector<std::string> names = {""};
  for (std::size_t i = 0; names[i].size() < 3; ++i)  // all of at most three of these
    for (const char c : {'a', ' ', '\t', ';', ',', '|', '"', '\xef'}) names.push_back(names[i] + c);
  for (const char delimiter : {',', ';', '\t', ' '}) {
    xgrad::write_table(folder / "t", xgrad::ones<double>({2, names.size()}), names, delimiter);
    const Table table = read_table(folder / "t");
    EXPECT_EQ(table.columns, names);
    EXPECT_EQ(table.values.shape(), (xgrad::Shape{2, names.size()}));
  }
  std::size_t turn = 0;
  for (const std::string& name : names) {
    if (name.size() == 3 && name.back() != 'a') continue;  // each takes a file
    xgrad::write_table(folder / "t", xgrad::ones<double>({2, 1}), {name}, ",;\t |"[turn++ % 5]);
    const bool missing = name.find_first_not_of(" \t") == name.npos;  // which alone is not taken for a header
    const Table table = read_table(folder / "t", {'\0', missing ? Header::present : Header::automatic});
    EXPECT_EQ(table.columns, std::vector<std::string>{name});
    expect_rows(table, {1, 1}, 1);
  }
}

TEST(WriteTable, WhatDoesNotFitIsRefusedAndTheOldFileStays) {
  const Folder folder;
  const auto values = xgrad::ones<double>({2, 2});
  xgrad::write_table(folder / "t", values);
  EXPECT_THROWS(xgrad::ShapeError, xgrad::write_table(folder / "t", xgrad::ones<double>({3})),
                "[write_table] needs (rows, columns), at least one of each, but got (3,)");
  EXPECT_THROWS(xgrad::ShapeError, xgrad::write_table(folder / "t", xgrad::ones<double>({3, 0})), "but got (3, 0)");
  EXPECT_THROWS(xgrad::ShapeError, xgrad::write_table(folder / "t", xgrad::ones<double>({0, 2}), {"a", "b"}),
                "but got (0, 2)");
  EXPECT_THROWS(xgrad::ShapeError, xgrad::write_table(folder / "t", values, {"a"}),
                "[write_table] needs a name for each of 2 columns but got 1");
  EXPECT_THROWS(std::invalid_argument, xgrad::write_table(folder / "t", values, {"a", "b\nc"}),
                "[write_table] a name must not hold a line end but \"b?c\" does");
  EXPECT_THROWS(std::invalid_argument, xgrad::write_table(folder / "t", values, {}, '.'),
                "[write_table] the delimiter must be one of , ; | tab and blank but is \".\"");
  EXPECT_THROWS(FileError, xgrad::write_table(folder / "no/t", values), "[write_table] ");
  EXPECT_EQ(bytes_of(folder / "t"), "1,1\n1,1\n");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"t"});
}

TEST(Table, MissingAndEmptyFiles) {
  EXPECT_EQ(error(""), "[read_table] FILE is empty");
  EXPECT_EQ(error("\xEF\xBB\xBF\r\n \n"), "[read_table] FILE is empty");
  EXPECT_THROWS(FileError, read_table("no/such/table.txt"),
                "[read_table] cannot open no/such/table.txt: No such file or directory");
  EXPECT_THROWS(FileError, read_table(testing::TempDir()), "[read_table] cannot read " + testing::TempDir());
}

}  // namespace
