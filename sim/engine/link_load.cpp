#include "sim/engine/link_load.hpp"

#include <algorithm>
#include <vector>

#include "sim/base/check.hpp"

namespace lockstep {
namespace {

class LinkLoad {
 public:
  LinkLoad(const Schedule& schedule, const Network& network, std::span<const EndpointId> members)
      : schedule_{schedule}, network_{network}, members_{members}, load_(network.links.size()) {
    for (int rank = 0; rank < schedule.ranks(); ++rank) {
      for (int lane = 0; lane < schedule.lanes(); ++lane)
        rounds_ = std::max(rounds_, schedule.steps(rank, lane));
    }
  }

  std::optional<double> run() {
    UInt128 total = 0;
    std::int64_t round = 0;
    for (const Phase& phase : schedule_.phases()) {
      for (; round < phase.first; ++round) total += busiest_in(round);
      total += busiest_in(round) * static_cast<std::uint64_t>(phase.count);
      round += phase.count;
    }
    for (; round < rounds_; ++round) total += busiest_in(round);
    if (!routed_) return std::nullopt;
    return static_cast<double>(total) / static_cast<double>(kWeightUnit) /
           static_cast<double>(schedule_.blocks());
  }

 private:
  /// Blocks on the busiest link, in weights.
  UInt128 busiest_in(std::int64_t round) {
    for (int rank = 0; rank < schedule_.ranks(); ++rank) {
      for (int lane = 0; lane < schedule_.lanes(); ++lane) {
        if (round < schedule_.steps(rank, lane)) add_sends(rank, lane, round);
      }
    }
    UInt128 most = 0;
    for (const LinkId link : touched_) {
      most = std::max(most, load_[link]);
      load_[link] = 0;
    }
    touched_.clear();
    return most;
  }

  void add_sends(int rank, int lane, std::int64_t round) {
    step_.clear();
    schedule_.step(rank, lane, round, step_);
    for (const Send& send : step_.sends) {
      routed_ = routed_ && network_.router->route(endpoint(rank), endpoint(send.peer), route_);
      if (!routed_) return;
      for (const Hop& hop : route_.hops) {
        if (load_[hop.link] == 0) touched_.push_back(hop.link);
        load_[hop.link] += UInt128{hop.weight} * static_cast<std::uint64_t>(step_.blocks_of(send));
      }
    }
  }

  [[nodiscard]] EndpointId endpoint(int rank) const {
    return members_.empty() ? static_cast<EndpointId>(rank)
                            : members_[static_cast<std::size_t>(rank)];
  }

  const Schedule& schedule_;
  const Network& network_;
  std::span<const EndpointId> members_;
  std::int64_t rounds_ = 0;
  std::vector<UInt128> load_;  // per link, of the round at hand
  std::vector<LinkId> touched_;
  bool routed_ = true;
  ScheduleStep step_;
  Route route_;
};

}  // namespace

std::optional<double> busiest_link_load(const Schedule& schedule, const Network& network,
                                        std::span<const EndpointId> members) {
  LOCKSTEP_CHECK(members.empty() || std::ssize(members) == schedule.ranks());
  return LinkLoad{schedule, network, members}.run();
}

}  // namespace lockstep
