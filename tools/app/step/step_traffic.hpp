#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/program/communicator.hpp"
#include "strategies/step/lowering/collective_choice.hpp"
#include "strategies/step/simulated_cluster.hpp"
#include "tools/app/step/run_step.hpp"

namespace lockstep::app {

/// Whom a communication of a step connects, and what all its messages together put on links.
struct CommunicationTraffic {
  std::vector<int> members{};  // ranks, then hosts as ranks + host number; sender and receiver of a
                               // message
  std::string algorithm{};     // "ring:channels=2"; empty: a message
  std::vector<std::pair<LinkId, double>> bytes{};  // by link, ascending
};

/// Links and bytes of communications of a simulated step, from the messages of the algorithms that
/// its collectives use. Independent of which ranks were simulated. Caches results: not thread-safe.
class StepTraffic {
 public:
  /// The result must outlive this object.
  explicit StepTraffic(const TrainingStepResult& result);
  StepTraffic(const StepTraffic&) = delete;
  StepTraffic& operator=(const StepTraffic&) = delete;

  /// Of an operation of a rank; null: it communicates with no other rank. Valid as long as this
  /// object; the same for all members of a collective and both ends of a message.
  [[nodiscard]] const CommunicationTraffic* of(int rank, const RoleProgram& role,
                                               const RoleOperation& operation);

 private:
  /// Blocks that go from one participant of a schedule to another.
  struct Flow {
    int from = 0;
    int to = 0;
    std::int64_t blocks = 0;
  };

  [[nodiscard]] const CommunicationTraffic* collective(int rank, const RoleProgram& role,
                                                       const RoleOperation& operation);
  [[nodiscard]] const CommunicationTraffic* message(int rank, const RoleProgram& role,
                                                    const RoleOperation& operation);
  [[nodiscard]] const std::vector<Flow>& flows_of(const ChosenCollective& chosen);
  [[nodiscard]] EndpointId endpoint(int rank) const;
  void add(EndpointId from, EndpointId to, double bytes, std::map<LinkId, double>& links) const;

  const Program& program_;
  SimulatedCluster cluster_;
  const Network& network_;
  CollectiveChoice choice_;
  std::map<const ChosenCollective*, std::vector<Flow>> flows_{};
  /// By rank, operation and bytes.
  std::map<std::tuple<int, const Operation*, std::int64_t>, const CommunicationTraffic*> known_{};
  std::map<std::pair<const ChosenCollective*, std::vector<int>>, CommunicationTraffic>
      collectives_{};
  std::map<std::tuple<int, int, std::int64_t>, CommunicationTraffic> messages_{};
};

}  // namespace lockstep::app
