#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lockstep::cli {

/// What a page may weigh besides its script, in bytes: figures, tables and data together.
inline constexpr std::size_t kPageBudget = 700'000;

/// Text for a script of the page, compressed (RFC 1951) and in base64, so that no text of users can
/// end the element that holds it.
[[nodiscard]] std::string packed(std::string_view text);

/// Bytes of packed() without packing all of it: of `text` alone.
[[nodiscard]] std::size_t packed_size(std::string_view text);

}  // namespace lockstep::cli
