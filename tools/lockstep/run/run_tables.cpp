#include "tools/lockstep/run/run_tables.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "strategies/models/count.hpp"
#include "tools/lockstep/run/expert_notes.hpp"
#include "tools/lockstep/run/step_words.hpp"

namespace lockstep::cli {

namespace {

constexpr std::size_t kStagesShown = 16;
constexpr double kDay = 86'400;
constexpr double kYear = 365.25 * kDay;

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

std::string days(double seconds) {
  if (seconds >= 2 * kYear) return fmt::format("{:.1f} years", seconds / kYear);
  if (seconds >= 2 * kDay) return fmt::format("{:.1f} days", seconds / kDay);
  return fmt::format("{:.2f} hours", seconds / 3600);
}

std::string per_second(double rate) {
  return rate >= 100 ? fmt::format("{:.0f}", rate) : fmt::format("{:.4g}", rate);
}

std::string plan_of(const ParallelConfig& parallel) {
  std::string out = fmt::format("dp {}, tp {}, pp {}", parallel.dp, parallel.tp, parallel.pp);
  if (parallel.vpp > 1) out += fmt::format(" of {} chunks", parallel.vpp);
  if (parallel.cp > 1) out += fmt::format(", cp {}", parallel.cp);
  if (parallel.ep > 1) out += fmt::format(", ep {}", parallel.ep);
  if (parallel.zero > 0) out += fmt::format(", ZeRO-{}", parallel.zero);
  return out + fmt::format(", ranks {} first", fmt::join(parallel.order, ", "));
}

std::string stack_words(const Scenario& scenario) {
  if (scenario.stack_reason.empty()) return "software stack " + scenario.stack;
  return fmt::format("software stack {}, the default: {} (--set stack=NAME overrides it)",
                     scenario.stack, scenario.stack_reason);
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

std::vector<std::string> head(const RunOptions& options, const StepResult& result) {
  const Scenario& scenario = result.scenario;
  const ParallelConfig& parallel = scenario.parallel;
  std::vector<std::string> out;
  out.push_back(fmt::format("{}: {} on {} {} ({})", scenario.name, scenario.model.name,
                            parallel.ranks(), scenario.cluster.device.id, scenario.cluster.name));
  if (!scenario.summary.empty()) out.push_back(scenario.summary);
  add_model(scenario.model, out);
  out.push_back(plan_of(parallel));
  out.push_back(fmt::format("batch of {}: {} microbatch{} of {} on each of {} replicas",
                            parallel.global_batch, parallel.microbatches(),
                            parallel.microbatches() == 1 ? "" : "es", parallel.micro_batch,
                            parallel.dp));
  if (!scenario.sustained) out.push_back(stack_words(scenario));
  out.push_back(fmt::format("{}, network {}", how_simulated(result.step), options.network));
  if (!result.machine_links.empty()) out.push_back("links between GPUs: " + result.machine_links);
  return out;
}

RunTable step_table(const RunOptions& options, const StepResult& result) {
  const Throughput& speed = result.throughput;
  RunTable table{head(options, result), {"step", ""}, {}, {}};
  const auto add = [&table](std::string name, std::string value) {
    table.rows.push_back({std::move(name), std::move(value)});
  };
  add("step time", to_string(speed.step));
  if (const auto& averaging = result.averaging) {
    add("of which with the average",
        fmt::format("{}, one step of {}", to_string(averaging->with), averaging->every));
    add("and without", to_string(averaging->without));
    table.notes.push_back(
        fmt::format("all times and bytes are means over {} steps", averaging->every));
  }
  if (result.confidence) {
    add(fmt::format("{:.0f} % prediction interval", 100 * result.confidence->share),
        interval_words(*result.confidence));
    for (const std::string& line : outside_words(*result.confidence)) table.notes.push_back(line);
  }
  if (speed.tokens_per_s) add("tokens per second", per_second(*speed.tokens_per_s));
  add(speed.sample + "s per second", per_second(speed.samples_per_s));
  add("FLOP/s per GPU", to_string(FlopRate{std::max(speed.model_flops_per_gpu, 1.0)}));
  if (const auto mfu = speed.mfu())
    add("MFU", fmt::format("{} of the {}", percent(*mfu), speed.peak_words));
  if (const auto hfu = speed.hfu())
    add("HFU", fmt::format("{}, {:.3f} times the model's operations", percent(*hfu),
                           speed.hardware_flops / speed.model_flops));
  for (const ScenarioNote& note : result.scenario.notes) table.notes.push_back(note.text());
  for (const std::string& line : result.step.algorithms) {
    if (line.find("cannot have") != std::string::npos) table.notes.push_back(line);
  }
  for (std::string& line : expert_notes(result.scenario)) table.notes.push_back(std::move(line));
  if (speed.mfu()) table.notes.push_back("counted for the MFU: " + speed.convention);
  if (speed.training_s) {
    const bool tokens = speed.tokens_per_s.has_value();
    add(fmt::format("{:.4g} {}", *result.scenario.samples, tokens ? "tokens" : speed.sample + "s"),
        days(*speed.training_s));
  }
  if (speed.six_n_d)
    add("by 6 N D alone",
        fmt::format("{} for {:.3g} FLOPs at {}", days(*speed.six_n_d_s), *speed.six_n_d,
                    result.scenario.sustained ? "the sustained rate" : "the same FLOP/s"));
  return table;
}

std::vector<std::string> time_row(std::string name, Duration time, Duration step) {
  return {std::move(name), to_string(time), percent(time.seconds() / step.seconds())};
}

std::string rank_name(const StepResult& result, std::size_t index) {
  const RankTimeline& rank = result.step.timeline.ranks[index];
  return fmt::format("rank {} ({})", rank.rank,
                     result.step.timeline.program->roles[rank.role].name);
}

RunTable breakdown_table(const StepResult& result) {
  const Breakdown& worst = result.summary.worst;
  RunTable table{{"where the time goes on " + rank_name(result, worst.rank) + ", which ends last"},
                 {"time", "", "share"},
                 {}};
  const auto add = [&](std::string name, Duration time) {
    if (time > Duration{}) table.rows.push_back(time_row(std::move(name), time, worst.step));
  };
  for (std::size_t i = 0; i < kOperationClasses; ++i)
    add(std::string{to_string(static_cast<OperationClass>(i))}, worst.computation[i]);
  for (const auto& [group, time] : worst.exposed) add("exposed " + group + " communication", time);
  add("bubble", worst.bubble);
  add("host issue", worst.issue);
  add("waiting", worst.waiting);
  const Duration again = worst.purpose[static_cast<std::size_t>(Purpose::recompute)];
  add("of it done again (recomputation)", again);
  return table;
}

RunTable path_table(const StepResult& result) {
  RunTable table{{"the critical path"}, {"path", "", "share"}, {}};
  for (const PathShare& share : result.summary.path)
    table.rows.push_back(time_row(to_string(share.use), share.length, result.summary.step));
  return table;
}

RunTable stage_table(const StepResult& result) {
  RunTable table{{"the stages"}, {"stage", "computes", "exposed", "bubble", "idle"}, {}};
  for (const StageUse& stage : result.summary.stages) {
    if (table.rows.size() == kStagesShown) break;
    table.rows.push_back({stage.name, to_string(stage.rank.computation_total()),
                          to_string(stage.rank.exposed_total()), to_string(stage.rank.bubble),
                          percent(stage.idle_fraction)});
  }
  return table;
}

RunTable memory_table(const StepResult& result) {
  const RankMemory& memory = result.memory;
  const MemoryPeak& peak = memory.account.device.peak;
  std::string note = fmt::format("memory of rank {} ({}), which needs the most: {}", memory.rank,
                                 memory.role, to_string(memory.needed()));
  if (memory.capacity)
    note +=
        fmt::format(" of {}{}", to_string(*memory.capacity), memory.fits() ? "" : ", does not fit");
  RunTable table{{note}, {"memory", "", "share"}, {}};
  if (!memory.during.empty())
    table.notes.push_back(fmt::format("at its peak {} into the step, in {}",
                                      to_string(peak.at.since_start()), memory.during));
  const auto whole = static_cast<double>(std::max<std::int64_t>(1, memory.needed().count()));
  const auto add = [&](std::string name, Bytes bytes) {
    table.rows.push_back(
        {std::move(name), to_string(bytes), percent(static_cast<double>(bytes.count()) / whole)});
  };
  for (std::size_t i = 0; i < kCategories; ++i) {
    const auto category = static_cast<Category>(i);
    if (peak.held[category].count() > 0) add(std::string{to_string(category)}, peak.held[category]);
  }
  for (std::size_t i = 0; i < std::min<std::size_t>(3, memory.largest.size()); ++i)
    add("of these " + memory.largest[i], memory.largest_bytes[i]);
  add("weights, gradients and optimizer states held throughout", memory.model_states);
  const Bytes host = memory.account.host.peak.held.total();
  if (host.count() > 0) table.rows.push_back({"in the host's memory", to_string(host), ""});
  return table;
}

RunTable link_table(const StepResult& result) {
  RunTable table{{"the busiest links"}, {"link", "carried", "of", "busy"}, {}};
  for (const LinkUse& link : result.links)
    table.rows.push_back(
        {link.link, to_string(link.bytes), to_string(link.carries), percent(link.busy)});
  return table;
}

RunTable class_table(const StepResult& result) {
  constexpr std::size_t kClassesShown = 32;
  RunTable table{{how_simulated(result.step)}, {"ranks", "of them", "role", "differ"}, {}, {}};
  const std::vector<ShownClass> classes = shown_classes(result.step);
  for (std::size_t i = 0; i < std::min(classes.size(), kClassesShown); ++i)
    table.rows.push_back({text_of(classes[i].ranges), fmt::format("{}", classes[i].of.members),
                          classes[i].role, classes[i].of.difference});
  if (classes.size() > kClassesShown)
    table.footer = fmt::format("and {} more", classes.size() - kClassesShown);
  return table;
}

std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

std::string padded(const std::string& text, std::size_t width, bool left) {
  const std::string space(width - std::min(width, width_of(text)), ' ');
  return left ? text + space : space + text;
}

std::string line_of(const std::string& lead, const std::vector<std::string>& cells,
                    const std::vector<std::size_t>& widths, bool words) {
  std::string out = lead;
  for (std::size_t i = 0; i < cells.size(); ++i)
    out += (i == 0 ? "" : "  ") + padded(cells[i], widths[i], i == 0 || words);
  out.erase(out.find_last_not_of(' ') + 1);
  return out + "\n";
}

std::vector<std::size_t> widths_of(const RunTable& table) {
  std::vector<std::size_t> widths;
  for (const std::string& heading : table.headings) widths.push_back(width_of(heading));
  for (const auto& row : table.rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  return widths;
}

std::string row_in_markdown(const std::vector<std::string>& cells) {
  return fmt::format("| {} |\n", fmt::join(cells, " | "));
}

}  // namespace

std::vector<RunTable> tables_of_run(const RunOptions& options, const StepResult& result) {
  std::vector<RunTable> tables{step_table(options, result), breakdown_table(result),
                               path_table(result)};
  if (result.summary.stages.size() > 1) tables.push_back(stage_table(result));
  tables.push_back(memory_table(result));
  if (!result.links.empty()) tables.push_back(link_table(result));
  if (options.classes) tables.push_back(class_table(result));
  return tables;
}

std::string text_of(const std::vector<RunTable>& tables) {
  std::string out;
  for (const RunTable& table : tables) {
    if (!out.empty()) out += "#\n";
    for (const std::string& note : table.notes) out += "# " + note + "\n";
    const auto widths = widths_of(table);
    const bool words = table.headings.size() == 2;
    if (table.headings.size() > 3) out += line_of("# ", table.headings, widths, words);
    for (const auto& row : table.rows) out += line_of("  ", row, widths, words);
    if (!table.footer.empty()) out += "# " + table.footer + "\n";
  }
  return out;
}

std::string markdown_of(const std::vector<RunTable>& tables) {
  std::string out;
  for (const RunTable& table : tables) {
    if (!out.empty()) out += "\n";
    for (const std::string& note : table.notes) out += note + "\n\n";
    out += row_in_markdown(table.headings);
    out += "|---|";
    for (std::size_t i = 1; i < table.headings.size(); ++i) out += "---:|";
    out += "\n";
    for (const auto& row : table.rows) out += row_in_markdown(row);
    if (!table.footer.empty()) out += "\n" + table.footer + "\n";
  }
  return out;
}

}  // namespace lockstep::cli
