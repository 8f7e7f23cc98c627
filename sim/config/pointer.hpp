#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lockstep {

/// The JSON pointer (RFC 6901) of a member of what `parent` points to: "~" is written "~0", "/" is
/// written "~1".
[[nodiscard]] std::string child_pointer(std::string_view parent, std::string_view key);

/// The JSON pointer of an element of the array that `parent` points to.
[[nodiscard]] std::string child_pointer(std::string_view parent, std::size_t index);

}  // namespace lockstep
