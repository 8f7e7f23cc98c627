#include "strategies/layout/scenario_names.hpp"
#include "strategies/measure/validation/measured_readers.hpp"
#include "topologies/builders/registry.hpp"

namespace lockstep {

namespace {

constexpr std::int64_t kMostGpus = 1 << 24;
constexpr std::int64_t kMostPerNode = 256;
constexpr std::int64_t kMostSequences = 1'000'000'000;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 50U;
constexpr double kFastestNic = 1e6;  // Gb/s

/// Of published models; model_readers.hpp has those of models to simulate.
namespace limits {
constexpr std::int64_t kMostLayers = 100'000;
constexpr std::int64_t kWidest = 1'000'000;
constexpr std::int64_t kMostHeads = 100'000;
constexpr std::int64_t kMostExperts = 16'384;
constexpr std::int64_t kLongestSequence = 1'000'000'000;
constexpr std::int64_t kMostWords = 100'000'000;
}  // namespace limits

/// The value without the members that are null: what does not apply.
JsonValue without_nulls(const JsonValue* value) {
  if (value == nullptr) return {};
  JsonValue out = *value;
  if (auto* object = std::get_if<JsonObject>(&out.data)) {
    std::erase_if(*object, [](const JsonMember& member) {
      return member.value.get_if<std::nullptr_t>() != nullptr;
    });
  }
  return out;
}

/// Sources say of racks of NVL72 how many GPUs a tray holds; NVLink joins all that a job takes of a
/// rack. At least half a rack is no tray: that many are taken of each.
void drop_trays(JsonValue& cluster) {
  auto* members = std::get_if<JsonObject>(&cluster.data);
  if (members == nullptr) return;
  const JsonValue* intra = find_member(*members, "intra");
  const auto* name = intra == nullptr ? nullptr : intra->get_if<std::string>();
  if (name == nullptr || *name != "nvl72") return;
  const JsonValue* size = find_member(*members, "gpus_per_node");
  const auto* gpus = size == nullptr ? nullptr : size->get_if<std::int64_t>();
  if (gpus != nullptr && *gpus >= kGpusOfRack / 2) return;
  std::erase_if(*members, [](const JsonMember& member) { return member.key == "gpus_per_node"; });
}

/// Mixture of experts: `experts` and `experts_per_token` together; the others only with them.
void check_experts(ObjectReader& in) {
  const auto experts =
      in.optional_integer({"experts", "Routed experts per layer"}, 2, limits::kMostExperts);
  const auto visited = in.optional_integer({"experts_per_token", "Routed experts per token"}, 1,
                                           limits::kMostExperts);
  const auto ffn = in.optional_integer(
      {"expert_ffn", "Inner dimension of an expert (default: ffn)"}, 1, 4 * limits::kWidest);
  const auto shared = in.optional_integer({"shared_experts", "Shared experts (default: 0)"}, 0,
                                          limits::kMostExperts);
  in.refine("dependencies",
            R"({"experts": ["experts_per_token"], "experts_per_token": ["experts"],
                "expert_ffn": ["experts"], "shared_experts": ["experts"]})");
  const bool any = visited || ffn || shared;
  if (any && !experts) in.note("\"experts\" is missing: the row has other keys of experts");
  if (experts && !visited) in.note("\"experts_per_token\" is missing: the row has \"experts\"");
}

void check_model(ObjectReader& in, MeasuredRun& run) {
  (void)in.optional_string("name");
  (void)in.integer("layers", 1, limits::kMostLayers);
  (void)in.integer("hidden", 1, limits::kWidest);
  (void)in.integer("heads", 1, limits::kMostHeads);
  (void)in.optional_integer("kv_heads", 1, limits::kMostHeads);
  (void)in.optional_integer({"head_dim", "Size of a head (default: hidden / heads)"}, 1,
                            limits::kWidest);
  (void)in.optional_integer("ffn", 1, 4 * limits::kWidest);
  (void)in.optional_boolean("gated_mlp");
  (void)in.integer("seq", 1, limits::kLongestSequence);
  check_experts(in);
  (void)in.optional_integer("vocab", 1, limits::kMostWords);
  (void)in.optional_boolean("tied_embeddings");
  run.attention = in.one_of("attention", "attention", {"flash", "unfused"}, "");
}

void check_degrees(ObjectReader& in) {
  for (const std::string_view key : {"dp", "tp", "pp", "cp", "ep", "etp"})
    (void)in.optional_integer(key, 1, kMostGpus);
  (void)in.optional_integer("vpp", 1, limits::kMostLayers);
  (void)in.optional_integer("zero", 0, 3);
  (void)in.optional_integer("shard_ranks", 0, kMostGpus);
}

void check_context_kind(ObjectReader& in) {
  const auto kind = in.optional("cp_kind");
  const bool none =
      kind && !kind->describes() && kind->value()->get_if<std::nullptr_t>() != nullptr;
  if (!kind || none) return;
  (void)kind->one_of("kind of context parallelism", keys_of(context_names()));
  kind->allow_null();
}

void check_parallel(ObjectReader& in, MeasuredRun& run) {
  check_degrees(in);
  (void)in.integer("micro_batch", 1, kMostSequences);
  (void)in.integer("global_batch", 1, kMostSequences);
  (void)in.optional_one_of("recompute", "recomputation", keys_of(recompute_names()));
  (void)in.optional_boolean("sequence_parallel");
  std::vector<std::string_view> precisions = keys_of(precision_names());
  precisions.insert(precisions.end(), {"fp4", "mxfp8"});
  run.precision = in.one_of("precision", "precision", precisions, "");
  (void)in.optional_one_of("schedule", "pipeline schedule", keys_of(pipeline_names()));
  (void)in.optional_boolean("short_edges");
  check_context_kind(in);
  in.optional_array("overlap", [](const ValueReader& kind) {
    (void)kind.one_of("kind of traffic", keys_of(overlap_names()));
  });
}

void read_results(ObjectReader& in, MeasuredRun& run) {
  run.step_time = optional_seconds(in, {"step_time_s", "One optimizer step"});
  run.layer_forward = optional_seconds(in, {"layer_forward_s", "One layer, one microbatch"});
  run.layer_backward =
      optional_seconds(in, {"layer_backward_s", "TFLOP/s per GPU including recomputation"});
  const auto bytes = in.optional_integer(
      {"peak_memory_bytes", "Peak memory of the rank that needs most"}, 1, kMostBytes);
  if (bytes) run.peak_memory = Bytes{*bytes};
  const auto kind = in.optional_one_of("memory_kind", "kind of memory", {"allocated", "reserved"});
  run.memory_is_reserved = kind == "reserved";
  run.time_is_derived = in.optional_one_of("basis", "basis", {"read", "derived"}) == "derived";
  const auto evaluations = in.optional(
      {"evaluations",
       "What the step time contains: the time of a whole run over its steps (default: nothing but "
       "steps; of MLPerf's GPT-3 runs what the benchmark prescribes)"});
  if (evaluations)
    evaluations->object([&run](ObjectReader& of) {
      run.evaluations = {
          of.integer({"every_sequences", "Sequences trained on between two evaluations"}, 1,
                     kMostSequences),
          of.integer({"sequences", "Sequences of an evaluation, forward only"}, 1, kMostSequences)};
    });
  in.refine("dependencies", R"({"evaluations": ["step_time_s"]})");
  if (run.evaluations && !run.step_time)
    in.note("\"step_time_s\" is missing: the row has \"evaluations\", which it contains");
  in.refine("anyOf",
            R"([{"required": ["step_time_s"]}, {"required": ["layer_forward_s"]},
                {"required": ["layer_backward_s"]}, {"required": ["peak_memory_bytes"]}])");
  if (!run.step_time && !run.layer_forward && !run.layer_backward && !run.peak_memory) {
    in.note(
        "nothing was measured: expected step_time_s, layer_forward_s, layer_backward_s or "
        "peak_memory_bytes");
  }
}

}  // namespace

JsonValue read_measured_cluster(ObjectReader& in) {
  const ValueReader at =
      in.required({"cluster", "Cluster from a few parameters, as in a scenario"});
  at.object([](ObjectReader& cluster) {
    (void)cluster.string({"gpu", "A device of configs/devices"});
    (void)cluster.integer("gpus", 1, kMostGpus);
    (void)cluster.optional_integer("gpus_per_node", 1, kMostPerNode);
    (void)cluster.optional_one_of("intra", "way to join the GPUs of a node",
                                  {"nvswitch", "nvlink-mesh", "nvl72", "pcie"});
    (void)cluster.optional_integer("nics_per_node", 1, kMostPerNode);
    (void)cluster.optional_number({"nic_gbps", "Speed of one NIC in Gb/s"}, 1e-3, kFastestNic);
    (void)cluster.optional_one_of("fabric", "fabric",
                                  {"infiniband", "roce", "efa", "slingshot", "omnipath"});
  });
  JsonValue out = without_nulls(at.value());
  drop_trays(out);
  return out;
}

MeasuredRun read_measured_run(ObjectReader& in) {
  MeasuredRun run;
  run.origin = read_origin(in);
  run.group = in.string({"group", "Rows of one source and one convention"});
  run.core = in.boolean({"core", "Part of a short suite"}, false);
  run.cluster = read_measured_cluster(in);
  if (const auto* cluster = run.cluster.get_if<JsonObject>()) {
    const JsonValue* gpu = find_member(*cluster, "gpu");
    const auto* name = gpu == nullptr ? nullptr : gpu->get_if<std::string>();
    run.gpu = name == nullptr ? "" : *name;
  }
  const ValueReader model = in.required("model");
  model.object([&run](ObjectReader& of) { check_model(of, run); });
  run.model = without_nulls(model.value());
  const ValueReader parallel = in.required({"parallel", "Parallel layout, as in a scenario"});
  parallel.object([&run](ObjectReader& of) { check_parallel(of, run); });
  run.parallel = without_nulls(parallel.value());
  run.stack =
      in.optional_string({"stack", "Software stack of configs/stacks (default: chosen by rule)"})
          .value_or("");
  in.object("measured", [&run](ObjectReader& of) { read_results(of, run); });
  (void)in.optional_number({"tolerance", "Relative uncertainty of the time"}, 0, 1);
  return run;
}

}  // namespace lockstep
