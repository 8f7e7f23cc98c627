#pragma once

#include <string>
#include <vector>

#include "strategies/scenario/scenario.hpp"

namespace lockstep::cli {

/// How the documents of a step were drawn, with the seed, and how unequal the attention of its
/// sequences is. Empty if documents do not differ between sequences.
[[nodiscard]] std::vector<std::string> document_notes(const Scenario& scenario);

}  // namespace lockstep::cli
