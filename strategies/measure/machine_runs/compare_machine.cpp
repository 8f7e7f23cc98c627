#include "strategies/measure/machine_runs/compare_machine.hpp"

#include <algorithm>
#include <cmath>

#include "strategies/measure/machine_runs/collectives_to_compare.hpp"
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
    for (const CollectiveToCompare& each : collectives_to_compare(host_, options_.quick)) {
      collective(each, 1);
      if (devices() > 1) collective(each, std::min(each.ranks, devices()));
    }
  }

  void collective(const CollectiveToCompare& of, int devices) {
    const auto graph = commands_to_compare(of, devices);
    if (!graph) return;
    const std::string what = text(of, devices);
    tell(what);
    const auto loaded = backend_.load(*graph);
    for (BufferId i = 0; i < graph->buffers.size(); ++i) loaded->scatter_numbers(i, {}, i + 1);
    add("collective", what, median(loaded->seconds(2, options_.repeats)),
        simulate_command_graph(*graph, machine_.fit));
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
