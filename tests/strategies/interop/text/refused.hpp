#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "sim/config/json/config_error.hpp"

/// Lists of lines, shown where they differ.
template <>
struct doctest::StringMaker<std::vector<std::string>> {
  static String convert(const std::vector<std::string>& lines) {
    std::string out;
    for (const std::string& line : lines) out += "\n  " + line;
    return out.c_str();
  }
};

namespace lockstep::test {

/// What a reader refuses: one line per problem as printed, without the line that counts them.
/// Fails the test where `read` does not throw.
template <class Read>
std::vector<std::string> refused(Read&& read) {
  std::vector<std::string> out;
  try {
    (void)read();
    FAIL("nothing was refused");
  } catch (const ConfigError& error) {
    for (const Problem& problem : error.problems()) {
      std::string line = problem.file;
      if (problem.at.line != 0)
        line += ":" + std::to_string(problem.at.line) + ":" + std::to_string(problem.at.column);
      out.push_back(line + ": " + (problem.pointer.empty() ? "" : problem.pointer + ": ") +
                    problem.message);
    }
  }
  return out;
}

}  // namespace lockstep::test
