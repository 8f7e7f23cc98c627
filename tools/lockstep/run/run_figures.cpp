#include "tools/lockstep/run/run_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/base/check.hpp"
#include "strategies/layout/scenario_names.hpp"
#include "tools/app/step/metrics/link_classes.hpp"
#include "tools/app/step/metrics/step_pipeline.hpp"
#include "tools/figures/bar_figure.hpp"
#include "tools/figures/memory_figure.hpp"
#include "tools/figures/pipeline_figure.hpp"
#include "tools/figures/step/topology_figure.hpp"
#include "tools/figures/step/track_figure.hpp"
#include "tools/lockstep/output/errors.hpp"
#include "tools/lockstep/step_figures/link_loads.hpp"
#include "tools/lockstep/step_figures/step_cluster.hpp"
#include "tools/lockstep/step_figures/step_topology.hpp"
#include "tools/lockstep/step_figures/step_tracks.hpp"
#include "tools/lockstep/step_figures/time_look.hpp"

namespace lockstep::cli {

namespace {

using figures::FigureStyle;
using figures::Heading;

constexpr std::size_t kMostRows = 64;

double seconds(TimePoint at) {
  return at.since_start().seconds();
}

/// "Llama 3 70B on 64 x h100 (dgx-h100)"; without the cluster if its name is made of the device's.
std::string subject_of(const Scenario& scenario) {
  const std::string& device = scenario.cluster.device.id;
  const std::string& cluster = scenario.cluster.name;
  return fmt::format("{} on {} x {}{}", scenario.model.name, scenario.parallel.ranks(), device,
                     cluster.starts_with(device) ? "" : " (" + cluster + ")");
}

std::string layout_of(const Scenario& scenario) {
  const ParallelConfig& parallel = scenario.parallel;
  std::string out = fmt::format("DP {} · TP {} · PP {}", parallel.dp, parallel.tp, parallel.pp);
  if (parallel.pp > 1) out += fmt::format(" ({})", name_of(pipeline_names(), parallel.schedule));
  if (parallel.vpp > 1) out += fmt::format(" · {} chunks per stage", parallel.vpp);
  if (parallel.cp > 1) out += fmt::format(" · CP {}", parallel.cp);
  if (parallel.ep > 1) out += fmt::format(" · EP {}", parallel.ep);
  if (parallel.etp > 0) out += fmt::format(" · ETP {}", parallel.etp);
  if (parallel.zero > 0) out += fmt::format(" · ZeRO-{}", parallel.zero);
  return out + fmt::format(" · {} microbatch{} of {}", parallel.microbatches(),
                           parallel.microbatches() == 1 ? "" : "es", parallel.micro_batch);
}

Heading heading_of(const std::string& what, const TrainingStepResult& result) {
  return {what + ": " + subject_of(result.scenario),
          {layout_of(result.scenario) + " · step " + to_string(result.summary.step)}};
}

/// Which rank a row shows.
std::string note_on_rows(const Scenario& scenario) {
  return scenario.parallel.pp > 1 ? "Each row is the rank of its stage that computes longest."
                                  : "The row is the rank that computes longest.";
}

/// Which rows of many are drawn: the first ones, and a note about the others.
std::size_t shown_rows(std::size_t rows, std::vector<std::string>& notes) {
  if (rows > kMostRows) notes.push_back(fmt::format("First {} of {} stages.", kMostRows, rows));
  return std::min(rows, kMostRows);
}

figures::PipelineSlice slice_of(const Pass& pass) {
  using Kind = figures::PipelineSlice::Kind;
  constexpr std::array<Kind, 5> kKinds = {Kind::forward, Kind::backward, Kind::input_gradient,
                                          Kind::weight_gradient, Kind::optimizer};
  return {kKinds.at(static_cast<std::size_t>(pass.kind)),
          pass.microbatch,
          pass.chunk,
          seconds(pass.interval.start),
          seconds(pass.interval.end),
          pass.recomputation.seconds(),
          {}};
}

std::string pipeline_figure(const TrainingStepResult& result, const FigureStyle& style) {
  figures::PipelineFigure figure;
  figure.heading = heading_of("Training step by stage and microbatch", result);
  figure.end = seconds(result.step.timeline.end);
  const auto stages = app::stage_passes(result.step.timeline, result.summary);
  const std::size_t rows = shown_rows(stages.size(), figure.notes);
  for (std::size_t i = 0; i < rows; ++i) {
    figures::PipelineRow row{stages[i].stage, {}};
    for (const Pass& pass : stages[i].passes) row.slices.push_back(slice_of(pass));
    for (const auto& each : stages[i].exposed)
      row.slices.push_back({figures::PipelineSlice::Kind::communication, 0, 0,
                            seconds(each.interval.start), seconds(each.interval.end), 0,
                            each.group});
    figure.rows.push_back(std::move(row));
  }
  figure.notes.push_back(
      "Numbers are microbatches. A pass includes its own communication, such as that of tensor "
      "parallelism. " +
      note_on_rows(result.scenario));
  if (result.scenario.parallel.stage_copies() > 1)
    figure.notes.emplace_back(
        "Lighter shades and the letter b are the later of a stage's two parts of the model: each "
        "has the microbatches of one end.");
  if (result.scenario.parallel.vpp > 1)
    figure.notes.emplace_back("Letters and lighter shades are later model chunks of the stage.");
  if (result.averaging)
    figure.notes.emplace_back("The step that averages parameters; the step time is a mean.");
  return draw(figure, style);
}

/// "optimizer states".
std::string words_of(Category category) {
  std::string out{to_string(category)};
  std::replace(out.begin(), out.end(), '_', ' ');
  return out + "s";
}

std::string memory_figure(const TrainingStepResult& result, const FigureStyle& style) {
  const RankMemory& memory = result.memory;
  figures::MemoryFigure figure;
  figure.heading = heading_of("Memory over a training step", result);
  figure.heading.details.push_back(fmt::format(
      "{}, which needs the most: {} at its peak", rank_text(memory.rank, memory.role),
      figures::value_text(static_cast<double>(memory.needed().count()), figures::Unit::bytes, 4)));
  for (std::size_t i = 0; i < kCategories; ++i) {
    const auto category = static_cast<Category>(i);
    const bool peak = memory.account.device.peak.held[category] > Bytes{};
    figure.categories.push_back(fmt::format(
        "{}{}", words_of(category),
        peak ? " " + figures::value_text(
                         static_cast<double>(memory.account.device.peak.held[category].count()),
                         figures::Unit::bytes, 3)
             : ""));
  }
  figure.notes.emplace_back("Sizes next to the categories are those at the peak.");
  for (const MemoryPoint& point : memory.account.device.curve) {
    figures::MemorySample sample{seconds(point.at), {}};
    for (const Bytes bytes : point.held.bytes)
      sample.bytes.push_back(static_cast<double>(bytes.count()));
    figure.samples.push_back(std::move(sample));
  }
  figure.end = seconds(result.step.timeline.end);
  if (memory.capacity) figure.capacity = static_cast<double>(memory.capacity->count());
  return draw(figure, style);
}

/// The parts of a breakdown in the order of a bar: name, look and seconds.
struct TimePart {
  figures::BarPart look;
  double seconds = 0;
};

std::vector<TimePart> computation_parts(const Breakdown& rank) {
  const auto of = [&rank](OperationClass each) {
    return rank.computation.at(static_cast<std::size_t>(each)).seconds();
  };
  const double gemms = of(OperationClass::matmul) + of(OperationClass::convolution);
  const double attention = of(OperationClass::attention);
  const double optimizer = of(OperationClass::optimizer);
  using figures::Pattern;
  return {{{"GEMMs and convolutions", "#1f5fa8", Pattern::plain}, gemms},
          {{"attention", "#5f9bd6", Pattern::plain}, attention},
          {{"other computation", "#b7d3ee", Pattern::plain},
           rank.computation_total().seconds() - gemms - attention - optimizer},
          {{"optimizer", "#e8b04a", Pattern::dots}, optimizer}};
}

/// Groups in the order in which any stage has them.
std::vector<TimePart> exposed_parts(const Breakdown& rank, const std::vector<std::string>& groups) {
  std::vector<TimePart> out;
  for (const std::string& group : groups) {
    const auto found = rank.exposed.find(group);
    out.push_back(
        {{"exposed " + group + " communication", color_of_group(group), figures::Pattern::stripes},
         found == rank.exposed.end() ? 0 : found->second.seconds()});
  }
  return out;
}

std::vector<TimePart> time_parts(const Breakdown& rank, const std::vector<std::string>& groups) {
  std::vector<TimePart> out = computation_parts(rank);
  for (TimePart& part : exposed_parts(rank, groups)) out.push_back(std::move(part));
  using figures::Pattern;
  out.push_back({{"kernel launches", "#666666", Pattern::grid}, rank.issue.seconds()});
  out.push_back({{"pipeline bubble", "#f4f4f4", Pattern::dots}, rank.bubble.seconds()});
  out.push_back({{"waiting for other ranks", "#d0d0d0", Pattern::bars}, rank.waiting.seconds()});
  return out;
}

std::string breakdown_figure(const TrainingStepResult& result, const FigureStyle& style) {
  std::vector<std::string> groups;
  for (const StageUse& stage : result.summary.stages)
    for (const auto& [group, time] : stage.rank.exposed)
      if (time > Duration{} && std::find(groups.begin(), groups.end(), group) == groups.end())
        groups.push_back(group);
  figures::BarFigure figure;
  figure.heading = heading_of("Where the time goes", result);
  figure.axis = {"Time", figures::Unit::seconds, false};
  figure.shares = true;
  const std::size_t rows = shown_rows(result.summary.stages.size(), figure.notes);
  for (std::size_t i = 0; i < rows; ++i) {
    const StageUse& stage = result.summary.stages[i];
    figures::Bar bar{stage.name, {}, {}};
    const std::vector<TimePart> parts = time_parts(stage.rank, groups);
    for (const TimePart& part : parts) bar.values.push_back(std::max(0.0, part.seconds));
    if (figure.parts.empty())
      for (const TimePart& part : parts) figure.parts.push_back(part.look);
    figure.bars.push_back(std::move(bar));
  }
  figure.notes.push_back(
      note_on_rows(result.scenario) +
      " Exposed: not hidden by computation. Percentages are shares of the step time.");
  return draw(figure, style);
}

std::string path_figure(const TrainingStepResult& result, const FigureStyle& style) {
  figures::BarFigure figure;
  figure.heading = heading_of("Critical path", result);
  figure.axis = {"Time along the path", figures::Unit::seconds, false};
  figure.shares = true;
  figures::Bar bar{"step", {}, {}};
  for (const PathShare& share : result.summary.path) {  // longest first
    figures::BarPart part = part_of(share.use);
    const auto found = std::ranges::find(figure.parts, part.name, &figures::BarPart::name);
    if (found == figure.parts.end()) {
      figure.parts.push_back(std::move(part));
      bar.values.push_back(share.length.seconds());
    } else {
      bar.values[static_cast<std::size_t>(found - figure.parts.begin())] += share.length.seconds();
    }
  }
  figure.bars.push_back(std::move(bar));
  figure.notes.emplace_back(
      "Shortening what is not on the critical path does not shorten the step.");
  return draw(figure, style);
}

/// "gpu → pcie switch".
std::string link_words(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  const std::size_t arrow = name.find("->");
  return arrow == std::string::npos ? name : name.replace(arrow, 2, "→");
}

std::string links_figure(const TrainingStepResult& result, const FigureStyle& style) {
  const auto classes =
      app::link_classes(result.step.timeline.link_bytes, result.step.timeline.end.since_start(),
                        result.scenario.cluster.cluster);
  if (classes.empty())
    throw Refusal("--plot links: no link carries anything in this step; nothing to draw");
  figures::BarFigure figure;
  figure.heading = heading_of("Busiest links", result);
  figure.axis = {"Utilization: bytes / (bandwidth x step time)", figures::Unit::share, false};
  figure.most = 1;
  figure.parts = {{"mean of the links in use", "#1f5fa8", figures::Pattern::plain},
                  {"busiest link", "#a8cdec", figures::Pattern::stripes}};
  for (const app::LinkClass& each : classes) {
    figures::Bar bar{link_words(each.name),
                     {each.mean, each.busiest - each.mean > 5e-3 ? each.busiest - each.mean : 0},
                     {}};
    bar.text = fmt::format(
        "{}  ({} link{}, {})", figures::value_text(each.busiest, figures::Unit::share, 3),
        each.links, each.links == 1 ? "" : "s",
        figures::value_text(each.bandwidth.bytes_per_second(), figures::Unit::bytes_per_second, 4));
    figure.bars.push_back(std::move(bar));
  }
  figure.notes.push_back("Busiest link: " + classes.front().example + ".");
  return draw(figure, style);
}

/// Link by link where there is room, else by kind.
std::string topology_figure(const TrainingStepResult& result, const FigureStyle& style) {
  if (const auto figure = cluster_of(result, heading_of("Topology", result)))
    return draw(*figure, style);
  figures::TopologyFigure by_kind = topology_of(result, heading_of("Topology", result));
  by_kind.notes.push_back(
      fmt::format("By kind of element: single links are drawn up to {} ranks.", kMostLinkRanks));
  return draw(by_kind, style);
}

}  // namespace

const std::vector<std::string>& run_figure_kinds() {
  static const std::vector<std::string> kKinds{"pipeline", "memory",   "breakdown", "links",
                                               "path",     "timeline", "topology",  "traffic"};
  return kKinds;
}

std::string run_figure(const std::string& kind, const TrainingStepResult& result,
                       const FigureStyle& style) {
  if (kind == "path") return path_figure(result, style);
  if (kind == "pipeline") return pipeline_figure(result, style);
  if (kind == "memory") return memory_figure(result, style);
  if (kind == "breakdown") return breakdown_figure(result, style);
  if (kind == "links") return links_figure(result, style);
  if (kind == "timeline")
    return draw(timeline_tracks(result, heading_of("Ranks and streams", result)), style);
  if (kind == "traffic")
    return draw(traffic_tracks(result, heading_of("Communication over time", result)), style);
  if (kind == "topology") return topology_figure(result, style);
  throw InternalError("no figure named " + kind);
}

}  // namespace lockstep::cli
