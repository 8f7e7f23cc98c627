#pragma once

#include <optional>
#include <string_view>

#include "sim/base/units.hpp"

namespace lockstep::cli {

/// A message size as nccl-tests reads it, K, M, G and T powers of 1024 (64M = 64 MiB), or with a
/// unit: "64 MiB", 8MB (powers of 1000), 1.5M, 1e6. Empty where the text is nothing of the kind, is
/// above 1 PiB or ends in a part of a byte.
[[nodiscard]] std::optional<Bytes> parse_size(std::string_view text);
/// The size that option `name` was given. Throws UsageError where it is none.
[[nodiscard]] Bytes size_option(std::string_view name, std::string_view text);

}  // namespace lockstep::cli
