#include "strategies/measure/machine_runs/compare_machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/execute/command_graph/schedule_commands.hpp"
#include "strategies/collectives/registry/registry.hpp"
#include "strategies/measure/machine_runs/machine_programs.hpp"
#include "strategies/measure/machine_runs/simulate_machine.hpp"
#include "strategies/measure/machine_runs/time_operation.hpp"

namespace lockstep {

namespace {

class Comparing {
 public:
  Comparing(Backend& backend, const MeasuredMachine& machine, const CompareOptions& options)
      : backend_{backend}, machine_{machine}, options_{options}, host_{machine.backend == "host"} {}

  std::vector<MachineComparison> run() {
    collectives();
    programs();
    return std::move(out_);
  }

 private:
  void add(std::string group, std::string what, double measured, Duration simulated) {
    out_.push_back({std::move(group), std::move(what), measured, simulated.seconds()});
  }
  void tell(const std::string& what) const {
    if (options_.before) options_.before(what);
  }

  // Logical ranks on one device; on several GPUs also dealt out to them.

  [[nodiscard]] int devices() const {
    const std::vector<MachineLink>& links = machine_.fit.links.pairs;
    const auto all = static_cast<std::size_t>(backend_.count());
    return links.size() >= all * (all - 1) ? backend_.count() : 1;
  }

  void collectives() {
    struct Case {
      Collective collective;
      const char* algorithm;
      int ranks;
      std::int64_t bytes;
    };
    const std::int64_t large = host_ ? 6 << 20 : 96 << 20;
    const std::vector<Case> cases{
        {Collective::all_reduce, "ring", 2, large},
        {Collective::all_reduce, "ring", 4, large},
        {Collective::all_reduce, "ring", 8, large},
        {Collective::all_reduce, "ring", 8, 96 << 10},
        {Collective::all_reduce, "halving_doubling", 4, large},
        {Collective::all_reduce, "halving_doubling", 8, large},
        {Collective::all_reduce, "recursive_doubling", 8, 3 << 19},
        {Collective::all_reduce, "direct", 4, large},
        {Collective::all_reduce, "naive", 5, 3 << 19},
        {Collective::reduce_scatter, "ring", 4, large},
        {Collective::reduce_scatter, "ring", 7, large},
        {Collective::all_gather, "ring", 4, large},
        {Collective::all_gather, "ring", 6, large},
        {Collective::all_gather, "recursive_doubling", 8, 3 << 19},
        {Collective::broadcast, "binomial", 8, large},
        {Collective::all_to_all, "pairwise", 4, large},
        {Collective::all_to_all, "pairwise", 8, 3 << 19},
    };
    for (const Case& each : cases) {
      if (options_.quick && (each.ranks > 4 || each.bytes < large)) continue;
      const std::int64_t bytes = options_.quick ? each.bytes / 8 : each.bytes;
      collective(each.collective, each.algorithm, each.ranks, bytes, 1);
      if (devices() == 1) continue;
      collective(each.collective, each.algorithm, each.ranks, bytes,
                 std::min(each.ranks, devices()));
    }
  }

  void collective(Collective of, const char* algorithm, int ranks, std::int64_t bytes,
                  int devices) {
    const CollectiveAlgorithm* row = find_algorithm(of, algorithm);
    if (row == nullptr) return;
    AlgorithmInput input;
    input.n = ranks;
    if (!validate(*row, input).empty()) return;
    const SchedulePtr schedule = make_schedule(*row, complete(*row, input));
    const NumberType type = NumberType::fp32;
    const std::string where = devices > 1 ? fmt::format(" on {} GPUs", devices) : "";
    const std::string what = fmt::format("{} {}, {} ranks{}, {} KiB {}", to_string(of), algorithm,
                                         ranks, where, bytes >> 10, to_string(type));
    tell(what);
    ScheduleCommandOptions options;
    options.block = std::max<std::int64_t>(1, bytes / bytes_of(type) / schedule->blocks());
    options.type = type;
    options.devices = devices;
    const CommandGraph graph = commands_of(*schedule, options).graph;
    const auto loaded = backend_.load(graph);
    for (BufferId i = 0; i < graph.buffers.size(); ++i) loaded->scatter_numbers(i, {}, i + 1);
    add("collective", what, median(loaded->seconds(2, options_.repeats)),
        simulate_command_graph(graph, machine_.fit));
  }

  // Programs of one rank.

  void programs() {
    TimingOptions timing;
    timing.repeats = options_.repeats;
    for (const ProgramToCompare& each : programs_to_compare(host_, options_.quick)) {
      tell(each.what);
      const double measured = time_program(backend_, each.program, timing);
      add(each.group, each.what, measured, simulate_program(each.program, machine_.fit));
    }
  }

  Backend& backend_;
  const MeasuredMachine& machine_;
  const CompareOptions& options_;
  bool host_;
  std::vector<MachineComparison> out_{};
};

}  // namespace

std::vector<MachineComparison> compare_machine(Backend& backend, const MeasuredMachine& machine,
                                               const CompareOptions& options) {
  return Comparing{backend, machine, options}.run();
}

double mean_error(const std::vector<MachineComparison>& rows, std::string_view group) {
  double sum = 0;
  std::int64_t count = 0;
  for (const MachineComparison& row : rows) {
    if (!group.empty() && row.group != group) continue;
    sum += std::abs(row.error());
    ++count;
  }
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

}  // namespace lockstep
