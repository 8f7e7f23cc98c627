#include <doctest/doctest.h>

#include <algorithm>

#include "tests/tools/run_command.hpp"

namespace lockstep {

TEST_CASE("every shipped cluster gives the times that it gave before" * doctest::skip(kSanitized)) {
  const auto expected = lines_of(text_of(LOCKSTEP_SOURCE_DIR "/tests/tools/fingerprints.txt"));
  const auto now = lines_of(output_of("tests/tools/fingerprints.sh"));
  INFO(
      "where times were meant to change: PATH=$PWD/build/release:$PATH "
      "tests/tools/fingerprints.sh > tests/tools/fingerprints.txt");
  CHECK(now.size() == expected.size());
  for (std::size_t i = 0; i < std::min(now.size(), expected.size()); ++i)
    CHECK(now[i] == expected[i]);
}

}  // namespace lockstep
