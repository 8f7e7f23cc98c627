#include "strategies/models/files/model_file.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/json/json.hpp"
#include "strategies/models/count/count.hpp"
#include "tests/topologies/files/schema_agreement.hpp"

namespace lockstep {
namespace {

const std::filesystem::path kModels = LOCKSTEP_SOURCE_DIR "/configs/models";
const std::filesystem::path kSchema = LOCKSTEP_SOURCE_DIR "/configs/schema/model.schema.json";

ModelConfig model_from(std::string_view text) {
  return read_model(parse_json(text, "m.json"));
}

TransformerConfig transformer_from(std::string_view text) {
  const ModelConfig model = model_from(text);
  REQUIRE(model.transformer() != nullptr);
  return *model.transformer();
}

std::string error_of(std::string_view text) {
  try {
    (void)model_from(text);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "accepted";
}

SchemaAgreement agreement() {
  return {kSchema, [](std::string_view text) { (void)model_from(text); }};
}

TEST_CASE("every shipped model reads, keeps to the schema and names its source") {
  const SchemaAgreement schema = agreement();
  const std::vector<std::string> ids = model_ids(kModels);
  CHECK(ids.size() >= 100);
  for (const std::string& id : ids) {
    CAPTURE(id);
    CHECK(schema.verdict(text_of_file(kModels / (id + ".json"))) == "both accept");
    CHECK(load_model(kModels / (id + ".json")).source.size() > 20);
  }
}

TEST_CASE("reader and schema refuse the same files") {
  const SchemaAgreement schema = agreement();
  const std::string moe = text_of_file(kModels / "deepseek-v3-mtp.json");
  for (const Mutation& mutation : std::vector<Mutation>{
           {"no name", "/name", ""},
           {"no source", "/source", ""},
           {"no layers", "/layers", ""},
           {"no sequence", "/seq", ""},
           {"layers of text", "/layers", "\"61\""},
           {"no layer", "/layers", "0"},
           {"half a layer", "/layers", "1.5"},
           {"too wide", "/hidden", "1048577"},
           {"unknown norm", "/norm", "\"batch\""},
           {"unknown key", "/hiden", "7168"},
           {"unknown kind", "/kind", "\"rnn\""},
           {"key of another kind", "/frames", "8"},
           {"all is dropped", "/dropout", "1"},
           {"no count of experts", "/experts/count", ""},
           {"one expert", "/experts/count", "1"},
           {"unknown key of experts", "/experts/topk", "2"},
           {"no rank of keys", "/latent/kv_rank", ""},
           {"no layer of prediction", "/mtp", "{}"},
           {"no prediction", "/mtp", R"({"layers": 0})"},
       }) {
    CAPTURE(mutation.name);
    CHECK(schema.verdict(mutated(moe, mutation)) == "both refuse");
  }
  const std::string resnet = text_of_file(kModels / "resnet-50.json");
  for (const Mutation& mutation : std::vector<Mutation>{
           {"no stages", "/stages", "[]"},
           {"an empty stage", "/stages/0", "0"},
           {"key of another kind", "/layers", "50"},
       }) {
    CAPTURE(mutation.name);
    CHECK(schema.verdict(mutated(resnet, mutation)) == "both refuse");
  }
}

TEST_CASE("what is left out is as in GPT, or as in Llama with a gated MLP") {
  const TransformerConfig gpt = transformer_from(
      R"({"name": "g", "source": "s", "layers": 2, "hidden": 8, "heads": 2, "seq": 4})");
  CHECK(gpt.kv_heads == 2);
  CHECK(gpt.head_size == 4);
  CHECK(gpt.ffn == 32);
  CHECK(gpt.vocabulary == 1);
  CHECK(gpt.norm == Normalization::layer);
  CHECK(gpt.function == ActivationFunction::gelu);
  CHECK(gpt.positions == Positions::learned);
  CHECK(gpt.bias);
  CHECK(gpt.causal);
  CHECK(gpt.dropout == 0);
  CHECK(gpt.attention == AttentionKind::flash);
  const TransformerConfig llama = transformer_from(
      R"({"name": "l", "source": "s", "layers": 2, "hidden": 8, "heads": 2, "seq": 4,
          "gated_mlp": true})");
  CHECK(llama.norm == Normalization::rms);
  CHECK(llama.function == ActivationFunction::swiglu);
  CHECK(llama.positions == Positions::rotary);
  CHECK_FALSE(llama.bias);
}

TEST_CASE("a model of a scenario needs no source") {
  Problems problems{"s.json"};
  const JsonDocument document = parse_json(
      R"({"name": "GPT 22B one layer", "layers": 1, "hidden": 6144, "heads": 64, "kv_heads": 64,
          "ffn": 24576, "gated_mlp": false, "seq": 2048, "attention": "unfused"})",
      "s.json");
  const ModelConfig model = read_model(ValueReader{&document.root, "/model", problems});
  CHECK_NOTHROW(problems.throw_if_any());
  CHECK(model.name == "GPT 22B one layer");
  CHECK(model.transformer()->attention == AttentionKind::unfused);
}

TEST_CASE("what cannot be together is refused with its place") {
  // Columns counted in the texts below.
  CHECK(error_of(
            R"({"name": "m", "source": "s", "layers": 1, "hidden": 10, "heads": 4, "seq": 4})") ==
        "m.json:1:66: error: /heads: a hidden size of 10 is not divisible by 4 heads; give "
        "head_size\n1 error; nothing was run");
  CHECK(
      error_of(R"({"name": "m", "source": "s", "layers": 1, "hidden": 8, "heads": 4, "kv_heads": 3,
"seq": 4})") ==
      "m.json:1:80: error: /kv_heads: 4 heads are not divisible by 3 heads of keys and "
      "values\n1 error; nothing was run");
  CHECK(
      error_of(R"({"name": "m", "source": "s", "layers": 1, "hidden": 8, "heads": 4, "seq": 4,
"experts": {"count": 4, "top_k": 5}})") ==
      "m.json:2:34: error: /experts/top_k: at most the 4 experts that there are\n1 error; nothing "
      "was run");
  CHECK(error_of(R"({"name": "m", "source": "s", "layers": 1, "hidden": 8, "heads": 4, "seq": 4,
"activation": "swiglu"})") ==
        "m.json:2:15: error: /activation: \"swiglu\" and \"geglu\" are activations of gated MLPs "
        "alone\n1 error; nothing was run");
  CHECK(error_of(R"({"name": "m", "source": "s", "kind": "resnet", "temporal_shift": true})") ==
        "m.json:1:1: error: a temporal shift needs clips of two frames at least\n1 error; "
        "nothing was run");
}

TEST_CASE("the sequence of a vision transformer follows from image and patch") {
  const TransformerConfig vit = *load_model(kModels / "vit-b-16.json").transformer();
  CHECK(vit.sequence == 14 * 14 + 1);
  CHECK(vit.vocabulary == 1000);
  CHECK(vit.head_size == 64);
  CHECK_FALSE(vit.causal);
  const ModelConfig mean = model_from(R"({"name": "m", "source": "s", "kind": "vit", "layers": 1,
"hidden": 8, "heads": 2, "image": 32, "patch": 8, "pooling": "mean"})");
  CHECK(mean.transformer()->sequence == 16);
  CHECK_FALSE(mean.reads_text());
}

TEST_CASE("a diffusion transformer's sequence follows from latents and patch") {
  const TransformerConfig dit = *load_model(kModels / "dit-xl-2.json").transformer();
  CHECK(dit.sequence == 16 * 16);
  CHECK(dit.head_size == 72);
  CHECK(dit.diffusion->learned_variance);
  CHECK_FALSE(dit.norm_gain);
  const std::string own = R"({"name": "m", "source": "s", "kind": "dit", "layers": 1,
"hidden": 8, "heads": 2)";
  CHECK(model_from(own + R"(, "image": 64, "patch": 8})").transformer()->sequence == 64);
  CHECK(error_of(own + R"(, "patch": 3})") ==
        "m.json:2:35: error: /patch: an image of 32 pixels is not divisible by patches of 3\n"
        "1 error; nothing was run");
  for (const std::string key : {"seq", "pooling", "activation", "dropout"}) {
    CAPTURE(key);
    CHECK(error_of(own + ", \"" + key + "\": 4}").find("unknown key \"" + key + "\"") !=
          std::string::npos);
  }
}

TEST_CASE("what a vision transformer cannot have is refused with its place") {
  const std::string vit = R"({"name": "m", "source": "s", "kind": "vit", "layers": 1,
"hidden": 8, "heads": 2)";
  CHECK(error_of(vit + R"(, "patch": 15})") ==
        "m.json:2:35: error: /patch: an image of 224 pixels is not divisible by patches of 15\n"
        "1 error; nothing was run");
  CHECK(error_of(R"({"name": "m", "source": "s", "kind": "vit", "layers": 1, "hidden": 8,
"heads": 3})") ==
        "m.json:2:10: error: /heads: a hidden size of 8 is not divisible by 3 heads\n1 error; "
        "nothing was run");
  CHECK(error_of(vit + R"(, "activation": "swiglu"})").find("activations of gated MLPs alone") !=
        std::string::npos);
  for (const std::string key : {"seq", "vocab", "causal", "positions", "experts", "window"}) {
    CAPTURE(key);
    CHECK(error_of(vit + ", \"" + key + "\": 4}").find("unknown key \"" + key + "\"") !=
          std::string::npos);
  }
}

TEST_CASE("T5 has two stacks, as many layers in both unless the file says otherwise") {
  const TransformerConfig t5 = *load_model(kModels / "t5-3b.json").transformer();
  CHECK(t5.layers == 24);
  CHECK(t5.encoder->layers == 24);
  CHECK(t5.encoder->sequence == 512);
  CHECK(all_tokens(t5) == 512 + 114);
  CHECK(t5.tied_embeddings);
  CHECK(t5.function == ActivationFunction::relu);
  const std::string text = R"({"name": "m", "source": "s", "kind": "t5", "layers": 2, "hidden": 8,
"heads": 2, "seq": 4, "encoder_seq": 6, "vocab": 10)";
  CHECK(error_of(text + R"(, "buckets": 6})").find("a multiple of 4") != std::string::npos);
  CHECK(error_of(text + R"(, "activation": "geglu"})").find("activations of gated MLPs alone") !=
        std::string::npos);
  for (const std::string key : {"positions", "attention", "experts", "window", "causal"})
    CHECK(error_of(text + ", \"" + key + "\": 4}").find("unknown key \"" + key + "\"") !=
          std::string::npos);
}

TEST_CASE("a model too large for 64 bits is refused") {
  CHECK(error_of(R"({"name": "m", "source": "s", "layers": 100000, "hidden": 1048576, "heads": 4,
"seq": 4, "experts": {"count": 16384, "top_k": 1}})") ==
        "m.json:1:1: error: a model of more than 1e+16 parameters\n1 error; nothing was run");
}

TEST_CASE("a misspelt key or kind is met with the one that was meant") {
  CHECK(error_of(R"({"name": "m", "source": "s", "layers": 1, "hidden": 8, "heads": 4, "seq": 4,
"gated_mpl": true})")
            .find("unknown key \"gated_mpl\"; did you mean \"gated_mlp\"?") != std::string::npos);
  CHECK(error_of(R"({"name": "m", "source": "s", "kind": "resnett"})")
            .find("no kind of model named \"resnett\"; did you mean \"resnet\"?") !=
        std::string::npos);
}

// The keys of the files as Hugging Face's hub has them; others are passed over.
TEST_CASE("Llama 3 70B from Hugging Face's config.json is the shipped one") {
  const ModelConfig model = model_from(R"({
    "architectures": ["LlamaForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
    "bos_token_id": 128000, "eos_token_id": 128001, "hidden_act": "silu", "hidden_size": 8192,
    "initializer_range": 0.02, "intermediate_size": 28672, "max_position_embeddings": 8192,
    "model_type": "llama", "num_attention_heads": 64, "num_hidden_layers": 80,
    "num_key_value_heads": 8, "pretraining_tp": 1, "rms_norm_eps": 1e-05, "rope_scaling": null,
    "rope_theta": 500000.0, "tie_word_embeddings": false, "torch_dtype": "bfloat16",
    "transformers_version": "4.40.0.dev0", "use_cache": true, "vocab_size": 128256})");
  CHECK(model.name == "llama");
  CHECK(*model.transformer() == *load_model(kModels / "llama3-70b.json").transformer());
}

TEST_CASE("GPT-2 from Hugging Face's config.json is the shipped one") {
  const ModelConfig model = model_from(R"({
    "activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"], "attn_pdrop": 0.1,
    "bos_token_id": 50256, "embd_pdrop": 0.1, "eos_token_id": 50256, "initializer_range": 0.02,
    "layer_norm_epsilon": 1e-05, "model_type": "gpt2", "n_ctx": 1024, "n_embd": 768, "n_head": 12,
    "n_layer": 12, "n_positions": 1024, "n_inner": null, "resid_pdrop": 0.1,
    "summary_activation": null, "vocab_size": 50257})");
  CHECK(*model.transformer() == *load_model(kModels / "gpt2-small.json").transformer());
}

TEST_CASE("multi-token prediction is read, and refused where a model cannot have it") {
  const std::string base = R"({"name": "g", "source": "s", "layers": 2, "hidden": 8, "heads": 2,
      "seq": 4, "vocab": 10, "positions": "rotary", "mtp": {"layers": 2)";
  // Megatron-Core's default of --mtp-loss-scaling-factor.
  CHECK(transformer_from(base + "}}").mtp == TokenPrediction{2, 0.1});
  CHECK(transformer_from(base + R"(, "loss_scaling_factor": 0.3}})").mtp ==
        TokenPrediction{2, 0.3});
  const auto refused = [&](const std::string& members) { return error_of(base + "}, " + members); };
  CHECK(refused(R"("output_layer": false})")
            .find("/mtp: multi-token prediction needs an output "
                  "layer") != std::string::npos);
  CHECK(refused(R"("embedding_norm": true})").find("/mtp: ") != std::string::npos);
  CHECK(error_of(R"({"name": "g", "source": "s", "layers": 2, "hidden": 8, "heads": 2, "seq": 4,
                     "mtp": {"layers": 1}})")
            .find("/mtp: multi-token prediction with learned positions") != std::string::npos);
  CHECK(error_of(base + R"(, "modules": 1}})").find("unknown key \"modules\"") !=
        std::string::npos);
}

TEST_CASE("DeepSeek-V3 from Hugging Face's config.json is the shipped one, but for its context") {
  const ModelConfig model = model_from(R"({
    "architectures": ["DeepseekV3ForCausalLM"], "attention_bias": false, "first_k_dense_replace": 3,
    "hidden_act": "silu", "hidden_size": 7168, "intermediate_size": 18432, "kv_lora_rank": 512,
    "max_position_embeddings": 163840, "model_type": "deepseek_v3", "moe_intermediate_size": 2048,
    "moe_layer_freq": 1, "n_group": 8, "n_routed_experts": 256, "n_shared_experts": 1,
    "num_attention_heads": 128, "num_experts_per_tok": 8, "num_hidden_layers": 61,
    "num_key_value_heads": 128, "num_nextn_predict_layers": 1, "q_lora_rank": 1536,
    "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "tie_word_embeddings": false,
    "topk_group": 4, "v_head_dim": 128, "vocab_size": 129280})");
  TransformerConfig shipped = *load_model(kModels / "deepseek-v3.json").transformer();
  shipped.sequence = 163840;
  CHECK(*model.transformer() == shipped);
}

TEST_CASE("Mixtral and Qwen2 from Hugging Face's config.json") {
  const TransformerConfig mixtral = transformer_from(R"({
    "architectures": ["MixtralForCausalLM"], "hidden_act": "silu", "hidden_size": 4096,
    "intermediate_size": 14336, "max_position_embeddings": 32768, "model_type": "mixtral",
    "num_attention_heads": 32, "num_experts_per_tok": 2, "num_hidden_layers": 32,
    "num_key_value_heads": 8, "num_local_experts": 8, "sliding_window": null,
    "tie_word_embeddings": false, "vocab_size": 32000})");
  CHECK(mixtral == *load_model(kModels / "mixtral-8x7b.json").transformer());
  const TransformerConfig qwen2 = transformer_from(R"({
    "architectures": ["Qwen2ForCausalLM"], "hidden_act": "silu", "hidden_size": 3584,
    "intermediate_size": 18944, "max_position_embeddings": 131072, "model_type": "qwen2",
    "num_attention_heads": 28, "num_hidden_layers": 28, "num_key_value_heads": 4,
    "tie_word_embeddings": false, "vocab_size": 152064})");
  CHECK(qwen2.qkv_bias);
  CHECK_FALSE(qwen2.bias);
  // Qwen2-7B's weights as released.
  CHECK(count_parameters({.name = {}, .shape = qwen2, .source = {}}).total() == 7'615'616'512);
}

TEST_CASE("GPT-NeoX-20B from Hugging Face's config.json has the parameters that are published") {
  const ModelConfig neox = model_from(R"({
    "architectures": ["GPTNeoXForCausalLM"], "attention_probs_dropout_prob": 0,
    "hidden_act": "gelu_fast", "hidden_dropout_prob": 0, "hidden_size": 6144,
    "intermediate_size": 24576, "layer_norm_eps": 1e-05, "max_position_embeddings": 2048,
    "model_type": "gpt_neox", "num_attention_heads": 64, "num_hidden_layers": 44,
    "rotary_emb_base": 10000, "rotary_pct": 0.25, "tie_word_embeddings": false,
    "use_cache": true, "vocab_size": 50432})");
  CHECK(neox.transformer()->function == ActivationFunction::gelu);
  // Black et al. 2022, arXiv 2204.06745, section 3.1: 20,554,567,680 parameters.
  CHECK(count_parameters(neox).total() == 20'554'567'680);
}

TEST_CASE("what a config.json lacks is reported with its place") {
  CHECK(error_of(R"({"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4,
"num_hidden_layers": 2, "max_position_embeddings": 128, "vocab_size": 100})") ==
        "m.json:1:1: error: the key \"intermediate_size\" is missing\n1 error; nothing was run");
}

}  // namespace
}  // namespace lockstep
