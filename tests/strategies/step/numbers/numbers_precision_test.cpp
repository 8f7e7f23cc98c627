#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "tests/strategies/step/numbers/numbers_harness.hpp"

// Casts of operands of GEMMs to at most 8 bits lose no number here: whatever is cast, kept and
// gathered instead of its source, a step computes what one device does.
namespace lockstep::test {
namespace {

[[nodiscard]] ParallelConfig narrow(ParallelConfig out) {
  out.precision = Dtype::fp8;
  out.recipe.inputs_once = out.recipe.weights_once = true;
  out.recipe.stores_operands = true;
  out.recipe.reduces_maxima = true;
  return out;
}

/// Of tensor and sequence parallelism, recomputation, ZeRO-3 and pipelines with whole and split
/// backward passes.
[[nodiscard]] std::vector<ParallelConfig> layouts() {
  std::vector<ParallelConfig> out(5, layout(2));
  out[1].zero = 3;
  out[2].tp = 2;
  out[2].sequence_parallel = true;
  out[2].recompute = Recompute::selective;
  out[3].pp = 2;
  out[3].schedule = PipelineOrder::zb_h1;
  out[4].pp = 2;
  out[4].tp = 2;
  out[4].schedule = PipelineOrder::one_f_one_b;
  out[4].recompute = Recompute::full;
  return out;
}

TEST_CASE("with operands kept as cast, steps compute what one device does") {
  TransformerConfig after = gpt();  // GEMMs read the residual stream itself
  after.norm_place = NormPlace::after;
  TransformerConfig beside = llama();
  beside.residual = Residual::parallel_two_norms;
  for (const TransformerConfig& shape : {gpt(), llama(), after, beside})
    for (const ParallelConfig& parallel : layouts()) check(model_of(shape), narrow(parallel));
  check(mlp(), narrow(layout(2)));
}

TEST_CASE("so do weights that are kept as cast, or next to their casts") {
  for (ParallelConfig parallel : layouts()) {
    parallel = narrow(parallel);
    parallel.recipe.kept_weights = 2;
    check(model_of(gpt()), parallel);
    check(model_of(experts(llama())), parallel);
    parallel.state.weights = Dtype::fp8;
    check(model_of(gpt()), parallel);
    parallel.zero = std::max(1, parallel.zero);
    check(model_of(llama()), parallel);
  }
}

TEST_CASE("so do experts whose tokens are cast before they travel, or behind") {
  for (const bool dispatched : {false, true}) {
    CAPTURE(dispatched);
    for (const RouterWeights at : {RouterWeights::results, RouterWeights::activation}) {
      CAPTURE(static_cast<int>(at));
      for (ParallelConfig parallel : layouts()) {
        parallel = narrow(parallel);
        parallel.ep = 2;
        parallel.recipe.stores_dispatched = dispatched;
        parallel.recipe.stores_activation_inputs = dispatched;
        parallel.form.router_weights = at;
        check(model_of(experts(llama())), parallel);
      }
    }
  }
}

TEST_CASE("so do MLPs whose activation functions read what is kept in 8 bits") {
  for (const TransformerConfig& shape : {gpt(), llama()}) {
    for (ParallelConfig parallel : layouts()) {
      parallel = narrow(parallel);
      parallel.recipe.stores_activation_inputs = true;
      check(model_of(shape), parallel);
    }
  }
}

TEST_CASE("so do experts whose results or activations the router's weights multiply") {
  for (ParallelConfig parallel : layouts()) {
    parallel.form.router_weights = RouterWeights::activation;
    for (const int ep : {1, 2}) {
      CAPTURE(ep);
      parallel.ep = ep;
      check(model_of(experts(llama())), parallel);
    }
  }
}

TEST_CASE("so do layers of which some have GEMMs of 16 bits") {
  for (ParallelConfig parallel : layouts()) {
    parallel = narrow(parallel);
    parallel.recipe.first_layers = parallel.recipe.last_layers = 1;
    check(model_of(gpt()), parallel);
    parallel.recipe.weight_gradients = false;
    check(model_of(llama()), parallel);
  }
}

}  // namespace
}  // namespace lockstep::test
