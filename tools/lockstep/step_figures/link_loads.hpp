#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tools/app/step/run_step.hpp"
#include "tools/lockstep/output/app.hpp"

namespace lockstep::cli {

/// Steps of more ranks show links by kind.
inline constexpr int kMostLinkRanks = 128;

/// The share of a link's bandwidth in use in equal bins of the step.
struct LinkLoad {
  LinkId link = 0;
  std::vector<double> use{};
  double mean = 0;
};

struct StepLinkLoads {
  std::vector<LinkLoad> links{};  // with traffic, by id
  /// Rates of single transfers; otherwise those of a communication are averaged over its time.
  bool by_transfer = false;
};

/// Loads of a step of at most kMostLinkRanks ranks; empty for more.
[[nodiscard]] StepLinkLoads link_loads(const TrainingStepResult& result, std::size_t divisions);

/// "gpu -> nvswitch".
[[nodiscard]] std::string kind_of_link(const Cluster& cluster, LinkId link);

}  // namespace lockstep::cli
