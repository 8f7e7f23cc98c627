#include "strategies/models/hugging_face/families.hpp"

#include <array>

namespace lockstep::hugging_face {

namespace {

constexpr std::array kFamilies{
    Family{"baichuan", "Baichuan", read_baichuan},
    Family{"bloom", "Bloom", read_bloom},
    Family{"chatglm", "ChatGLM", read_chatglm, true},
    Family{"codegen", "CodeGen", read_gptj},
    Family{"cohere", "Cohere", read_cohere},
    Family{"cohere2", "Cohere2", read_cohere2},
    Family{"deepseek", "Deepseek", read_deepseek},
    Family{"deepseek_v2", "DeepseekV2", read_deepseek_v2},
    Family{"deepseek_v3", "DeepseekV3", read_deepseek_v2},
    Family{"exaone4", "Exaone4", read_exaone4},
    Family{"falcon", "Falcon", read_falcon},
    Family{"gemma", "Gemma", read_gemma},
    Family{"gemma2", "Gemma2", read_gemma2},
    Family{"gemma3", "Gemma3", read_gemma3},
    Family{"gemma3_text", "Gemma3Text", read_gemma3},
    Family{"glm", "Glm", read_glm},
    Family{"glm4", "Glm4", read_glm4},
    Family{"glm4_moe", "Glm4Moe", read_glm4_moe},
    Family{"glm4v", "Glm4v", read_glm4v},
    Family{"glm4v_text", "Glm4vText", read_glm4v},
    Family{"gpt2", "GPT2", read_gpt2},
    Family{"gpt_bigcode", "GPTBigCode", read_gpt_bigcode},
    Family{"gpt_neox", "GPTNeoX", read_gpt_neox},
    Family{"gpt_oss", "GptOss", read_gpt_oss},
    Family{"gptj", "GPTJ", read_gptj},
    Family{"granite", "Granite", read_granite},
    Family{"granitemoe", "GraniteMoe", read_granitemoe},
    Family{"internlm", "InternLM", read_internlm},
    Family{"internlm2", "InternLM2", read_internlm2},
    Family{"internlm3", "InternLM3", read_internlm3},
    Family{"kimi_k2", "KimiK2", read_deepseek_v2},
    Family{"llama", "Llama", read_llama},
    Family{"llama4", "Llama4", read_llama4},
    Family{"llama4_text", "Llama4Text", read_llama4},
    Family{"mimo", "MiMo", read_mimo},
    Family{"minicpm", "MiniCPM", read_minicpm},
    Family{"minicpm3", "MiniCPM3", read_minicpm3},
    Family{"minimax_m2", "MiniMaxM2", read_minimax_m2},
    Family{"ministral", "Ministral", read_mistral},
    Family{"ministral3", "Ministral3", read_ministral3},
    Family{"mistral", "Mistral", read_mistral},
    Family{"mixtral", "Mixtral", read_mixtral},
    Family{"mpt", "MPT", read_mpt},
    Family{"nemotron", "Nemotron", read_nemotron},
    Family{"olmo2", "Olmo2", read_olmo2},
    Family{"olmo3", "Olmo3", read_olmo3},
    Family{"opt", "OPT", read_opt},
    Family{"phi", "Phi", read_phi},
    Family{"phi3", "Phi3", read_phi3},
    Family{"phimoe", "PhiMoE", read_phimoe},
    Family{"qwen", "QWen", read_qwen},
    Family{"qwen2", "Qwen2", read_qwen2},
    Family{"qwen2_5_vl", "Qwen2_5_VL", read_qwen2_vl},
    Family{"qwen2_5_vl_text", "Qwen2_5_VLText", read_qwen2_vl},
    Family{"qwen2_vl", "Qwen2VL", read_qwen2_vl},
    Family{"qwen2_vl_text", "Qwen2VLText", read_qwen2_vl},
    Family{"qwen3", "Qwen3", read_qwen3},
    Family{"qwen3_moe", "Qwen3Moe", read_qwen3_moe},
    Family{"qwen3_vl_moe_text", "Qwen3VLMoeText", read_qwen3_moe},
    Family{"qwen3_vl_text", "Qwen3VLText", read_qwen3},
    Family{"stablelm", "StableLm", read_stablelm},
    Family{"starcoder2", "Starcoder2", read_starcoder2},
    Family{"t5", "T5", read_t5},
    Family{"vit", "ViT", read_vit},
};

constexpr std::array kDiffusers{
    Family{"dit", "DiTTransformer2DModel", read_dit},
    Family{"dit", "Transformer2DModel", read_dit},
};

constexpr std::string_view kEncoder = "an encoder has no next token to predict";
constexpr std::string_view kTwoStacks = "encoder and decoder are two stacks";
constexpr std::string_view kLinear = "layers of linear attention are not modeled";
constexpr std::string_view kStateSpace = "state-space layers are not modeled";
constexpr std::string_view kIndexer = "sparse attention by an indexer is not modeled";
constexpr std::string_view kText = "models of images that attend to a text as well are not modeled";
constexpr std::string_view kVision = "models of images without a language model are not read";

constexpr std::array kRefused{
    RefusedFamily{"FluxTransformer2DModel", kText},
    RefusedFamily{"PixArtTransformer2DModel", kText},
    RefusedFamily{"SD3Transformer2DModel", kText},
    RefusedFamily{"UNet2DConditionModel", kText},
    RefusedFamily{"bart", kTwoStacks},
    RefusedFamily{"bert", kEncoder},
    RefusedFamily{"clip", kVision},
    RefusedFamily{"deepseek_v32", kIndexer},
    RefusedFamily{"deepseek_v4", "compressed sparse attention is not modeled"},
    RefusedFamily{"distilbert", kEncoder},
    RefusedFamily{"falcon_mamba", kStateSpace},
    RefusedFamily{"gemma4", "keys that serve as values and heads of two sizes are not modeled"},
    RefusedFamily{"gemma4_text",
                  "keys that serve as values and heads of two sizes are not modeled"},
    RefusedFamily{"glm_moe_dsa", kIndexer},
    RefusedFamily{"jamba", kStateSpace},
    RefusedFamily{"mamba", kStateSpace},
    RefusedFamily{"mamba2", kStateSpace},
    RefusedFamily{"mimo_v2_flash", "layers with unequal heads are not modeled"},
    RefusedFamily{"mllama", "layers that attend to images alone are not modeled"},
    RefusedFamily{"mllama_text_model", "layers that attend to images alone are not modeled"},
    RefusedFamily{"modernbert", kEncoder},
    RefusedFamily{"nemotron-nas", "layers of unequal sizes are not modeled"},
    RefusedFamily{"nemotron_h", kStateSpace},
    RefusedFamily{"phi3small", "blocksparse attention is not modeled"},
    RefusedFamily{"qwen2_moe", "a shared expert with a gate of its own is not modeled"},
    RefusedFamily{"qwen3_5", kLinear},
    RefusedFamily{"qwen3_5_moe", kLinear},
    RefusedFamily{"qwen3_5_moe_text", kLinear},
    RefusedFamily{"qwen3_5_text", kLinear},
    RefusedFamily{"qwen3_next", kLinear},
    RefusedFamily{"roberta", kEncoder},
    RefusedFamily{"rwkv", kLinear},
    RefusedFamily{"siglip", kVision},
    RefusedFamily{"whisper", kTwoStacks},
    RefusedFamily{"xlm-roberta", kEncoder},
};

}  // namespace

std::span<const Family> families() {
  return kFamilies;
}

std::span<const Family> diffusers_classes() {
  return kDiffusers;
}

std::span<const RefusedFamily> refused_families() {
  return kRefused;
}

}  // namespace lockstep::hugging_face
