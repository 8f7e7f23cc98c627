// What the command can do and the page cannot: reading schedules of XML, which needs pugixml,
// writing traces, machine calibrations, config.json of Hugging Face, outer steps of DiLoCo, and
// checks of the passes that make a step. No request leads here; the functions exist for the linker
// and say so. Late ranks are folded by classes, and branches of trees and calls that meet nothing
// are replayed with the rest: the same times, later with thousands of ranks. Ends of steps are not
// kept, and classes are not described.
#include "sim/engine/event_loop/replay_steps.hpp"
#include "sim/engine/held_calls.hpp"
#include "sim/execute/command_graph/backend.hpp"
#include "sim/schedule/step_ends.hpp"
#include "sim/symmetry/branches/branch_replay.hpp"
#include "sim/symmetry/branches/branches.hpp"
#include "sim/symmetry/class_differences.hpp"
#include "sim/symmetry/plain/plain_replay.hpp"
#include "sim/symmetry/rank_fold.hpp"
#include "sim/symmetry/ranks/rank_recursion.hpp"
#include "strategies/calibration/machine_file.hpp"
#include "strategies/interop/msccl/msccl.hpp"
#include "strategies/layout/passes.hpp"
#include "strategies/models/files/model_readers.hpp"
#include "strategies/step/facts.hpp"
#include "tools/app/errors.hpp"
#include "tools/app/step/memory_changes.hpp"
#include "tools/app/step/metrics/step_provenance.hpp"
#include "tools/app/trace_stream.hpp"
#include "topologies/blocks/nested_blocks.hpp"

namespace lockstep {

std::optional<NestedBlocks> NestedBlocks::find(const ClusterData& /*data*/) {
  return std::nullopt;
}
bool NestedBlocks::may_exchange(std::size_t /*nodes*/, std::size_t /*blocks*/) const {
  return false;
}
BlockLink NestedBlocks::place_of(LinkId link, std::size_t /*nodes*/) const {
  return {0, link};
}
LinkId NestedBlocks::link_at(const BlockLink& place, std::size_t /*nodes*/) const {
  return place.first;
}
std::size_t NestedBlocks::neighbors(LinkId /*link*/, std::size_t /*nodes*/) const {
  return 1;
}

namespace engine {

HeldCalls::HeldCalls(const ReplayState& /*state*/, const ReusedCalls& /*reused*/)
    : possible_{false} {}
void HeldCalls::join(const Siblings& /*siblings*/) {}
bool HeldCalls::hold(std::uint32_t /*call*/, std::uint32_t /*member*/) {
  return false;
}
void HeldCalls::count_transfer(const Route& /*route*/, bool /*begins*/) {}
void HeldCalls::end_members(std::uint32_t /*call*/, std::uint32_t /*generation*/) {}
std::vector<HeldCalls::Begin> HeldCalls::release_met() {
  return {};
}
bool HeldCalls::meet_all() {
  return false;
}

}  // namespace engine

void StepEndsLog::add_run(std::size_t lane, std::int64_t step, std::int64_t count,
                          std::int64_t end_ps, std::int64_t takes_ps) {
  (void)lane, (void)step, (void)count, (void)end_ps, (void)takes_ps;
}

StepEnds latest_of(std::span<const StepEnds> lanes) {
  (void)lanes;
  return {};
}

ReplayedSteps replay_with_steps(const Network& network, const Workload& workload,
                                NetworkModel model, const OnReplay& report) {
  return {replay(network, workload, model, report), {}};
}

MscclImport read_msccl(const std::filesystem::path& path, const MscclOptions& options) {
  (void)path, (void)options;
  throw app::RequestError("schedule", "the page reads no schedules; use `lockstep collective`");
}

std::optional<Contract> MscclImport::contract() const {
  throw app::RequestError("schedule", "the page reads no schedules; use `lockstep collective`");
}

// As it is declared. NOLINTNEXTLINE(performance-unnecessary-value-param)
double median(std::vector<double> values) {
  (void)values;
  throw app::RequestError("calibration", "the page takes no machine calibrations");
}

MeasuredMachine read_machine(ObjectReader& in) {
  (void)in;
  throw app::RequestError("calibration", "the page takes no machine calibrations");
}

void refuse_earlier_machine(const JsonDocument& document) {
  (void)document;
}

/// By the keys that all of them have.
bool is_hugging_face(const ValueReader& value) {
  if (!value.is_object()) return false;
  const auto& members = *value.value()->get_if<JsonObject>();
  return find_member(members, "model_type") != nullptr ||
         find_member(members, "architectures") != nullptr ||
         find_member(members, "_class_name") != nullptr;
}

ModelConfig read_hugging_face(ObjectReader& in) {
  (void)in;
  throw app::RequestError("model", "the page reads no config.json; use `lockstep run`");
}

/// The order of the passes is checked by what ships with the command.
std::span<const FactCheck> fact_checks() {
  return {};
}

namespace fold {

void describe_differences(const Relations& /*relations*/, const Partition& /*partition*/,
                          const Network& /*network*/, const Workload& /*workload*/,
                          FoldReport& /*report*/) {}
std::string difference_between(std::uint32_t /*member*/, std::uint32_t /*usual*/,
                               const Relations& /*relations*/, const Partition& /*partition*/,
                               const Network& /*network*/, const Workload& /*workload*/) {
  return {};
}

Branches find_branches(const Relations& relations, const Partition& partition,
                       const Quotient& quotient) {
  (void)relations, (void)partition, (void)quotient;
  return {};
}

std::optional<BranchReplayResult> replay_branches(const Quotient& quotient,
                                                  const Branches& branches, NetworkModel model,
                                                  const OnReplay& report) {
  (void)quotient, (void)branches, (void)model, (void)report;
  return std::nullopt;
}

std::optional<PlainPlan> make_plain_plan(const Quotient& quotient, NetworkModel model) {
  (void)quotient, (void)model;
  return std::nullopt;
}

std::optional<PlainReplay> replay_plain(const PlainPlan& plan, const OnReplay& report) {
  (void)plan, (void)report;
  return std::nullopt;
}

std::optional<RankFold> find_rank_fold(const Network& network, const Workload& workload,
                                       NetworkModel model, const FoldOptions& options) {
  (void)network, (void)workload, (void)model, (void)options;
  return std::nullopt;
}

std::optional<RankFold> make_rank_fold(Relations& relations, const Network& network,
                                       const Workload& workload, NetworkModel model,
                                       const FoldOptions& options) {
  (void)relations, (void)network, (void)workload, (void)model, (void)options;
  return std::nullopt;
}

void describe_ranks(const RankFold& fold, const Network& network, const Workload& workload,
                    FoldReport& report) {
  (void)fold, (void)network, (void)workload, (void)report;
}

std::optional<RankRecursionResult> run_rank_recursion(const Relations& relations,
                                                      const ReceivedPairs& received,
                                                      const RankCosts& costs,
                                                      const Network& network,
                                                      const Workload& workload, bool step_ends) {
  (void)relations, (void)received, (void)costs, (void)network, (void)workload, (void)step_ends;
  return std::nullopt;
}

}  // namespace fold

namespace app {

/// Changes that fit are not searched.
MemoryShortfall memory_shortfall(const TrainingStepRequest& request, const Scenario& scenario,
                                 const RankMemory& memory) {
  (void)request;
  MemoryShortfall out;
  out.memory = memory;
  out.device = scenario.cluster.device.id;
  return out;
}

/// The page does not show what a step rests on.
StepProvenance step_provenance(const Scenario& scenario, const CostModel& cost,
                               const SimulatedTrainingStep& step,
                               const TrainingStepSummary& summary) {
  (void)scenario, (void)cost, (void)step, (void)summary;
  return {};
}

void write_trace_file(const std::string& path, const std::function<void(const TextSink&)>& write,
                      const OnTraceSize& on_size) {
  (void)path, (void)write, (void)on_size;
  throw RequestError("trace", "the page writes no traces; use `lockstep run --trace`");
}

}  // namespace app

}  // namespace lockstep
