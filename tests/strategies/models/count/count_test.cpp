#include "strategies/models/count/count.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "strategies/models/build_model.hpp"
#include "strategies/models/files/model_file.hpp"
#include "tests/strategies/models/graph_rules.hpp"

namespace lockstep {
namespace {

const std::filesystem::path kModels = LOCKSTEP_SOURCE_DIR "/configs/models";

ModelConfig shipped(const std::string& id) {
  return load_model(kModels / (id + ".json"));
}

ParameterCount counted(const std::string& id) {
  return count_parameters(shipped(id));
}

double billions(std::int64_t count) {
  return static_cast<double>(count) / 1e9;
}

/// Two operations per multiply and add: of a GEMM all dimensions of both operands, once.
double gemm_flops(const ModelGraph& graph, const Operation& operation) {
  std::set<Dim> dims;
  double out = 2;
  for (std::size_t i = 0; i < 2; ++i) {
    for (const Extent& extent : graph.tensors.at(operation.reads.at(i).tensor).extents) {
      if (dims.insert(extent.dim).second) out *= static_cast<double>(extent.size);
    }
  }
  return out;
}

double elements(const ModelGraph& graph, const Ref& ref) {
  return static_cast<double>(global_elements(graph.tensors.at(ref.tensor)));
}

double size(const ModelGraph& graph, const Ref& ref, Dim dim) {
  return static_cast<double>(find_extent(graph.tensors.at(ref.tensor), dim)->size);
}

/// Mean number of keys that a query of one sequence multiplies with: all, as the causal half does
/// not count here, or what a window leaves, added up query by query.
double keys_of_query(const Operation& attention, double sequence) {
  const auto s = static_cast<std::int64_t>(sequence);
  if (!attention.visible.limits(s)) return sequence;
  const std::int64_t w = attention.visible.window;
  double pairs = 0;
  for (std::int64_t query = 0; query < s; ++query) {
    std::int64_t first = attention.visible.document_begin(query);
    if (w > 0)
      first = std::max(first, attention.visible.chunked ? query - query % w : query - w + 1);
    pairs += static_cast<double>(query - first + 1);
  }
  return std::min(pairs / sequence, sequence / 2);  // by convention never more than the half
}

/// Of one operation, the whole square of attention; nothing that is done again.
double flops(const ModelGraph& graph, const Operation& operation) {
  const auto& reads = operation.reads;
  const auto keys = [&] { return keys_of_query(operation, size(graph, reads[0], Dim::sequence)); };
  switch (operation.kind) {
    case OperationKind::matmul:
      return gemm_flops(graph, operation);
    case OperationKind::attention:
      return 2 * keys() * (elements(graph, reads[0]) + elements(graph, operation.writes[0]));
    case OperationKind::attention_backward:  // two GEMMs for each of the two forward
      return 4 * keys() * (elements(graph, reads[0]) + elements(graph, reads[3]));
    case OperationKind::attention_scores:
      return 2 * elements(graph, operation.writes[0]) * size(graph, reads[0], Dim::head_size);
    case OperationKind::attention_scores_backward:
      return 4 * elements(graph, reads[2]) * size(graph, reads[0], Dim::head_size);
    case OperationKind::attention_context:
      return 2 * elements(graph, reads[0]) * size(graph, reads[1], Dim::head_size);
    case OperationKind::attention_context_backward:
      return 4 * elements(graph, reads[0]) * size(graph, reads[1], Dim::head_size);
    case OperationKind::convolution:
      return 2 * elements(graph, operation.writes[0]) * size(graph, reads[1], Dim::window);
    case OperationKind::convolution_input_grad:
      return 2 * elements(graph, reads[0]) * size(graph, reads[1], Dim::window);
    case OperationKind::convolution_weight_grad:
      return 2 * elements(graph, reads[1]) * size(graph, operation.writes[0], Dim::window);
    default:
      return 0;
  }
}

double graph_flops(const ModelGraph& graph, std::vector<Operation> Block::*half) {
  double sum = 0;
  for (const int kind : graph.chain) {
    for (const Operation& operation : graph.blocks.at(static_cast<std::size_t>(kind)).*half) {
      sum += flops(graph, operation);
    }
  }
  return sum;
}

TEST_CASE("parameters are those that are published") {
  // Exact counts as the released weights have them.
  CHECK(counted("gpt2-small").total() == 124'439'808);
  CHECK(counted("gpt2-medium").total() == 354'823'168);
  CHECK(counted("gpt2-large").total() == 774'030'080);
  CHECK(counted("gpt2-xl").total() == 1'557'611'200);
  CHECK(counted("llama2-7b").total() == 6'738'415'616);
  CHECK(counted("llama2-13b").total() == 13'015'864'320);
  CHECK(counted("llama2-70b").total() == 68'976'648'192);
  CHECK(counted("llama3-8b").total() == 8'030'261'248);
  CHECK(counted("llama3-70b").total() == 70'553'706'496);
  CHECK(counted("llama3-405b").total() == 405'853'388'800);
  CHECK(counted("mixtral-8x7b").total() == 46'702'792'704);
  CHECK(counted("resnet-50").total() == 25'557'032);  // torchvision.models.resnet50
  // google/vit-base-patch16-224 and torchvision's vit_b_16 and vit_l_16: p^2 3 h + h of the patch
  // embedding, h of the class token, s h of positions with s = (224 / p)^2 + 1; in each of l layers
  // 4 h^2 + 4 h of attention, 2 h F + F + h of the MLP, 4 h of norms; 2 h of the last norm, 1000 h
  // + 1000 of the head.
  CHECK(counted("vit-b-16").total() ==
        590'592 + 768 + 197 * 768 + 12 * 7'087'872 + 1'536 + 769'000);
  CHECK(counted("vit-b-16").total() == 86'567'656);
  CHECK(counted("vit-l-16").total() == 304'326'632);
  CHECK(counted("vit-h-14").total() == 632'045'800);  // timm's vit_huge_patch14_224
  // facebookresearch/DiT: with p^2 c = 16 latent values of a patch 16 h + h of its embedding, 256 h
  // + h and h^2 + h of the timestep's MLP, 1001 h of labels; in each of l layers 4 h^2 + 4 h of
  // attention, 8 h^2 + 5 h of the MLP and 6 h^2 + 6 h of adaLN; 2 h^2 + 2 h of the head's and 32 h
  // + 32 of its own. Sines and cosines of 256 patches are parameters that are not trained.
  const auto dit = [](std::int64_t l, std::int64_t h) {
    return 17 * h + 257 * h + h * h + h + 1001 * h + l * (18 * h * h + 15 * h) + 2 * h * h + 2 * h +
           32 * h + 32 + 256 * h;
  };
  CHECK(counted("dit-xl-2").total() == 675'129'632);
  CHECK(counted("dit-xl-2").fixed == 294'912);
  CHECK(dit(28, 1152) == 675'129'632);
  CHECK(counted("dit-s-2").total() == dit(12, 384));
  CHECK(counted("dit-b-2").total() == dit(12, 768));
  CHECK(counted("dit-l-2").total() == dit(24, 1024));
  // Table 4 of the paper, in millions, of what is trained.
  CHECK(std::lround(1000 * billions(counted("dit-s-2").trained())) == 33);
  CHECK(std::lround(1000 * billions(counted("dit-b-2").trained())) == 130);
  CHECK(std::lround(1000 * billions(counted("dit-l-2").trained())) == 458);
  CHECK(std::lround(1000 * billions(counted("dit-xl-2").trained())) == 675);
  // google-t5: V h of the embedding of both stacks and the output layer; with i = heads * d_kv in
  // every layer of the encoder 4 h i + 2 h F and two gains of h, of the decoder 8 h i + 2 h F and
  // three; a last gain of h of each; two tables of 32 buckets for every head.
  CHECK(counted("t5-small").total() ==
        32'128 * 512 + 6 * (4 * 512 * 512 + 2 * 512 * 2048 + 2 * 512) + 512 +
            6 * (8 * 512 * 512 + 2 * 512 * 2048 + 3 * 512) + 512 + 2 * 32 * 8);
  CHECK(counted("t5-small").total() == 60'506'624);
  CHECK(counted("t5-base").total() == 222'903'552);
  CHECK(counted("t5-large").total() == 737'668'096);
  CHECK(counted("t5-3b").total() == 2'851'598'336);
  CHECK(counted("t5-11b").total() == 11'307'321'344);
  // Rounded ones of the papers.
  CHECK(billions(counted("gpt3-175b").total()) == doctest::Approx(174.6).epsilon(0.0005));
  CHECK(billions(counted("mixtral-8x7b").active()) == doctest::Approx(12.9).epsilon(0.005));
  CHECK(billions(counted("deepseek-v2-lite").total()) == doctest::Approx(15.7).epsilon(0.005));
  CHECK(billions(counted("deepseek-v3").total()) == doctest::Approx(671).epsilon(0.001));
  // DeepSeek counts 37B with the output matrix, without the look-up of the input's.
  const std::int64_t look_up = std::int64_t{129'280} * 7168;
  CHECK(billions(counted("deepseek-v3").active() - look_up) == doctest::Approx(37).epsilon(0.02));
  CHECK(billions(counted("gpt-1.3b-moe-128").total()) == doctest::Approx(52).epsilon(0.01));
}

TEST_CASE("Megatron's models come to the numbers of their names by their formula") {
  // Narayanan et al. 2021, equation 2: 12 l h^2 (1 + 13 / (12 h) + (V + s) / (12 l h)), which
  // leaves out the last norm (2 h).
  for (const auto& [id, published] : {std::pair{"1.7b", 1.7},
                                      {"3.6b", 3.6},
                                      {"7.5b", 7.5},
                                      {"18.4b", 18.4},
                                      {"39.1b", 39.1},
                                      {"76.1b", 76.1},
                                      {"145.6b", 145.6},
                                      {"310.1b", 310.1},
                                      {"529.6b", 529.6},
                                      {"1008b", 1008.0}}) {
    CAPTURE(id);
    const ModelConfig model = shipped(std::string{"megatron-"} + id);
    const TransformerConfig& c = *model.transformer();
    const std::int64_t total = count_parameters(model).total();
    CHECK(total == 12 * c.layers * c.hidden * c.hidden + 13 * c.layers * c.hidden +
                       (c.vocabulary + c.sequence) * c.hidden + 2 * c.hidden);
    CHECK(std::abs(billions(total) - published) <= 0.0501);
  }
}

TEST_CASE("every shipped model's parameters are those of its graph's weights") {
  for (const std::string& id : model_ids(kModels)) {
    CAPTURE(id);
    const ModelConfig model = shipped(id);
    const ModelGraph graph = build_model(model, {});
    CHECK(testing::graph_problems(graph).empty());
    CHECK(count_parameters(model).trained() == testing::weight_elements(graph));
  }
}

TEST_CASE("every shipped model's FLOPs are those of its graph's GEMMs") {
  for (const std::string& id : model_ids(kModels)) {
    CAPTURE(id);
    ModelConfig model = shipped(id);
    if (auto* transformer = std::get_if<TransformerConfig>(&model.shape)) {
      transformer->attention = AttentionKind::flash;
      // So that no slot of an expert is empty.
      if (transformer->experts) transformer->sequence = 64 * transformer->experts->experts;
    }
    const ModelGraph graph = build_model(model, {});
    const FlopCount count = count_flops(model, {.causal = false, .vocabulary = true});
    const double forward = graph_flops(graph, &Block::forward);
    CHECK(count.forward == doctest::Approx(forward).epsilon(1e-12));
    CHECK(count.training() ==
          doctest::Approx(forward + graph_flops(graph, &Block::backward)).epsilon(1e-12));
  }
}

TEST_CASE("windows count for the keys that queries see, in the layers that have them") {
  // Mistral 7B at 32,768 tokens: 32 heads of 128. A query sees 4096 keys, the first 4096 queries
  // one to 4096: 3840.06 in the mean. 3 (forward and backward) * 4 * 4096 operations for each, in
  // 32 layers, and 6 for each of the 7,110,393,856 elements of matrices, the embedding's apart.
  TransformerConfig mistral;
  mistral.layers = 32;
  mistral.hidden = 4096;
  mistral.heads = 32;
  mistral.kv_heads = 8;
  mistral.head_size = 128;
  mistral.ffn = 14336;
  mistral.gated = true;
  mistral.bias = false;
  mistral.norm = Normalization::rms;
  mistral.positions = Positions::rotary;
  mistral.sequence = 32768;
  mistral.vocabulary = 32000;
  mistral.window = AttentionWindow{.size = 4096};
  const auto per_token = [](const TransformerConfig& shape) {
    return count_flops({.name = {}, .shape = shape, .source = {}}).training_per_token();
  };
  const double matrices = 6 * 7'110'393'856.0;
  const double keys = (4096.0 * 4097 / 2 + 28672.0 * 4096) / 32768;
  const double one = 3.0 * 4 * 4096 * keys;
  CHECK(per_token(mistral) == doctest::Approx(matrices + 32 * one).epsilon(1e-12));
  CHECK(per_token(mistral) == doctest::Approx(48.7e9).epsilon(1e-3));
  const double whole = 3.0 * 4 * 4096 * 16384;
  mistral.window->full_every = 4;
  CHECK(per_token(mistral) == doctest::Approx(matrices + 24 * one + 8 * whole).epsilon(1e-12));
  mistral.window = AttentionWindow{.size = 4096, .first_layer = 30};
  CHECK(per_token(mistral) == doctest::Approx(matrices + 2 * one + 30 * whole).epsilon(1e-12));
  // Eight chunks of 4096: 2048.5 keys in the mean.
  mistral.window = AttentionWindow{.size = 4096, .chunked = true};
  CHECK(per_token(mistral) ==
        doctest::Approx(matrices + 32 * 3.0 * 4 * 4096 * 2048.5).epsilon(1e-12));
  mistral.window = AttentionWindow{.size = 32768};
  CHECK(per_token(mistral) == doctest::Approx(matrices + 32 * whole).epsilon(1e-12));
  mistral.window = AttentionWindow{.size = 4096};
  CHECK(count_flops({.name = {}, .shape = mistral, .source = {}})
            .convention.words()
            .find("keys outside of windows excluded") != std::string::npos);
}

TEST_CASE("packed documents count for the keys of each query's own document") {
  // Sequences of 8192 tokens: documents of 2048 and 1024, twice both and a third one of 2048.
  TransformerConfig shape;
  shape.layers = 2;
  shape.hidden = 512;
  shape.heads = 4;
  shape.kv_heads = 4;
  shape.head_size = 128;
  shape.sequence = 8192;
  const auto flops = [&] { return count_flops({.name = {}, .shape = shape, .source = {}}); };
  const double whole = flops().forward;
  shape.documents = {2048, 1024};
  const double pairs = 3 * 2048.0 * 2049 / 2 + 2 * 1024.0 * 1025 / 2;
  CHECK(whole - flops().forward == doctest::Approx(2 * 4.0 * 512 * (8192.0 * 4096 - pairs)));
  CHECK(flops().convention.words().find("keys of other documents excluded") != std::string::npos);
  // Of three sequences that differ, the first and the third have the first list, the second is
  // whole.
  const std::vector<std::int64_t> list = shape.documents;
  shape.documents = {};
  shape.packed.lists = {list, {8192}};
  const auto forward_of = [&](std::int64_t sequences) {
    return count_flops({.name = {}, .shape = shape, .source = {}}, {.sequences = sequences})
        .forward;
  };
  const double lost = 2 * 4.0 * 512 * (8192.0 * 4096 - pairs);
  CHECK(whole - forward_of(3) == doctest::Approx(lost * 2 / 3));
  CHECK(whole - forward_of(0) == doctest::Approx(lost / 2));  // as many as are listed
  shape.packed = {};
  shape.documents = {8192};  // one document a sequence
  CHECK(flops().forward == whole);
  CHECK(flops().convention.words().find("documents") == std::string::npos);
}

// Two experts of two matrices of 512 x 256 a token, 2 FLOPs each and token; the rest is computed
// whatever their capacity.
TEST_CASE("tokens that the capacity of experts drops do not count") {
  TransformerConfig shape;
  shape.layers = 2;
  shape.hidden = 512;
  shape.heads = 4;
  shape.kv_heads = 4;
  shape.head_size = 128;
  shape.sequence = 1024;
  shape.experts = ExpertsConfig{.experts = 8, .top_k = 2, .ffn = 256};
  const ModelConfig model{.name = {}, .shape = shape, .source = {}};
  const FlopCount whole = count_flops(model);
  const FlopCount half = count_flops(model, {.admitted = 0.5});
  CHECK(whole.forward - half.forward ==
        doctest::Approx(0.5 * 2 * 2 * 1024.0 * 2 * 2 * 512 * 256).epsilon(1e-12));
  CHECK(half.convention.words().find("of experts the 50 % that their capacity admits") !=
        std::string::npos);
  CHECK(whole.convention.words().find("capacity") == std::string::npos);
}

TEST_CASE("what families differ in counts as the graph has it") {
  TransformerConfig base;
  base.layers = 4;
  base.hidden = 8;
  base.heads = 4;
  base.kv_heads = 2;
  base.head_size = 6;
  base.ffn = 12;
  base.sequence = 16;
  base.vocabulary = 10;
  const auto check = [&base](auto&& change) {
    TransformerConfig shape = base;
    change(shape);
    const ModelConfig model{.name = "test", .shape = shape, .source = {}};
    const ModelGraph graph = build_model(model, {});
    for (const std::string& problem : testing::graph_problems(graph)) FAIL_CHECK(problem);
    CHECK(count_parameters(model).trained() == testing::weight_elements(graph));
    const FlopCount count = count_flops(model, {.causal = false, .vocabulary = true});
    CHECK(count.forward == doctest::Approx(graph_flops(graph, &Block::forward)).epsilon(1e-12));
    CHECK(count.training() == doctest::Approx(graph_flops(graph, &Block::forward) +
                                              graph_flops(graph, &Block::backward))
                                  .epsilon(1e-12));
  };
  check([](auto&) {});
  check([](auto& of) { of.qk_norm = QueryKeyNorm::shared; });
  check([](auto& of) { of.qk_norm = QueryKeyNorm::per_head; });
  check([](auto& of) { of.qk_norm = QueryKeyNorm::all_heads; });
  check([](auto& of) { of.norm_place = NormPlace::around; });
  check([](auto& of) { of.norm_place = NormPlace::after; });
  check([](auto& of) { of.residual = Residual::parallel; });
  check([](auto& of) { of.residual = Residual::parallel_two_norms; });
  check([](auto& of) { of.norm_bias = false; });
  check([](auto& of) { of.embedding_norm = true; });
  check([](auto& of) { of.sinks = true; });
  check([](auto& of) { of.position_rows = 18; });
  check([](auto& of) { of.output_layer = false; });
  check([](auto& of) {
    of.positions = Positions::rotary;
    of.mtp = TokenPrediction{.layers = 2, .loss_scaling_factor = 0.1};
  });
  check([](auto& of) {
    of.positions = Positions::rotary;
    of.tied_embeddings = true;
    of.window = AttentionWindow{.size = 5, .full_every = 3};
    of.experts = ExpertsConfig{.experts = 4, .top_k = 2, .ffn = 6, .every = 2};
    of.mtp = TokenPrediction{.layers = 1, .loss_scaling_factor = 0.1};
  });
  for (const bool tied : {true, false}) {
    check([tied](auto& of) {
      of.kv_heads = of.heads;
      of.tied_embeddings = tied;
      of.positions = Positions::none;
      of.attention = AttentionKind::unfused;
      of.encoder = EncoderStack{.layers = 3, .sequence = 9, .buckets = 4};
    });
  }
  for (const bool class_token : {true, false}) {
    check([class_token](auto& of) {
      of.image = ImageInput{.side = 6, .patch = 2, .channels = 3, .class_token = class_token};
      of.sequence = of.image->tokens();
    });
  }
  for (const bool variance : {true, false}) {
    check([variance](auto& of) {
      of.image = ImageInput{.side = 6, .patch = 2, .channels = 3, .class_token = false};
      of.sequence = of.image->tokens();
      of.norm_gain = false;
      of.diffusion = DiffusionTransformer{.learned_variance = variance};
    });
  }
  check([](auto& of) { of.norm_gain = false; });
  check([](auto& of) { of.bias = false; });
  check([](auto& of) {
    of.bias = false;
    of.out_bias = of.mlp_bias = of.head_bias = of.router_bias = true;
    of.experts = ExpertsConfig{.experts = 4, .top_k = 2, .ffn = 6, .dense_layers = 1};
  });
}

TEST_CASE("FLOPs of GPT-3 by the formula of Narayanan et al., and by 6 N D") {
  const ModelConfig gpt3 = shipped("gpt3-175b");
  const TransformerConfig& c = *gpt3.transformer();
  const auto l = static_cast<double>(c.layers);
  const auto h = static_cast<double>(c.hidden);
  const auto s = static_cast<double>(c.sequence);
  const auto v = static_cast<double>(c.vocabulary);
  // arXiv 2104.04473, section 5.1, without its recomputation: 72 B s l h^2 (1 + s / (6 h) + V / (12
  // l h)); its square of attention is whole.
  const double formula = 72 * s * l * h * h * (1 + s / (6 * h) + v / (12 * l * h));
  CHECK(count_flops(gpt3, {.causal = false}).training() == doctest::Approx(formula).epsilon(1e-12));
  const double half = 72 * s * l * h * h * (1 + s / (12 * h) + v / (12 * l * h));
  CHECK(count_flops(gpt3).training() == doctest::Approx(half).epsilon(1e-12));
  const double bare = 72 * s * l * h * h * (1 + s / (12 * h));
  CHECK(count_flops(gpt3, {.causal = true, .vocabulary = false}).training() ==
        doctest::Approx(bare).epsilon(1e-12));
  CHECK(count_flops(gpt3).training_per_token() == doctest::Approx(half / s));
  // Brown et al. 2020, table D.1: 3.14e23 for 174.6B parameters and 300B tokens.
  CHECK(six_n_d(174.6e9, 300e9) == doctest::Approx(3.14e23).epsilon(0.002));
}

TEST_CASE("a forward pass of ResNet-50 is 4.1 GMACs") {
  // torchvision's documentation of ResNet50_Weights: GFLOPS 4.09, which are multiply-adds.
  CHECK(count_flops(shipped("resnet-50")).forward / 2e9 == doctest::Approx(4.09).epsilon(0.002));
  // Lin et al. 2019, arXiv 1811.08383, table 2: 33 GMACs for a TSM of 8 frames.
  CHECK(count_flops(shipped("tsm-resnet-50")).forward / 2e9 == doctest::Approx(33).epsilon(0.01));
}

TEST_CASE("a forward pass of DiT-XL/2 is 118.6 GMACs") {
  // Per image 256 patches of 16 values, 28 layers of 256 tokens with 12 h^2 weights each and all
  // 256^2 pairs of tokens; once h (256 + h) of the timestep and h^2 for each of 28 * 6 + 2 vectors;
  // 32 values of each patch.
  const double h = 1152;
  const double tokens = 28 * (256 * 12 * h * h + 2 * 256 * 256 * h) + 256 * 16 * h + 256 * 32 * h;
  const double rows = 256 * h + h * h + (28 * 6 + 2) * h * h;
  const FlopCount dit = count_flops(shipped("dit-xl-2"));
  CHECK(dit.forward == 2 * (tokens + rows));
  CHECK(dit.with_data == 2 * (256 * 16 * h + 256 * h));
  CHECK(dit.tokens == 1);
  // Table 4 of the paper (Gflops, which are multiply-adds).
  CHECK(dit.forward / 2e9 == doctest::Approx(118.64).epsilon(0.0005));
  CHECK(count_flops(shipped("dit-s-2")).forward / 2e9 == doctest::Approx(6.06).epsilon(0.001));
  CHECK(count_flops(shipped("dit-b-2")).forward / 2e9 == doctest::Approx(23.01).epsilon(0.0005));
  CHECK(count_flops(shipped("dit-l-2")).forward / 2e9 == doctest::Approx(80.71).epsilon(0.0005));
}

TEST_CASE("a forward pass of ViT-B/16 is 17.6 GMACs") {
  // Per image 196 patches of 768 values, 12 layers of 197 tokens with 7,077,888 weights each and
  // all 197^2 pairs of tokens, 768 multiply-adds for each of scores and sums; the head once.
  const double patches = 196.0 * 768 * 768;
  const double layers = 12 * (197.0 * 7'077'888 + 2 * 197.0 * 197 * 768);
  const FlopCount vit = count_flops(shipped("vit-b-16"));
  CHECK(vit.forward == 2 * (patches + layers + 768'000));
  CHECK(vit.with_data == 2 * patches);
  CHECK(vit.tokens == 1);
  // torchvision's documentation of ViT_B_16_Weights: GFLOPS 17.56, which are multiply-adds; of
  // ViT_L_16_Weights 61.55.
  CHECK(vit.forward / 2e9 == doctest::Approx(17.56).epsilon(0.002));
  CHECK(count_flops(shipped("vit-l-16")).forward / 2e9 == doctest::Approx(61.55).epsilon(0.002));
}

TEST_CASE("nobody needs the gradient of the data") {
  // One of the four GEMMs of the way back is not done: 5 of 6.
  const FlopCount mlp = count_flops(shipped("mlp"));
  CHECK(mlp.forward == 2.0 * 2 * 4096 * 16384);
  CHECK(mlp.training() == 5.0 * 2 * 4096 * 16384);
  CHECK(count_flops(shipped("gpt2-small")).with_data == 0);
}

TEST_CASE("the convention is reported in words") {
  CHECK(
      FlopConvention{}.words() ==
      "model FLOPs of matrix multiplications (2 per multiply-add), causal attention halved, logits "
      "included, backward = 2x forward, input-data gradient and recomputation excluded");
  CHECK(
      FlopConvention{.causal = false, .vocabulary = false}.words() ==
      "model FLOPs of matrix multiplications (2 per multiply-add), attention over the full square, "
      "logits excluded, backward = 2x forward, input-data gradient and recomputation excluded");
  CHECK(sample_name(shipped("resnet-50")) == "image");
  CHECK(sample_name(shipped("tsm-resnet-50")) == "clip");
  CHECK(sample_name(shipped("vit-b-16")) == "image");
  CHECK(sample_name(shipped("mlp")) == "sample");
}

}  // namespace
}  // namespace lockstep
