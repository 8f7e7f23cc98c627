#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/app/collective/collective_request.hpp"

namespace lockstep::app {

/// Collectives, algorithms and imported schedules by name; lists are separated by commas.
struct CandidateNames {
  std::string collectives{};             // "all_reduce"; empty: those of the schedules
  std::string algorithms{};              // "ring,tree:chunks=8", "all", "auto:by=nccl"; empty: ring
  std::vector<std::string> schedules{};  // files of MSCCL XML
  std::optional<int> slots{};            // of connections of schedules; none: each schedule's own

  /// Whether anything is given.
  [[nodiscard]] bool any() const {
    return !collectives.empty() || !algorithms.empty() || !schedules.empty() || slots;
  }
};

/// Adds the candidates to the request; a cluster of free size gets as many ranks as imported
/// schedules are for. Throws RequestError, ConfigError.
void add_candidates(const CandidateNames& names, CollectiveRequest& request);

/// The algorithm that a collective gets if none is named: ring, or the first of its table.
[[nodiscard]] std::string default_algorithm(Collective collective);

/// Throws RequestError if there is no such collective.
[[nodiscard]] Collective collective_of(const std::string& name);

}  // namespace lockstep::app
