#pragma once

#include <optional>
#include <string>
#include <vector>

#include "strategies/collectives/sizing.hpp"
#include "strategies/collectives/spec.hpp"
#include "tools/lockstep/arena.hpp"
#include "tools/lockstep/collective/contestant.hpp"
#include "tools/lockstep/collective/rank_settings.hpp"

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
    Player::Options out{type, root, skew, cluster.seed, nullptr, fold, ranks, most_memory};
    for (const Contestant& each : contestants)
      if (each.kind == Contestant::Kind::nccl) out.nccl = &nccl;
    return out;
  }

  Duration skew;
  Bytes most_memory = kMostMemory;
  bool check = false;
  bool load = false;
  bool fold = true;
  bool classes = false;            // who was folded into whom is to be shown
  std::vector<RankSetting> ranks;  // that have figures of their own
};

}  // namespace lockstep::cli
