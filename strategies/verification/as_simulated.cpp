#include "strategies/verification/as_simulated.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/execute/host/program/execute_program.hpp"
#include "sim/trace/memory.hpp"
#include "strategies/training/simulate.hpp"
#include "topologies/cluster_file.hpp"

namespace lockstep {

namespace {

/// 1e12 operations and 1e11 bytes a second: the order of things is looked at, not their time.
class PlainCost final : public CostModel {
 public:
  [[nodiscard]] Duration time(const Kernel& kernel) const override {
    return Duration::picoseconds(std::llround(kernel.flops + 10 * kernel.moved_bytes));
  }
  [[nodiscard]] double slowdown_while_communicating() const override { return 1; }
};

[[nodiscard]] Cluster star(const Program& program) {
  const auto hosts = std::count_if(program.roles.begin(), program.roles.end(),
                                   [](const Role& role) { return role.host; });
  const std::string text = fmt::format(
      R"({{"name": "star", "summary": "every rank on one switch", "device": "host", "ranks": {},
           "topology": {{"builder": "star", "link": {{"bandwidth": "10 GB/s", "latency": "1 us",
           "source": "by definition"}}}}}})",
      program.mesh.ranks());
  return read_cluster(parse_json(text, "star"),
                      ClusterSize{std::nullopt, std::nullopt, static_cast<int>(hosts)})
      .cluster;
}

/// The first difference; empty: none.
[[nodiscard]] std::string difference(const AllocationUse& executed, const MemoryUse& accounted) {
  const std::size_t points = std::max(executed.curve.size(), accounted.curve.size());
  for (std::size_t i = 0; i < points; ++i) {
    if (i >= executed.curve.size() || i >= accounted.curve.size()) {
      return fmt::format("memory changes {} times where the account has {}", executed.curve.size(),
                         accounted.curve.size());
    }
    if (executed.curve[i] == accounted.curve[i]) continue;
    return fmt::format(
        "holds {} at {} where the account has {} at {}", to_string(executed.curve[i].held.total()),
        to_string(executed.curve[i].at - TimePoint{}), to_string(accounted.curve[i].held.total()),
        to_string(accounted.curve[i].at - TimePoint{}));
  }
  return executed.peak == accounted.peak.held ? "" : "has its peak elsewhere than the account";
}

}  // namespace

VerifiedOrder verify_as_simulated(std::shared_ptr<const Program> program,
                                  const ParallelConfig& parallel, ExecutionOptions options,
                                  const std::filesystem::path& nccl_tuning,
                                  const VerifiedStep& first, double tolerance) {
  SimulationOptions simulation;
  simulation.fidelity = Fidelity::all_ranks;
  simulation.nccl_tuning = nccl_tuning;
  const SimulatedStep step =
      simulate(program, parallel, star(*program), Device{}, PlainCost{}, simulation);
  options.timeline = &step.timeline;
  ProgramExecution execution{*program, options};
  const double loss = execution.step();
  VerifiedOrder out;
  out.operations = execution.operations();
  if (!(std::abs(loss - first.loss) <= tolerance)) {
    out.problem = fmt::format("in simulated order the loss is {}, else {}", loss, first.loss);
  }
  for (const RankTimeline& rank : step.timeline.ranks) {
    const MemoryAccount account = memory_account(step.timeline.roles[rank.role], rank);
    const AllocationRecord record = execution.allocations(rank.rank);
    if (const Bytes peak = account.device.peak.held.total(); peak > out.peak) {
      out.peak = peak;
      out.fullest = rank.rank;
    }
    for (const auto& [executed, accounted] :
         {std::pair{&record.device, &account.device}, std::pair{&record.host, &account.host}}) {
      const std::string problem = difference(*executed, *accounted);
      if (out.problem.empty() && !problem.empty()) {
        out.problem = fmt::format("rank {} {}", rank.rank, problem);
      }
    }
  }
  return out;
}

}  // namespace lockstep
