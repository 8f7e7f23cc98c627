#include "tools/lockstep/run/run_row.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sim/config/json/json_values.hpp"
#include "strategies/layout/scenario_names.hpp"
#include "strategies/scenario/parallel/parallel_fields.hpp"
#include "tools/app/step/metrics/cluster_facts.hpp"

namespace lockstep::cli {

namespace {

Cell maybe(const std::optional<double>& number) {
  return number ? Cell{*number} : Cell{};
}

Cell name_cell(std::string_view name) {
  return Cell{std::string{name}};
}

Cell text_cell(const std::string& text) {
  return text.empty() ? Cell{} : Cell{text};
}

/// Collects cells, and the columns with the first row.
class RowWriter {
 public:
  explicit RowWriter(Report& report) : report_{report}, first_{report.columns.empty()} {}

  void add(std::string_view key, Cell cell) {
    if (first_) report_.columns.push_back({std::string{key}, std::string{key}, {}, false});
    keys_.push_back(key);
    row_.push_back(std::move(cell));
  }
  void add(std::string_view key, std::int64_t number) { add(key, Cell{number}); }

  [[nodiscard]] bool has(std::string_view key) const {
    return std::find(keys_.begin(), keys_.end(), key) != keys_.end();
  }

  [[nodiscard]] std::vector<Cell> take() && { return std::move(row_); }

 private:
  Report& report_;
  bool first_ = false;
  std::vector<std::string_view> keys_;
  std::vector<Cell> row_;
};

std::string algorithms_text(const ParallelConfig& parallel) {
  std::vector<std::string> out;
  for (const auto& [group, algorithm] : parallel.algorithms) out.push_back(group + "=" + algorithm);
  return fmt::format("{}", fmt::join(out, "+"));
}

/// What a layout has beyond its degrees, batches and schedule.
void add_details(const ParallelConfig& parallel, RowWriter& row) {
  const StateConfig& state = parallel.state;
  row.add("order", Cell{fmt::format("{}", fmt::join(parallel.order, "+"))});
  row.add("stages", Cell{fmt::format("{}", fmt::join(parallel.stages, "+"))});
  row.add("short_edges", Cell{parallel.short_edges});
  row.add("cp_kind", name_cell(name_of(context_names(), parallel.cp_kind)));
  row.add("ulysses", parallel.ulysses);
  row.add("zigzag", Cell{parallel.zigzag});
  row.add("shard_ranks", parallel.shard_ranks);
  row.add("scatter_gradients", Cell{parallel.scatter_gradients});
  row.add("reduce_gradients", name_cell(name_of(reduction_names(), parallel.reduce_gradients)));
  row.add("reduce_replicas", name_cell(name_of(reduction_names(), parallel.reduce_replicas)));
  row.add("reshard_after_forward", Cell{parallel.reshard_after_forward});
  row.add("prefetch", Cell{parallel.prefetch});
  row.add("update", name_cell(name_of(update_names(), parallel.update)));
  row.add("exchange", name_cell(name_of(exchange_names(), parallel.exchange)));
  row.add("servers", parallel.servers);
  row.add("average_every", parallel.average_every);
  row.add("bucket_bytes", parallel.bucket.count());
  row.add("capacity_factor", Cell{parallel.capacity_factor});
  row.add("expert_skew", maybe(parallel.expert_skew));
  row.add("algorithms", Cell{algorithms_text(parallel)});
  row.add("weights", name_cell(name_of(stored_names(), state.weights)));
  row.add("gradients", name_cell(name_of(precision_names(), state.gradients)));
  row.add("master", Cell{state.master});
  row.add("optimizer", name_cell(name_of(optimizer_names(), state.optimizer)));
  row.add("moments", name_cell(name_of(stored_names(), state.moments)));
  row.add("offload", Cell{state.offload});
}

Cell cell_of(const JsonValue& value) {
  if (const auto* yes = value.get_if<bool>()) return Cell{*yes};
  if (const auto* whole = value.get_if<std::int64_t>()) return Cell{*whole};
  if (const auto* number = value.get_if<JsonNumber>()) return Cell{number->value};
  if (const auto* text = value.get_if<std::string>()) return Cell{*text};
  return Cell{json_text(value)};
}

/// The remaining keys of the layout. Columns of bytes and of model states have names of their own.
void add_others(const ParallelConfig& parallel, RowWriter& row) {
  for (const ParallelField& field : parallel_fields()) {
    if (row.has(field.key) || field.key == "bucket" || field.key == "state") continue;
    const auto value = field.write(parallel);
    row.add(field.key, value ? cell_of(*value) : Cell{});
  }
}

void add_cluster(const Scenario& scenario, RowWriter& row) {
  const ClusterFacts facts = cluster_facts(scenario.cluster.cluster);
  row.add("cluster", Cell{scenario.cluster.name});
  row.add("gpu", Cell{scenario.cluster.device.id});
  row.add("nodes", facts.nodes);
  row.add("gpus_per_node", facts.gpus_per_node);
  row.add("nics_per_node", facts.nics_per_node);
  row.add("nic_Bps", facts.nic ? Cell{facts.nic->bytes_per_second()} : Cell{});
}

void add_layout(const ParallelConfig& parallel, RowWriter& row) {
  row.add("ranks", parallel.ranks());
  row.add("dp", parallel.dp);
  row.add("tp", parallel.tp);
  row.add("pp", parallel.pp);
  row.add("cp", parallel.cp);
  row.add("ep", parallel.ep);
  row.add("etp", parallel.etp > 0 ? Cell{std::int64_t{parallel.etp}} : Cell{});
  row.add("vpp", parallel.vpp);
  row.add("schedule", name_cell(name_of(pipeline_names(), parallel.schedule)));
  row.add("zero", parallel.zero);
  row.add("recompute", name_cell(name_of(recompute_names(), parallel.recompute)));
  row.add("precision", name_cell(precision_text(parallel)));
  row.add("micro_batch", parallel.micro_batch);
  row.add("global_batch", parallel.global_batch);
  std::vector<std::string_view> overlap;
  for (const Overlap what : parallel.overlap) overlap.push_back(name_of(overlap_names(), what));
  row.add("overlap", Cell{fmt::format("{}", fmt::join(overlap, "+"))});
  row.add("sequence_parallel", Cell{parallel.sequence_parallel});
  add_details(parallel, row);
  add_others(parallel, row);
}

void add_configuration(const RunOptions& options, const RunRow& of, RowWriter& row) {
  const Scenario& scenario = *of.scenario;
  row.add("scenario", Cell{scenario.name});
  row.add("variant", of.variant.empty() ? Cell{} : Cell{of.variant});
  row.add("model", Cell{scenario.model.name});
  const TransformerConfig* shape = scenario.model.transformer();
  row.add("seq", shape != nullptr ? Cell{all_tokens(*shape)} : Cell{});
  add_cluster(scenario, row);
  add_layout(scenario.parallel, row);
  row.add("stack", Cell{scenario.stack});
  row.add("sustained_flops", scenario.sustained ? Cell{scenario.sustained->per_second()} : Cell{});
  row.add("budget", maybe(scenario.samples));  // tokens or samples to train on
  row.add("network", Cell{options.network});
  row.add("calibration", text_cell(options.step.calibration));
  row.add("changes", text_cell(changes_of(options)));
}

Cell fidelity_cell(const TrainingStepResult& result) {
  return name_cell(result.step.fidelity == Fidelity::all_ranks ? "all" : "representatives");
}

void add_times(const TrainingStepResult& result, RowWriter& row) {
  const Throughput& speed = result.throughput;
  const auto& confidence = result.confidence;
  const bool interval = confidence.has_value();
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

std::vector<Cell> cells_of(const RunOptions& options, const RunRow& of, Report& report) {
  RowWriter row(report);
  add_configuration(options, of, row);
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

Report report_of_rows(const RunOptions& options, const std::vector<RunRow>& rows) {
  Report report;
  report.sections.emplace_back();
  for (const RunRow& row : rows)
    report.sections.back().rows.push_back(cells_of(options, row, report));
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
