#pragma once

#include <span>
#include <string_view>

#include "strategies/models/hugging_face/keys.hpp"

/// Supported model families, one row each; readers are grouped in one file per kind.
namespace lockstep::hugging_face {

struct Family {
  std::string_view type;          // model_type
  std::string_view architecture;  // prefix of its class names
  void (*read)(Keys&, TransformerConfig&);
  bool head_in_base = false;  // its class without "ForCausalLM" has an output layer too
};

/// Known families that a TransformerConfig cannot represent.
struct RefusedFamily {
  std::string_view type;
  std::string_view why;
};

[[nodiscard]] std::span<const Family> families();
/// Classes of diffusers, by the whole _class_name of their files.
[[nodiscard]] std::span<const Family> diffusers_classes();
[[nodiscard]] std::span<const RefusedFamily> refused_families();

// llama.cpp: pre-norm, gated MLP, rotary positions.
void read_llama(Keys&, TransformerConfig&);
void read_mistral(Keys&, TransformerConfig&);
void read_ministral3(Keys&, TransformerConfig&);
void read_granite(Keys&, TransformerConfig&);
void read_phi3(Keys&, TransformerConfig&);
void read_internlm(Keys&, TransformerConfig&);
void read_internlm2(Keys&, TransformerConfig&);
void read_internlm3(Keys&, TransformerConfig&);
void read_baichuan(Keys&, TransformerConfig&);
void read_minicpm(Keys&, TransformerConfig&);
void read_stablelm(Keys&, TransformerConfig&);
// qwen.cpp
void read_qwen(Keys&, TransformerConfig&);
void read_qwen2(Keys&, TransformerConfig&);
void read_qwen2_vl(Keys&, TransformerConfig&);
void read_mimo(Keys&, TransformerConfig&);
void read_qwen3(Keys&, TransformerConfig&);
void read_qwen3_moe(Keys&, TransformerConfig&);
// gemma.cpp: other norm positions, windows.
void read_gemma(Keys&, TransformerConfig&);
void read_gemma2(Keys&, TransformerConfig&);
void read_gemma3(Keys&, TransformerConfig&);
void read_olmo2(Keys&, TransformerConfig&);
void read_olmo3(Keys&, TransformerConfig&);
void read_exaone4(Keys&, TransformerConfig&);
void read_glm(Keys&, TransformerConfig&);
void read_glm4(Keys&, TransformerConfig&);
void read_glm4v(Keys&, TransformerConfig&);
void read_chatglm(Keys&, TransformerConfig&);
// gpt.cpp: layer norms, a plain MLP.
void read_gpt2(Keys&, TransformerConfig&);
void read_gpt_bigcode(Keys&, TransformerConfig&);
void read_opt(Keys&, TransformerConfig&);
void read_bloom(Keys&, TransformerConfig&);
void read_mpt(Keys&, TransformerConfig&);
void read_starcoder2(Keys&, TransformerConfig&);
void read_nemotron(Keys&, TransformerConfig&);
// parallel.cpp: attention and MLP on the same input.
void read_gpt_neox(Keys&, TransformerConfig&);
void read_gptj(Keys&, TransformerConfig&);
void read_phi(Keys&, TransformerConfig&);
void read_falcon(Keys&, TransformerConfig&);
void read_cohere(Keys&, TransformerConfig&);
void read_cohere2(Keys&, TransformerConfig&);
// experts.cpp
void read_mixtral(Keys&, TransformerConfig&);
void read_granitemoe(Keys&, TransformerConfig&);
void read_phimoe(Keys&, TransformerConfig&);
void read_minimax_m2(Keys&, TransformerConfig&);
void read_gpt_oss(Keys&, TransformerConfig&);
void read_llama4(Keys&, TransformerConfig&);
// encoders.cpp: attention in both directions.
void read_t5(Keys&, TransformerConfig&);
// images.cpp
void read_vit(Keys&, TransformerConfig&);
void read_dit(Keys&, TransformerConfig&);
// deepseek.cpp: latent attention, dense first layers.
void read_deepseek(Keys&, TransformerConfig&);
void read_deepseek_v2(Keys&, TransformerConfig&);
void read_minicpm3(Keys&, TransformerConfig&);
void read_glm4_moe(Keys&, TransformerConfig&);

}  // namespace lockstep::hugging_face
