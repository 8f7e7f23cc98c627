#pragma once

#include <string>
#include <string_view>

namespace lockstep {

/// `text` as a JSON string with its quotes (RFC 8259, section 7): control characters are escaped,
/// bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string json_string(std::string_view text);

}  // namespace lockstep
