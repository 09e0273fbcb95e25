// EXPECT_THROWS(Error, statement, "part of the message"): the type and the text of an error.
#pragma once

#include <gtest/gtest.h>

#include <string>

#define EXPECT_THROWS(Error, statement, part)                                                          \
  do {                                                                                                 \
    try {                                                                                              \
      static_cast<void>(statement);                                                                    \
      ADD_FAILURE() << "no error from " #statement;                                                    \
    } catch (const Error& error_) {                                                                    \
      EXPECT_NE(std::string(error_.what()).find(part), std::string::npos) << "got: " << error_.what(); \
    }                                                                                                  \
  } while (false)
