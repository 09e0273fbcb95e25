// What tests share that ask whether a program's locale matters.
#pragma once

#include <clocale>
#include <initializer_list>
#include <locale>
#include <string>

/// Until the end of the scope streams write 1234.5 as "1.234,5", and so do C's functions if this machine has such a
/// locale.
class ForeignLocale {
 public:
  ForeignLocale() : before_(std::locale::global(std::locale(std::locale::classic(), new Marks))) {
    for (const char* name : {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "fr_FR"})
      if (std::setlocale(LC_ALL, name)) break;
  }
  ~ForeignLocale() {
    std::locale::global(before_);
    std::setlocale(LC_ALL, c_before_.c_str());
  }
  ForeignLocale(const ForeignLocale&) = delete;
  ForeignLocale& operator=(const ForeignLocale&) = delete;

 private:
  struct Marks : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
  };
  std::string c_before_ = std::setlocale(LC_ALL, nullptr);
  std::locale before_;
};
