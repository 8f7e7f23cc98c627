#pragma once

#include <optional>

#include "sim/base/provenance.hpp"
#include "sim/config/reader.hpp"

namespace lockstep {

inline constexpr Key kProvenanceKey{"provenance", "How the value is known (default: assumed)"};

[[nodiscard]] inline std::optional<Provenance> optional_provenance(ObjectReader& in,
                                                                   const Key& key) {
  const auto found = in.optional(key);
  if (!found) return std::nullopt;
  const std::string name =
      found->one_of("provenance", {kProvenanceNames.begin(), kProvenanceNames.end()});
  std::size_t i = 0;
  while (i + 1 < kProvenances && kProvenanceNames[i] != name) ++i;
  return static_cast<Provenance>(i);
}

}  // namespace lockstep
