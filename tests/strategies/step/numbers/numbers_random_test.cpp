#include <doctest/doctest.h>

#include <string>

#include "tests/strategies/step/numbers/numbers_harness.hpp"
#include "tests/strategies/step/random_layouts.hpp"

namespace lockstep::test {
namespace {

TEST_CASE("random layouts compute what one device does") {
  int done = 0;
  for (const test::RandomLayout& drawn : test::random_layouts(20261122, 60)) {
    const test::RandomLayout layout = test::shrunk(drawn);
    if (!test::possible(layout)) continue;
    const std::string text = test::to_string(layout);
    CAPTURE(text);
    check(layout.model, layout.parallel, static_cast<std::uint64_t>(++done));
  }
  CHECK(done >= 40);
}

}  // namespace
}  // namespace lockstep::test
