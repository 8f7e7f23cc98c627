#pragma once

#include <filesystem>
#include <memory>

#include "sim/cost/cost_model.hpp"
#include "topologies/devices/device.hpp"
#include "topologies/graph/cluster.hpp"

namespace lockstep {

/// The cluster on which a verified layout is also simulated; ranks use its first GPUs.
struct VerificationStage {
  Cluster cluster;
  Device device;
  std::shared_ptr<const CostModel> cost;
  std::filesystem::path nccl_tuning;  // of configs/nccl
};

}  // namespace lockstep
