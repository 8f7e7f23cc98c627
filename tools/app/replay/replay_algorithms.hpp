#pragma once

#include <map>
#include <span>
#include <string>

#include "strategies/collectives/registry/spec.hpp"
#include "tools/app/collective/setup/collective_setup.hpp"

namespace lockstep::app {

/// Which algorithm a trace's collectives get: of each collective the one that the option names,
/// else its ring, else the first of the table.
class ReplayAlgorithms {
 public:
  /// `list` is `--algorithm` as written, empty where it is not given. Throws RequestError for names
  /// that no collective has, and for two of one collective.
  ReplayAlgorithms(const CollectiveSetup& setup, const std::string& list);

  /// Throws RequestError where so many ranks cannot have it.
  [[nodiscard]] SchedulePtr choose(Collective collective, std::span<const int> ranks,
                                   Bytes message);
  /// What choose() was asked for, and what it chose.
  [[nodiscard]] const std::map<Collective, AlgorithmSpec>& chosen() const { return chosen_; }

 private:
  [[nodiscard]] AlgorithmSpec spec_of(Collective collective) const;

  const CollectiveSetup& setup_;
  std::map<Collective, AlgorithmSpec> given_;
  std::map<Collective, AlgorithmSpec> chosen_;
};

}  // namespace lockstep::app
