#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sim/engine/replay.hpp"
#include "strategies/step/lowering/link_series.hpp"
#include "strategies/step/lowering/lowering.hpp"
#include "topologies/graph/cluster.hpp"

namespace lockstep {

/// Times communication by replaying it together with that of every other group that shares a node
/// with it, all at once and apart from other traffic. Groups that sit alike take equally long and
/// are replayed once.
class ReplayedTimes final : public CommunicationTimes {
 public:
  ReplayedTimes(const Program& program, const Cluster& cluster, const Network& network,
                NetworkModel model, CollectiveChoice& choice,
                std::function<EndpointId(int)> endpoint);

  [[nodiscard]] Duration collective(int rank, const RoleProgram& role,
                                    const RoleOperation& operation) override;
  [[nodiscard]] MessageTime message(int rank, const RoleProgram& role,
                                    const RoleOperation& operation) override;

  /// What every link carries for the role that uses it most: what one role's rank and its sisters
  /// send in all, laid on the links where it was replayed.
  [[nodiscard]] std::vector<Bytes> link_bytes() const;
  /// Adds what one communication of a rank's timeline, and its sisters', put on their links, evenly
  /// over the time that it took.
  void add_loads(int rank, const RoleProgram& role, const RoleOperation& operation, TimePoint end,
                 LinkLoads& loads) const;
  [[nodiscard]] std::uint64_t transfers() const { return transfers_; }

 private:
  struct Outcome {
    Duration time;
    Duration sending{};                                  // of messages: until the senders are done
    std::vector<std::pair<LinkId, Bytes>> link_bytes{};  // those that carried something
    std::vector<std::int64_t> uses{};                    // per role
  };

  [[nodiscard]] const Outcome& known_or_replayed(const std::string& key, int rank, std::size_t role,
                                                 const std::function<Outcome()>& replayed);
  void add_sisters(int rank, const RoleProgram& role, const RoleOperation& operation);
  [[nodiscard]] Outcome replay_groups(int rank, const Communication& how, Bytes message);
  [[nodiscard]] Outcome replay_messages(int rank, const Communication& how, Bytes size);
  [[nodiscard]] Outcome replayed(const Workload& workload, Duration launch);
  [[nodiscard]] std::string collective_key(int rank, const RoleProgram& role,
                                           const RoleOperation& operation) const;
  [[nodiscard]] std::string message_key(int rank, const RoleProgram& role,
                                        const RoleOperation& operation) const;
  [[nodiscard]] int node_of(int rank) const;
  [[nodiscard]] std::vector<int> ranks_of_node(int node) const;
  [[nodiscard]] std::vector<std::vector<int>> sister_groups(int rank,
                                                            const Communication& how) const;
  [[nodiscard]] std::string place_key(const std::vector<int>& ranks) const;

  const Program& program_;
  const Cluster& cluster_;
  const Network& network_;
  NetworkModel model_;
  CollectiveChoice& choice_;
  std::function<EndpointId(int)> endpoint_;
  std::map<std::string, Outcome> known_;
  std::uint64_t transfers_ = 0;
};

}  // namespace lockstep
