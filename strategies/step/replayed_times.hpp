#pragma once

#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "sim/engine/replay.hpp"
#include "strategies/step/lowering/costs/link_series.hpp"
#include "strategies/step/lowering/lowering.hpp"
#include "topologies/graph/cluster.hpp"

namespace lockstep {

/// Communication times from replaying a communication together with those of all groups that share
/// a node with it, simultaneously and without other traffic. Groups with equivalent placements are
/// replayed once.
class ReplayedTimes final : public CommunicationTimes {
 public:
  ReplayedTimes(const Program& program, const Cluster& cluster, const Network& network,
                NetworkModel model, CollectiveChoice& choice,
                std::function<EndpointId(int)> endpoint);

  ReplayedTimes(const ReplayedTimes&) = delete;
  ReplayedTimes& operator=(const ReplayedTimes&) = delete;
  ~ReplayedTimes() override = default;

  [[nodiscard]] TimedCollective collective(int rank, const RoleProgram& role,
                                           const RoleOperation& operation) override;
  [[nodiscard]] MessageTime message(int rank, const RoleProgram& role,
                                    const RoleOperation& operation) override;

  /// Bytes per link for the role that uses it most: total traffic of the role's rank and its sister
  /// groups, on the links of the replay.
  [[nodiscard]] std::vector<Bytes> link_bytes() const;
  /// Adds the load of one communication and its sister groups on their links, spread evenly over
  /// its duration.
  void add_loads(int rank, const RoleProgram& role, const RoleOperation& operation, TimePoint end,
                 LinkLoads& loads) const;
  [[nodiscard]] std::uint64_t transfers() const { return transfers_; }

 private:
  struct Outcome {
    Duration time;
    bool on_copy_engines = false;                        // collectives
    Duration sending{};                                  // of messages: until the sender is free
    std::vector<std::pair<LinkId, Bytes>> link_bytes{};  // links with traffic
    std::vector<std::int64_t> uses{};                    // per role
  };

  /// What a rank does in every microbatch: an operation of the routine, with so many bytes. It
  /// stands for the key of an outcome, which takes longer to write than the rest.
  using Asked = std::tuple<int, const Operation*, std::int64_t>;

  Outcome& known_or_replayed(const std::string& key, const std::function<Outcome()>& replayed);
  void count_use(Outcome& outcome, int rank, std::size_t role) const;
  [[nodiscard]] Bytes bytes_of(const RoleProgram& role, const RoleOperation& operation) const;
  [[nodiscard]] const Outcome* find(int rank, const RoleProgram& role,
                                    const RoleOperation& operation) const;
  void add_sisters(int rank, const RoleProgram& role, const RoleOperation& operation);
  [[nodiscard]] Outcome replay_groups(int rank, const Operation& operation, Bytes message);
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
  std::map<Asked, Outcome*> asked_;  // of known_
  std::uint64_t transfers_ = 0;
};

}  // namespace lockstep
