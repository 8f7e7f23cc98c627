#pragma once

#include <optional>
#include <string>
#include <vector>

#include "strategies/collectives/sizing.hpp"
#include "strategies/collectives/spec.hpp"
#include "tools/lockstep/arena.hpp"
#include "tools/lockstep/collective/contestant.hpp"

namespace lockstep::cli {

/// What `lockstep collective` is asked, everything checked that needs no cluster.
struct CollectiveQuestion {
  ClusterOptions cluster;
  NetworkOptions network;
  NcclOptions nccl;
  std::vector<Contestant> contestants;  // collective by collective
  bool every_row = false;               // contestants that the cluster cannot have are left out
  std::vector<Bytes> sizes;
  const ElementType* type = nullptr;
  int root = 0;

  /// How its contestants are played.
  [[nodiscard]] Player::Options play() const {
    for (const Contestant& each : contestants)
      if (each.kind == Contestant::Kind::nccl) return {type, root, skew, cluster.seed, &nccl};
    return {type, root, skew, cluster.seed, nullptr};
  }

  Duration skew;
  bool check = false;
  bool load = false;
};

}  // namespace lockstep::cli
