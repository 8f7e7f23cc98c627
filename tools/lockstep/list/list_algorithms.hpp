#pragma once

#include <string>

#include "tools/lockstep/output/output.hpp"

namespace lockstep::cli {

/// Arguments of `lockstep list algorithms`.
struct ListAlgorithms {
  std::string collective;  // empty: every
  std::string algorithm;   // empty: every one of the collective
  bool verbose = false;    // everything about each
  bool table = true;       // for people: one section for each collective

  [[nodiscard]] bool everything() const {
    return collective.empty() && algorithm.empty() && !verbose;
  }
};

/// A table as wide as the terminal, or one algorithm after the other with its whole row. Throws
/// UsageError for unknown names.
[[nodiscard]] Report list_algorithms(const ListAlgorithms& asked);

}  // namespace lockstep::cli
