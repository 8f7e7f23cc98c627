#include "sim/base/json_text.hpp"

#include <doctest/doctest.h>

namespace lockstep {

// RFC 8259, section 7: quotation mark, reverse solidus and U+0000 to U+001F must be escaped.
TEST_CASE("a JSON string escapes what JSON demands and keeps the rest") {
  CHECK(json_string("") == R"("")");
  CHECK(json_string("H100 SXM") == R"("H100 SXM")");
  CHECK(json_string(R"(a "b" \c)") == R"("a \"b\" \\c")");
  CHECK(json_string("tab\tend\n") == R"("tab\u0009end\u000a")");
  CHECK(json_string("µs") == "\"µs\"");
}

TEST_CASE("bytes that are not UTF-8 become U+FFFD") {
  CHECK(json_string("a\xff"
                    "b") == R"("a\ufffdb")");
}

}  // namespace lockstep
