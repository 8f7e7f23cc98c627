#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

#include "strategies/models/count/count.hpp"
#include "strategies/models/files/model_file.hpp"
#include "strategies/models/hugging_face/families.hpp"

// Small config.json files of every family. The numbers of parameters follow from transformers'
// modelling code, term by term as written here.
namespace lockstep {
namespace {

// Sizes of the files below.
constexpr std::int64_t h = 8;                              // hidden
constexpr std::int64_t L = 4;                              // layers
constexpr std::int64_t a = 4;                              // heads
constexpr std::int64_t k = 2;                              // of keys and values
constexpr std::int64_t d = 2;                              // size of a head
constexpr std::int64_t f = 12;                             // inner dimension
constexpr std::int64_t V = 10;                             // vocabulary
constexpr std::int64_t P = 16;                             // positions
constexpr std::int64_t A = 2 * h * a * d + 2 * h * k * d;  // queries, keys, values, output
constexpr std::int64_t M = 4 * h * h;                      // the same with as many heads everywhere
constexpr std::int64_t q = a * d + 2 * k * d;              // their biases but the output's
constexpr std::int64_t G = 3 * h * f;                      // gated MLP
constexpr std::int64_t U = 2 * h * f;                      // plain MLP
constexpr std::int64_t B = f + h;                          // its biases
constexpr std::int64_t T = 2 * V * h;                      // embedding and output

const std::string kUsual =
    R"("hidden_size": 8, "num_hidden_layers": 4, "num_attention_heads": 4,
       "num_key_value_heads": 2, "intermediate_size": 12, "vocab_size": 10,
       "max_position_embeddings": 16)";
const std::string kOfGpt2 =
    R"("n_embd": 8, "n_layer": 4, "n_head": 4, "n_inner": 12, "n_positions": 16, "vocab_size": 10)";

ModelConfig read(const std::string& members) {
  return read_model(parse_json("{" + members + "}", "config.json", JsonNumbers::python));
}

ModelConfig usual(const std::string& type, const std::string& more = "") {
  return read("\"model_type\": \"" + type + "\", " + kUsual + (more.empty() ? "" : ", " + more));
}

TransformerConfig shape(const ModelConfig& model) {
  REQUIRE(model.transformer() != nullptr);
  return *model.transformer();
}

std::int64_t total(const ModelConfig& model) {
  return count_parameters(model).total();
}

std::int64_t count(const std::string& type, const std::string& more = "") {
  return total(usual(type, more));
}

std::string error_of(const std::string& members) {
  try {
    (void)read(members);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

std::string notes_of(const ModelConfig& model) {
  std::string out;
  for (const std::string& note : model.notes) out += note + "\n";
  return out;
}

}  // namespace

TEST_CASE("families like Llama have the parameters of their layers") {
  CHECK(count("llama") == T + h + L * (A + G + 2 * h));
  CHECK(count("llama", R"("tie_word_embeddings": true)") == V * h + h + L * (A + G + 2 * h));
  // attention_bias is that of the output too (h); mlp_bias of gate, up (f each) and down (h).
  CHECK(count("llama", R"("attention_bias": true, "mlp_bias": true)") ==
        T + h + L * (A + q + h + G + 2 * f + h + 2 * h));
  CHECK(count("granite", R"("attention_bias": true)") == T + h + L * (A + q + h + G + 2 * h));
  CHECK(count("mistral") == T + h + L * (A + G + 2 * h));
  CHECK(count("phi3") == T + h + L * (A + G + 2 * h));
  CHECK(count("internlm") == T + h + L * (A + q + h + G + 2 * h));
  CHECK(count("internlm", R"("bias": false)") == T + h + L * (A + G + 2 * h));
  CHECK(count("internlm2") == T + h + L * (A + G + 2 * h));
  CHECK(count("internlm3", R"("qkv_bias": true)") == T + h + L * (A + q + G + 2 * h));
  CHECK(count("stablelm") == T + 2 * h + L * (A + G + 4 * h));  // layer norms: 2 h each
  CHECK(count("qwen2") == T + h + L * (A + q + G + 2 * h));
  // head_dim 128 by default: 4 heads and 2 of keys and values; a gain of 128 for each of q and k.
  CHECK(count("qwen3") == T + h + L * (h * 128 * (2 * a + 2 * k) + 2 * 128 + G + 2 * h));
  CHECK(count("qwen3", R"("head_dim": 2)") == T + h + L * (A + 2 * d + G + 2 * h));
}

TEST_CASE("families with norms elsewhere have the parameters of their layers") {
  const std::string size = R"("head_dim": 2)";
  CHECK(count("gemma", size) == V * h + h + L * (A + G + 2 * h));
  CHECK(count("gemma2", size) == V * h + h + L * (A + G + 4 * h));
  CHECK(count("gemma3_text", size) == V * h + h + L * (A + G + 4 * h + 2 * d));
  CHECK(count("glm4", size + R"(, "attention_bias": true)") == T + h + L * (A + q + G + 4 * h));
  CHECK(count("glm", size) == T + h + L * (A + G + 2 * h));
  // Norms of queries and keys over all heads together: a d and k d wide.
  CHECK(count("olmo2") == T + h + L * (A + a * d + k * d + G + 2 * h));
  CHECK(count("olmo3") == T + h + L * (A + a * d + k * d + G + 2 * h));
  CHECK(count("exaone4") == T + h + L * (A + 2 * d + G + 2 * h));
  CHECK(shape(usual("gemma2", size)).norm_place == NormPlace::around);
  CHECK(shape(usual("olmo2")).norm_place == NormPlace::after);
  CHECK(shape(usual("gemma", size)).function == ActivationFunction::geglu);
}

TEST_CASE("families with attention and MLP side by side have the parameters of their layers") {
  // Two layer norms of 2 h in a layer, one at the end.
  CHECK(count("gpt_neox") == T + 2 * h + L * (M + 4 * h + U + B + 4 * h));
  CHECK(shape(usual("gpt_neox")).residual == Residual::parallel_two_norms);
  CHECK(shape(usual("gpt_neox", R"("use_parallel_residual": false)")).residual ==
        Residual::sequential);
  CHECK(count("phi") == T + V + 2 * h + L * (A + q + h + U + B + 2 * h));  // V: bias of the logits
  CHECK(total(read("\"model_type\": \"gptj\", " + kOfGpt2)) ==
        T + V + 2 * h + L * (M + U + B + 2 * h));
  CHECK(count("cohere") == V * h + h + L * (A + G + h));  // one norm without bias
  CHECK(count("cohere", R"("use_qk_norm": true)") ==
        V * h + h + L * (A + (a + k) * d + G + h));  // a gain for every head
  // The MLP is 4 h wide. New decoder: groups of heads, two norms. Old: one head of keys and values
  // and one norm.
  const std::string falcon =
      R"("model_type": "falcon", "hidden_size": 8, "n_layer": 4, "n_head": 4, "vocab_size": 10,
         "seq": 16)";
  CHECK(total(read(falcon + R"(, "new_decoder_architecture": true, "n_head_kv": 2)")) ==
        V * h + 2 * h + L * (A + 8 * h * h + 4 * h));
  CHECK(total(read(falcon)) == V * h + 2 * h + L * (2 * h * h + 2 * h * d + 8 * h * h + 2 * h));
  CHECK(total(read(falcon + R"(, "multi_query": false, "parallel_attn": false, "bias": true)")) ==
        V * h + 2 * h + L * (M + 4 * h + 8 * h * h + 5 * h + 4 * h));
}

TEST_CASE("families with a plain MLP have the parameters of their layers") {
  CHECK(total(read("\"model_type\": \"gpt2\", " + kOfGpt2)) ==
        V * h + P * h + 2 * h + L * (M + 4 * h + U + B + 4 * h));
  // One head of keys and values.
  CHECK(total(read("\"model_type\": \"gpt_bigcode\", " + kOfGpt2)) ==
        V * h + P * h + 2 * h + L * (2 * h * h + 2 * h * d + h + 2 * d + h + U + B + 4 * h));
  // Two rows of positions more than positions.
  const std::string opt = R"("ffn_dim": 12, "word_embed_proj_dim": 8)";
  CHECK(count("opt", opt) == V * h + (P + 2) * h + 2 * h + L * (M + 4 * h + U + B + 4 * h));
  CHECK(contains(error_of("\"model_type\": \"opt\", " + kUsual +
                          R"(, "ffn_dim": 12, "word_embed_proj_dim": 4)"),
                 "/word_embed_proj_dim: an embedding of another width"));
  // A norm behind the embedding, no positions, MLPs 4 h wide: 12 h^2 and 13 h in a layer.
  CHECK(total(read(R"("model_type": "bloom", "hidden_size": 8, "n_layer": 4, "n_head": 4,
                      "vocab_size": 10, "seq": 16)")) == V * h + 4 * h + L * (12 * h * h + 13 * h));
  CHECK(total(read(R"("model_type": "mpt", "d_model": 8, "n_layers": 4, "n_heads": 4,
                      "vocab_size": 10, "max_seq_len": 16, "attn_config": {"alibi": true})")) ==
        V * h + h + L * (12 * h * h + 2 * h));
  CHECK(count("starcoder2") == V * h + 2 * h + L * (A + q + h + U + B + 4 * h));
  CHECK(count("nemotron") == T + 2 * h + L * (A + U + 4 * h));
  CHECK(shape(usual("nemotron")).function == ActivationFunction::squared_relu);
}

TEST_CASE("families with experts have the parameters of their layers") {
  constexpr std::int64_t E = 4;  // experts
  constexpr std::int64_t m = 6;  // their inner dimension
  const std::string experts =
      R"("num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 6, "head_dim": 2)";
  const ModelConfig qwen3 = usual("qwen3_moe", experts);
  CHECK(total(qwen3) == T + h + L * (A + 2 * d + 2 * h + 3 * E * h * m + E * h));
  CHECK(count_parameters(qwen3).active() == total(qwen3) - L * 2 * 3 * h * m);
  // Every other layer, but for the first two.
  CHECK(count("qwen3_moe", experts + R"(, "decoder_sparse_step": 2, "mlp_only_layers": [0, 1])") ==
        T + h + L * (A + 2 * d + 2 * h) + 3 * G + 3 * E * h * m + E * h);
  const std::string local = R"("num_local_experts": 4, "num_experts_per_tok": 2, "head_dim": 2)";
  CHECK(count("mixtral", local) == T + h + L * (A + 2 * h + E * G + E * h));
  CHECK(count("granitemoe", local) == T + h + L * (A + 2 * h + E * G + E * h));
  CHECK(count("phimoe", local + R"(, "attention_bias": true, "lm_head_bias": true)") ==
        T + V + 2 * h + L * (A + q + h + 4 * h + E * G + E * h));
  CHECK(count("minimax_m2", local) == T + h + L * (A + (a + k) * d + 2 * h + E * G + E * h));
  // Biases of all projections, of experts and router, and a sink per head.
  CHECK(count("gpt_oss", local) ==
        T + h + L * (A + q + h + a + 2 * h + E * (G + 2 * f + h) + E * h + E));
  // Every second layer has experts of 12 and one that all visit, the others an MLP of 20.
  CHECK(count("llama4_text",
              local + R"(, "interleave_moe_layer_step": 2, "intermediate_size_mlp": 20)") ==
        T + h + L * (A + 2 * h) + 2 * 3 * h * 20 + 2 * (E * G + G + E * h));
  const std::string later =
      R"("n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 6,
         "n_shared_experts": 1, "first_k_dense_replace": 1, "head_dim": 2)";
  constexpr std::int64_t kLater = G + (L - 1) * (3 * E * h * m + 3 * h * m + E * h);
  CHECK(count("deepseek", later) == T + h + L * (A + 2 * h) + kLater);
  CHECK(count("glm4_moe", later + R"(, "attention_bias": true, "use_qk_norm": true)") ==
        T + h + L * (A + q + 2 * d + 2 * h) + kLater);
  // Latent attention: ranks 6 and 5, key 4 + 2, value 3.
  const std::string latent =
      later + R"(, "kv_lora_rank": 5, "qk_nope_head_dim": 4, "qk_rope_head_dim": 2,
                   "v_head_dim": 3)";
  constexpr std::int64_t kKeys = h * (5 + 2) + 5 + 5 * a * (4 + 3) + a * 3 * h;
  for (const char* type : {"deepseek_v2", "deepseek_v3", "kimi_k2"}) {
    CHECK(count(type, latent + R"(, "q_lora_rank": 6)") ==
          T + h + L * (h * 6 + 6 + 6 * a * 6 + kKeys + 2 * h) + kLater);
    CHECK(count(type, latent + R"(, "q_lora_rank": null)") ==
          T + h + L * (h * a * 6 + kKeys + 2 * h) + kLater);
  }
}

TEST_CASE("a base model has no output layer, and other heads are refused") {
  const std::string architecture = R"("architectures": ["LlamaModel"])";
  const ModelConfig base = usual("llama", architecture);
  CHECK(total(base) == V * h + h + L * (A + G + 2 * h));
  CHECK_FALSE(shape(base).output_layer);
  CHECK(contains(notes_of(base), "LlamaModel has no output layer"));
  CHECK(count("llama", architecture + R"(, "tie_word_embeddings": true)") == total(base));
  CHECK(contains(error_of("\"model_type\": \"llama\", " + kUsual +
                          R"(, "architectures": ["LlamaForSequenceClassification"])"),
                 "/architectures: \"LlamaForSequenceClassification\" is neither a language model"));
  CHECK(contains(error_of("\"model_type\": \"llama\", " + kUsual +
                          R"(, "architectures": ["LlamaForCausalLMEagle3"])"),
                 "neither a language model"));
}

TEST_CASE("windows stand in the layers that the family and layer_types say") {
  const auto window = [](const std::string& type, const std::string& more = "") {
    return shape(usual(type, more)).window;
  };
  CHECK(window("mistral")->size == 4096);  // of MistralConfig
  CHECK_FALSE(window("mistral", R"("sliding_window": null)"));
  CHECK(window("mistral", R"("sliding_window": 7)")->size == 7);
  CHECK_FALSE(window("mixtral"));
  CHECK_FALSE(window("phi3"));
  CHECK(window("starcoder2", R"("sliding_window": 7)")->size == 7);
  // Qwen's counts where use_sliding_window says so, from max_window_layers on.
  CHECK_FALSE(window("qwen2", R"("sliding_window": 7)"));
  CHECK_FALSE(window("qwen3", R"("sliding_window": 7, "use_sliding_window": false)"));
  const auto qwen =
      window("qwen2", R"("sliding_window": 7, "use_sliding_window": true, "max_window_layers": 3)");
  CHECK(qwen == AttentionWindow{.size = 7, .first_layer = 3});
  CHECK_FALSE(window("qwen2", R"("sliding_window": 7, "use_sliding_window": true)"));  // 28 layers
  CHECK(window("gemma2") == AttentionWindow{.size = 4096, .full_every = 2});
  CHECK(window("gemma3_text") == AttentionWindow{.size = 4096, .full_every = 6});
  CHECK(window("gemma3_text", R"("sliding_window_pattern": 3)")->full_every == 3);
  CHECK(window("cohere2") == AttentionWindow{.size = 4096, .full_every = 4, .full_rotary = false});
  CHECK(window("llama4_text", R"("num_local_experts": 4)") ==
        AttentionWindow{.size = 8192, .chunked = true, .full_every = 4, .full_rotary = false});
  const auto types = [&](const std::string& list) {
    return window("mistral", R"("sliding_window": 7, "layer_types": [)" + list + "]");
  };
  const std::string s = R"("sliding_attention")";
  const std::string full = R"("full_attention")";
  CHECK(types(s + "," + full + "," + s + "," + full) ==
        AttentionWindow{.size = 7, .full_every = 2});
  CHECK(types(s + "," + s + "," + s + "," + full) == AttentionWindow{.size = 7, .full_every = 4});
  CHECK(types(full + "," + s + "," + s + "," + s) == AttentionWindow{.size = 7, .first_layer = 1});
  CHECK_FALSE(types(full + "," + full + "," + full + "," + full));
  CHECK(types(s + "," + s + "," + s + "," + s) == AttentionWindow{.size = 7});
  const auto refused = [&](const std::string& list) {
    return error_of("\"model_type\": \"mistral\", " + kUsual +
                    R"(, "sliding_window": 7, "layer_types": [)" + list + "]");
  };
  CHECK(contains(refused(s + "," + full + "," + full + "," + s), "only patterns"));
  CHECK(contains(refused(s), "1 entries, but the model has 4 layers"));
  CHECK(contains(refused("\"linear_attention\""), "no kind of layer named \"linear_attention\""));
}

TEST_CASE("the sequence length is the file's largest or the given one, and reported") {
  const ModelConfig by_file = usual("llama");
  CHECK(shape(by_file).sequence == 16);
  CHECK(contains(notes_of(by_file), "sequence length 16 from max_position_embeddings"));
  const ModelConfig given = usual("llama", R"("seq": 8)");
  CHECK(shape(given).sequence == 8);
  CHECK_FALSE(contains(notes_of(given), "sequence length"));
  const std::string bloom =
      R"("model_type": "bloom", "hidden_size": 8, "n_layer": 4, "n_head": 4, "vocab_size": 10)";
  CHECK(contains(error_of(bloom),
                 "no sequence length: there is no \"seq_length\"; give \"seq\" in "
                 "the file, or --set model.seq=4096 in a run"));
  CHECK(shape(read(bloom + R"(, "seq": 8)")).sequence == 8);
  // The table of learned positions stays as it is.
  const ModelConfig gpt2 = read("\"model_type\": \"gpt2\", \"seq\": 8, " + kOfGpt2);
  CHECK(shape(gpt2).sequence == 8);
  CHECK(total(gpt2) == total(read("\"model_type\": \"gpt2\", " + kOfGpt2)));
  CHECK(contains(error_of("\"model_type\": \"gpt2\", \"seq\": 32, " + kOfGpt2),
                 "16 positions are fewer than the 32 tokens of a sequence"));
}

TEST_CASE("what is not part of the program is reported") {
  CHECK(contains(notes_of(usual("llama", R"("rope_theta": 1e4, "new_feature": 3)")),
                 "keys without effect: new_feature\n"));
  CHECK(contains(notes_of(usual("llama", R"("quantization_config": {"quant_method": "fp8"})")),
                 "quantization_config is not applied"));
  // A layer of Qwen2, 2 h^2 and 3 h: what one more token to predict takes.
  CHECK(contains(notes_of(usual("mimo", R"("num_nextn_predict_layers": 1)")),
                 "num_nextn_predict_layers 1: the layers for multi-token prediction, " +
                     std::to_string(A + q + G + 2 * h + 2 * h * h + 3 * h) + " parameters"));
  CHECK(contains(notes_of(read("\"model_type\": \"llava\", \"vision_config\": {}, "
                               "\"text_config\": {\"model_type\": \"llama\", " +
                               kUsual + "}")),
                 "the language part alone"));
}

TEST_CASE("NaN and Infinity, as Python's json writes them, are read where they do not matter") {
  const ModelConfig model = usual("llama", R"("limits": [0.0, Infinity, -Infinity, NaN],
    "text": "\"Infinity")");
  CHECK(total(model) == count("llama"));
  CHECK(contains(error_of("\"model_type\": \"llama\", \"attention_dropout\": Infinity, " + kUsual),
                 "/attention_dropout: expected a number from 0 to 0.999, got the number Infinity"));
  CHECK_THROWS_AS((void)parse_json(R"({"a": NaN})", "strict.json"), ConfigError);
}

TEST_CASE("an unknown family is reported with those that are known, and none is suggested") {
  for (const std::string type : {"qwen4", "lama", "llama5"}) {
    const std::string error = error_of("\"model_type\": \"" + type + "\", " + kUsual);
    CAPTURE(error);
    CHECK(contains(error, "/model_type: the family \"" + type + "\" is not known"));
    CHECK(contains(error, "qwen2, "));
    CHECK_FALSE(contains(error, "did you mean"));
  }
  CHECK(contains(error_of(R"("architectures": ["LamaForCausalLM"])"),
                 "/architectures: the family \"LamaForCausalLM\" is not known"));
  CHECK(contains(error_of(R"("model_type": "bart")"),
                 "/model_type: \"bart\": encoder and decoder are two stacks"));
  CHECK(total(read(R"("architectures": ["LlamaForCausalLM"], )" + kUsual)) == count("llama"));
}

TEST_CASE("T5: two stacks, one embedding, a table of distances in each") {
  const std::string sizes =
      R"("model_type": "t5", "architectures": ["T5ForConditionalGeneration"], "d_model": 8,
         "d_kv": 2, "num_heads": 4, "d_ff": 12, "num_layers": 4, "num_decoder_layers": 3,
         "vocab_size": 10, "n_positions": 16)";
  // Heads of keys and values are as many as of queries: M of attention; a norm before each part,
  // and one after each stack.
  constexpr std::int64_t decoder = 3;
  constexpr std::int64_t plain =
      V * h + 2 * 32 * a + 2 * h + L * (M + U + 2 * h) + decoder * (2 * M + U + 3 * h);
  const ModelConfig model = read(sizes);
  CHECK(total(model) == plain);
  CHECK(shape(model).encoder->layers == L);
  CHECK(shape(model).encoder->sequence == P);
  CHECK(shape(model).sequence == P);
  CHECK(shape(model).dropout == 0.1);
  CHECK(model.notes.empty());
  CHECK(shape(read(sizes + R"(, "seq": 5, "encoder_seq": 7)")).encoder->sequence == 7);
  CHECK(total(read(sizes + R"(, "feed_forward_proj": "gated-gelu")")) ==
        plain + (L + decoder) * h * f);
  CHECK(total(read(sizes + R"(, "tie_word_embeddings": false)")) == plain + V * h);
  CHECK(
      contains(error_of(sizes + R"(, "feed_forward_proj": "tanh")"),
               "/feed_forward_proj: expected relu, gelu, gated-gelu or gated-silu, got \"tanh\""));
  CHECK(contains(error_of(sizes + R"(, "relative_attention_num_buckets": 6)"),
                 "/relative_attention_num_buckets: expected a multiple of 4"));
  CHECK(contains(error_of(R"("model_type": "t5", "architectures": ["T5Model"], "n_positions": 16)"),
                 "/architectures: \"T5Model\" has no output layer"));
  CHECK(contains(error_of(R"("model_type": "t5")"), "encoder_seq"));
}

TEST_CASE("ViT: patches, a class token, positions of both, a classifier of the labels") {
  const std::string sizes =
      R"("model_type": "vit", "architectures": ["ViTForImageClassification"], "hidden_size": 8,
         "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 12,
         "image_size": 8, "patch_size": 4, "id2label": {"0": "a", "1": "b", "2": "c"})";
  // 4 patches of 4 * 4 * 3 values; biases everywhere, two norms in a layer and one at the end.
  constexpr std::int64_t layer = M + 4 * h + U + B + 4 * h;
  constexpr std::int64_t classes = 3;
  constexpr std::int64_t all = 48 * h + h + h + 5 * h + L * layer + 2 * h + classes * (h + 1);
  const ModelConfig model = read(sizes);
  CHECK(total(model) == all);
  CHECK(shape(model).sequence == 5);
  CHECK_FALSE(shape(model).causal);
  CHECK(total(read(R"("model_type": "vit")")) == 86'567'656);  // ViT-B/16 with ImageNet's classes
  CHECK(contains(error_of(sizes + R"(, "qkv_bias": false)"), "/qkv_bias"));
  CHECK(contains(error_of(R"("model_type": "vit", "patch_size": 15)"),
                 "/patch_size: an image of 224 pixels is not divisible by patches of 15"));
  CHECK(contains(error_of(R"("model_type": "vit", "architectures": ["ViTModel"])"),
                 "/architectures: \"ViTModel\" has no output layer; of this family the class with "
                 "one is read: ViTForImageClassification"));
}

// As diffusers writes transformer/config.json of facebook/DiT-XL-2-256.
const std::string kDit =
    R"("_class_name": "Transformer2DModel", "_diffusers_version": "0.12.0.dev0",
       "activation_fn": "gelu-approximate", "attention_bias": true, "attention_head_dim": 72,
       "cross_attention_dim": null, "dropout": 0.0, "in_channels": 4,
       "norm_elementwise_affine": false, "norm_num_groups": 32, "norm_type": "ada_norm_zero",
       "num_attention_heads": 16, "num_embeds_ada_norm": 1000, "num_layers": 28,
       "only_cross_attention": false, "out_channels": 8, "patch_size": 2, "sample_size": 32,
       "upcast_attention": false, "use_linear_projection": false)";

TEST_CASE("config.json of diffusers: a DiT has the parameters of its paper, 675 million") {
  const ModelConfig model = read(kDit);
  CHECK(total(model) == 675'129'632);  // as of configs/models/dit-xl-2.json (count_test.cpp)
  CHECK(shape(model).diffusion->learned_variance);
  CHECK(shape(model).sequence == 256);
  CHECK(model.name == "dit");
  REQUIRE(model.notes.size() == 1);
  CHECK(contains(model.notes[0], "counted once"));
  // The class of its own has these sizes where none are given, but no variance.
  const ModelConfig plain = read(R"("_class_name": "DiTTransformer2DModel")");
  CHECK(total(plain) == 675'129'632 - (1152 + 1) * 16);
  CHECK(!shape(plain).diffusion->learned_variance);
  CHECK(total(read(R"("_class_name": "DiTTransformer2DModel", "out_channels": 8)")) == 675'129'632);
}

TEST_CASE("config.json of diffusers: what is not read is said") {
  const auto dit = [](const std::string& more) {
    return error_of(R"("_class_name": "DiTTransformer2DModel", )" + more);
  };
  CHECK(
      contains(dit(R"("norm_type": "ada_norm_single")"), "/norm_type: layers that are not scaled"));
  CHECK(contains(dit(R"("out_channels": 5)"), "/out_channels: of 4 latent values"));
  CHECK(contains(dit(R"("patch_size": 3)"), "/patch_size: an image of 32 pixels"));
  CHECK(contains(dit(R"("attention_bias": false)"), "/attention_bias"));
  CHECK(contains(dit(R"("activation_fn": "silu")"), "/activation_fn"));
  CHECK(contains(dit(R"("cross_attention_dim": 1152)"), "/cross_attention_dim"));
  CHECK(contains(error_of(R"("_class_name": "PixArtTransformer2DModel")"),
                 "/_class_name: \"PixArtTransformer2DModel\": models of images that attend to a "
                 "text as well are not modeled"));
  CHECK(contains(error_of(R"("_class_name": "AutoencoderKL")"),
                 "those that are read: DiTTransformer2DModel, Transformer2DModel"));
}

TEST_CASE("a family stands once in the table") {
  std::set<std::string_view> types;
  std::set<std::string_view> architectures;
  for (const hugging_face::Family& family : hugging_face::families()) {
    CHECK(types.insert(family.type).second);
    CHECK(architectures.insert(family.architecture).second);
  }
  for (const hugging_face::RefusedFamily& family : hugging_face::refused_families()) {
    CHECK(types.insert(family.type).second);
  }
}

}  // namespace lockstep
