#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/error.hpp"
#include "sim/cost/cost_model.hpp"
#include "sim/engine/replay.hpp"
#include "sim/program/timeline.hpp"
#include "sim/trace/perfetto.hpp"
#include "strategies/layout/parallel_config.hpp"
#include "strategies/nccl/cost/cost_data.hpp"
#include "strategies/step/lowering/fold_step.hpp"
#include "topologies/devices/device.hpp"
#include "topologies/graph/cluster.hpp"

namespace lockstep {

/// How many ranks are simulated.
enum class Fidelity : std::uint8_t {
  automatic,        // all ranks where that is quick, else representatives
  all_ranks,        // every rank and every transfer on one network
  representatives,  // one rank per role, or of each kind where some are slower; each communication
                    // is replayed with all its sister groups, but apart from other traffic
};

/// Whether ranks that cannot differ are simulated once. Times are the same to the picosecond. With
/// the queue model nothing is folded, and where the loads of links over time are wanted only steps
/// that are too large for all ranks.
/// `automatic`: where it helps; `off`: neither are alike collectives replayed once for all.
enum class Folding : std::uint8_t { automatic, off, always };

struct SimulationOptions {
  Fidelity fidelity = Fidelity::automatic;
  Folding fold = Folding::automatic;
  /// Ranks that compute at another speed, 1 being that of the others: kernels take their time over
  /// it.
  std::map<int, double> speeds{};
  NetworkModel network = NetworkModel::fluid;
  std::filesystem::path nccl_tuning{};  // of configs/nccl
  std::vector<NcclCost> costs{};        // of collectives, that go before the shipped ones
  /// Memory bandwidth of a host, which the GPUs of a node share, and of its link to a GPU; none:
  /// nothing there takes time.
  std::optional<Rate> host_memory{};
  std::optional<Rate> host_link{};
  bool link_series = false;  // what every link carries over time: SimulatedTrainingStep::links
};

class ProgramStuck : public Error {
 public:
  explicit ProgramStuck(const std::string& message) : Error{ErrorCode::negative_result, message} {}
};

/// More ranks that differ than there is room to simulate.
class TrainingStepTooLarge : public Error {
 public:
  explicit TrainingStepTooLarge(const std::string& message)
      : Error{ErrorCode::negative_result, message} {}
};

struct SimulatedTrainingStep {
  TrainingStepTimeline timeline;
  Fidelity fidelity = Fidelity::all_ranks;  // never automatic
  std::vector<std::string> algorithms{};    // as CollectiveChoice::report()
  std::uint64_t transfers = 0;
  /// Classes of ranks, as timeline.ranks, where they were folded or, with representatives, some are
  /// slower; in what they differ, with Folding::always.
  std::vector<RankEquivalenceClass> classes{};
  /// Where asked for; empty of a folded step. With representatives: what the first of them and its
  /// sisters send.
  std::vector<LinkSeries> links{};
};

/// Simulates one training step of a program on a cluster of `device`s.
/// Errors: a program that deadlocks throws ProgramStuck, which names ranks and operations; one
/// whose ranks differ too much for so many of them TrainingStepTooLarge.
[[nodiscard]] SimulatedTrainingStep simulate(std::shared_ptr<const Program> program,
                                             const ParallelConfig& parallel, const Cluster& cluster,
                                             const Device& device, const CostModel& cost,
                                             const SimulationOptions& options = {});

}  // namespace lockstep
