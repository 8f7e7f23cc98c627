#pragma once

#include <optional>
#include <string_view>

#include "sim/base/units.hpp"

namespace lockstep::cli {

/// A message size in nccl-tests' syntax, with K, M, G and T as powers of 1024 (64M = 64 MiB), or
/// with a unit: "64 MiB", 8MB (powers of 1000), 1.5M, 1e6. Empty for any other text, more than 1
/// PiB, or a fraction of a byte.
[[nodiscard]] std::optional<Bytes> parse_size(std::string_view text);
/// The value of option `name`. Throws UsageError if it is no size.
[[nodiscard]] Bytes size_option(std::string_view name, std::string_view text);

}  // namespace lockstep::cli
