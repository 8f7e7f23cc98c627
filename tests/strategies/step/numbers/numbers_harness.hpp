#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

#include "sim/execute/run_program/execute_program.hpp"
#include "strategies/step/build_program.hpp"
#include "tests/strategies/step/step_under_test.hpp"

/// Every strategy trains the same model as a single device: the program that is simulated is run on
/// real numbers. A forgotten reduction, a scale that is off or a shard in the wrong place gives
/// other weights.
namespace lockstep::test {

/// Four layers of 16, four heads; Llama's kind with two heads of keys and values.
[[nodiscard]] TransformerConfig gpt();
[[nodiscard]] TransformerConfig llama();
[[nodiscard]] TransformerConfig experts(TransformerConfig of);
[[nodiscard]] ModelConfig mlp();
[[nodiscard]] inline ModelConfig model_of(const TransformerConfig& shape) {
  return transformer(shape);
}

/// Two microbatches of two sequences for each of `dp` replicas, with momentum: Adam hardly sees a
/// gradient that is scaled.
[[nodiscard]] ParallelConfig layout(int dp = 1);
[[nodiscard]] ParallelConfig context(ContextKind kind, int cp, bool zigzag);
/// One device with as many sequences per microbatch as all replicas have together.
[[nodiscard]] ParallelConfig single_device(const ParallelConfig& of);

/// What is wrong with a layout's two steps on real numbers: losses, weights or optimizer states
/// further than 1e-10 from those of one device; empty: nothing.
[[nodiscard]] std::string trouble(const ModelConfig& model, const ParallelConfig& parallel,
                                  const ParallelConfig& alone_as,
                                  const ExecutionOptions& options = {});
void check(const ModelConfig& model, const ParallelConfig& parallel, std::uint64_t order_seed = 1);
/// The layouts with operands kept as cast and with Muon; four replicas with parameter servers and
/// with updates by bucket.
void check_software(const ModelConfig& model, const std::vector<ParallelConfig>& layouts);

}  // namespace lockstep::test
