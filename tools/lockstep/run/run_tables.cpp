#include "tools/lockstep/run/run_tables.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <utility>

#include "strategies/layout/scenario_names.hpp"
#include "strategies/models/count/count.hpp"
#include "tools/app/step/metrics/steps_in_a_row.hpp"
#include "tools/lockstep/output/memory_text.hpp"
#include "tools/lockstep/run/class_table.hpp"
#include "tools/lockstep/run/headline.hpp"
#include "tools/lockstep/run/text/aligned.hpp"
#include "tools/lockstep/run/text/document_notes.hpp"
#include "tools/lockstep/run/text/expert_notes.hpp"
#include "tools/lockstep/run/text/step_words.hpp"
#include "tools/lockstep/topology/link_text.hpp"
#include "topologies/files/config_names.hpp"

namespace lockstep::cli {

namespace {

constexpr std::size_t kStagesShown = 16;

std::string per_second(double rate) {
  if (rate >= 1000) return with_commas(rate);
  return rate >= 100 ? fmt::format("{:.0f}", rate) : fmt::format("{:.4g}", rate);
}

/// The stack by the other name that the command line has for it; empty: none.
std::string alias_of_stack(const RunOptions& options, const Scenario& scenario) {
  constexpr std::string_view kKey = "stack=";
  std::string named;
  for (const std::string& each : options.step.overrides)
    if (each.starts_with(kKey)) named = each.substr(kKey.size());
  return is_file_path(named) || named == scenario.stack ? std::string{} : named;
}

std::string stack_words(const RunOptions& options, const Scenario& scenario) {
  const std::string alias = alias_of_stack(options, scenario);
  if (scenario.stack_reason.empty())
    return "software stack " + scenario.stack + (alias.empty() ? "" : ", also called " + alias);
  return fmt::format("software stack {}, the default: {} (--set stack=NAME overrides it)",
                     scenario.stack, scenario.stack_reason);
}

std::string overlap_words(const Scenario& scenario) {
  std::vector<std::string_view> kinds;
  for (const Overlap what : scenario.parallel.overlap)
    kinds.push_back(name_of(overlap_names(), what));
  const std::string words = kinds.empty() ? "no communication overlaps with computation"
                                          : fmt::format("overlap {}", fmt::join(kinds, ", "));
  if (!scenario.overlap_of_stack) return words;
  return fmt::format("{}, the default of {} (--set parallel.overlap=KIND,... overrides it)", words,
                     scenario.stack);
}

/// Of a model whose file is in another form than Lockstep's: how large it is as read, and what of
/// the file is not part of it.
void add_model(const ModelConfig& model, std::vector<std::string>& out) {
  if (model.notes.empty()) return;
  const ParameterCount count = count_parameters(model);
  const bool some = count.active() != count.total();
  out.push_back(fmt::format("{}: {} parameters{}", model.source, count.total(),
                            some ? fmt::format(", {} active", count.active()) : std::string{}));
  for (const std::string& note : model.notes) out.push_back(model.name + ": " + note);
}

/// Whether nothing was changed, so that the scenario's summary describes what ran.
bool as_in_file(const TrainingStepRequest& step) {
  return step.overrides.empty() && !step.links.any() && !step.nic && step.speeds.empty() &&
         step.simulation.speeds.empty();
}

std::vector<std::string> title(const RunOptions& options, const TrainingStepResult& result) {
  const Scenario& scenario = result.scenario;
  std::vector<std::string> out{scenario.name};
  if (as_in_file(options.step) && !scenario.summary.empty()) out[0] += ": " + scenario.summary;
  const std::string changes = changes_of(options);
  if (!changes.empty()) out.push_back("with " + changes);
  return out;
}

RunTable headline_table(const RunOptions& options, const TrainingStepResult& result) {
  RunTable table{title(options, result), {"result", ""}, {}, {}};
  for (const HeadlineEntry& entry : headline_of(options, result)) {
    std::string name = entry.name;
    for (const std::string& line : entry.lines) {
      table.rows.push_back({name, line});
      name.clear();
    }
  }
  return table;
}

/// How the numbers were made, and what of the scenario had no effect.
std::vector<std::string> notes_of(const RunOptions& options, const TrainingStepResult& result) {
  const Scenario& scenario = result.scenario;
  std::vector<std::string> out;
  add_model(scenario.model, out);
  out.push_back(fmt::format("rank order {}", fmt::join(scenario.parallel.order, ", ")));
  if (!scenario.sustained) out.push_back(stack_words(options, scenario));
  if (scenario.parallel.ranks() > 1) out.push_back(overlap_words(scenario));
  out.push_back(fmt::format("{}, network {}", how_simulated(result.step), options.network));
  if (result.fidelity_check)
    out.push_back(text_of(*result.fidelity_check, scenario.parallel.ranks()));
  else if (result.step.fidelity == Fidelity::representatives && options.fidelity == "auto")
    out.push_back(
        "error of representatives: not known; all ranks cannot be simulated for comparison");
  else if (result.step.fidelity == Fidelity::representatives && !result.options.speeds.empty())
    out.push_back(
        "error of representatives: not simulated; how slow ranks delay others is approximate, "
        "--fidelity all is exact");
  if (result.machine_links) {
    if (std::string words = kernel_words(*result.machine_links); !words.empty())
      out.push_back(std::move(words));
    out.push_back("links between GPUs: " + text_of(*result.machine_links));
  }
  for (std::string& line : lines_of(result.link_changes, scenario.cluster.cluster))
    out.push_back(std::move(line));
  for (std::string& line : hardware_warnings(result)) out.push_back(std::move(line));
  for (const ScenarioNote& note : scenario.notes) out.push_back(note.text());
  for (const ReportedChoice& each : result.step.algorithms)
    if (!each.refused.empty()) out.push_back(choice_words(each));
  for (std::string& line : document_notes(scenario)) out.push_back(std::move(line));
  for (std::string& line : expert_notes(scenario)) out.push_back(std::move(line));
  if (result.throughput.mfu())
    out.push_back("MFU convention: " + result.throughput.convention.words());
  return out;
}

RunTable step_table(const RunOptions& options, const TrainingStepResult& result) {
  const Throughput& speed = result.throughput;
  RunTable table{notes_of(options, result), {"step", ""}, {}, {}};
  const auto add = [&table](std::string name, std::string value) {
    table.rows.push_back({std::move(name), std::move(value)});
  };
  add("step time", to_string(speed.step));
  if (const auto& averaging = result.averaging) {
    add("of which with the average",
        averaging->count == 1
            ? fmt::format("{}, one step of {}", to_string(averaging->with), averaging->every)
            : fmt::format("{}, {} steps of {}", to_string(averaging->with), averaging->count,
                          averaging->every));
    add("and without", to_string(averaging->without));
    table.notes.push_back(
        fmt::format("all times and bytes are means over {} steps", averaging->every));
  }
  if (speed.tokens_per_s) add("tokens per second", per_second(*speed.tokens_per_s));
  add(speed.sample + "s per second", per_second(speed.samples_per_s));
  add("FLOP/s per GPU", to_string(FlopRate{std::max(speed.model_flops_per_gpu, 1.0)}));
  if (const auto mfu = speed.mfu())
    add("MFU", fmt::format("{} of the dense {} peak of {}", percent_text(*mfu), speed.precision,
                           to_string(FlopRate{*speed.peak_per_gpu})));
  if (const auto mfu = speed.bf16_mfu())
    add("MFU (bf16)", fmt::format("{} of the dense bf16 peak", percent_text(*mfu)));
  if (const auto hfu = speed.hfu())
    add("HFU", fmt::format("{}, {:.3f} times the model's operations", percent_text(*hfu),
                           speed.hardware_flops / speed.model_flops));
  if (speed.six_n_d)
    add("6 N D rule of thumb",
        fmt::format("{} for {:.3g} FLOPs at {}", calendar_text(*speed.six_n_d_s), *speed.six_n_d,
                    result.scenario.sustained ? "the sustained rate" : "the same FLOP/s"));
  return table;
}

std::string rank_name(const TrainingStepResult& result, std::size_t index) {
  const RankTimeline& rank = result.step.timeline.ranks[index];
  return rank_text(rank.rank, result.step.timeline.program->roles[rank.role].name);
}

std::string bubble_note(const TrainingStepResult& result) {
  const Breakdown& of = result.summary.busiest;
  const double ideal = of.of_microbatches.seconds();
  if (ideal <= 0 || of.bubble == Duration{}) return {};
  std::string out =
      fmt::format("fill and drain: {} of the ideal time of {}",
                  percent_text(of.fill_drain.seconds() / ideal), to_string(of.of_microbatches));
  if (const auto formula = bubble_formula(result.scenario.parallel))
    out += fmt::format("; {} of equal stages: {}", formula->text, percent_text(formula->fraction));
  if (const auto period = app::time_in_a_row(result.scenario.parallel, result.step.timeline))
    out +=
        fmt::format("; steps in a row, validated after their updates: {} each", to_string(*period));
  return out;
}

RunTable breakdown_table(const TrainingStepResult& result) {
  const Breakdown& of = result.summary.busiest;
  const bool stages = result.summary.stages.size() > 1;
  RunTable table{
      {fmt::format("time breakdown of {}{}; shares of the step", rank_name(result, of.rank),
                   stages ? ", the stage that is busy longest" : "")},
      {"time", "", "share"},
      {}};
  const TimeColumn column(of.step);
  const auto add = [&](std::string name, Duration time) {
    if (time > Duration{})
      table.rows.push_back(
          {std::move(name), column(time), percent_text(time.seconds() / of.step.seconds())});
  };
  for (std::size_t i = 0; i < kOperationClasses; ++i)
    add(std::string{to_string(static_cast<OperationClass>(i))}, of.computation[i]);
  for (const auto& [group, time] : of.exposed) add("exposed " + group + " communication", time);
  add("pipeline fill and drain", of.fill_drain);
  add("waiting for slower stages", of.bubble - of.fill_drain);
  add("kernel launch overhead", of.issue);
  add("waiting", of.waiting);
  add("of which recomputation", of.purpose[static_cast<std::size_t>(Purpose::recompute)]);
  if (const std::string note = bubble_note(result); !note.empty()) table.footer = note;
  return table;
}

RunTable path_table(const TrainingStepResult& result) {
  RunTable table{{"the critical path; shares of the step"}, {"path", "", "share"}, {}};
  const TimeColumn column(result.summary.step);
  for (const PathShare& share : result.summary.path)
    table.rows.push_back({to_string(share.use), column(share.length),
                          percent_text(share.length.seconds() / result.summary.step.seconds())});
  return table;
}

/// Neighboring stages that differ by less than a thousandth of the step.
struct StageGroup {
  std::size_t first = 0;
  std::size_t last = 0;
};

bool are_equal(const Breakdown& a, const Breakdown& b) {
  constexpr double kPart = 1e-3;
  const double most = kPart * a.step.seconds();
  const auto near = [most](Duration x, Duration y) {
    return std::abs(x.seconds() - y.seconds()) <= most;
  };
  return near(a.computation_total(), b.computation_total()) &&
         near(a.exposed_total(), b.exposed_total()) && near(a.fill_drain, b.fill_drain) &&
         near(a.bubble, b.bubble);
}

std::vector<StageGroup> stage_groups(const std::vector<StageUse>& stages) {
  std::vector<StageGroup> out;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    if (!out.empty() && are_equal(stages[out.back().first].rank, stages[i].rank)) {
      out.back().last = i;
    } else {
      out.push_back({i, i});
    }
  }
  return out;
}

std::string name_of_group(const std::vector<StageUse>& stages, const StageGroup& group) {
  const std::string& first = stages[group.first].name;
  if (group.first == group.last) return first;
  const std::string& last = stages[group.last].name;
  const std::size_t space = last.rfind(' ');
  const std::size_t at = first.rfind(' ');
  if (space == std::string::npos || at == std::string::npos)
    return fmt::format("{} to {}", first, last);
  return fmt::format("{}s {}-{}", first.substr(0, at), first.substr(at + 1),
                     last.substr(space + 1));
}

RunTable stage_table(const TrainingStepResult& result) {
  const std::vector<StageUse>& stages = result.summary.stages;
  RunTable table{{"the stages; equal ones, within 0.1 % of the step, in one row"},
                 {"stage", "computation", "exposed", "fill, drain", "slower stages", "idle"},
                 {}};
  const TimeColumn column(result.summary.step);
  for (const StageGroup& group : stage_groups(stages)) {
    if (table.rows.size() == kStagesShown) break;
    const StageUse& stage = stages[group.first];
    table.rows.push_back({name_of_group(stages, group), column(stage.rank.computation_total()),
                          column(stage.rank.exposed_total()), column(stage.rank.fill_drain),
                          column(stage.rank.bubble - stage.rank.fill_drain),
                          percent_text(stage.idle_fraction)});
  }
  return table;
}

RunTable memory_table(const TrainingStepResult& result) {
  const RankMemory& memory = result.memory;
  const MemoryPeak& peak = memory.account.device.peak;
  std::string note = fmt::format("memory of {}, the fullest: {}",
                                 rank_text(memory.rank, memory.role), to_string(memory.needed()));
  if (memory.capacity)
    note += fmt::format(" of {}, {}", to_string(*memory.capacity), to_string(memory.fit()));
  RunTable table{{note}, {"memory", "", "share"}, {}};
  if (memory.during)
    table.notes.push_back(fmt::format("at its peak {} into the step, in {}",
                                      to_string(peak.at.since_start()), text_of(*memory.during)));
  const auto whole = static_cast<double>(std::max<std::int64_t>(1, memory.needed().count()));
  const BytesColumn column(memory.needed());
  const auto add = [&](std::string name, Bytes bytes) {
    table.rows.push_back(
        {std::move(name), column(bytes), percent_text(static_cast<double>(bytes.count()) / whole)});
  };
  for (std::size_t i = 0; i < kCategories; ++i) {
    const auto category = static_cast<Category>(i);
    if (peak.held[category].count() > 0) add(std::string{to_string(category)}, peak.held[category]);
  }
  for (std::size_t i = 0; i < std::min<std::size_t>(3, memory.largest.size()); ++i)
    add("of which " + text_of(memory.largest[i]), memory.largest[i].held.bytes);
  add("weights, gradients and optimizer states held throughout", memory.model_states);
  const Bytes host = memory.account.host.peak.held.total();
  if (host.count() > 0) table.rows.push_back({"in the host's memory", to_string(host), ""});
  return table;
}

RunTable link_table(const TrainingStepResult& result) {
  RunTable table{{"the busiest links, equal ones in one row"},
                 {"links", "count", "bytes each", "bandwidth", "utilization", "first"},
                 {},
                 {},
                 {5, 1}};
  const BytesColumn column(result.links.front().bytes);
  for (const LinkUse& link : result.links)
    table.rows.push_back({link.kind, fmt::format("{}", link.count), column(link.bytes),
                          to_string(link.carries), percent_text(link.busy), link.link});
  return table;
}

RunTable variant_table(const TrainingStepResult& result,
                       const std::vector<VariantResult>& variants) {
  RunTable table{{"variants of the scenario"}, {"variant", "step", "change", "memory"}, {}};
  const TimeColumn column(result.throughput.step);
  table.rows.push_back({result.scenario.name, column(result.throughput.step), "",
                        to_string(result.memory.needed())});
  for (const VariantResult& each : variants) {
    if (each.result) {
      const double ratio = each.result->throughput.step_s / result.throughput.step_s;
      table.rows.push_back({each.name, column(each.result->throughput.step),
                            fmt::format("{:+.1f} %", 100 * (ratio - 1)),
                            to_string(each.result->memory.needed())});
    } else if (each.shortfall) {
      table.rows.push_back(
          {each.name, "does not fit", "", to_string(each.shortfall->memory.needed())});
    } else {
      table.notes.push_back(fmt::format("{} cannot run: {}", each.name, each.problem));
    }
  }
  return table;
}

/// Of GPUs that replaced those of a cluster file, whose links stay: cluster.gpu, `plan --gpu`.
std::optional<std::string> gpu_link_warning(const TrainingStepResult& result) {
  constexpr double kSlack = 1.25;
  const Device& device = result.scenario.cluster.device;
  if (!device.peer_links || !result.facts.gpu_switch) return std::nullopt;
  const Rate own =
      device.peer_links->bandwidth.scaled(static_cast<double>(device.peer_links->count));
  const double ratio = own.bytes_per_second() / result.facts.gpu_switch->bytes_per_second();
  if (ratio < kSlack && ratio > 1 / kSlack) return std::nullopt;
  return fmt::format(
      "warning: {} is on the GPU links of {}, {} each way instead of its own {}; cluster = "
      "{{\"gpu\": \"{}\", \"gpus\": {}}} builds nodes with its own",
      device.id, result.scenario.cluster.name, to_string(*result.facts.gpu_switch), to_string(own),
      device.id, result.scenario.parallel.ranks());
}

}  // namespace

std::vector<std::string> hardware_warnings(const TrainingStepResult& result) {
  const ClusterFacts& facts = result.facts;
  std::vector<std::string> out;
  if (auto warning = gpu_link_warning(result)) out.push_back(*std::move(warning));
  if (facts.nic_exceeds_pcie()) {
    const Rate reachable = *facts.reachable();
    out.push_back(
        fmt::format("warning: {:g} Gb/s NICs ({}) behind PCIe ({}): no faster than {:g} Gb/s",
                    facts.nic->bytes_per_second() / 125e6, to_string(*facts.nic_usable),
                    to_string(reachable), reachable.bytes_per_second() / 125e6));
  }
  const int gpus = facts.gpus_per_node;
  const int nics = facts.nics_per_node;
  if (facts.nodes > 1 && nics > 0 && gpus % nics != 0 && nics % gpus != 0)
    out.push_back(
        fmt::format("warning: {} NICs for {} GPUs per node: some GPUs share a NIC with "
                    "more GPUs than others",
                    nics, gpus));
  return out;
}

std::vector<RunTable> tables_of_run(const RunOptions& options, const TrainingStepResult& result,
                                    const std::vector<VariantResult>& variants) {
  std::vector<RunTable> tables;
  const auto add = [&tables](std::string_view id, RunTable table) {
    table.id = id;
    tables.push_back(std::move(table));
  };
  add("headline", headline_table(options, result));
  if (!variants.empty()) add("variants", variant_table(result, variants));
  add("step", step_table(options, result));
  add("breakdown", breakdown_table(result));
  add("path", path_table(result));
  if (result.summary.stages.size() > 1) add("stages", stage_table(result));
  add("memory", memory_table(result));
  if (!result.links.empty()) add("links", link_table(result));
  if (options.classes) add("classes", class_table(result));
  return tables;
}

}  // namespace lockstep::cli
