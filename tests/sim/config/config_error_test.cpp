#include "sim/config/json/config_error.hpp"

#include <doctest/doctest.h>

#include <string>

#include "sim/config/json/pointer.hpp"

using namespace lockstep;

TEST_CASE("fifty problems are printed, the others counted") {
  Problems problems{"f"};
  for (std::uint32_t line = 60; line > 0; --line) problems.note({line, 1}, "/a", "bad");
  std::string expected;
  for (int line = 1; line <= 50; ++line) {
    expected += "f:" + std::to_string(line) + ":1: error: /a: bad\n";
  }
  CHECK_THROWS_WITH_AS(problems.throw_if_any(),
                       (expected + "and 10 more\n60 errors; nothing was run").c_str(), ConfigError);
}

TEST_CASE("no more problems are kept than fit the memory") {
  Problems problems{"f"};
  const std::size_t many = Problems::kMostKept + 5;
  for (std::size_t i = 0; i < many; ++i) problems.note({1, 1}, "", "bad");
  try {
    problems.throw_if_any();
    FAIL("problems were noted");
  } catch (const ConfigError& error) {
    CHECK(error.problems().size() == Problems::kMostKept);
    CHECK(error.total() == many);
  }
}

TEST_CASE("nothing noted, nothing thrown") {
  Problems problems{"f"};
  CHECK_NOTHROW(problems.throw_if_any());
}

TEST_CASE("another file's problems are taken over") {
  Problems problems{"b"};
  problems.note({2, 1}, "", "two");
  problems.add(ConfigError{Problem{"a", {}, "", "no such file"}});
  CHECK_THROWS_WITH_AS(problems.throw_if_any(),
                       "a: error: no such file\nb:2:1: error: two\n2 errors; nothing was run",
                       ConfigError);
}

TEST_CASE("what a file holds is shown on one line, shortened between code points") {
  CHECK(in_quotes("a\nb\x7f") == "\"a\\u000ab\\u007f\"");
  CHECK(in_quotes(std::string(60, 'x')) == '"' + std::string(60, 'x') + '"');
  CHECK(in_quotes(std::string(61, 'x')) == '"' + std::string(60, 'x') + "...\"");
  // The two bytes of the last character would be bytes 60 and 61.
  CHECK(in_quotes(std::string(59, 'x') + "\xC3\xA9") == '"' + std::string(59, 'x') + "...\"");
}

TEST_CASE("pointers escape as RFC 6901 section 3 says") {
  CHECK(child_pointer("", "a/b") == "/a~1b");
  CHECK(child_pointer("/x", "m~n") == "/x/m~0n");
  CHECK(child_pointer("/x", 3) == "/x/3");
}
