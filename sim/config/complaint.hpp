#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/json.hpp"

/// The sentences with which the reader refuses a value.
namespace lockstep {

/// A kind of quantity, in the words that a message needs.
struct QuantityWords {
  std::string_view expected;  // `a rate such as "50 GB/s"`
  bool zero_allowed;
  std::vector<std::string_view> units;
};

[[nodiscard]] const QuantityWords& rate_words();
[[nodiscard]] const QuantityWords& duration_words();
[[nodiscard]] const QuantityWords& bytes_words();
[[nodiscard]] const QuantityWords& positive_bytes_words();
[[nodiscard]] const QuantityWords& flop_rate_words();

/// A value as a message shows it: `the number 50`, `"text"`, `an array`, `true`, `null`.
[[nodiscard]] std::string shown(const JsonValue& value);

/// `expected a rate such as "50 GB/s", got the number 50`.
[[nodiscard]] std::string expected_but_got(std::string_view expected, const JsonValue& got);

/// Why this value is no such quantity; the unit that is missing or wrong, where that is the fault.
[[nodiscard]] std::string complain_of_quantity(const QuantityWords& words, const JsonValue& got);

/// `no all-reduce named "rng"; did you mean "ring"?`, or the names that there are.
[[nodiscard]] std::string complain_of_name(std::string_view noun, std::string_view name,
                                           const std::vector<std::string_view>& names);

/// `unknown key "latncy"; did you mean "latency"?`, or the keys that are allowed.
[[nodiscard]] std::string complain_of_key(std::string_view key,
                                          const std::vector<std::string_view>& allowed);

}  // namespace lockstep
