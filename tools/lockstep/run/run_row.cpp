#include "tools/lockstep/run/run_row.hpp"

namespace lockstep::cli {

namespace {

Cell maybe(const std::optional<double>& number) {
  return number ? Cell{*number} : Cell{};
}

}  // namespace

Report row_of_run(const StepResult& result) {
  const Throughput& speed = result.throughput;
  const Breakdown& worst = result.summary.worst;
  const ParallelConfig& parallel = result.scenario.parallel;
  Report report;
  std::vector<Cell> row;
  const auto add = [&](const char* key, Cell cell) {
    report.columns.push_back({key, key, {}, false});
    row.push_back(std::move(cell));
  };
  add("scenario", Cell{result.scenario.name});
  add("model", Cell{result.scenario.model.name});
  add("cluster", Cell{result.scenario.cluster.name});
  add("ranks", Cell{std::int64_t{parallel.ranks()}});
  add("dp", Cell{std::int64_t{parallel.dp}});
  add("tp", Cell{std::int64_t{parallel.tp}});
  add("pp", Cell{std::int64_t{parallel.pp}});
  add("cp", Cell{std::int64_t{parallel.cp}});
  add("ep", Cell{std::int64_t{parallel.ep}});
  add("step_time_s", Cell{speed.step_s});
  const auto& confidence = result.confidence;
  add("step_time_low_s", confidence ? Cell{confidence->low.seconds()} : Cell{});
  add("step_time_high_s", confidence ? Cell{confidence->high.seconds()} : Cell{});
  add("outside_checked", confidence ? Cell{!confidence->outside.empty()} : Cell{});
  add("samples_per_s", Cell{speed.samples_per_s});
  add("tokens_per_s", maybe(speed.tokens_per_s));
  add("model_flops_per_gpu_per_s", Cell{speed.model_flops_per_gpu});
  add("mfu", maybe(speed.mfu()));
  add("hfu", maybe(speed.hfu()));
  add("computation_s", Cell{worst.computation_total().seconds()});
  add("exposed_communication_s", Cell{worst.exposed_total().seconds()});
  add("bubble_s", Cell{worst.bubble.seconds()});
  add("issue_s", Cell{worst.issue.seconds()});
  add("waiting_s", Cell{worst.waiting.seconds()});
  add("peak_memory_bytes", Cell{result.memory.needed().count()});
  add("fits", Cell{result.memory.fits()});
  add("training_s", maybe(speed.training_s));
  report.sections.push_back({{}, {std::move(row)}});
  return report;
}

}  // namespace lockstep::cli
