#include "strategies/scenario/scenario.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "sim/config/json/json_schema.hpp"
#include "sim/config/json/json_values.hpp"
#include "sim/config/json/memory_file.hpp"
#include "strategies/layout/scenario_names.hpp"
#include "strategies/pipeline/pipeline_order.hpp"
#include "strategies/scenario/scenario_checks.hpp"
#include "strategies/scenario/scenario_cluster.hpp"
#include "strategies/scenario/scenario_model.hpp"
#include "strategies/scenario/scenario_overlay.hpp"
#include "strategies/scenario/scenario_parallel.hpp"
#include "strategies/scenario/stack_values.hpp"
#include "strategies/scenario/without_effect/without_effect.hpp"
#include "strategies/stacks/default_stack.hpp"
#include "strategies/stacks/precision_recipe_file.hpp"
#include "strategies/stacks/software_stack.hpp"

namespace lockstep {
namespace {

constexpr double kMostSamples = 1e18;

/// What has been read so far; the parts that are wrong are not there.
struct Parts {
  std::string name;
  std::string summary;
  std::string source;
  std::optional<ReadCluster> cluster{};
  std::optional<ModelConfig> model{};
  ParallelConfig parallel{};
  std::optional<double> samples{};
  std::optional<FlopRate> sustained{};
  bool ignore_memory = false;
  std::uint64_t seed = kDefaultSeed;
  std::string stack{};
  std::string stack_reason{};    // of a default
  bool usual_reduction = false;  // reduce_gradients is what the stack does
  bool usual_replicas = false;   // the same of reduce_replicas
  bool overlap_of_stack = false;
  OverlapDefaults overlap_defaults{};  // of the stack
  std::vector<ScenarioVariant> variants{};
  std::vector<ScenarioNote> notes{};
};

[[noreturn]] void refuse(const JsonDocument& document, std::string message) {
  throw ConfigError{Problem{document.file, document.root.at, "", std::move(message)}};
}

/// Other files of this tool, and a Hugging Face config.json, are distinguished from scenarios at
/// once.
void refuse_other_files(const JsonDocument& document) {
  const auto* root = document.root.get_if<JsonObject>();
  if (root == nullptr) return;
  const auto has = [root](std::string_view key) { return find_member(*root, key) != nullptr; };
  if (has("cluster") || has("parallel")) return;
  if (has("model_type") || has("architectures")) {
    refuse(document,
           "this is a model's config.json of Hugging Face, not a scenario; a scenario names it as "
           R"("model": {"file": "config.json"}, next to "cluster" and "parallel")");
  }
  if (has("hidden") || (has("kind") && has("layers"))) {
    refuse(document, R"(this is a model, not a scenario; a scenario names it as its "model")");
  }
  if (has("topology") || has("graph") || has("node")) {
    refuse(document, R"(this is a cluster, not a scenario; a scenario names it as its "cluster")");
  }
}

/// The parameter servers that a scenario wants, read ahead: the cluster needs hosts for them.
int servers_of(const ValueReader* parallel) {
  const JsonValue* value = parallel == nullptr ? nullptr : parallel->value();
  const auto* members = value == nullptr ? nullptr : value->get_if<JsonObject>();
  if (members == nullptr) return 0;
  const JsonValue* exchange = find_member(*members, "exchange");
  const auto* way = exchange == nullptr ? nullptr : exchange->get_if<std::string>();
  if (way == nullptr || *way != "parameter_server") return 0;
  const JsonValue* servers = find_member(*members, "servers");
  const auto* count = servers == nullptr ? nullptr : servers->get_if<std::int64_t>();
  return count == nullptr ? 1 : static_cast<int>(std::clamp<std::int64_t>(*count, 1, kMostNodes));
}

/// "15T", "300B" or "1.5M": powers of 1000, at most six digits before a point and three after it.
std::optional<double> count_of(std::string_view text) {
  constexpr std::string_view kUnits = "KMBGT";
  constexpr std::array<double, kUnits.size()> kPowers{1e3, 1e6, 1e9, 1e9, 1e12};
  const std::size_t unit = text.empty() ? kUnits.npos : kUnits.find(text.back());
  if (unit == kUnits.npos) return std::nullopt;
  text.remove_suffix(1);
  const std::size_t whole = std::min(text.find('.'), text.size());
  if (text.find_first_not_of("0123456789.") != text.npos || whole > 6 || text.size() > whole + 4)
    return std::nullopt;
  try {
    const JsonValue number = parse_json(text, "").root;
    if (const auto* real = number.get_if<JsonNumber>()) return real->value * kPowers.at(unit);
    if (const auto* integer = number.get_if<std::int64_t>())
      return static_cast<double>(*integer) * kPowers.at(unit);
  } catch (const ConfigError&) {  // no number
  }
  return std::nullopt;
}

std::optional<double> read_count(ObjectReader& in, const Key& key) {
  const auto at = in.optional(key);
  if (!at) return std::nullopt;
  if (at->describes()) {
    at->allow(text_schema(R"(^(?=[0.]*[1-9])(0|[1-9][0-9]{0,5})(\.[0-9]{1,3})?[KMBGT]$)"));
    return at->number(1, kMostSamples);
  }
  const auto* text = at->value()->get_if<std::string>();
  if (text == nullptr) return at->number(1, kMostSamples);
  const auto count = count_of(*text);
  if (count && *count >= 1 && *count <= kMostSamples) return count;
  at->refuse("a count from 1 to 1e+18, such as 15e12 or \"15T\"");
  return std::nullopt;
}

/// Tokens of a transformer, else samples.
void read_budget(ObjectReader& in, Parts& parts) {
  const auto tokens =
      read_count(in, {"tokens", "Training tokens of a transformer, used to report days"});
  const auto samples =
      read_count(in, {"samples", "Training samples of other models, used to report days"});
  if (tokens && samples) in.note("samples", "\"tokens\" is there already: one of both");
  if (parts.model) {
    const bool transformer = parts.model->reads_text();
    if (tokens && !transformer) in.note("tokens", "this model sees no tokens: say \"samples\"");
    if (samples && transformer) in.note("samples", "a transformer's budget is said in \"tokens\"");
  }
  parts.samples = tokens ? tokens : samples;
}

void read_stack(ObjectReader& in, Parts& parts, const ScenarioFolders& folders) {
  const auto at =
      in.optional({"stack",
                   "Software stack of configs/stacks, or the path of a file (default: a validated "
                   "one, by device, precision and ZeRO stage; see configs/scenarios/README.md)"});
  if (!at) return;
  parts.stack = at->string();
  if (!at->is_string()) return;
  const auto file = find_file(*at, parts.stack, "software stack", "stacks", folders);
  if (!file) return;
  const std::string name = name_of_file(file->stem().string(), *file, folders);
  const bool shipped = *file == software_stack_file(folders.configs / "stacks", name);
  parts.stack = shipped ? name : file->string();
}

/// The default where the scenario names no stack.
void choose_stack(Parts& parts) {
  if (!parts.stack.empty() || !parts.cluster || !parts.model) return;
  DefaultStack chosen =
      default_stack({parts.cluster->cluster.device.kernels, parts.parallel.precision,
                     parts.parallel.zero, parts.model->transformer() != nullptr});
  parts.stack = std::move(chosen.id);
  parts.stack_reason = std::move(chosen.reason);
}

/// Whether a scenario has this key of `parallel`.
bool says(const std::optional<ValueReader>& parallel, std::string_view key) {
  const auto* members = parallel ? parallel->value()->get_if<JsonObject>() : nullptr;
  return members != nullptr && find_member(*members, key) != nullptr;
}

/// Whether a scenario says what gradients are kept in.
bool says_gradients(const std::optional<ValueReader>& parallel) {
  const auto* members = parallel ? parallel->value()->get_if<JsonObject>() : nullptr;
  const JsonValue* state = members != nullptr ? find_member(*members, "state") : nullptr;
  const auto* kept = state != nullptr ? state->get_if<JsonObject>() : nullptr;
  return kept != nullptr && find_member(*kept, "gradients") != nullptr;
}

/// When the stack reduces the gradients of ZeRO-2 and -3; some refuse to under a pipeline.
const std::optional<GradientReduction>& reduction_of(const SoftwareStack& stack,
                                                     const ParallelConfig& parallel) {
  return parallel.pp > 1 ? stack.reduction_with_pipeline : stack.reduction_without_pipeline;
}

void take_reduction(ObjectReader& in, const SoftwareStack& stack, ParallelConfig& parallel) {
  const auto& when = reduction_of(stack, parallel);
  if (when) {
    parallel.reduce_gradients = *when;
    return;
  }
  in.note("stack", fmt::format("{} refuses ZeRO-{} with a pipeline (pp = {}): zero 0 or 1, pp 1, "
                               "another stack, or reduce_gradients every_microbatch or "
                               "last_microbatch would be possible",
                               in_quotes(stack.id), parallel.zero, parallel.pp));
}

/// The recipe of GEMMs in at most 8 bits: the one that is named, or that of the stack.
void take_recipe(ObjectReader& in, const std::optional<ValueReader>& parallel, Parts& parts,
                 const ScenarioFolders& folders) {
  PrecisionRecipe& recipe = parts.parallel.recipe;
  const bool of_stack = recipe.of_stack;
  std::optional<std::filesystem::path> file;
  if (of_stack) {
    file = folders.configs / "precisions" / (recipe.id + ".json");
    if (!std::filesystem::exists(*file)) {
      in.note("stack", fmt::format("its precision recipe {} is no file of {}", in_quotes(recipe.id),
                                   (folders.configs / "precisions").string()));
      return;
    }
  } else if (says(parallel, "precision")) {
    const JsonValue* named = find_member(*parallel->value()->get_if<JsonObject>(), "precision");
    const ValueReader at{named, parallel->pointer() + "/precision", in.self().problems()};
    file = find_file(at, recipe.id, "precision", "precisions", folders,
                     fmt::format("; or a type: {}", fmt::join(keys_of(precision_names()), ", ")));
  }
  if (!file) return;
  const auto found =
      or_noted(in.self().problems(), [&] { return load_precision_recipe(*file, folders.configs); });
  if (!found) return;
  const std::string id = of_stack ? recipe.id : name_of_file(recipe.id, *file, folders);
  recipe = parts.cluster ? found->on(parts.cluster->cluster.device) : found->recipe;
  recipe.id = id;
  recipe.of_stack = of_stack;
  parts.parallel.precision = recipe.products;
}

/// How the stack lays the model down; a stack that is not there has been noted.
void take_form_of_stack(ObjectReader& in, const std::optional<ValueReader>& parallel, Parts& parts,
                        const ScenarioFolders& folders) {
  const std::filesystem::path stacks = folders.configs / "stacks";
  if (!file_exists(software_stack_file(stacks, parts.stack))) return;
  const auto stack =
      or_noted(in.self().problems(), [&] { return find_software_stack(stacks, parts.stack); });
  if (!stack) return;
  parts.parallel.form = stack->form;
  parts.parallel.gradient_messages_in_parts = stack->gradient_messages_in_parts;
  parts.parallel.pairs_recompute_experts = stack->pairs_recompute_experts;
  if (parts.parallel.recipe.of_stack) parts.parallel.recipe.id = stack->fp8;
  if (parts.parallel.capacity_factor == 0) parts.parallel.token_counts = stack->token_counts;
  parts.overlap_of_stack = !says(parallel, "overlap");
  parts.overlap_defaults = stack->overlap;
  take_gradients_of_stack(*stack, {says_gradients(parallel), says(parallel, "bucket")},
                          parts.parallel);
  if (parts.parallel.zero == 1 && !says(parallel, "scatter_gradients"))
    parts.parallel.scatter_gradients = stack->scatter_gradients;
  if (parts.parallel.zero < 2) return;
  if (!says(parallel, "reduce_gradients")) take_reduction(in, *stack, parts.parallel);
  parts.usual_reduction = reduction_of(*stack, parts.parallel) == parts.parallel.reduce_gradients;
  if (!says(parallel, "reduce_replicas"))
    parts.parallel.reduce_replicas = stack->replicas_reduction;
  parts.usual_replicas = stack->replicas_reduction == parts.parallel.reduce_replicas;
}

/// Of a layout whose `overlap` is not given: the traffic of this layout that the stack's software
/// hides. Parameter servers and averages are no part of that software.
void take_overlap(Parts& parts) {
  if (!parts.overlap_of_stack) return;
  const OverlapDefaults& of = parts.overlap_defaults;
  ParallelConfig& parallel = parts.parallel;
  std::set<Overlap> kinds = of.always;
  if (parallel.zero > 0) kinds.insert(of.sharded.begin(), of.sharded.end());
  if (chunks_of_stage(parallel.schedule, parallel.vpp) > 1)
    kinds.insert(of.interleaved.begin(), of.interleaved.end());
  if (parallel.cp_kind == ContextKind::ring || parallel.cp_kind == ContextKind::both)
    kinds.insert(of.ring.begin(), of.ring.end());
  if (parallel.exchange != GradientExchange::all_reduce && !parallel.has_outer_loop())
    kinds.erase(Overlap::dp_gradients);
  parallel.overlap = kinds_with_effect(kinds, *parts.model, parallel,
                                       parts.cluster->cluster.cluster.gpus_per_node());
}

void read_variants(ObjectReader& in, Parts& parts) {
  const auto at =
      in.optional({"variants", "Variants of the scenario, each with some values overridden"});
  if (!at) return;
  at->array([&](const ValueReader& each) {
    each.object([&](ObjectReader& variant) {
      ScenarioVariant out{variant.string("name"), {}};
      variant.array(
          {"set", "Overrides in the form of --set, e.g. parallel.tp=4"},
          [&](const ValueReader& one) { out.overrides.push_back(one.string()); }, 1);
      parts.variants.push_back(std::move(out));
    });
  });
}

/// What `read(ValueReader)` makes of a value; nothing where it notes a problem.
template <class Read>
auto read_whole(ObjectReader& in, const JsonValue* value, std::string pointer, Read&& read)
    -> std::optional<decltype(read(std::declval<ValueReader>()))> {
  Problems own{in.self().problems().file()};
  auto result = read(ValueReader{value, std::move(pointer), own});
  const auto clean = or_noted(in.self().problems(), [&own] {
    own.throw_if_any();
    return true;
  });
  if (!clean) return std::nullopt;
  return result;
}

void read_cluster_of(ObjectReader& in, const std::optional<ValueReader>& parallel,
                     const ScenarioFolders& folders, Parts& parts) {
  const ValueReader at = in.required(
      {"cluster",
       "Name or path of a cluster file, with values that override its own, or a few parameters"});
  if (at.describes()) describe_scenario_cluster(at);
  if (at.value() == nullptr) return;
  const int servers = servers_of(parallel ? &*parallel : nullptr);
  auto cluster = read_whole(in, at.value(), at.pointer(), [&](const ValueReader& value) {
    return read_scenario_cluster(value, servers, folders);
  });
  if (cluster) parts.cluster = *std::move(cluster);
}

void read_model_of(ObjectReader& in, const ScenarioFolders& folders, Parts& parts) {
  const ValueReader at = in.required(
      {"model", "Name or path of a model file, with keys that override its own, or a model"});
  if (at.describes()) describe_scenario_model(at);
  if (at.value() == nullptr) return;
  auto model = read_whole(in, at.value(), at.pointer(), [&](const ValueReader& value) {
    return read_scenario_model(value, folders);
  });
  if (model) parts.model = *std::move(model);
}

/// Whether `parallel` could be read as it stands.
bool read_parallel_of(ObjectReader& in, const std::optional<ValueReader>& given, Parts& parts) {
  if (in.describes()) given->object([](ObjectReader& members) { (void)read_parallel(members, 0); });
  const int ranks = parts.cluster ? parts.cluster->cluster.cluster.ranks() : 0;
  const JsonValue nothing = json_object({});
  const JsonValue* value = given && given->value() != nullptr ? given->value() : &nothing;
  const auto parallel = read_whole(in, value, "/parallel", [ranks](const ValueReader& at) {
    return at.object([ranks](ObjectReader& members) { return read_parallel(members, ranks); });
  });
  if (parallel) parts.parallel = *parallel;
  return parallel.has_value();
}

Parts read_parts(ObjectReader& in, const std::string& name, const ScenarioFolders& folders,
                 LayoutCheck check) {
  Parts parts;
  parts.name =
      in.string({"name", "Name of the scenario (default: the file name without .json)"}, name);
  parts.summary = in.string({"summary", "One sentence on what the scenario shows"}, "");
  parts.source = in.string({"source", "Publication or repository the values come from"}, "");
  const auto parallel = in.optional({"parallel", "Distribution of the model over the ranks"});
  read_cluster_of(in, parallel, folders, parts);
  read_model_of(in, folders, parts);
  const bool spread = read_parallel_of(in, parallel, parts);
  read_budget(in, parts);
  parts.sustained = in.optional_flop_rate({"sustained",
                                           "Fixed rate of all computation, such as \"28 TFLOP/s\" "
                                           "(default: kernel times from shapes)"});
  parts.ignore_memory = in.boolean(
      {"ignore_memory", "Simulate even if the memory of a rank does not fit (default: false)"},
      false);
  parts.seed = static_cast<std::uint64_t>(
      in.integer({"seed", "Seed of random numbers"}, 0, INT64_MAX, kDefaultSeed));
  read_stack(in, parts, folders);
  choose_stack(parts);
  take_form_of_stack(in, parallel, parts, folders);
  if (!parts.parallel.recipe.id.empty()) take_recipe(in, parallel, parts, folders);
  read_variants(in, parts);
  in.ignore({"run", "Written by results to record options of the run; ignored"});
  if (!parts.cluster || !parts.model || !spread) return parts;
  take_overlap(parts);
  if (check == LayoutCheck::off) return parts;
  parts.notes =
      check_together(in, {parts.cluster->cluster, *parts.model, parts.parallel, parts.sustained});
  // Defaults are not reported, even if written explicitly.
  std::erase_if(parts.notes, [&parts](const ScenarioNote& note) {
    return (parts.usual_reduction && note.key == "parallel.reduce_gradients") ||
           (parts.usual_replicas && note.key == "parallel.reduce_replicas");
  });
  return parts;
}

JsonValue json_of_variants(const std::vector<ScenarioVariant>& variants) {
  std::vector<JsonValue> out;
  for (const ScenarioVariant& variant : variants) {
    std::vector<JsonValue> set;
    for (const std::string& each : variant.overrides) set.push_back(json_of(each));
    out.push_back(json_object({{"name", json_of(variant.name)}, {"set", json_of(std::move(set))}}));
  }
  return json_of(std::move(out));
}

JsonValue resolve(const Parts& parts) {
  JsonObject out;
  set_member(out, "name", json_of(parts.name));
  if (!parts.summary.empty()) set_member(out, "summary", json_of(parts.summary));
  if (!parts.source.empty()) set_member(out, "source", json_of(parts.source));
  set_member(out, "cluster", parts.cluster->resolved);
  set_member(out, "model", json_of(*parts.model));
  set_member(out, "parallel", json_of(parts.parallel));
  if (parts.samples) {
    set_member(out, parts.model->reads_text() ? "tokens" : "samples", json_of(*parts.samples));
  }
  if (parts.sustained) {
    set_member(out, "sustained",
               json_of(fmt::format("{:.0f} FLOP/s", parts.sustained->per_second())));
  }
  set_member(out, "ignore_memory", json_of(parts.ignore_memory));
  if (!parts.stack.empty()) set_member(out, "stack", json_of(parts.stack));
  set_member(out, "seed", json_of(static_cast<std::int64_t>(parts.seed)));
  if (!parts.variants.empty()) set_member(out, "variants", json_of_variants(parts.variants));
  return {{}, std::move(out)};
}

Scenario read_alone(JsonDocument document, const std::string& name,
                    const std::vector<std::string>& overrides, const std::filesystem::path& configs,
                    LayoutCheck check = LayoutCheck::on) {
  Overlay overlay;
  for (const std::string& assignment : overrides) overlay.apply(assignment, document.root);
  const ScenarioFolders folders{std::filesystem::path{document.file}.parent_path(), configs};
  try {
    Parts parts = read_document(
        document, [&](ObjectReader& in) { return read_parts(in, name, folders, check); });
    JsonValue resolved = resolve(parts);
    return {
        std::move(parts.name),   std::move(parts.summary),      std::move(parts.cluster->cluster),
        *std::move(parts.model), std::move(parts.parallel),     parts.samples,
        parts.sustained,         parts.ignore_memory,           parts.seed,
        std::move(parts.stack),  std::move(parts.stack_reason), std::move(parts.variants),
        std::move(resolved),     std::move(parts.notes),        parts.overlap_of_stack};
  } catch (const ConfigError& error) {
    throw overlay.attributed(error);
  }
}

/// Whether variants are to be read along: nobody has asked for another layout than the file's, or
/// the variants are what has been changed.
bool reads_variants(const std::vector<std::string>& overrides) {
  return overrides.empty() || std::any_of(overrides.begin(), overrides.end(), [](const auto& each) {
           return each.rfind("variants", 0) == 0;
         });
}

/// Every variant must be a scenario too.
void check_variant(const JsonDocument& document, const ScenarioVariant& variant,
                   std::vector<std::string> overrides, const std::filesystem::path& configs) {
  overrides.insert(overrides.end(), variant.overrides.begin(), variant.overrides.end());
  try {
    (void)read_alone(document, variant.name, overrides, configs);
  } catch (const ConfigError& error) {
    std::vector<Problem> problems = error.problems();
    for (Problem& problem : problems) {
      problem.message = fmt::format("variant {}: {}", in_quotes(variant.name), problem.message);
    }
    throw ConfigError{std::move(problems), error.total()};
  }
}

}  // namespace

Scenario read_scenario(const JsonDocument& document, const std::string& name,
                       const std::vector<std::string>& overrides,
                       const std::filesystem::path& configs, LayoutCheck check) {
  refuse_other_files(document);
  Scenario out = read_alone(document, name, overrides, configs, check);
  if (!reads_variants(overrides) || check == LayoutCheck::off) return out;
  for (const ScenarioVariant& variant : out.variants) {
    check_variant(document, variant, overrides, configs);
  }
  return out;
}

Scenario load_variant(const std::filesystem::path& path, const ScenarioVariant& variant,
                      std::vector<std::string> overrides, const std::filesystem::path& configs) {
  overrides.insert(overrides.end(), variant.overrides.begin(), variant.overrides.end());
  Scenario out = read_alone(read_json(path), path.stem().string(), overrides, configs);
  out.variants.clear();
  return out;
}

JsonValue scenario_schema() {
  return schema_of("scenario", "A training step: a model, a cluster and a parallel layout.",
                   [](ObjectReader& in) { return read_parts(in, "", {}, LayoutCheck::off); });
}

Scenario load_scenario(const std::filesystem::path& path, const std::vector<std::string>& overrides,
                       const std::filesystem::path& configs) {
  return read_scenario(read_json(path), path.stem().string(), overrides, configs);
}

}  // namespace lockstep
