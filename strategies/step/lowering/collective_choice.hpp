#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/engine/replay.hpp"
#include "sim/network/network.hpp"
#include "sim/program/operation.hpp"
#include "sim/reuse/key.hpp"
#include "strategies/collectives/placement/reducing_switches.hpp"
#include "strategies/collectives/registry/registry.hpp"
#include "strategies/collectives/registry/spec.hpp"
#include "strategies/nccl/nccl_communicator.hpp"
#include "strategies/nccl/tuning_data.hpp"
#include "strategies/sharding/experts/unequal_experts.hpp"
#include "topologies/devices/device.hpp"
#include "topologies/graph/cluster.hpp"

namespace lockstep {

/// A collective with its schedule, executed by its members and, if the schedule has more ranks, by
/// switches that reduce.
struct ChosenCollective {
  SchedulePtr schedule;
  AuxiliaryRanks auxiliary_ranks = AuxiliaryRanks::none;  // which switches
  Bytes block;
  Duration launch;               // before the first byte
  std::string text;              // "ring:channels=8"
  bool on_copy_engines = false;  // computation meanwhile keeps all multiprocessors
};

/// Whether one of these algorithms, by group, needs switches of the fabric.
[[nodiscard]] bool uses_fabric_switches(const std::map<std::string, std::string>& algorithms);

/// A choice as reported, e.g. an all_reduce of 64 MiB in group tp among 8 by `ring:channels=8`.
struct ReportedChoice {
  std::string group;
  Collective collective = Collective::all_reduce;
  Bytes message{};
  std::size_t members = 0;
  std::string algorithm;
  std::string refused{};  // the algorithm of the scenario, if these members cannot execute it
  std::optional<Provenance> cost{};  // of measured costs beyond the links; none: not used

  friend bool operator==(const ReportedChoice&, const ReportedChoice&) = default;
};

/// Selects the algorithm of each collective in a training step: the scenario's for the group if the
/// collective has it (or an AutomaticChoice), else NCCL's choice as printed by
/// `collective --algorithm auto`, else a ring or direct exchange. Caches schedules.
class CollectiveChoice {
 public:
  /// `algorithms`: by group (tp, dp, ...), such as `ring:channels=2`. `network`: the cluster
  /// lowered with these switches; the three must outlive this object. `model`: decides the number
  /// of chunks.
  CollectiveChoice(const Cluster& cluster, const Network& network, const ReducingSwitches& switches,
                   const Device& device, NcclTuning tuning,
                   std::map<std::string, std::string> algorithms,
                   NetworkModel model = NetworkModel::fluid);

  [[nodiscard]] const Network& network() const { return network_; }
  /// `members`: ranks in order; a root that is a host comes last. `message`: size by the
  /// collective's contract.
  /// `copies`: Communication::copies, in whose place there is no other algorithm. `skew`: of an
  /// all-to-all; algorithms that send each block straight to its rank follow it.
  [[nodiscard]] const ChosenCollective& choose(
      Collective collective, const std::string& group, const std::vector<EndpointId>& members,
      int root, bool host, Bytes message, const std::optional<TokenCopies>& copies = std::nullopt,
      const std::optional<TokenSkew>& skew = std::nullopt);
  /// CollectiveCall::slowed_permille of a communication: its kernels take multiprocessors from what
  /// is computed meanwhile.
  [[nodiscard]] std::int64_t slowed_permille(const Communication& how) const;
  /// Endpoints that execute the chosen schedule: the members, then the switches that reduce.
  [[nodiscard]] std::vector<EndpointId> participants(const ChosenCollective& chosen,
                                                     std::vector<EndpointId> members) const;
  /// In order of first use since begin_report().
  [[nodiscard]] const std::vector<ReportedChoice>& report() const { return report_; }
  /// Begins a new report; what was chosen stays.
  void begin_report();

 private:
  struct Call {
    Collective collective;
    const std::string& group;
    int root;
    bool host;
    Bytes message;
    const std::optional<TokenCopies>& copies;
    const std::optional<TokenSkew>& skew;
  };
  [[nodiscard]] const NcclCommunicator& communicator(const std::vector<EndpointId>& ranks);
  [[nodiscard]] fold::Key shape_of(const std::vector<EndpointId>& ranks) const;
  struct Made {
    ChosenCollective chosen;
    ReportedChoice report{};
    std::uint64_t reports = 0;  // so many had begun when it was reported last
  };
  [[nodiscard]] Made& make(const Call& call, const std::vector<EndpointId>& members);
  [[nodiscard]] Made& make_dispatch(const Call& call, const std::vector<EndpointId>& members);
  [[nodiscard]] const ChosenCollective& reported(Made& made);
  [[nodiscard]] AutomaticChoice automatic(const std::string& group) const;
  [[nodiscard]] AlgorithmSpec fastest(const Call& call, const NcclCommunicator& ranks) const;
  [[nodiscard]] AlgorithmSpec named(Collective collective, const std::string& group) const;
  [[nodiscard]] AlgorithmSpec fallback(const Call& call, const NcclFacts& facts) const;
  [[nodiscard]] bool is_without_nccl() const;
  [[nodiscard]] bool fills_torus(const Call& call, const std::vector<EndpointId>& ranks) const;
  [[nodiscard]] AlgorithmSpec of_torus(const Call& call, const NcclFacts& facts) const;
  [[nodiscard]] AlgorithmInput input_with_host(const NcclCommunicator& ranks,
                                               const std::vector<EndpointId>& members) const;

  const Cluster& cluster_;
  const Network& network_;
  const ReducingSwitches& switches_;
  Device device_;
  NcclTuning tuning_;
  std::map<std::string, std::string> algorithms_;
  NetworkModel model_;
  std::map<fold::Key, NcclCommunicator> communicators_;
  std::map<fold::Key, Made*> known_;  // by group, where its ranks sit, and call
  std::map<std::string, Made> made_;  // by all that a schedule follows from
  std::vector<ReportedChoice> report_;
  std::uint64_t reports_ = 1;  // that have begun
};

}  // namespace lockstep
