#include "strategies/measure/validation/scenario_of_run.hpp"

#include <algorithm>
#include <utility>

#include "sim/config/json/json_values.hpp"
#include "strategies/measure/validation/stack_rule.hpp"
#include "strategies/stacks/software_stack.hpp"
#include "topologies/builders/registry.hpp"

namespace lockstep {

namespace {

std::int64_t integer_member(const JsonValue& value, std::string_view key, std::int64_t fallback) {
  const auto* object = value.get_if<JsonObject>();
  const JsonValue* member = object == nullptr ? nullptr : find_member(*object, key);
  const auto* number = member == nullptr ? nullptr : member->get_if<std::int64_t>();
  return number == nullptr ? fallback : *number;
}

double number_member(const JsonValue& value, std::string_view key) {
  const auto* object = value.get_if<JsonObject>();
  const JsonValue* member = object == nullptr ? nullptr : find_member(*object, key);
  const auto* number = member == nullptr ? nullptr : member->get_if<JsonNumber>();
  return number == nullptr ? static_cast<double>(integer_member(value, key, 0)) : number->value;
}

bool is_true(const JsonValue& value, std::string_view key) {
  const auto* object = value.get_if<JsonObject>();
  const JsonValue* member = object == nullptr ? nullptr : find_member(*object, key);
  const auto* flag = member == nullptr ? nullptr : member->get_if<bool>();
  return flag != nullptr && *flag;
}

/// NICs whose sum alone is printed stand one next to each GPU.
JsonValue cluster_of(const MeasuredRun& run) {
  JsonValue out = run.cluster;
  auto* members = std::get_if<JsonObject>(&out.data);
  const std::int64_t nics = integer_member(out, "nics_per_node", 0);
  const std::int64_t gpus = integer_member(out, "gpus_per_node", 0);
  const std::int64_t all = integer_member(out, "gpus", 0);
  // Tables give the size of a rack; a job takes as many of each as it can.
  if (members != nullptr && gpus == kGpusOfRack && all > gpus && all % gpus != 0)
    std::erase_if(*members, [](const JsonMember& each) { return each.key == "gpus_per_node"; });
  const bool sum = run.origin.notes.find("sum per node printed") != std::string::npos;
  if (members == nullptr || !sum || nics == 0 || gpus % nics != 0) return out;
  const double rate = number_member(out, "nic_gbps");
  set_member(*members, "nics_per_node", json_of(gpus));
  set_member(*members, "nic_gbps",
             json_of(rate * static_cast<double>(nics) / static_cast<double>(gpus)));
  return out;
}

/// Layers of each chunk.
JsonValue even_stages(std::int64_t layers, std::int64_t parts) {
  const std::int64_t all = layers + 2;
  std::vector<JsonValue> out;
  for (std::int64_t i = 0; i < parts; ++i) {
    const std::int64_t edges = (i == 0 ? 1 : 0) + (i + 1 == parts ? 1 : 0);
    out.push_back(json_of(all / parts + (i < all % parts ? 1 : 0) - edges));
  }
  return json_of(std::move(out));
}

/// What "selective" means, where the row's notes say that it is not the core of attention.
void name_recomputation(const MeasuredRun& run, JsonObject& parallel) {
  const JsonValue* how = find_member(parallel, "recompute");
  const auto* name = how == nullptr ? nullptr : how->get_if<std::string>();
  if (name == nullptr || *name != "selective") return;
  const auto says = [&](std::string_view words) {
    return run.origin.notes.find(words) != std::string::npos;
  };
  if (says("every second matrix product"))
    set_member(parallel, "recompute", json_of("every-second-product"));
  if (says("whole layers, every n-th"))
    set_member(parallel, "recompute", json_of("every-second-layer"));
}

/// Whether the row or its rule, and not a default, says so.
bool is_megatron_core(const MeasuredRun& run) {
  const std::string stack{run.stack.empty() ? stack_rule_of(run).stack : run.stack};
  return stack == "transformer-engine" || stack == "megatron-bridge-performance" ||
         stack == "nemo-2023";
}

JsonArray overlap_of(const JsonObject& parallel) {
  const JsonValue* overlap = find_member(parallel, "overlap");
  const auto* kinds = overlap == nullptr ? nullptr : overlap->get_if<JsonArray>();
  return kinds == nullptr ? JsonArray{} : *kinds;
}

void add_overlap(JsonObject& parallel, const char* kind) {
  if (find_member(parallel, "overlap") == nullptr) return;  // what the stack overlaps
  JsonArray kinds = overlap_of(parallel);
  kinds.push_back(json_of(kind));
  set_member(parallel, "overlap", json_of(std::move(kinds)));
}

/// Megatron-Core hides what stages send each other in the interleaved schedule alone
/// (megatron/training/arguments.py), and its published runs do hide it (Megatron-LM README,
/// "pipeline- parallel communication (enabled by default)"): where a run prints neither the
/// schedule nor the chunks of a stage, it is that schedule with the fewest chunks.
void name_schedule(const MeasuredRun& run, JsonObject& parallel) {
  const JsonValue all{{}, parallel};
  const std::int64_t stages = integer_member(all, "pp", 1);
  const bool printed =
      find_member(parallel, "schedule") != nullptr || find_member(parallel, "vpp") != nullptr;
  const std::int64_t replica = stages * integer_member(all, "tp", 1) * integer_member(all, "cp", 1);
  const std::int64_t dp =
      integer_member(all, "dp", integer_member(run.cluster, "gpus", 1) / replica);
  const std::int64_t batch = std::max<std::int64_t>(1, integer_member(all, "micro_batch", 1) * dp);
  const std::int64_t microbatches = integer_member(all, "global_batch", 1) / batch;
  const std::int64_t layers = integer_member(run.model, "layers", 1);
  const bool fits = microbatches % stages == 0 && layers % (2 * stages) == 0;
  if (stages == 1 || printed || !fits || !is_megatron_core(run)) return;
  set_member(parallel, "vpp", json_of(std::int64_t{2}));
  set_member(parallel, "schedule", json_of("interleaved"));
  add_overlap(parallel, "pp");
}

bool names(const JsonArray& kinds, std::string_view name) {
  return std::any_of(kinds.begin(), kinds.end(), [name](const JsonValue& kind) {
    const auto* text = kind.get_if<std::string>();
    return text != nullptr && *text == name;
  });
}

/// PyTorch's FSDP sums shards over their replicas on a stream of its own, behind what scatters the
/// gradients (fsdp/_fully_shard/_fsdp_collectives.py, foreach_reduce): one is hidden as the other.
void name_overlap_of_replicas(JsonObject& parallel) {
  const JsonValue all{{}, parallel};
  const JsonArray kinds = overlap_of(parallel);
  if (names(kinds, "dp_gradients") && integer_member(all, "shard_ranks", 0) > 0)
    add_overlap(parallel, "hsdp");
}

/// What a stack hides next to the GEMMs of column-parallel layers in every layout, so that no
/// source prints it.
void name_overlap_of_column_layers(const SoftwareStack& stack, JsonObject& parallel) {
  const bool hides = stack.overlap.always.contains(Overlap::tp_backward);
  const JsonValue all{{}, parallel};
  if (!hides || integer_member(all, "tp", 1) == 1 || names(overlap_of(parallel), "tp")) return;
  add_overlap(parallel, "tp_backward");
}

JsonValue parallel_of(const MeasuredRun& run) {
  JsonValue out = run.parallel;
  auto* members = std::get_if<JsonObject>(&out.data);
  if (members != nullptr) name_recomputation(run, *members);
  if (members != nullptr && run.precision == "fp4")
    set_member(*members, "precision", json_of("nvfp4"));
  if (members != nullptr) name_schedule(run, *members);
  if (members != nullptr) name_overlap_of_replicas(*members);
  const std::int64_t layers = integer_member(run.model, "layers", 1);
  const std::int64_t parts = integer_member(out, "pp", 1) * integer_member(out, "vpp", 1);
  const bool uneven = parts > 1 && parts <= layers && layers % parts != 0;
  if (members != nullptr && uneven && !is_true(out, "short_edges"))
    set_member(*members, "stages", even_stages(layers, parts));
  return out;
}

/// A row's keys of experts as the object that a model has for them.
void nest_experts(const JsonValue& row, JsonObject& model) {
  const std::int64_t experts = integer_member(row, "experts", 0);
  const std::int64_t ffn = integer_member(row, "expert_ffn", 0);
  std::erase_if(model, [](const JsonMember& member) {
    return member.key == "experts" || member.key == "experts_per_token" ||
           member.key == "expert_ffn" || member.key == "shared_experts";
  });
  if (experts == 0) return;
  JsonObject nested;
  set_member(nested, "count", json_of(experts));
  set_member(nested, "top_k", json_of(integer_member(row, "experts_per_token", 1)));
  if (ffn > 0) set_member(nested, "ffn", json_of(ffn));
  set_member(nested, "shared", json_of(integer_member(row, "shared_experts", 0)));
  set_member(model, "experts", JsonValue{{}, std::move(nested)});
}

/// Tables of models call it `head_dim`, as Hugging Face does.
void rename_head_size(const JsonValue& row, JsonObject& model) {
  const std::int64_t size = integer_member(row, "head_dim", 0);
  if (size == 0) return;
  std::erase_if(model, [](const JsonMember& member) { return member.key == "head_dim"; });
  set_member(model, "head_size", json_of(size));
}

/// Qi et al. print neither vocabulary nor tokenizer. Their models have 6.2, 14.6 and 28.3 B
/// parameters: with tied embeddings, 25,500 to 33,400 tokens. Their script has a tokenizer of
/// SentencePiece (sail-sg's zero-bubble-pipeline-parallelism, examples/pretrain_zero_bubble.sh;
/// from memory), usually of 32,000.
constexpr std::int64_t kZeroBubbleVocabulary = 32'000;

void name_vocabulary(const MeasuredRun& run, JsonObject& model) {
  const auto& assumed = run.origin.assumed;
  if (run.group == "zb" &&
      std::find(assumed.begin(), assumed.end(), "model.vocab") != assumed.end())
    set_member(model, "vocab", json_of(kZeroBubbleVocabulary));
}

/// A model needs a name: the run's, where the row has none. Dropout is the software's default.
JsonValue model_of(const MeasuredRun& run) {
  JsonValue out = run.model;
  auto* members = std::get_if<JsonObject>(&out.data);
  if (members != nullptr) nest_experts(run.model, *members);
  if (members != nullptr) rename_head_size(run.model, *members);
  if (members != nullptr) name_vocabulary(run, *members);
  if (members != nullptr && find_member(*members, "name") == nullptr)
    set_member(*members, "name", json_of(run.origin.id));
  const double dropout = stack_rule_of(run).dropout;
  if (members != nullptr && dropout > 0) set_member(*members, "dropout", json_of(dropout));
  return out;
}

}  // namespace

JsonDocument scenario_document(const MeasuredRun& run, const std::filesystem::path& configs,
                               const std::string& asked_stack) {
  const std::string own = stack_of(run, configs);
  const std::string stack = asked_stack.empty() ? own : asked_stack;
  JsonValue parallel = parallel_of(run);
  auto* members = std::get_if<JsonObject>(&parallel.data);
  if (members != nullptr && std::filesystem::exists(configs / "stacks" / (stack + ".json")))
    name_overlap_of_column_layers(find_software_stack(configs / "stacks", stack), *members);
  JsonDocument out{run.origin.file, json_object({{"name", json_of(run.origin.id)},
                                                 {"source", json_of(run.origin.source)},
                                                 {"cluster", cluster_of(run)},
                                                 {"model", model_of(run)},
                                                 {"parallel", std::move(parallel)},
                                                 {"ignore_memory", json_of(true)},
                                                 {"stack", json_of(stack)}})};
  out.root.at = run.origin.at;
  return out;
}

Scenario scenario_of(const MeasuredRun& run, const std::filesystem::path& configs,
                     const std::string& stack) {
  return read_scenario(scenario_document(run, configs, stack), run.origin.id, {}, configs);
}

}  // namespace lockstep
