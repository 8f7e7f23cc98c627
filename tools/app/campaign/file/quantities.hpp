#pragma once

#include <optional>
#include <string_view>

#include "sim/config/reader.hpp"
#include "tools/app/campaign/file/long_time.hpp"

/// Quantities of campaign files that no other file has, as text with a unit.
namespace lockstep::app {

/// "90 s", "12 h", "54 d", "5.8 y" (365.25 days); none if it is no such time.
[[nodiscard]] std::optional<LongTime> parse_long_time(std::string_view text);
/// What the reader expects, for errors.
inline constexpr std::string_view kLongTimeWords =
    "a time such as \"90 s\", \"12 h\" or \"54 d\" (units us, ms, s, min, h, d, y)";

/// Zero or more.
[[nodiscard]] LongTime read_time(const ValueReader& value);
/// Above zero.
[[nodiscard]] LongTime read_positive_time(const ValueReader& value);
[[nodiscard]] std::optional<LongTime> read_optional_time(ObjectReader& in, const Key& key);
/// Zero if absent.
[[nodiscard]] LongTime read_time_or_zero(ObjectReader& in, const Key& key);

[[nodiscard]] double read_watts(const ValueReader& value);            // "350 W"
[[nodiscard]] double read_joules_per_flop(const ValueReader& value);  // "0.5 pJ/FLOP"
[[nodiscard]] double read_joules_per_byte(const ValueReader& value);  // "60 pJ/B"

}  // namespace lockstep::app
