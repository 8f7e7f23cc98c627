#pragma once

#include <filesystem>
#include <memory>

#include "sim/cost/cost_model.hpp"
#include "topologies/devices/device.hpp"
#include "topologies/graph/cluster.hpp"

namespace lockstep {

/// On what a layout is simulated while it is verified. Its ranks take the cluster's first GPUs.
struct VerificationStage {
  Cluster cluster;
  Device device;
  std::shared_ptr<const CostModel> cost;
  std::filesystem::path nccl_tuning;  // of configs/nccl
};

}  // namespace lockstep
