#include <doctest/doctest.h>

#include <map>
#include <set>

#include "tests/tools/run_command.hpp"

/// Every key of a scenario changes what `lockstep run` says, and where it cannot, that is told: the
/// key is refused or named in `without_effect`.
namespace lockstep {

namespace {

using Json = nlohmann::ordered_json;

constexpr char kSchema[] = LOCKSTEP_SOURCE_DIR "/configs/schema/scenario.schema.json";
constexpr char kTwice[] = "parallel.global_batch=32";  // two microbatches
// Cheap steps that most keys matter to.
constexpr const char* kModel = R"("model": {"name": "m", "layers": 4, "hidden": 512, "heads": 8,
  "seq": 512, "vocab": 1024, "gated_mlp": true MORE})";

/// `more`: further keys of the model.
std::string scenario(const std::string& cluster, const std::string& parallel,
                     const std::string& more = "") {
  return R"({"cluster": )" + cluster + ", " + replaced(kModel, "MORE", more) + R"(, "parallel": )" +
         parallel + "}";
}

/// One GPU with a small model of that kind.
std::string own(const std::string& kind, const std::string& sizes) {
  return R"({"cluster": {"file": "dgx-a100", "ranks": 1}, "model": {"name": "m", "kind": ")" +
         kind + R"(", )" + sizes + R"(}, "parallel": {"global_batch": 2, "micro_batch": 2}})";
}

std::map<std::string, std::string> scenarios() {
  const std::string two_nodes = R"({"file": "dgx-a100", "nodes": 2})";
  const std::string figures = R"({"gpu": "a100-sxm4-80gb", "gpus": 16, "gpus_per_node": 8,
    "nics_per_node": 4, "nic_gbps": 200})";
  return {
      {"dense", scenario(two_nodes, "{}")},
      {"one", scenario(R"({"file": "dgx-a100", "ranks": 1})", "{}")},
      {"experts", scenario(two_nodes, "{}", R"(, "experts": {"count": 8, "top_k": 2})")},
      {"tied", scenario(two_nodes, "{}", R"(, "tied_embeddings": true)")},
      {"figures", scenario(figures, "{}")},
      {"one node", scenario(replaced(figures, R"("gpus": 16)", R"("gpus": 8)"), "{}")},
      {"mlp", R"({"cluster": {"file": "dgx-a100", "ranks": 1}, "model": "mlp"})"},
      {"gpt", replaced(scenario(two_nodes, "{}"), "\"gated_mlp\": true", "\"gated_mlp\": false")},
      {"latent", scenario(two_nodes, "{}", R"(, "latent": {"query_rank": 256, "kv_rank": 128,
        "key_size": 64, "rotary_size": 32, "value_size": 64})")},
      {"window", scenario(two_nodes, "{}", R"(, "window": {"size": 128})")},
      {"own mlp", own("mlp", R"("hidden": 1024)")},
      {"resnet", own("resnet", R"("image": 64)")},
      {"t5", own("t5", R"("layers": 2, "hidden": 256, "heads": 4, "seq": 64, "encoder_seq": 128,
        "vocab": 1000)")},
      {"vit", own("vit", R"("layers": 2, "hidden": 256, "heads": 4, "image": 64)")},
      {"dit", own("dit", R"("layers": 2, "hidden": 256, "heads": 4)")},
  };
}

/// A change of one key: in which scenario, with what set before, and what it is set to.
struct Change {
  std::string scenario;
  std::vector<std::string> before{};
  std::string value{};  // empty: there is none such
};

struct Key {
  std::string key;
  Change changes;    // the result
  Change nothing{};  // and that is told
};

std::vector<Key> keys_of_parallel() {
  const std::string exchange = "parallel.exchange=";
  const std::string overlap = R"(parallel.overlap=["dp_gradients"])";
  const std::string deepep = "parallel.dispatcher=deepep";
  const std::string muon = "parallel.state.optimizer=muon";
  const std::string soap = "parallel.state.optimizer=soap";
  const std::string pairs = R"(parallel.overlap=["ep_pairs"])";
  return {
      {"dp", {}, {"dense", {}, "8"}},  // what the others leave of 16, or refused
      {"tp", {"dense", {}, "2"}, {}},
      {"pp", {"dense", {}, "2"}, {}},
      {"cp", {"dense", {}, "2"}, {}},
      {"ep", {"experts", {}, "2"}, {"dense", {}, "2"}},
      {"etp",
       {"experts", {"parallel.tp=2", "parallel.ep=2", "parallel.sequence_parallel=true"}, "1"},
       {"dense", {}, "1"}},
      {"vpp", {"dense", {"parallel.pp=2", kTwice}, "2"}, {"dense", {}, "2"}},
      {"order",
       {"dense", {"parallel.tp=2"}, R"(["dp", "tp", "cp", "pp"])"},
       {"dense", {}, R"(["dp", "tp", "cp", "pp"])"}},
      {"micro_batch", {"dense", {kTwice}, "2"}, {}},
      {"global_batch", {"dense", {}, "32"}, {}},
      {"precision", {"dense", {}, "fp32"}, {"dense", {}, "fp8"}},
      {"recompute", {"dense", {}, "full"}, {"dense", {}, "selective"}},
      {"recompute_modules",
       {"dense", {"parallel.recompute=selective"}, R"(["mlp"])"},
       {"dense", {}, R"(["mlp"])"}},
      {"sequence_parallel", {"dense", {"parallel.tp=2"}, "true"}, {"dense", {}, "true"}},
      {"zero", {"dense", {}, "1"}, {"one", {}, "1"}},
      {"shard_ranks", {"dense", {"parallel.zero=2"}, "8"}, {"dense", {}, "8"}},
      {"scatter_gradients", {"dense", {"parallel.zero=1"}, "false"}, {"dense", {}, "false"}},
      {"reduce_gradients",
       {"dense", {"parallel.zero=2", kTwice}, "every_microbatch"},
       {"dense", {"parallel.zero=2"}, "every_microbatch"}},  // one microbatch
      {"reduce_replicas",
       {"dense", {"parallel.zero=3", "parallel.shard_ranks=8", kTwice}, "last_microbatch"},
       {"dense", {"parallel.zero=3"}, "last_microbatch"}},
      {"update", {"dense", {}, "by_bucket"}, {"one", {}, "by_bucket"}},
      {"algorithms.hsdp",
       {"dense", {"parallel.zero=2", "parallel.shard_ranks=8"}, "naive"},
       {"dense", {}, "naive"}},
      {"reshard_after_forward", {"dense", {"parallel.zero=3"}, "false"}, {"dense", {}, "false"}},
      {"prefetch",
       {"dense", {"parallel.zero=3", R"(parallel.overlap=["dp_parameters"])"}, "false"},
       {"dense", {"parallel.zero=3", "parallel.overlap=[]"}, "false"}},
      {"schedule", {"dense", {"parallel.pp=2", kTwice}, "gpipe"}, {"dense", {}, "1f1b"}},
      {"short_edges",
       {"dense", {"parallel.pp=4", "model.layers=6"}, "true"},
       {"dense", {}, "true"}},
      {"microbatch_group",
       {"dense", {"parallel.pp=2", "parallel.vpp=2", "parallel.global_batch=96"}, "4"},
       {"dense", {}, "4"}},
      {"stages", {"dense", {"parallel.pp=2"}, "[1, 3]"}, {"dense", {}, "[1, 3]"}},
      {"cp_kind", {"dense", {"parallel.cp=2"}, "ulysses"}, {"dense", {}, "ulysses"}},
      {"ulysses",
       {"dense", {"parallel.cp=4", "parallel.cp_kind=2d"}, "2"},
       {"dense", {"parallel.cp=4"}, "2"}},
      {"zigzag",
       {"dense", {"parallel.cp=2"}, "false"},
       {"dense", {"parallel.cp=2", "parallel.cp_kind=ulysses"}, "false"}},
      {"overlap", {"dense", {}, R"(["dp_gradients"])"}, {"dense", {}, R"(["dp_parameters"])"}},
      {"exchange", {"dense", {}, "parameter_averaging"}, {"one", {}, "parameter_averaging"}},
      {"servers", {"dense", {exchange + "parameter_server"}, "2"}, {"dense", {}, "2"}},
      {"average_every", {"dense", {exchange + "parameter_averaging"}, "4"}, {"dense", {}, "4"}},
      {"outer_replicas", {"dense", {exchange + "diloco"}, "2"}, {"dense", {}, "2"}},
      {"fragments",
       {"dense", {exchange + "diloco", "parallel.average_every=8"}, "4"},
       {"dense", {}, "4"}},
      {"outer_gradients", {"dense", {exchange + "diloco"}, "fp8_block"}, {"dense", {}, "bf16"}},
      {"outer_on_host", {"dense", {exchange + "diloco"}, "true"}, {"dense", {}, "true"}},
      {"algorithms.outer", {"dense", {exchange + "diloco"}, "naive"}, {"dense", {}, "naive"}},
      {"traffic_weights.outer",
       {"dense", {exchange + "diloco", "parallel.outer_replicas=2", overlap}, "9"},
       {"dense", {}, "9"}},
      {"bucket", {"dense", {R"(parallel.overlap=["dp_gradients"])"}, "1 MB"}, {"one", {}, "1 MB"}},
      {"state.weights", {"dense", {}, "fp32"}, {}},
      {"state.gradients", {"dense", {}, "fp32"}, {}},
      {"state.master", {"dense", {}, "false"}, {"dense", {"parallel.precision=fp32"}, "true"}},
      {"state.optimizer", {"dense", {}, "momentum"}, {}},
      {"state.moments", {"dense", {}, "bf16"}, {"dense", {"parallel.state.optimizer=sgd"}, "bf16"}},
      {"state.newton_schulz_steps", {"dense", {muon}, "3"}, {"dense", {}, "3"}},
      {"state.muon_tp_mode",
       {"dense", {muon, "parallel.tp=2"}, "distributed"},
       {"dense", {muon}, "distributed"}},
      {"state.muon_use_syrk", {"dense", {muon}, "true"}, {"dense", {}, "true"}},
      {"state.precondition_frequency", {"dense", {soap}, "1"}, {"dense", {}, "1"}},
      {"state.max_preconditioner_dim", {"dense", {soap}, "600"}, {"dense", {}, "600"}},
      {"state.offload", {"dense", {}, "true"}, {}},
      {"capacity_factor", {"experts", {}, "2"}, {"dense", {}, "2"}},
      {"expert_skew", {"experts", {"parallel.ep=8"}, "2"}, {"dense", {}, "2"}},
      {"dispatcher", {"experts", {"parallel.ep=8"}, "deepep"}, {"dense", {}, "deepep"}},
      {"delay_wgrad_compute",
       {"experts", {"parallel.ep=8", pairs, "parallel.global_batch=64"}, "true"},
       {"experts", {"parallel.ep=1", pairs}, "true"}},
      {"dispatch_sms",
       {"experts", {"parallel.ep=8", deepep, R"(parallel.overlap=["ep"])"}, "54"},
       {"experts", {"parallel.ep=8", deepep, "parallel.overlap=[]"}, "54"}},
      {"algorithms.tp", {"dense", {"parallel.tp=8"}, "naive"}, {"dense", {}, "naive"}},
      {"algorithms.cp",
       {"dense", {"parallel.cp=8", "parallel.cp_kind=ulysses"}, "bruck"},
       {"dense", {}, "bruck"}},
      {"algorithms.ep", {"experts", {"parallel.ep=8"}, "bruck"}, {"dense", {}, "bruck"}},
      {"algorithms.dp", {"dense", {}, "naive"}, {"dense", {"parallel.zero=2"}, "naive"}},
      {"algorithms.embedding", {"tied", {"parallel.pp=2"}, "naive"}, {"dense", {}, "naive"}},
      {"traffic_weights.tp", {"dense", {"parallel.tp=2", overlap}, "9"}, {"dense", {}, "9"}},
      {"traffic_weights.cp", {"dense", {"parallel.cp=2", overlap}, "9"}, {"dense", {}, "9"}},
      {"traffic_weights.ep", {"experts", {"parallel.ep=8", overlap}, "9"}, {"dense", {}, "9"}},
      {"traffic_weights.dp", {"dense", {"parallel.tp=2", overlap}, "9"}, {"one", {}, "9"}},
      {"traffic_weights.pp", {"dense", {"parallel.pp=2", overlap}, "9"}, {"dense", {}, "9"}},
      {"traffic_weights.hsdp",
       {"dense", {"parallel.zero=2", "parallel.shard_ranks=8", overlap}, "9"},
       {"dense", {}, "9"}},
      {"traffic_weights.embedding", {"tied", {"parallel.pp=2", overlap}, "9"}, {"dense", {}, "9"}},
  };
}

std::vector<Key> other_keys() {
  return {
      {"tokens", {"dense", {}, "1e9"}, {"mlp", {}, "1e9"}},
      {"samples", {"mlp", {}, "1e9"}, {"dense", {}, "1e9"}},
      {"sustained", {"dense", {}, "100 TFLOP/s"}, {"dense", {}, "313 TFLOP/s"}},
      {"ignore_memory", {"dense", {"parallel.micro_batch=4096"}, "true"}, {}},
      {"stack", {"dense", {}, "unfused"}, {}},
      {"seed", {}, {"dense", {}, "7"}},
      {"cluster.file", {"dense", {}, "dgx-h100"}, {}},
      {"cluster.nodes", {"dense", {}, "1"}, {}},
      {"cluster.ranks", {"one", {}, "2"}, {}},
      {"cluster.gpu", {"dense", {}, "h100-sxm5-80gb"}, {}},
      {"cluster.gpus", {"figures", {}, "8"}, {}},
      {"cluster.gpus_per_node", {"figures", {}, "4"}, {}},
      {"cluster.intra", {"figures", {}, "pcie"}, {}},
      {"cluster.nics_per_node", {"figures", {}, "8"}, {}},
      {"cluster.nic_gbps", {"figures", {}, "100"}, {"one node", {}, "100"}},
      {"cluster.fabric", {}, {"figures", {}, "roce"}},
      {"cluster.pcie", {"figures", {}, "3"}, {}},
      // Overrides of a named file: dgx-a100 is built from a topology, not from nodes or a graph.
      {"cluster.topology", {"dense", {}, R"({"nvlink": {"bandwidth": "10 GB/s"}})"}, {}},
      {"cluster.node", {}, {"dense", {}, "{}"}},
      {"cluster.graph", {}, {"dense", {}, "{}"}},
      {"cluster.price", {}, {"dense", {}, "2"}},
      {"cluster.watts", {}, {"dense", {}, "700"}},
      {"cluster.pue", {}, {"dense", {}, "1.2"}},
      {"cluster.price_kwh", {}, {"dense", {}, "0.1"}},
  };
}

std::vector<Key> keys_of_transformer() {
  const std::string shared = "model.experts.shared=1";
  const std::string half = "model.window.size=256";
  return {
      {"layers", {"dense", {}, "2"}, {}},
      {"hidden", {"dense", {}, "1024"}, {}},
      {"heads", {"dense", {}, "4"}, {}},
      {"kv_heads", {"dense", {}, "2"}, {"latent", {}, "2"}},
      {"head_size", {"dense", {}, "128"}, {"latent", {}, "128"}},
      {"ffn", {"dense", {}, "1024"}, {"experts", {"model.experts.ffn=512"}, "1024"}},
      {"gated_mlp", {"dense", {}, "false"}, {}},
      {"seq", {"dense", {}, "256"}, {}},
      {"vocab", {"dense", {}, "2048"}, {}},
      {"tied_embeddings", {"dense", {}, "true"}, {"dense", {"model.output_layer=false"}, "true"}},
      {"norm", {"dense", {}, "layer"}, {}},
      // That a model's MLP is gated decides what it costs, not by which function.
      {"activation", {}, {"dense", {}, "relu"}},
      {"positions", {"dense", {}, "none"}, {}},
      {"attention", {"dense", {}, "unfused"}, {}},
      {"bias", {"dense", {}, "true"}, {}},
      {"qkv_bias", {"dense", {}, "true"}, {"gpt", {}, "true"}},
      {"out_bias", {"dense", {}, "true"}, {"gpt", {}, "true"}},
      {"mlp_bias", {"dense", {}, "true"}, {"gpt", {}, "true"}},
      {"router_bias", {"experts", {}, "true"}, {"dense", {}, "true"}},
      {"head_bias", {"dense", {}, "true"}, {"dense", {"model.output_layer=false"}, "true"}},
      {"norm_bias", {"gpt", {}, "false"}, {"dense", {}, "false"}},
      {"norm_place", {"dense", {}, "around"}, {"dense", {"model.residual=parallel"}, "after"}},
      {"qk_norm", {"dense", {}, "shared"}, {"latent", {}, "shared"}},
      {"residual", {"dense", {}, "parallel"}, {}},
      {"embedding_norm", {"dense", {}, "true"}, {}},
      {"position_rows", {"gpt", {}, "1024"}, {"dense", {}, "1024"}},
      {"sinks", {"dense", {}, "true"}, {"latent", {}, "true"}},
      {"output_layer", {"dense", {}, "false"}, {}},
      {"window.size", {"dense", {}, "128"}, {"dense", {}, "512"}},
      {"window.chunked", {"window", {half}, "true"}, {"window", {"model.causal=false"}, "true"}},
      {"window.first_layer", {"window", {}, "2"}, {}},
      {"window.full_every", {"window", {}, "2"}, {"window", {}, "5"}},
      {"window.full_rotary",
       {"window", {"model.window.full_every=2"}, "false"},
       {"window", {}, "false"}},
      {"documents", {"dense", {}, "[128,100]"}, {"dense", {}, "[512]"}},
      {"mtp.layers", {"dense", {}, "1"}, {"dense", {"model.output_layer=false"}, "1"}},
      // Losses are added up, with whatever factor: numbers change, as `verify strategy` prints
      // them.
      {"mtp.loss_scaling_factor", {}, {"dense", {"model.mtp.layers=1"}, "-1"}},
      {"dropout", {"dense", {}, "0.1"}, {}},
      {"attention_dropout", {"dense", {"model.attention=unfused"}, "0.1"}, {}},
      {"causal", {"dense", {}, "false"}, {}},
      {"experts.count", {"experts", {}, "16"}, {}},
      {"experts.top_k", {"experts", {}, "4"}, {}},
      {"experts.groups",
       {"experts", {"parallel.ep=4", "parallel.dispatcher=deepep"}, "4"},
       {"experts", {}, "2"}},
      {"experts.group_top_k",
       {"experts", {"parallel.ep=4", "parallel.dispatcher=deepep", "model.experts.groups=4"}, "2"},
       {"experts", {}, "2"}},
      {"experts.ffn", {"experts", {}, "512"}, {}},
      {"experts.shared", {"experts", {}, "1"}, {}},
      {"experts.shared_ffn", {"experts", {shared}, "512"}, {"experts", {}, "512"}},
      {"experts.dense_layers", {"experts", {}, "1"}, {}},
      {"experts.every", {"experts", {}, "2"}, {}},
      {"latent.query_rank", {"latent", {}, "128"}, {}},
      {"latent.kv_rank", {"latent", {}, "256"}, {}},
      {"latent.key_size", {"latent", {}, "32"}, {}},
      {"latent.rotary_size", {"latent", {}, "64"}, {}},
      {"latent.value_size", {"latent", {}, "32"}, {}},
  };
}

std::vector<Key> keys_of_t5() {
  return {
      {"layers", {"t5", {}, "3"}, {}},
      {"encoder_layers", {"t5", {}, "3"}, {}},
      {"hidden", {"t5", {}, "512"}, {}},
      {"heads", {"t5", {}, "8"}, {}},
      {"head_size", {"t5", {}, "32"}, {}},
      {"ffn", {"t5", {}, "512"}, {}},
      {"gated_mlp", {"t5", {}, "true"}, {"t5", {"model.activation=relu"}, "true"}},
      {"activation", {"t5", {}, "gelu"}, {"t5", {}, "geglu"}},
      {"seq", {"t5", {}, "128"}, {}},
      {"encoder_seq", {"t5", {}, "64"}, {}},
      {"buckets", {"t5", {}, "64"}, {"t5", {}, "6"}},
      {"vocab", {"t5", {}, "2000"}, {}},
      {"tied_embeddings", {"t5", {}, "false"}, {}},
      {"dropout", {"t5", {}, "0.1"}, {}},
      {"attention_dropout", {"t5", {}, "0.1"}, {}},
  };
}

std::vector<Key> keys_of_vit() {
  return {
      {"layers", {"vit", {}, "3"}, {}},
      {"hidden", {"vit", {}, "512"}, {"vit", {}, "255"}},
      {"heads", {"vit", {}, "8"}, {"vit", {}, "3"}},
      {"ffn", {"vit", {}, "512"}, {}},
      {"image", {"vit", {}, "128"}, {"vit", {}, "63"}},
      {"patch", {"vit", {}, "8"}, {"vit", {}, "15"}},
      {"channels", {"vit", {}, "16"}, {}},
      {"classes", {"vit", {}, "100000"}, {}},
      {"pooling", {"vit", {}, "mean"}, {}},
      {"activation", {"vit", {}, "relu"}, {"vit", {}, "geglu"}},
      {"attention", {"vit", {}, "unfused"}, {}},
      {"dropout", {"vit", {}, "0.1"}, {}},
      {"attention_dropout", {"vit", {"model.attention=unfused"}, "0.1"}, {}},
  };
}

std::vector<Key> keys_of_dit() {
  return {{"layers", {"dit", {}, "3"}, {}},
          {"hidden", {"dit", {}, "512"}, {"dit", {}, "255"}},
          {"heads", {"dit", {}, "8"}, {"dit", {}, "3"}},
          {"ffn", {"dit", {}, "512"}, {}},
          {"image", {"dit", {}, "64"}, {"dit", {}, "31"}},
          {"patch", {"dit", {}, "4"}, {"dit", {}, "3"}},
          {"channels", {"dit", {}, "16"}, {}},
          {"classes", {"dit", {}, "100000"}, {}},
          {"learned_variance", {"dit", {}, "false"}, {}},
          {"attention", {"dit", {}, "unfused"}, {}}};
}

std::vector<Key> keys_of_mlp() {
  return {
      {"hidden", {"own mlp", {}, "2048"}, {}},
      {"ffn", {"own mlp", {}, "1024"}, {}},
      {"layers", {"own mlp", {}, "2"}, {}},
      {"activation", {"own mlp", {}, "relu"}, {"own mlp", {}, "geglu"}},
      {"bias", {"own mlp", {}, "true"}, {}},
  };
}

std::vector<Key> keys_of_resnet() {
  return {
      {"stages", {"resnet", {}, "[1, 1, 1, 1]"}, {}},
      {"width", {"resnet", {}, "32"}, {}},
      {"image", {"resnet", {}, "32"}, {}},
      {"classes", {"resnet", {}, "10"}, {}},
      {"frames", {"resnet", {}, "4"}, {}},
      {"temporal_shift", {"resnet", {"model.frames=4"}, "true"}, {"resnet", {}, "true"}},
  };
}

/// Words about a scenario, and what belongs to others: variants to `verify strategy`, `run` to
/// results.
const std::set<std::string> kWords{"$schema", "name",  "summary",  "source", "variants",
                                   "cluster", "model", "parallel", "run"};

class Bench {
 public:
  Bench() {
    for (const auto& [name, text] : scenarios()) files_.emplace(name, text);
  }

  [[nodiscard]] CommandResult run(const Change& of, const std::string& key) const {
    std::string command = "lockstep run " + files_.at(of.scenario).path() + " --format json";
    for (const std::string& set : of.before) command += " --set '" + set + "'";
    if (!key.empty()) command += " --set '" + key + "=" + of.value + "'";
    return run_command(command);
  }

  /// All that a result says but for what was asked.
  [[nodiscard]] static std::string said(const CommandResult& result) {
    if (result.status != 0) return result.err;
    Json out = Json::parse(result.out);
    for (const char* key : {"config", "seed", "name"}) out.erase(key);
    return out.dump();
  }

  void check(const Key& row, const std::string& key) const {
    CAPTURE(key);
    if (!row.changes.scenario.empty()) {
      const CommandResult before = run(row.changes, "");
      const CommandResult after = run(row.changes, key);
      CAPTURE(before.err);
      CAPTURE(after.err);
      CHECK(after.status == 0);
      CHECK(said(before) != said(after));
    }
    if (row.nothing.scenario.empty()) return;
    const CommandResult told = run(row.nothing, key);
    CAPTURE(told.err);
    if (told.status != 0) {
      CHECK(told.status == 2);
      return;
    }
    const Json notes = Json::parse(told.out)["without_effect"];
    CAPTURE(notes.dump());
    REQUIRE(notes.size() == 1);
    CHECK(notes[0]["key"] == key);
  }

 private:
  std::map<std::string, TemporaryFile> files_;
};

/// The keys of a schema's object, those of objects within it behind dots.
void collect(const Json& properties, const std::string& before, std::set<std::string>& out) {
  for (const auto& [key, value] : properties.items()) {
    if (value.contains("properties")) {
      collect(value["properties"], before + key + ".", out);
    } else {
      out.insert(before + key);
    }
  }
}

[[nodiscard]] std::set<std::string> names_of(const std::vector<Key>& rows) {
  std::set<std::string> out;
  for (const Key& row : rows) out.insert(row.key);
  return out;
}

}  // namespace

TEST_CASE("every key of a scenario's plan has an effect, or is reported to have none") {
  const Json schema = Json::parse(text_of(kSchema));
  std::set<std::string> keys;
  collect(schema["properties"]["parallel"]["properties"], "", keys);
  CHECK(keys == names_of(keys_of_parallel()));
  const Bench bench;
  for (const Key& row : keys_of_parallel()) bench.check(row, "parallel." + row.key);
}

TEST_CASE("every other key of a scenario has an effect, or is reported to have none") {
  const Json schema = Json::parse(text_of(kSchema));
  std::set<std::string> keys;
  Json properties = schema["properties"];
  properties.erase("parallel");
  collect(properties, "", keys);
  for (const Json& form : schema["properties"]["cluster"]["oneOf"])
    if (form.contains("properties")) collect(form["properties"], "cluster.", keys);
  for (const std::string& word : kWords) keys.erase(word);
  CHECK(keys == names_of(other_keys()));
  const Bench bench;
  for (const Key& row : other_keys()) bench.check(row, row.key);
}

TEST_CASE("every key of a scenario's model has an effect, or is reported to have none") {
  const Json schema = Json::parse(text_of(LOCKSTEP_SOURCE_DIR "/configs/schema/model.schema.json"));
  const Bench bench;
  const auto walk = [&](const std::string& kind, const std::vector<Key>& rows) {
    std::set<std::string> keys;
    for (const Json& form : schema["oneOf"])
      if (form["properties"]["kind"]["enum"][0] == kind) collect(form["properties"], "", keys);
    for (const char* word : {"$schema", "name", "source", "family", "kind"}) keys.erase(word);
    CHECK(keys == names_of(rows));
    for (const Key& row : rows) bench.check(row, "model." + row.key);
  };
  walk("transformer", keys_of_transformer());
  walk("t5", keys_of_t5());
  walk("vit", keys_of_vit());
  walk("dit", keys_of_dit());
  walk("mlp", keys_of_mlp());
  walk("resnet", keys_of_resnet());
}

TEST_CASE("what says which layers have a window or experts is reported where none is left") {
  const Bench bench;
  const auto told = [&](const std::string& scenario, const std::vector<std::string>& before,
                        const std::string& key, const std::string& value) {
    CAPTURE(key);
    const CommandResult result = bench.run({scenario, before, value}, key);
    CAPTURE(result.err);
    REQUIRE(result.status == 0);
    std::vector<std::string> out;
    const Json notes = Json::parse(result.out)["without_effect"];
    for (const Json& note : notes) out.push_back(note["key"]);
    return out;
  };
  using Keys = std::vector<std::string>;
  CHECK(told("experts", {}, "model.experts.dense_layers", "4") == Keys{"model.experts"});
  CHECK(told("experts", {}, "model.experts.every", "5") == Keys{"model.experts"});
  CHECK(told("experts", {}, "model.experts.every", "4").empty());
  CHECK(told("window", {}, "model.window.first_layer", "4") == Keys{"model.window"});
  CHECK(told("window", {"model.window.full_every=2"}, "model.window.size", "512") ==
        Keys{"model.window.size", "model.window.full_every"});
  // Layers without the window are those without rotary positions.
  CHECK(told("window", {"model.window.full_every=2", "model.window.full_rotary=false"},
             "model.window.size", "512") == Keys{"model.window.size"});
  CHECK(
      told("window", {"model.window.full_rotary=false"}, "model.window.first_layer", "4").empty());
}
}  // namespace lockstep
