#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/json/json.hpp"

/// Error messages of the reader for invalid values.
namespace lockstep {

/// Wording of messages about one kind of quantity.
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

/// A value as shown in messages: `the number 50`, `"text"`, `an array`, `true`, `null`.
[[nodiscard]] std::string shown(const JsonValue& value);

/// `expected a rate such as "50 GB/s", got the number 50`.
[[nodiscard]] std::string expected_but_got(std::string_view expected, const JsonValue& got);

/// Why a value is not such a quantity; names a missing or wrong unit.
[[nodiscard]] std::string complain_of_quantity(const QuantityWords& words, const JsonValue& got);

/// `; did you mean "ring"?` or `; nearest: ...`; empty if no name is near.
[[nodiscard]] std::string nearest_names(std::string_view word,
                                        const std::vector<std::string_view>& names);

/// `no all-reduce named "rng"; did you mean "ring"?`, or the valid names.
[[nodiscard]] std::string complain_of_name(std::string_view noun, std::string_view name,
                                           const std::vector<std::string_view>& names);

/// `unknown key "latncy"; did you mean "latency"?`, or the allowed keys.
[[nodiscard]] std::string complain_of_key(std::string_view key,
                                          const std::vector<std::string_view>& allowed);

}  // namespace lockstep
