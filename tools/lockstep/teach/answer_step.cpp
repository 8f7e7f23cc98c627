#include <utility>

#include "strategies/layout/scenario_names.hpp"
#include "tools/app/inputs/scenario_file.hpp"
#include "tools/app/step/metrics/step_pipeline.hpp"
#include "tools/app/step/run_step.hpp"
#include "tools/app/teach/pipeline_chart.hpp"
#include "tools/lockstep/teach/answers.hpp"

namespace lockstep::cli {

namespace {

using namespace app;

constexpr std::int64_t kMostPicoseconds = 1'000'000'000'000;
constexpr std::int64_t kMostStages = 32;
constexpr std::int64_t kMostMicrobatches = 64;
constexpr std::int64_t kMostChunks = 8;

std::string_view to_string(PipelineStep::Work work) {
  switch (work) {
    case PipelineStep::Work::forward:
      return "forward";
    case PipelineStep::Work::backward:
      return "backward";
    case PipelineStep::Work::input_gradient:
      return "input_gradient";
    case PipelineStep::Work::weight_gradient:
      break;
  }
  return "weight_gradient";
}

Json formula_json(const std::optional<BubbleFormula>& formula) {
  if (!formula) return nullptr;
  return {{"text", formula->text}, {"fraction_of_ideal", formula->fraction}};
}

Json stage_json(const PipelineStage& stage) {
  Json spans = Json::array();
  for (const PipelineSpan& span : stage.spans)
    spans.push_back({{"work", to_string(span.step.work)},
                     {"microbatch", span.step.microbatch},
                     {"chunk", span.step.chunk},
                     {"start_ps", span.start.since_start().ps()},
                     {"end_ps", span.end.since_start().ps()}});
  Json held = Json::array();
  for (const HeldActivations& each : stage.held)
    held.push_back(Json{each.at.since_start().ps(), each.chunks});
  return {{"spans", spans},
          {"held_chunks", held},
          {"most_held_chunks", stage.most_held},
          {"idle_s", stage.idle.seconds()}};
}

Json chart_json(const PipelineChart& chart) {
  Json stages = Json::array();
  for (const PipelineStage& stage : chart.stages) stages.push_back(stage_json(stage));
  return {{"step_ps", chart.step.ps()},
          {"step_s", chart.step.seconds()},
          {"ideal_s", chart.ideal.seconds()},
          {"bubble_fraction_of_ideal", chart.bubble},
          {"bubble_formula", formula_json(chart.formula)},
          {"chunks", chart.request.chunks},
          {"stages", stages}};
}

// ---- Training steps.

Json maybe(const std::optional<double>& number) {
  return number ? Json(*number) : Json(nullptr);
}

Json memory_json(const RankMemory& memory) {
  Json categories = Json::object();
  const CategoryBytes& held = memory.account.device.peak.held;
  for (std::size_t i = 0; i < kCategories; ++i) {
    const auto category = static_cast<Category>(i);
    categories[lockstep::to_string(category)] = held[category].count();
  }
  return {{"rank", memory.rank},
          {"role", memory.role},
          {"peak_bytes", memory.needed().count()},
          {"capacity_bytes", memory.capacity ? Json(memory.capacity->count()) : Json(nullptr)},
          {"fits", memory.fits()},
          {"model_states_bytes", memory.model_states.count()},
          {"categories_bytes", categories}};
}

Json breakdown_json(const TrainingStepSummary& summary) {
  const Breakdown& rank = summary.busiest;
  Json exposed = Json::object();
  for (const auto& [group, time] : rank.exposed) exposed[group] = time.seconds();
  Json groups = Json::array();
  for (const GroupTraffic& group : summary.groups)
    groups.push_back({{"group", group.group},
                      {"operations", group.operations},
                      {"bytes", group.bytes.count()},
                      {"transfer_s", group.transfer.seconds()},
                      {"exposed_s", group.exposed.seconds()}});
  return {{"computation_s", rank.computation_total().seconds()},
          {"exposed_communication_s", exposed},
          {"bubble_s", rank.bubble.seconds()},
          {"launch_overhead_s", rank.issue.seconds()},
          {"waiting_s", rank.waiting.seconds()},
          {"communication", groups}};
}

Json passes_json(const TrainingStepResult& result) {
  Json out = Json::array();
  for (const StagePasses& stage : stage_passes(result.step.timeline, result.summary)) {
    Json spans = Json::array();
    for (const Pass& pass : stage.passes)
      spans.push_back({{"work", lockstep::to_string(pass.kind)},
                       {"microbatch", pass.microbatch},
                       {"chunk", pass.chunk},
                       {"start_ps", pass.interval.start.since_start().ps()},
                       {"end_ps", pass.interval.end.since_start().ps()}});
    out.push_back({{"stage", stage.stage}, {"spans", spans}});
  }
  return out;
}

Json step_json(const TrainingStepResult& result) {
  const Throughput& speed = result.throughput;
  return {{"scenario", result.scenario.name},
          {"ranks", result.scenario.cluster.cluster.ranks()},
          {"step_time_s", speed.step_s},
          {"step_ps", result.summary.step.ps()},
          {"samples_per_s", speed.samples_per_s},
          {"tokens_per_s", maybe(speed.tokens_per_s)},
          {"mfu_fraction", maybe(speed.mfu())},
          {"memory", memory_json(result.memory)},
          {"breakdown", breakdown_json(result.summary)},
          {"passes", passes_json(result)}};
}

}  // namespace

LaterAnswer read_pipeline(ObjectReader& in) {
  PipelineChartRequest request;
  const auto schedule = in.required("schedule").known_name("schedule", keys_of(pipeline_names()));
  for (const auto& [name, value] : pipeline_names())
    if (schedule == name) request.order = value;
  const auto time = [&](std::string_view key) {
    return Duration::picoseconds(in.integer(key, 0, kMostPicoseconds));
  };
  request.stages = static_cast<int>(in.integer("stages", 1, kMostStages));
  request.microbatches = static_cast<int>(in.integer("microbatches", 1, kMostMicrobatches));
  request.chunks = static_cast<int>(in.integer("chunks", 1, kMostChunks, 1));
  request.forward = time("forward_ps");
  request.backward = time("backward_ps");
  request.weight = time("weight_ps");
  request.send = time("send_ps");
  return [=] { return chart_json(chart_pipeline(request)); };
}

LaterAnswer read_step(ObjectReader& in) {
  TrainingStepRequest request;
  request.file = in.string("scenario");
  in.optional_array("set",
                    [&](const ValueReader& each) { request.overrides.push_back(each.string()); });
  request.ignore_memory = in.boolean("ignore_memory", true);
  request.step_only = true;
  return [=]() mutable {
    request.file = scenario_file(request.file);
    return step_json(run_step(request));
  };
}

}  // namespace lockstep::cli
