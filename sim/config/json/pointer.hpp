#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lockstep {

/// The JSON pointer (RFC 6901) of a member of `parent`; "~" is escaped as "~0", "/" as "~1".
[[nodiscard]] std::string child_pointer(std::string_view parent, std::string_view key);

/// The JSON pointer of an element of the array `parent`.
[[nodiscard]] std::string child_pointer(std::string_view parent, std::size_t index);

}  // namespace lockstep
