#include "tools/lockstep/run/run_row.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "strategies/layout/scenario_names.hpp"

namespace lockstep::cli {

namespace {

Cell maybe(const std::optional<double>& number) {
  return number ? Cell{*number} : Cell{};
}

Cell name_cell(std::string_view name) {
  return Cell{std::string{name}};
}

/// Collects cells, and the columns with the first row.
class RowWriter {
 public:
  explicit RowWriter(Report& report) : report_{report}, first_{report.columns.empty()} {}

  void add(const char* key, Cell cell) {
    if (first_) report_.columns.push_back({key, key, {}, false});
    row_.push_back(std::move(cell));
  }
  void add(const char* key, std::int64_t number) { add(key, Cell{number}); }

  [[nodiscard]] std::vector<Cell> take() && { return std::move(row_); }

 private:
  Report& report_;
  bool first_ = false;
  std::vector<Cell> row_;
};

void add_layout(const ParallelConfig& parallel, RowWriter& row) {
  row.add("ranks", parallel.ranks());
  row.add("dp", parallel.dp);
  row.add("tp", parallel.tp);
  row.add("pp", parallel.pp);
  row.add("cp", parallel.cp);
  row.add("ep", parallel.ep);
  row.add("vpp", parallel.vpp);
  row.add("schedule", name_cell(name_of(pipeline_names(), parallel.schedule)));
  row.add("zero", parallel.zero);
  row.add("recompute", name_cell(name_of(recompute_names(), parallel.recompute)));
  row.add("precision", name_cell(name_of(precision_names(), parallel.precision)));
  row.add("micro_batch", parallel.micro_batch);
  row.add("global_batch", parallel.global_batch);
  std::vector<std::string_view> overlap;
  for (const Overlap what : parallel.overlap) overlap.push_back(name_of(overlap_names(), what));
  row.add("overlap", Cell{fmt::format("{}", fmt::join(overlap, "+"))});
  row.add("sequence_parallel", Cell{parallel.sequence_parallel});
}

void add_configuration(const RunRow& of, RowWriter& row) {
  const Scenario& scenario = *of.scenario;
  row.add("scenario", Cell{scenario.name});
  row.add("variant", of.variant.empty() ? Cell{} : Cell{of.variant});
  row.add("model", Cell{scenario.model.name});
  const TransformerConfig* shape = scenario.model.transformer();
  row.add("seq", shape != nullptr ? Cell{shape->sequence} : Cell{});
  row.add("cluster", Cell{scenario.cluster.name});
  row.add("gpu", Cell{scenario.cluster.device.id});
  add_layout(scenario.parallel, row);
  row.add("stack", Cell{scenario.stack});
}

Cell fidelity_cell(const TrainingStepResult& result) {
  return name_cell(result.step.fidelity == Fidelity::all_ranks ? "all" : "representatives");
}

void add_times(const TrainingStepResult& result, RowWriter& row) {
  const Throughput& speed = result.throughput;
  const auto& confidence = result.confidence;
  const bool interval = confidence && !confidence->extrapolated();
  row.add("fidelity", fidelity_cell(result));
  row.add("step_time_s", Cell{speed.step_s});
  row.add("expected_step_time_s", interval ? Cell{confidence->expected.seconds()} : Cell{});
  row.add("step_time_low_s", interval ? Cell{confidence->low.seconds()} : Cell{});
  row.add("step_time_high_s", interval ? Cell{confidence->high.seconds()} : Cell{});
  row.add("extrapolated", confidence ? Cell{confidence->extrapolated()} : Cell{});
  row.add("samples_per_s", Cell{speed.samples_per_s});
  row.add("tokens_per_s", maybe(speed.tokens_per_s));
  row.add("model_flops_per_gpu_per_s", Cell{speed.model_flops_per_gpu});
  row.add("mfu_fraction", maybe(speed.mfu()));
  row.add("mfu_bf16_fraction", maybe(speed.bf16_mfu()));
  row.add("hfu_fraction", maybe(speed.hfu()));
  const Breakdown& busiest = result.summary.busiest;
  row.add("computation_s", Cell{busiest.computation_total().seconds()});
  row.add("exposed_communication_s", Cell{busiest.exposed_total().seconds()});
  row.add("bubble_s", Cell{busiest.bubble.seconds()});
  row.add("fill_drain_s", Cell{busiest.fill_drain.seconds()});
  row.add("launch_overhead_s", Cell{busiest.issue.seconds()});
  row.add("waiting_s", Cell{busiest.waiting.seconds()});
  row.add("training_s", maybe(speed.training_s));
  row.add("gpu_hours", maybe(speed.gpu_hours));
}

/// Columns of a step that was not simulated.
void add_no_times(RowWriter& row) {
  for (const char* key : {"fidelity",
                          "step_time_s",
                          "expected_step_time_s",
                          "step_time_low_s",
                          "step_time_high_s",
                          "extrapolated",
                          "samples_per_s",
                          "tokens_per_s",
                          "model_flops_per_gpu_per_s",
                          "mfu_fraction",
                          "mfu_bf16_fraction",
                          "hfu_fraction",
                          "computation_s",
                          "exposed_communication_s",
                          "bubble_s",
                          "fill_drain_s",
                          "launch_overhead_s",
                          "waiting_s",
                          "training_s",
                          "gpu_hours"})
    row.add(key, Cell{});
}

std::vector<Cell> cells_of(const RunRow& of, Report& report) {
  RowWriter row(report);
  add_configuration(of, row);
  if (of.result != nullptr) {
    add_times(*of.result, row);
  } else {
    add_no_times(row);
  }
  const RankMemory& memory = *of.memory;
  row.add("peak_memory_bytes", memory.needed().count());
  row.add("memory_capacity_bytes", memory.capacity ? Cell{memory.capacity->count()} : Cell{});
  row.add("memory", Cell{to_string(memory.fit())});
  row.add("fits", Cell{memory.fits()});
  return std::move(row).take();
}

}  // namespace

Report report_of_rows(const std::vector<RunRow>& rows) {
  Report report;
  report.sections.emplace_back();
  for (const RunRow& row : rows) report.sections.back().rows.push_back(cells_of(row, report));
  return report;
}

std::vector<RunRow> rows_of_run(const TrainingStepResult& result,
                                const std::vector<VariantResult>& variants) {
  std::vector<RunRow> out{{{}, &result.scenario, &result.memory, &result}};
  for (const VariantResult& each : variants) {
    if (each.result)
      out.push_back({each.name, &each.result->scenario, &each.result->memory, &*each.result});
    if (each.shortfall)
      out.push_back({each.name, each.shortfall->scenario.get(), &each.shortfall->memory, nullptr});
  }
  return out;
}

}  // namespace lockstep::cli
