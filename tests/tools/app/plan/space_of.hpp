#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tools/app/plan/plan.hpp"

namespace lockstep::app {

/// A space of a shipped model on nodes of a shipped cluster.
inline SpaceRequest space_of(const std::string& model, const std::string& cluster,
                             std::int64_t nodes, std::int64_t batch, std::vector<std::string> vary,
                             std::vector<std::string> fix) {
  SpaceRequest out;
  out.model = model;
  out.cluster = cluster;
  out.nodes = nodes;
  out.global_batch = batch;
  out.vary = std::move(vary);
  out.fix = std::move(fix);
  return out;
}

}  // namespace lockstep::app
