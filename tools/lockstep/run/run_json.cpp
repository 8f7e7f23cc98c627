#include "tools/lockstep/run/run_json.hpp"
#include "tools/app/fingerprint.hpp"

#include "sim/config/json/json_values.hpp"
#include "strategies/models/count/count.hpp"
#include "strategies/step/lowering/class_partings.hpp"
#include "tools/app/json.hpp"
#include "tools/app/step/metrics/steps_in_a_row.hpp"
#include "tools/lockstep/output/drawn_ranks.hpp"
#include "tools/lockstep/output/memory_text.hpp"
#include "tools/lockstep/run/run_row.hpp"
#include "tools/lockstep/run/run_tables.hpp"
#include "tools/lockstep/run/text/document_notes.hpp"
#include "tools/lockstep/run/text/expert_notes.hpp"
#include "tools/lockstep/run/text/step_words.hpp"
#include "tools/lockstep/topology/link_text.hpp"

namespace lockstep::cli {

namespace {

/// How large the model is, and what of its file is not part of it.
Json model_of(const ModelConfig& model) {
  const ParameterCount count = count_parameters(model);
  const TransformerConfig* shape = model.transformer();
  return {{"parameters", count.total()},
          {"active_parameters", count.active()},
          {"sequence", shape != nullptr ? Json(all_tokens(*shape)) : Json(nullptr)},
          {"notes", model.notes}};
}

Json maybe(const std::optional<double>& number) {
  return number ? Json(*number) : Json(nullptr);
}

/// What ran: the scenario with every default, which may be fed back, and how it was simulated.
Json config_of(const RunOptions& options, const Scenario& scenario) {
  Json config = Json::parse(json_text(scenario.resolved));
  // It describes the scenario without changes.
  if (!changes_of(options).empty()) config.erase("summary");
  config["run"] = run_options_json(options);
  return config;
}

std::int64_t number_of(const RankTimeline& rank) {
  Fingerprint fingerprint;
  for (const Interval interval : rank.operations) {
    fingerprint.add(interval.start.ps());
    fingerprint.add(interval.end.ps());
  }
  return fingerprint.number();
}

void add_throughput(const Throughput& speed, Json& out) {
  out["step_time_s"] = speed.step_s;
  out["tokens_per_s"] = maybe(speed.tokens_per_s);
  out["samples_per_s"] = speed.samples_per_s;
  out["model_flops_per_step"] = speed.model_flops;
  out["hardware_flops_per_step"] = speed.hardware_flops;
  out["model_flops_per_gpu_per_s"] = speed.model_flops_per_gpu;
  out["peak_flops_per_gpu_per_s"] = maybe(speed.peak_per_gpu);
  out["mfu_fraction"] = maybe(speed.mfu());
  out["mfu_bf16_fraction"] = maybe(speed.bf16_mfu());
  out["hfu_fraction"] = maybe(speed.hfu());
  out["convention"] = speed.convention.words();
  out["training_s"] = maybe(speed.training_s);
  out["gpu_hours"] = maybe(speed.gpu_hours);
  out["six_n_d_flops"] = maybe(speed.six_n_d);
  out["six_n_d_s"] = maybe(speed.six_n_d_s);
}

/// `reason` is null where the scenario names the stack.
Json stack_json(const Scenario& scenario) {
  const bool named = scenario.stack_reason.empty();
  return {{"id", scenario.stack},
          {"default", !named},
          {"reason", named ? Json(nullptr) : Json(scenario.stack_reason)},
          {"chooses_overlap", scenario.overlap_of_stack}};
}

/// Values of the scenario that changed nothing.
Json notes_json(const std::vector<ScenarioNote>& notes) {
  Json out = Json::array();
  for (const ScenarioNote& note : notes)
    out.push_back({{"key", note.key}, {"reason", note.message}});
  return out;
}

/// The steps of which the result is the mean.
Json averaging_json(const TrainingStepResult& result) {
  if (!result.averaging) return nullptr;
  return {{"every", result.averaging->every},
          {"steps_with_average", result.averaging->count},
          {"step_with_average_s", result.averaging->with.seconds()},
          {"step_without_average_s", result.averaging->without.seconds()}};
}

/// Whole numbers as such.
Json count_json(double count) {
  const auto whole = static_cast<std::int64_t>(count);
  return static_cast<double>(whole) == count ? Json(whole) : Json(count);
}

/// What validated runs of its kind say of the step time on hardware.
Json prediction_json(const TrainingStepResult& result) {
  if (!result.confidence) return nullptr;
  const Confidence& of = *result.confidence;
  Json outside = Json::array();
  for (const ExtrapolatedProperty& each : of.outside)
    outside.push_back(
        {{"property", each.property}, {"value", each.value}, {"validated", each.checked}});
  return {{"extrapolated", of.extrapolated()},
          {"expected_step_time_s", of.expected.seconds()},
          {"step_time_low_s", of.low.seconds()},
          {"step_time_high_s", of.high.seconds()},
          {"probability_fraction", of.share ? Json(*of.share) : Json(nullptr)},
          {"runs", of.runs},
          {"groups", of.groups},
          {"new", std::move(outside)}};
}

Json computation_of(const Breakdown& rank) {
  Json out = Json::object();
  for (std::size_t i = 0; i < kOperationClasses; ++i)
    if (rank.computation[i] > Duration{})
      out[to_string(static_cast<OperationClass>(i))] = rank.computation[i].seconds();
  return out;
}

Json purposes_of(const Breakdown& rank) {
  Json out = Json::object();
  for (std::size_t i = 0; i < kPurposes; ++i)
    if (rank.purpose[i] > Duration{})
      out[to_string(static_cast<Purpose>(i))] = rank.purpose[i].seconds();
  return out;
}

Json exposed_of(const Breakdown& rank) {
  Json out = Json::object();
  for (const auto& [group, time] : rank.exposed) out[group] = time.seconds();
  return out;
}

Json stages_of(const TrainingStepResult& result) {
  Json out = Json::array();
  for (const StageUse& stage : result.summary.stages)
    out.push_back({{"stage", stage.name},
                   {"rank", result.step.timeline.ranks[stage.rank.rank].rank},
                   {"computation_s", stage.rank.computation_total().seconds()},
                   {"exposed_communication_s", stage.rank.exposed_total().seconds()},
                   {"bubble_s", stage.rank.bubble.seconds()},
                   {"fill_drain_s", stage.rank.fill_drain.seconds()},
                   {"launch_overhead_s", stage.rank.issue.seconds()},
                   {"waiting_s", stage.rank.waiting.seconds()},
                   {"idle_fraction", stage.idle_fraction}});
  return out;
}

Json formula_json(const ParallelConfig& parallel) {
  const auto formula = bubble_formula(parallel);
  if (!formula) return nullptr;
  return {{"text", formula->text}, {"fraction_of_ideal", formula->fraction}};
}

Json breakdown_of(const TrainingStepResult& result) {
  const TrainingStepSummary& summary = result.summary;
  Json out;
  const RankTimeline& rank = result.step.timeline.ranks[summary.busiest.rank];
  out["rank"] = rank.rank;
  out["stage"] = result.step.timeline.program->roles[rank.role].name;
  out["computation_s"] = computation_of(summary.busiest);
  out["purpose_s"] = purposes_of(summary.busiest);
  out["exposed_communication_s"] = exposed_of(summary.busiest);
  out["bubble_s"] = summary.busiest.bubble.seconds();
  out["fill_drain_s"] = summary.busiest.fill_drain.seconds();
  out["slower_stages_s"] = (summary.busiest.bubble - summary.busiest.fill_drain).seconds();
  out["bubble_fraction_of_ideal"] = bubble_fraction(summary.busiest);
  out["bubble_formula"] = formula_json(result.scenario.parallel);
  out["launch_overhead_s"] = summary.busiest.issue.seconds();
  out["waiting_s"] = summary.busiest.waiting.seconds();
  Json groups = Json::array();
  for (const GroupTraffic& group : summary.groups)
    groups.push_back({{"group", group.group},
                      {"operations", count_json(group.operations)},
                      {"bytes", group.bytes.count()},
                      {"transfer_s", group.transfer.seconds()},
                      {"waiting_s", group.waiting.seconds()},
                      {"exposed_s", group.exposed.seconds()}});
  out["communication"] = std::move(groups);
  Json path = Json::array();
  for (const PathShare& share : summary.path)
    path.push_back({{"use", to_string(share.use)},
                    {"time_s", share.length.seconds()},
                    {"operations", count_json(share.operations)}});
  out["critical_path"] = std::move(path);
  out["stages"] = stages_of(result);
  return out;
}

Json categories_of(const CategoryBytes& held) {
  Json out = Json::object();
  for (std::size_t i = 0; i < kCategories; ++i) {
    const auto category = static_cast<Category>(i);
    out[to_string(category)] = held[category].count();
  }
  return out;
}

Json memory_of(const RankMemory& memory) {
  const MemoryPeak& peak = memory.account.device.peak;
  Json out;
  out["rank"] = memory.rank;
  out["role"] = memory.role;
  out["peak_bytes"] = memory.needed().count();
  out["capacity_bytes"] = memory.capacity ? Json(memory.capacity->count()) : Json(nullptr);
  out["fits"] = memory.fits();
  out["verdict"] = to_string(memory.fit());
  out["margin_fraction"] = memory.margin;
  out["at_s"] = peak.at.since_start().seconds();
  out["during"] = memory.during ? text_of(*memory.during) : std::string{};
  out["categories_bytes"] = categories_of(peak.held);
  out["model_states_bytes"] = memory.model_states.count();
  Json largest = Json::array();
  for (const PeakTensor& tensor : memory.largest)
    largest.push_back({{"tensors", text_of(tensor)}, {"bytes", tensor.held.bytes.count()}});
  out["largest"] = std::move(largest);
  out["host_peak_bytes"] = memory.account.host.peak.held.total().count();
  return out;
}

/// Null: its times never differ.
Json parting_of(const RankEquivalenceClass& of, const TrainingStepTimeline& timeline) {
  if (!of.parting) return nullptr;
  constexpr double kPicosecond = 1e-12;
  const ClassParting& parting = *of.parting;
  const auto& again = parting.again;
  return {{"at_s", parting.at.since_start().seconds()},
          {"operation", timeline.roles[of.role].name(parting.operation)},
          {"same_from_s", again ? Json(again->since_start().seconds()) : Json(nullptr)},
          {"later_s", static_cast<double>(parting.later_ps) * kPicosecond}};
}

Json class_of(const ShownClass& each, const TrainingStepTimeline& timeline) {
  Json ranges = Json::array();
  for (const auto& [first, last] : each.ranges) ranges.push_back({first, last});
  return {{"ranks", each.of.members},
          {"representative", each.of.representative},
          {"role", each.role},
          {"difference", each.of.difference},
          {"parts", parting_of(each.of, timeline)},
          {"members", std::move(ranges)}};
}

/// Adds the classes, and how far differences of their times have come by when.
void add_classes(const std::vector<ShownClass>& shown, const TrainingStepTimeline& timeline,
                 Json& out) {
  Json classes = Json::array();
  for (const ShownClass& each : shown) classes.push_back(class_of(each, timeline));
  out["members"] = std::move(classes);
  Json& reach = out["reach"] = Json::array();
  for (const app::ClassReach& each : app::reach_of(shown))
    reach.push_back(
        {{"at_s", each.at.since_start().seconds()}, {"rank", each.rank}, {"ranks", each.ranks}});
  const app::ClassMerges merges = app::merges_of(shown);
  out["merged"] = {
      {"same_ranks", merges.same},
      {"shifted_ranks", merges.shifted},
      {"last_at_s", merges.same + merges.shifted > 0 ? Json(merges.last.since_start().seconds())
                                                     : Json(nullptr)}};
}

Json links_of(const std::vector<LinkUse>& links) {
  Json out = Json::array();
  for (const LinkUse& link : links)
    out.push_back({{"link", link.link},
                   {"kind", link.kind},
                   {"count", link.count},
                   {"bytes", link.bytes.count()},
                   {"bandwidth_Bps", link.carries.bytes_per_second()},
                   {"busy_fraction", link.busy}});
  return out;
}

Json limits_json(const std::vector<TrainingStepLimit>& limits) {
  Json out = Json::array();
  for (const TrainingStepLimit& limit : limits)
    out.push_back({{"use", limit.use.kind == TimeUse::Kind::computation ? "computation"
                                                                        : to_string(limit.use)},
                   {"time_s", limit.length.seconds()},
                   {"fraction", limit.share}});
  return out;
}

Json provenance_json(const StepProvenance& provenance) {
  Json fractions = Json::object();
  for (std::size_t i = 0; i < kProvenances; ++i)
    fractions[kProvenanceNames[i]] = provenance.fractions[i];
  Json values = Json::array();
  for (const StepProvenance::Value& each : provenance.values)
    values.push_back({{"value", each.basis.value},
                      {"provenance", to_string(each.basis.provenance)},
                      {"fraction", each.fraction}});
  return {{"fractions", std::move(fractions)}, {"values", std::move(values)}};
}

Json suggestions_json(const TrainingStepSuggestions& suggestions) {
  Json best = Json::array();
  for (const Suggestion& each : suggestions.best)
    best.push_back({{"set", each.change},
                    {"step_time_s", each.step.seconds()},
                    {"peak_memory_bytes", each.needed.count()},
                    {"memory", to_string(each.fit)}});
  return {{"simulated", suggestions.simulated},
          {"no_memory", suggestions.no_memory},
          {"best", std::move(best)}};
}

Json variants_json(const std::vector<VariantResult>& variants) {
  Json out = Json::array();
  for (const VariantResult& each : variants)
    out.push_back(
        {{"name", each.name},
         {"set", each.overrides},
         {"step_time_s", each.result ? Json(each.result->throughput.step_s) : Json(nullptr)},
         {"fits", each.result      ? Json(each.result->memory.fits())
                  : each.shortfall ? Json(false)
                                   : Json(nullptr)},
         {"problem", each.problem.empty() ? Json(nullptr) : Json(each.problem)}});
  return out;
}

Json head_of(const Report& report) {
  return Json::parse(render(report, Format::json));
}

std::string text_of(const Json& json) {
  return json.dump(2) + "\n";
}

constexpr const char* kSchema = "lockstep.run/2";

Json fidelity_json(const std::optional<FidelityCheck>& check) {
  if (!check) return nullptr;
  return {{"ranks", check->ranks},
          {"representatives_step_time_s", check->representatives.seconds()},
          {"all_step_time_s", check->all.seconds()},
          {"relative_error", check->relative_error()}};
}

}  // namespace

Json fold_json(const RunOptions& options, const TrainingStepResult& result) {
  const SimulatedTrainingStep& step = result.step;
  Json out{{"folded", !step.classes.empty()}, {"classes", step.classes.size()}};
  if (!options.classes) return out;
  add_classes(shown_classes(step, result.options.speeds), step.timeline, out);
  out["distinct_times"] = distinct_histories(step.timeline);
  if (!result.baseline || !result.baseline->classes) return out;
  Json& changed = out["from_unchanged"] = Json::object();
  add_classes(*result.baseline->classes, step.timeline, changed);
  return out;
}

/// Folded or not, that of all ranks is the same.
std::string fingerprint_of_run(const TrainingStepResult& result) {
  Fingerprint fingerprint;
  const TrainingStepTimeline& timeline = result.step.timeline;
  fingerprint.add(timeline.end.ps());
  std::vector<std::int64_t> numbers;
  for (const RankTimeline& rank : timeline.ranks) numbers.push_back(number_of(rank));
  const auto add = [&](int rank, std::size_t simulated) {
    fingerprint.add(rank);
    fingerprint.add(numbers[simulated]);
  };
  if (timeline.representative_of.empty()) {
    for (std::size_t i = 0; i < timeline.ranks.size(); ++i) add(timeline.ranks[i].rank, i);
  }
  for (std::size_t i = 0; i < timeline.representative_of.size(); ++i)
    add(static_cast<int>(i), timeline.representative_of[i]);
  for (const Bytes bytes : timeline.link_bytes) fingerprint.add(bytes.count());
  fingerprint.add(result.memory.needed().count());
  return fingerprint.text();
}

Json run_options_json(const RunOptions& options) {
  return {{"file", options.step.file},
          {"set", options.step.overrides},
          {"ignore_memory", options.step.ignore_memory},
          {"fidelity", options.fidelity},
          {"fold", options.fold},
          {"set_rank", options.rank_settings},
          {"network", options.network},
          {"gpu_speed", options.gpu_speeds},
          {"set_link", options.step.links.set_links},
          {"fail", options.step.links.failed},
          {"nic_bytes_per_s",
           options.step.nic ? Json(options.step.nic->bytes_per_second()) : Json(nullptr)},
          {"suggest", options.step.suggestions},
          {"calibration",
           options.step.calibration.empty() ? Json(nullptr) : Json(options.step.calibration)}};
}

std::string json_of_run(const RunOptions& options, const TrainingStepResult& result,
                        const std::vector<VariantResult>& variants) {
  Report report = report_of_rows(options, rows_of_run(result, variants));
  report.schema = kSchema;
  Json config = config_of(options, result.scenario);
  config["run"]["nccl"] = result.nccl;
  report.config = config.dump();
  report.seed = result.scenario.seed;
  report.fingerprint = fingerprint_of_run(result);
  Json out = head_of(report);
  const Json rows = out["rows"];
  out.erase("rows");
  out["name"] = result.scenario.name;
  out["stack"] = stack_json(result.scenario);
  out["model"] = model_of(result.scenario.model);
  out["fidelity"] = result.step.fidelity == Fidelity::all_ranks ? "all" : "representatives";
  out["fidelity_check"] = fidelity_json(result.fidelity_check);
  out["fold"] = fold_json(options, result);
  add_throughput(result.throughput, out);
  const auto period = app::time_in_a_row(result.scenario.parallel, result.step.timeline);
  out["step_in_a_row_s"] = period ? Json(period->seconds()) : Json(nullptr);
  Json drawn = Json::array();
  for (const int rank : result.drawn_ranks) drawn.push_back(rank);
  out["drawn_ranks"] = std::move(drawn);
  out["drawn_speeds"] = drawn_json(drawn_ranks_of(result));
  out["baseline_step_time_s"] =
      result.baseline ? Json(result.baseline->step.seconds()) : Json(nullptr);
  out["averaging"] = averaging_json(result);
  out["prediction"] = prediction_json(result);
  out["limits"] = limits_json(result.limits);
  out["provenance"] = provenance_json(result.provenance);
  out["suggestions"] = suggestions_json(result.suggestions);
  out["variants"] = variants_json(variants);
  out["breakdown"] = breakdown_of(result);
  out["memory"] = memory_of(result.memory);
  out["links"] = links_of(result.links);
  out["link_changes"] = lines_of(result.link_changes, result.scenario.cluster.cluster);
  out["machine_links"] =
      result.machine_links ? Json(text_of(*result.machine_links)) : Json(nullptr);
  out["algorithms"] = Json::array();
  for (const ReportedChoice& each : result.step.algorithms)
    out["algorithms"].push_back(choice_words(each));
  out["documents"] = document_notes(result.scenario);
  out["experts"] = expert_notes(result.scenario);
  out["without_effect"] = notes_json(result.scenario.notes);
  out["warnings"] = hardware_warnings(result);
  out["rows"] = rows;
  return text_of(out);
}

std::string json_of_misfit(const RunOptions& options, const MemoryShortfall& shortfall) {
  const Scenario& scenario = *shortfall.scenario;
  Report report = report_of_rows(options, {{{}, &scenario, &shortfall.memory, nullptr}});
  report.schema = kSchema;
  report.config = config_of(options, scenario).dump();
  report.seed = scenario.seed;
  Json out = head_of(report);
  const Json rows = out["rows"];
  out.erase("rows");
  out["fingerprint"] = nullptr;
  out["name"] = scenario.name;
  out["step_time_s"] = nullptr;
  out["memory"] = memory_of(shortfall.memory);
  Json fitting = Json::array();
  for (const FittingChange& each : shortfall.changes)
    fitting.push_back({{"set", each.change}, {"peak_memory_bytes", each.needed.count()}});
  out["fitting_changes"] = std::move(fitting);
  out["least_gpus"] = shortfall.least_gpus;
  out["rows"] = rows;
  return text_of(out);
}

}  // namespace lockstep::cli
