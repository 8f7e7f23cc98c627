#pragma once

#include <string>

#include "tools/lockstep/output/output.hpp"

namespace lockstep::cli {

/// What is asked for by `lockstep list algorithms`.
struct ListAlgorithms {
  std::string collective;  // empty: every
  std::string algorithm;   // empty: every one of the collective
  bool verbose = false;    // everything about each
  bool table = true;       // for people: one section for each collective

  [[nodiscard]] bool everything() const {
    return collective.empty() && algorithm.empty() && !verbose;
  }
};

/// A table no wider than a terminal, or one algorithm after the other with all that its row says.
/// Throws UsageError for names that are not there.
[[nodiscard]] Report list_algorithms(const ListAlgorithms& asked);

}  // namespace lockstep::cli
