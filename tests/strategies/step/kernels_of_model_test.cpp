#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sim/program/kernel/kernel.hpp"
#include "strategies/models/build_model.hpp"

using namespace lockstep;

namespace {

constexpr double kBatch = 2;
constexpr double kTokens = 512;
constexpr double kHidden = 1024;

/// GPT as Narayanan et al. 2021 (arXiv 2104.04473, appendix) count it: an MLP four times as wide.
ModelConfig gpt(AttentionKind attention, bool causal) {
  TransformerConfig shape;
  shape.hidden = static_cast<std::int64_t>(kHidden);
  shape.heads = 16;
  shape.kv_heads = 16;
  shape.head_size = 64;
  shape.ffn = 4096;
  shape.sequence = static_cast<std::int64_t>(kTokens);
  shape.vocabulary = 5120;
  shape.attention = attention;
  shape.causal = causal;
  ModelConfig out;
  out.shape = shape;
  return out;
}

/// FLOPs of a block's forward and backward pass.
std::pair<double, double> flops_of(const ModelConfig& model, const std::string& name) {
  BuildOptions options;
  options.batch = static_cast<std::int64_t>(kBatch);
  const ModelGraph graph = build_model(model, options);
  Program program;
  for (const Tensor& tensor : graph.tensors) (void)program.add(tensor);
  const auto sum = [&program](const std::vector<Operation>& operations) {
    const Routine routine{"", operations};
    double flops = 0;
    for (std::size_t i = 0; i < operations.size(); ++i) {
      flops += kernel_of(program, routine, i).flops;
    }
    return flops;
  };
  for (const Block& block : graph.blocks) {
    if (block.name == name) return {sum(block.forward), sum(block.backward)};
  }
  return {0, 0};
}

/// 24 B s h^2 of the GEMMs with weights, 4 B s^2 h of the two GEMMs of attention.
const double kWeights = 24 * kBatch * kTokens * kHidden * kHidden;
const double kAttention = 4 * kBatch * kTokens * kTokens * kHidden;

}  // namespace

TEST_CASE("kernels of a GPT layer do the FLOPs that papers count, and twice as many backward") {
  const auto [forward, backward] = flops_of(gpt(AttentionKind::unfused, true), "layer");
  CHECK(forward == kWeights + kAttention);
  CHECK(backward == 2 * (kWeights + kAttention));
}

TEST_CASE("fused attention computes half of the scores, and 2.5 times as many backward") {
  const auto [forward, backward] = flops_of(gpt(AttentionKind::flash, true), "layer");
  CHECK(forward == kWeights + kAttention / 2);
  CHECK(backward == 2 * kWeights + 2.5 * kAttention / 2);
  const auto [all, all_backward] = flops_of(gpt(AttentionKind::flash, false), "layer");
  CHECK(all == kWeights + kAttention);
  CHECK(all_backward == 2 * kWeights + 2.5 * kAttention);
}

TEST_CASE("the vocabulary layer is 2 B s h V forward, 4 backward") {
  const auto [forward, backward] = flops_of(gpt(AttentionKind::flash, true), "head");
  CHECK(forward == 2 * kBatch * kTokens * kHidden * 5120);
  CHECK(backward == 4 * kBatch * kTokens * kHidden * 5120);
}

TEST_CASE("GEMMs that are not joined are kernels of their own and cast a common operand once") {
  const auto kernels_of = [](bool joined) {
    BuildOptions options{.math = Dtype::fp8};
    options.form.joined_gemms = joined;
    const ModelGraph graph = build_model(gpt(AttentionKind::flash, true), options);
    Program program;
    program.casts = {1, 1};
    for (const Tensor& tensor : graph.tensors) (void)program.add(tensor);
    const auto layer = std::find_if(graph.blocks.begin(), graph.blocks.end(),
                                    [](const Block& block) { return block.name == "layer"; });
    const Routine routine{"", layer->forward};
    std::vector<Kernel> out;
    for (std::size_t i = 0; i < routine.operations.size(); ++i) {
      if (routine.operations[i].name.substr(0, 11) == "attention.q" ||
          routine.operations[i].name == "attention.k" ||
          routine.operations[i].name == "attention.v")
        out.push_back(kernel_of(program, routine, i));
    }
    return out;
  };
  const std::vector<Kernel> joined = kernels_of(true);
  const std::vector<Kernel> apart = kernels_of(false);
  REQUIRE(joined.size() == 3);
  REQUIRE(apart.size() == 3);
  CHECK(joined[0].n == static_cast<std::int64_t>(3 * kHidden));
  CHECK((joined[1].fused_away && joined[2].fused_away));
  for (const Kernel& each : apart) {
    CHECK(each.n == static_cast<std::int64_t>(kHidden));
    CHECK_FALSE(each.fused_away);
  }
  // x and a weight, then weights alone.
  CHECK(joined[0].cast_bytes == kTokens * kHidden + 3 * kHidden * kHidden);
  CHECK(apart[0].cast_bytes == kTokens * kHidden + kHidden * kHidden);
  CHECK(apart[1].cast_bytes == kHidden * kHidden);
  CHECK(apart[2].cast_bytes == kHidden * kHidden);
  CHECK(joined[0].cast_kernels == 2);
  CHECK(apart[0].cast_kernels == 2);
  CHECK(apart[1].cast_kernels == 1);
}
