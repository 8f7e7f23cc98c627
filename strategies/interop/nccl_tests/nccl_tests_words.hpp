#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.hpp"

/// Words and numbers in nccl-tests' output.
namespace lockstep {

/// Part of a line; the offset counts bytes from the line's start.
struct NcclWord {
  std::string_view text;
  std::size_t offset = 0;
};

/// The blank-separated words of a line from a byte offset on.
[[nodiscard]] std::vector<NcclWord> words_of(std::string_view line, std::size_t from = 0);

/// One-based column, in code points, of a byte offset.
[[nodiscard]] std::uint32_t column_of(std::string_view line, std::size_t offset);

[[nodiscard]] std::optional<std::int64_t> whole_number(std::string_view text);
/// Decimal or scientific, finite.
[[nodiscard]] std::optional<double> real_number(std::string_view text);

/// Microseconds as nccl-tests prints them; none if negative or above 106 days.
[[nodiscard]] std::optional<Duration> from_microseconds(double microseconds);

/// `all_reduce` from ".../all_reduce_perf"; none if the word is no such program.
[[nodiscard]] std::optional<std::string> collective_of(std::string_view program);

}  // namespace lockstep
