#pragma once

#include <optional>
#include <string_view>

#include "sim/base/units.hpp"

namespace lockstep::cli {

/// A message size as nccl-tests reads it: digits and perhaps K, M, G or T, powers of 1024
/// (64M = 64 MiB). Empty where the text is nothing of the kind or does not fit.
[[nodiscard]] std::optional<Bytes> parse_size(std::string_view text);
/// The size that option `name` was given. Throws UsageError where it is none.
[[nodiscard]] Bytes size_option(std::string_view name, std::string_view text);

}  // namespace lockstep::cli
