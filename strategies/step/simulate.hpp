#pragma once

#include <filesystem>
#include <functional>
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
#include "strategies/calibration/cost_data.hpp"
#include "strategies/layout/parallel_config.hpp"
#include "strategies/step/lowering/collective_choice.hpp"
#include "strategies/step/lowering/costs/rank_speed.hpp"
#include "strategies/step/lowering/fold_step.hpp"
#include "topologies/devices/device.hpp"
#include "topologies/graph/cluster.hpp"

namespace lockstep {

/// How many ranks are simulated.
enum class Fidelity : std::uint8_t {
  automatic,        // all ranks if that is fast, else representatives
  all_ranks,        // every rank and every transfer on one network
  representatives,  // one rank per role, or per class if some ranks are slower; each communication
                    // is replayed with its sister groups, without other traffic
};

/// Whether equivalent ranks are simulated once; times are identical to the picosecond. Not with the
/// queue model; with link series only for steps too large to simulate unfolded.
/// `automatic`: if it helps; `off`: also without reuse of identical collectives, each a call of its
/// own.
enum class Folding : std::uint8_t { automatic, off, always };

struct SimulationOptions {
  Fidelity fidelity = Fidelity::automatic;
  Folding fold = Folding::automatic;
  RankSpeeds speeds{};
  NetworkModel network = NetworkModel::fluid;
  std::filesystem::path nccl_tuning{};  // of configs/nccl
  std::vector<NcclCost> costs{};        // override the shipped costs
  /// Bandwidth of host memory, shared by the GPUs of a node, and of the host's link to a GPU; none:
  /// host work takes no time.
  std::optional<Rate> host_memory{};
  std::optional<Rate> host_link{};
  OnReplay on_replay{};                             // called periodically during the replay
  bool link_series = false;                         // record SimulatedTrainingStep::links
  std::function<void(double share)> on_lowering{};  // called while the step is expanded
  /// Of all ranks: operations whose times are not those of another rank, shifted. Beyond that the
  /// replay ends with TrainingStepTooLarge; 8 bytes each.
  double most_distinct = 2.5e8;
};

class ProgramStuck : public Error {
 public:
  explicit ProgramStuck(const std::string& message) : Error{ErrorCode::negative_result, message} {}
};

/// Too many inequivalent ranks to simulate.
class TrainingStepTooLarge : public Error {
 public:
  explicit TrainingStepTooLarge(const std::string& message)
      : Error{ErrorCode::invalid_input, message} {}
};

struct SimulatedTrainingStep {
  TrainingStepTimeline timeline;
  Fidelity fidelity = Fidelity::all_ranks;   // the one used, never automatic
  std::vector<ReportedChoice> algorithms{};  // as CollectiveChoice::report()
  std::uint64_t transfers = 0;
  /// Equivalence classes, as timeline.ranks, if the step was folded or, with representatives, some
  /// ranks are slower; with differences under Folding::always.
  std::vector<RankEquivalenceClass> classes{};
  /// If requested; empty for a folded step. With representatives: traffic of the first one and its
  /// sister groups.
  std::vector<LinkSeries> links{};
};

/// Simulates one training step of a program on a cluster of `device`s.
/// Throws ProgramStuck, naming ranks and operations, if the program deadlocks, and
/// TrainingStepTooLarge if too many ranks are inequivalent.
[[nodiscard]] SimulatedTrainingStep simulate(std::shared_ptr<const Program> program,
                                             const ParallelConfig& parallel, const Cluster& cluster,
                                             const Device& device, const CostModel& cost,
                                             const SimulationOptions& options = {});
/// The same where the program has been unrolled already. For many steps on one cluster:
/// training_step_simulator.hpp.
[[nodiscard]] SimulatedTrainingStep simulate(std::shared_ptr<const Program> program,
                                             const RolePrograms& roles,
                                             const ParallelConfig& parallel, const Cluster& cluster,
                                             const Device& device, const CostModel& cost,
                                             const SimulationOptions& options = {});

}  // namespace lockstep
