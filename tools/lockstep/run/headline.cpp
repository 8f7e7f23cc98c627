#include "tools/lockstep/run/headline.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "strategies/layout/scenario_names.hpp"
#include "strategies/models/count/count.hpp"
#include "tools/lockstep/output/drawn_ranks.hpp"
#include "tools/lockstep/output/set_options.hpp"
#include "tools/lockstep/run/text/aligned.hpp"
#include "tools/lockstep/run/text/part_changes.hpp"
#include "topologies/graph/nodes.hpp"

namespace lockstep::cli {

namespace {

/// "70.6 B", "8.4 M", "512".
std::string short_count(double count) {
  if (count >= 1e12) return fmt::format("{:.4g} T", count / 1e12);
  if (count >= 1e9) return fmt::format("{:.4g} B", count / 1e9);
  if (count >= 1e6) return fmt::format("{:.4g} M", count / 1e6);
  if (count >= 1e4) return fmt::format("{:.4g} k", count / 1e3);
  return fmt::format("{:.4g}", count);
}

/// With a comma before every three digits.
std::string rate_per_second(double rate) {
  return rate >= 1000 ? with_commas(rate) : fmt::format("{:.4g}", rate);
}

std::string model_line(const Scenario& scenario) {
  const ModelConfig& model = scenario.model;
  const ParameterCount count = count_parameters(model);
  std::string out =
      fmt::format("{}: {} parameters", model.name, short_count(static_cast<double>(count.total())));
  if (count.active() != count.total())
    out += fmt::format(" ({} active)", short_count(static_cast<double>(count.active())));
  if (const TransformerConfig* shape = model.transformer()) {
    if (shape->encoder)
      out += fmt::format(", {} and", shape->encoder->sequence);
    else
      out += ",";
    out += fmt::format(" {} tokens per {}", shape->sequence, sample_name(model));
  }
  return out + fmt::format(", {}", precision_text(scenario.parallel));
}

std::string hardware_line(const TrainingStepResult& result) {
  const ScenarioCluster& cluster = result.scenario.cluster;
  const ClusterFacts& facts = result.facts;
  const bool equal = has_equal_nodes(cluster.cluster);
  std::string out =
      fmt::format("{} x {}: {} node{} of {} GPU{} ({})", result.scenario.parallel.ranks(),
                  cluster.device.id, facts.nodes, facts.nodes == 1 ? "" : "s",
                  equal ? std::to_string(facts.gpus_per_node) : node_sizes_text(cluster.cluster),
                  facts.gpus_per_node == 1 ? "" : "s", cluster.name);
  if (facts.nodes > 1 && facts.nics_per_node > 0 && facts.nic)
    out += fmt::format(", {}{} NIC{} of {:g} Gb/s per node", equal ? "" : "up to ",
                       facts.nics_per_node, facts.nics_per_node == 1 ? "" : "s",
                       facts.nic->bytes_per_second() / 125e6);
  return out;
}

std::string pipeline_text(const ParallelConfig& parallel) {
  std::string out = fmt::format("PP {}", parallel.pp);
  if (parallel.pp == 1) return out;
  out += fmt::format(" ({}", name_of(pipeline_names(), parallel.schedule));
  if (parallel.vpp > 1) out += fmt::format(", {} chunks per stage", parallel.vpp);
  return out + ")";
}

std::string layout_line(const Scenario& scenario) {
  const ParallelConfig& parallel = scenario.parallel;
  std::string out =
      fmt::format("DP {}, TP {}, {}", parallel.dp, parallel.tp, pipeline_text(parallel));
  if (parallel.cp > 1) out += fmt::format(", CP {}", parallel.cp);
  if (parallel.ep > 1) out += fmt::format(", EP {}", parallel.ep);
  if (parallel.etp > 0) out += fmt::format(", ETP {}", parallel.etp);
  if (parallel.zero > 0) out += fmt::format(", ZeRO-{}", parallel.zero);
  if (parallel.recompute != Recompute::none)
    out += fmt::format(", recompute {}", recompute_text(parallel));
  return out + fmt::format("; batch {} = {} microbatch{} x {} x {} replica{}",
                           parallel.global_batch, parallel.microbatches(),
                           parallel.microbatches() == 1 ? "" : "es", parallel.micro_batch,
                           parallel.dp, parallel.dp == 1 ? "" : "s");
}

std::string mfu_text(const Throughput& speed) {
  const auto mfu = speed.mfu();
  if (!mfu) return "";
  const bool halves = speed.convention.causal && speed.tokens_per_s;  // models without attention
  std::string out = fmt::format("   MFU {} ({} peak{}", percent_text(*mfu), speed.precision,
                                halves ? ", causal attention halved" : "");
  if (const auto wide = speed.bf16_mfu())
    out += fmt::format("; {} of the bf16 peak", percent_text(*wide));
  return out + ")";
}

std::string step_line(const TrainingStepResult& result) {
  const Throughput& speed = result.throughput;
  const bool tokens = speed.tokens_per_s.has_value();
  return fmt::format("{}   {} {}s/s{}", to_string(speed.step),
                     rate_per_second(tokens ? *speed.tokens_per_s : speed.samples_per_s),
                     tokens ? "token" : speed.sample, mfu_text(speed));
}

/// In the unit of the step time, next to which it stands.
std::string interval_line(const Confidence& of, Duration step) {
  const TimeColumn time(step);
  const std::string expected = fmt::format("expected on hardware {}", time(of.expected));
  if (!of.share)
    return fmt::format(
        "{}, {} to {} in a wider interval of no known probability: outside what was validated",
        expected, time(of.low), time(of.high));
  return fmt::format("{}, {:.0f} % prediction interval {} to {} ({} similar validated runs)",
                     expected, 100 * *of.share, time(of.low), time(of.high), of.runs);
}

std::string budget_line(const TrainingStepResult& result) {
  const Throughput& speed = result.throughput;
  const bool tokens = speed.tokens_per_s.has_value();
  return fmt::format("{} {}s: {}, {} GPU-hours", short_count(*result.scenario.samples),
                     tokens ? "token" : speed.sample, calendar_text(*speed.training_s),
                     short_count(*speed.gpu_hours));
}

HeadlineEntry step_entry(const TrainingStepResult& result) {
  HeadlineEntry out{"step", {step_line(result)}};
  if (result.confidence)
    out.lines.push_back(interval_line(*result.confidence, result.throughput.step));
  if (result.confidence && result.confidence->extrapolated())
    for (std::string& line : extrapolation_lines(*result.confidence))
      out.lines.push_back(std::move(line));
  if (result.scenario.sustained)
    out.lines.emplace_back("computation at the scenario's fixed rate: no prediction interval");
  if (result.throughput.training_s) out.lines.push_back(budget_line(result));
  if (result.baseline) out.lines.push_back(baseline_line(result));
  if (!result.drawn_ranks.empty()) out.lines.push_back(drawn_line(drawn_ranks_of(result)));
  return out;
}

HeadlineEntry memory_entry(const RankMemory& memory) {
  if (!memory.capacity)
    return {"memory",
            {fmt::format("{} on {}; the capacity of the GPU is not known",
                         to_string(memory.needed()), rank_text(memory.rank, memory.role))}};
  const auto needed = static_cast<double>(memory.needed().count());
  const auto capacity = static_cast<double>(memory.capacity->count());
  const std::string amounts =
      fmt::format("{} of {} on {}", to_string(memory.needed()), to_string(*memory.capacity),
                  rank_text(memory.rank, memory.role));
  switch (memory.fit()) {
    case MemoryFit::fits:
      return {"memory",
              {fmt::format("{}: fits, {:.0f} % free", amounts, 100 * (1 - needed / capacity))}};
    case MemoryFit::tight:
      return {"memory",
              {fmt::format("{}: tight, {:.0f} % free; peaks of validated runs are up to {:.0f} % "
                           "higher",
                           amounts, 100 * (1 - needed / capacity), 100 * memory.margin)}};
    case MemoryFit::does_not_fit:
      break;
  }
  return {"memory", {fmt::format("{}: does not fit, simulated anyway", amounts)}};
}

std::string limit_name(const TrainingStepLimit& limit) {
  if (limit.use.kind == TimeUse::Kind::computation)
    return fmt::format("computation (mostly {})", to_string(limit.use.of));
  return to_string(limit.use);
}

std::string limit_line(const TrainingStepResult& result) {
  std::string out;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, result.limits.size()); ++i) {
    const TrainingStepLimit& limit = result.limits[i];
    if (i > 0 && limit.share < 0.01) break;
    out += fmt::format("{}{} {}{}", i == 0 ? "" : ", ", limit_name(limit),
                       percent_text(limit.share), i == 0 ? " of the critical path" : "");
  }
  return out;
}

std::string suggestion_line(const Suggestion& each, Duration step) {
  const double less = 1 - each.step.seconds() / step.seconds();
  std::string out = fmt::format("try {}: {} (-{})", set_options(each.change), to_string(each.step),
                                percent_text(less));
  if (each.fit == MemoryFit::tight)
    out += fmt::format(", memory tight ({})", to_string(each.needed));
  return out;
}

HeadlineEntry limit_entry(const RunOptions& options, const TrainingStepResult& result) {
  HeadlineEntry out{"limit", {limit_line(result)}};
  if (!result.links.empty()) {
    const LinkUse& link = result.links.front();
    out.lines.push_back(fmt::format("busiest links: {}, {} busy at {}", link.kind,
                                    percent_text(link.busy), to_string(link.carries)));
  }
  const TrainingStepSuggestions& found = result.suggestions;
  for (const Suggestion& each : found.best)
    out.lines.push_back(suggestion_line(each, result.step.timeline.end.since_start()));
  if (found.left_out)
    out.lines.push_back(fmt::format(
        "no changes of the layout are simulated for a step this large: --suggest {} does",
        options.step.suggestions));
  if (options.step.suggestions > 0 && found.best.empty() && found.simulated > 0)
    out.lines.push_back(
        fmt::format("none of {} simulated changes of the layout saves 0.5 %", found.simulated));
  return out;
}

/// Whole percent that sum up to 100: those that lost most by rounding down get the rest.
std::array<int, kProvenances> percents_of(const StepProvenance& provenance) {
  std::array<int, kProvenances> out{};
  std::vector<std::pair<double, std::size_t>> lost;
  int rest = 100;
  for (std::size_t i = 0; i < kProvenances; ++i) {
    const double exact = 100 * provenance.fractions[i];
    out[i] = static_cast<int>(exact);
    rest -= out[i];
    if (exact > 0) lost.emplace_back(out[i] - exact, i);
  }
  std::sort(lost.begin(), lost.end());
  rest = std::min(rest, static_cast<int>(lost.size()));
  for (int i = 0; i < rest; ++i) ++out[lost[static_cast<std::size_t>(i)].second];
  return out;
}

/// What the step's time rests on, and the largest values that nobody is sure of.
HeadlineEntry provenance_entry(const StepProvenance& provenance) {
  constexpr double kWorthNaming = 0.1;  // all of them together
  constexpr double kLeastNamed = 0.01;
  constexpr std::size_t kNamed = 3;
  HeadlineEntry out{"basis", {"rests on " + provenance_text(provenance)}};
  if (provenance.unsure() <= kWorthNaming) return out;
  for (const StepProvenance::Value& each : provenance.values)
    if (each.basis.provenance >= Provenance::announced && each.fraction >= kLeastNamed &&
        out.lines.size() <= kNamed)
      out.lines.push_back(fmt::format("{}: {} ({})", to_string(each.basis.provenance),
                                      each.basis.value, percent_text(each.fraction)));
  return out;
}

}  // namespace

std::string provenance_text(const StepProvenance& provenance) {
  const std::array<int, kProvenances> percents = percents_of(provenance);
  std::vector<std::string> shares;
  for (std::size_t i = 0; i < kProvenances; ++i)
    if (percents[i] > 0)
      shares.push_back(fmt::format("{} % {}", percents[i],
                                   i == 0 ? std::string_view{"source code"} : kProvenanceNames[i]));
  return fmt::format("{} values", fmt::join(shares, ", "));
}

std::vector<HeadlineEntry> headline_of(const RunOptions& options,
                                       const TrainingStepResult& result) {
  std::vector<HeadlineEntry> out{
      {"model", {model_line(result.scenario), hardware_line(result), layout_line(result.scenario)}},
      step_entry(result),
      memory_entry(result.memory),
      limit_entry(options, result)};
  if (!result.provenance.values.empty()) out.push_back(provenance_entry(result.provenance));
  return out;
}

std::vector<std::string> extrapolation_lines(const Confidence& confidence) {
  std::vector<std::string> out;
  for (const ExtrapolatedProperty& each : confidence.outside) {
    const bool number = each.checked.starts_with("up to ") || each.checked.starts_with("from ");
    const bool counted = number && each.property.ends_with('s');  // "128 GPUs"
    if (number && !counted)
      out.push_back(fmt::format("extrapolated: {} {} (validated {})", each.property, each.value,
                                each.checked));
    else
      out.push_back(counted ? fmt::format("extrapolated: {} {} (validated {})", each.value,
                                          each.property, each.checked)
                            : fmt::format("extrapolated: {} {} (validated: {})", each.property,
                                          each.value, each.checked));
  }
  return out;
}

}  // namespace lockstep::cli
