#pragma once

#include <map>
#include <span>
#include <string>

#include "strategies/collectives/registry/spec.hpp"
#include "tools/app/collective/setup/collective_setup.hpp"

namespace lockstep::app {

/// Algorithms for a trace's collectives: the one named by the option, else ring, else the first of
/// the registry.
class ReplayAlgorithms {
 public:
  /// `list`: value of `--algorithm`; may be empty. Throws RequestError for unknown names and for
  /// two algorithms of one collective.
  ReplayAlgorithms(const CollectiveSetup& setup, const std::string& list);

  /// Throws RequestError if the algorithm does not support this number of ranks.
  [[nodiscard]] SchedulePtr choose(Collective collective, std::span<const int> ranks,
                                   Bytes message);
  /// Choices made so far.
  [[nodiscard]] const std::map<Collective, AlgorithmSpec>& chosen() const { return chosen_; }

 private:
  [[nodiscard]] AlgorithmSpec spec_of(Collective collective) const;

  const CollectiveSetup& setup_;
  std::map<Collective, AlgorithmSpec> given_;
  std::map<Collective, AlgorithmSpec> chosen_;
};

}  // namespace lockstep::app
