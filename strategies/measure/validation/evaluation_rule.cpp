#include "strategies/measure/validation/evaluation_rule.hpp"

#include <string_view>

#include "sim/base/check.hpp"

namespace lockstep {

namespace {

/// MLPerf Training, GPT-3 (mlcommons/training large_language_model/megatron-lm/README.md, section
/// "Quality"; quoted, not checked against the file): evaluation after every 24,576 sequences, on
/// the validation subset of 24,567 documents of C4. Of 472 tokens on average, as documents of C4
/// have, these are 11,590,004 tokens (by which the reference's evaluation is as long) or 5,662
/// sequences of 2048 (validation_tokenized_5662seqs); both numbers from memory.
constexpr Evaluations kMlperfGpt3{.every_sequences = 24'576, .sequences = 5'662};

[[nodiscard]] std::int64_t batches(std::int64_t sequences, std::int64_t global_batch) {
  return (sequences + global_batch - 1) / global_batch;
}

}  // namespace

std::optional<Evaluations> evaluations_of(const MeasuredRun& run) {
  if (run.evaluations) return run.evaluations;
  const std::string_view source = run.origin.source;
  const auto names = [source](std::string_view what) {
    return source.find(what) != std::string_view::npos;
  };
  const bool of_whole_run = run.step_time && run.time_is_derived;
  if (of_whole_run && names("mlcommons/training_results") && names("/gpt3/")) return kMlperfGpt3;
  return std::nullopt;
}

double evaluation_passes_per_step(const Evaluations& of, std::int64_t global_batch) {
  LOCKSTEP_CHECK(of.every_sequences > 0 && of.sequences > 0 && global_batch > 0);
  return static_cast<double>(batches(of.sequences, global_batch)) /
         static_cast<double>(batches(of.every_sequences, global_batch));
}

}  // namespace lockstep
