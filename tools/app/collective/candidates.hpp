#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/app/collective/collective_request.hpp"

namespace lockstep::app {

/// Names of collectives, algorithms and imported schedules; lists are comma-separated.
struct CandidateNames {
  std::string collectives{};             // "all_reduce"; empty: those of the schedules
  std::string algorithms{};              // "ring,tree:chunks=8", "all", "auto:by=nccl"; empty: ring
  std::vector<std::string> schedules{};  // MSCCL XML files
  std::optional<int> slots{};            // of imported connections; none: each schedule's own

  /// Whether anything is given.
  [[nodiscard]] bool any() const {
    return !collectives.empty() || !algorithms.empty() || !schedules.empty() || slots;
  }
};

/// Adds the candidates to the request; a cluster without a fixed size gets as many ranks as
/// imported schedules need. Throws RequestError, ConfigError.
void add_candidates(const CandidateNames& names, CollectiveRequest& request);

/// The default algorithm of a collective: ring, or the first of its table.
[[nodiscard]] std::string default_algorithm(Collective collective);

/// Throws RequestError for an unknown name.
[[nodiscard]] Collective collective_of(const std::string& name);

}  // namespace lockstep::app
