#include <doctest/doctest.h>

#include <array>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>

#include "strategies/models/count/count.hpp"
#include "strategies/models/files/model_file.hpp"

// Every family of configs/models against its published number of parameters.
namespace lockstep {
namespace {

const std::filesystem::path kModels = LOCKSTEP_SOURCE_DIR "/configs/models";

ModelConfig shipped(std::string_view id) {
  return load_model(kModels / (std::string{id} + ".json"));
}

ParameterCount counted(std::string_view id) {
  return count_parameters(shipped(id));
}

/// An exact number: the tensors of the released weights, as the page of the weights on Hugging Face
/// adds them up. `beside`: tensors of the release that are not part of the model here, derived at
/// its row.
struct Published {
  std::string_view id;
  std::int64_t total = 0;
  std::int64_t beside = 0;
};

/// SigLIP so400m for images of 896 pixels, the encoder of Gemma 3: 14 x 14 x 3 patches with a bias,
/// 4096 positions, 27 layers (attention and MLP of 4304 with biases, two layer norms), a last norm.
constexpr std::int64_t kSiglip = (588 + 1) * 1152 + 4096 * 1152 +
                                 27 * (4 * 1152 * 1152 + 2 * 1152 * 4304 + 4304 + 9 * 1152) +
                                 2 * 1152;
/// And the projection to the hidden size, with a norm.
constexpr std::int64_t sight(std::int64_t hidden) {
  return kSiglip + 1152 * hidden + 1152;
}

/// Falcon's files hold the tied table twice.
constexpr std::int64_t falcon_head(std::int64_t hidden) {
  return 65'024 * hidden;
}

constexpr std::array kPublished{
    Published{"qwen2.5-0.5b", 494'032'768},
    Published{"qwen2.5-1.5b", 1'543'714'304},
    Published{"qwen2.5-3b", 3'085'938'688},
    Published{"qwen2.5-7b", 7'615'616'512},
    Published{"qwen2.5-14b", 14'770'033'664},
    Published{"qwen2.5-32b", 32'763'876'352},
    Published{"qwen2.5-72b", 72'706'203'648},
    // Its file holds the tied table twice: 151,936 x 1024.
    Published{"qwen3-0.6b", 751'632'384, 151'936 * 1024},
    Published{"qwen3-1.7b", 2'031'739'904, 151'936 * 2048},
    Published{"qwen3-4b", 4'022'468'096},
    Published{"qwen3-8b", 8'190'735'360},
    Published{"qwen3-14b", 14'768'307'200},
    Published{"qwen3-32b", 32'762'123'264},
    Published{"qwen3-30b-a3b", 30'532'122'624},
    Published{"qwen3-235b-a22b", 235'093'634'560},
    Published{"llama3.2-1b", 1'235'814'400},
    Published{"llama3.2-3b", 3'212'749'824},
    Published{"tinyllama-1.1b", 1'100'048'384},
    Published{"mistral-7b", 7'241'732'096},
    Published{"mistral-nemo-12b", 12'247'782'400},
    Published{"mistral-small-24b", 23'572'403'200},
    Published{"mistral-large-123b", 122'610'069'504},
    Published{"mixtral-8x22b", 140'620'634'112},
    Published{"gemma2-2b", 2'614'341'888},
    Published{"gemma2-9b", 9'241'705'984},
    Published{"gemma2-27b", 27'227'128'320},
    Published{"gemma3-1b", 999'885'952},
    Published{"gemma3-4b", 4'300'079'472, sight(2560)},
    Published{"gemma3-12b", 12'187'325'040, sight(3840)},
    Published{"gemma3-27b", 27'432'406'640, sight(5376)},
    Published{"phi-2", 2'779'683'840},
    Published{"phi-3-mini", 3'821'079'552},
    Published{"phi-3-medium", 13'960'238'080},
    Published{"phi-3.5-moe", 41'873'153'344},
    Published{"phi-4", 14'659'507'200},
    Published{"phi-4-mini", 3'836'021'760},
    Published{"gpt-oss-20b", 20'914'757'184},
    Published{"gpt-oss-120b", 116'829'156'672},
    Published{"deepseek-moe-16b", 16'375'728'128},
    Published{"deepseek-v2", 235'741'434'880},
    // A bias per expert and layer with experts that routes and is not trained.
    Published{"kimi-k2", 1'026'408'232'448, 60 * 384},
    Published{"olmo2-1b", 1'484'916'736},
    Published{"olmo2-7b", 7'298'617'344},
    Published{"olmo2-13b", 13'716'198'400},
    Published{"olmo2-32b", 32'234'279'936},
    Published{"olmo3-32b", 32'233'522'176},
    Published{"falcon-7b", 7'217'189'760, falcon_head(4544)},
    Published{"falcon-40b", 41'835'970'560, falcon_head(8192)},
    Published{"falcon-180b", 179'522'565'120, falcon_head(14'848)},
    Published{"starcoder2-3b", 3'030'371'328},
    Published{"starcoder2-7b", 7'173'923'840},
    Published{"starcoder2-15b", 15'957'889'024},
    Published{"gpt-neox-20b", 20'554'567'680},
    Published{"bloom-176b", 176'247'271'424},
    Published{"dbrx", 131'596'523'520},
    Published{"command-r-plus", 103'810'674'688},
};

double billions(std::int64_t count) {
  return static_cast<double>(count) / 1e9;
}

TEST_CASE("models of released weights have exactly their parameters") {
  std::set<std::string_view> ids;
  for (const Published& each : kPublished) {
    CAPTURE(each.id);
    CHECK(ids.insert(each.id).second);
    CHECK(counted(each.id).total() == each.total - each.beside);
  }
}

// Llama 4's pages add up the encoder of images too, 108,641,793,536 and 401,583,781,376: the same
// 871,932,416 for both. The language parts come from the constructors of transformers' classes.
TEST_CASE("the language parts of Llama 4 differ from the whole by one encoder of images") {
  CHECK(counted("llama4-scout").total() == 107'769'861'120);
  CHECK(counted("llama4-maverick").total() == 400'711'848'960);
  CHECK(108'641'793'536 - counted("llama4-scout").total() ==
        401'583'781'376 - counted("llama4-maverick").total());
}

TEST_CASE("modules for multi-token prediction have the parameters of the released weights") {
  const auto with_mtp = [](std::string_view id) {
    ModelConfig model = shipped(id);
    std::get<TransformerConfig>(model.shape).mtp =
        TokenPrediction{.layers = 1, .loss_scaling_factor = 0.1};
    return count_parameters(model).total();
  };
  // The files hold copies of the embedding and the output layer with the module, and a bias that
  // routes and is not trained for every expert and layer with experts, the module's included.
  CHECK(with_mtp("glm-4.5") + 2 * 151'552LL * 5120 + 90 * 160 == 358'337'791'296);
  CHECK(with_mtp("glm-4.5-air") + 2 * 151'552LL * 4096 + 46 * 128 == 110'468'824'832);
  // DeepSeek-AI, README_WEIGHTS.md of DeepSeek-V3: 11.5B of its own.
  const std::int64_t module = counted("deepseek-v3-mtp").total() - counted("deepseek-v3").total();
  CHECK(billions(module) == doctest::Approx(11.5).epsilon(0.011));
  CHECK(module == with_mtp("deepseek-v3") - counted("deepseek-v3").total());
  // MiMo 7B as released, 7,833,409,536 with its module.
  TransformerConfig mimo = *shipped("qwen2.5-7b").transformer();
  mimo.layers = 36;
  mimo.hidden = 4096;
  mimo.heads = 32;
  mimo.kv_heads = 8;
  mimo.ffn = 11'008;
  mimo.vocabulary = 151'680;
  mimo.mtp = TokenPrediction{};
  CHECK(count_parameters({.name = {}, .shape = mimo, .source = {}}).total() == 7'833'409'536);
}

TEST_CASE("FLOPs of multi-token prediction are those of a layer, two projections and the logits") {
  // Per token forward: 2 for every weight that it meets, h (h + h) of projections and V h of
  // logits; scores and sums over half of the keys: 2 * 2 * (s / 2) * a d in the one layer more.
  ModelConfig model = shipped("qwen2.5-7b");
  const double without = count_flops(model).forward_per_token();
  auto& shape = std::get<TransformerConfig>(model.shape);
  shape.mtp = TokenPrediction{};
  const double h = 3584;
  const double layer = h * h * 2 + h * 512 * 2 + 3 * h * 18'944;
  const double core = 2 * 4096 * h;
  CHECK(count_flops(model).forward_per_token() - without ==
        doctest::Approx(2 * (layer + 2 * h * h + 152'064 * h) + core).epsilon(1e-12));
}

TEST_CASE("models published in round numbers come to them") {
  // Parmar et al. 2024, section 2: 3.2B of embeddings (256,000 x 6144, twice: 3.15) and 12.5B.
  const ParameterCount nemotron15 = counted("nemotron4-15b");
  CHECK(billions(nemotron15.embedding) == doctest::Approx(3.2).epsilon(0.02));
  CHECK(billions(nemotron15.total() - nemotron15.embedding) ==
        doctest::Approx(12.5).epsilon(0.004));
  // NVIDIA 2024, arXiv 2406.11704, section 2.1: 9.4B and 331.6B.
  const ParameterCount nemotron340 = counted("nemotron4-340b");
  CHECK(billions(nemotron340.embedding) == doctest::Approx(9.4).epsilon(0.005));
  CHECK(billions(nemotron340.total() - nemotron340.embedding) ==
        doctest::Approx(331.6).epsilon(0.0002));
  CHECK(billions(counted("opt-175b").total()) == doctest::Approx(175).epsilon(0.005));
  // Active per token, as the model cards say.
  CHECK(billions(counted("qwen3-30b-a3b").active()) == doctest::Approx(3.3).epsilon(0.02));
  CHECK(billions(counted("qwen3-235b-a22b").active()) == doctest::Approx(22).epsilon(0.01));
  CHECK(billions(counted("mixtral-8x22b").active()) == doctest::Approx(39).epsilon(0.005));
  CHECK(billions(counted("dbrx").active()) == doctest::Approx(36).epsilon(0.015));
  CHECK(billions(counted("phi-3.5-moe").active()) == doctest::Approx(6.6).epsilon(0.01));
  CHECK(billions(counted("llama4-scout").active()) == doctest::Approx(17).epsilon(0.012));
  CHECK(billions(counted("llama4-maverick").active()) == doctest::Approx(17).epsilon(0.012));
  CHECK(billions(counted("deepseek-v2").active()) == doctest::Approx(21).epsilon(0.02));
  CHECK(billions(counted("kimi-k2").active()) == doctest::Approx(32).epsilon(0.03));
  CHECK(billions(counted("glm-4.5").active()) == doctest::Approx(32).epsilon(0.06));
}

TEST_CASE("every shipped model has a family, by which lists group") {
  for (const std::string& id : model_ids(kModels)) {
    CAPTURE(id);
    CHECK_FALSE(shipped(id).family.empty());
  }
}

}  // namespace
}  // namespace lockstep
