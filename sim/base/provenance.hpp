#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lockstep {

/// How a parameter of a device, cluster, kernel or software stack is known, the surest first.
enum class Provenance : std::uint8_t {
  source_code,  // read in the source code of the simulated software: counts, bytes, decisions
  measured,     // on the hardware
  fitted,       // to measurements, by this project
  datasheet,    // stated by its maker: datasheet, documentation, a constant in its software
  announced,    // stated by its maker before delivery
  assumed,      // none of these: a guess, a similar device's value, third parties alone
};

/// As written in files, in order.
inline constexpr std::array<std::string_view, 6> kProvenanceNames{
    "source_code", "measured", "fitted", "datasheet", "announced", "assumed"};
inline constexpr std::size_t kProvenances = kProvenanceNames.size();

[[nodiscard]] constexpr std::string_view to_string(Provenance of) {
  return kProvenanceNames[static_cast<std::size_t>(of)];
}

}  // namespace lockstep
