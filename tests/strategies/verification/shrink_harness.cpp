#include "tests/strategies/verification/shrink_harness.hpp"

#include <fmt/format.h>

#include "strategies/models/files/model_file.hpp"
#include "strategies/step/build_program.hpp"

namespace lockstep::test {

std::string trouble_shrinking(const ModelConfig& model, const ParallelConfig& parallel,
                              int gpus_per_node) {
  const ShrunkLayout small = shrink(model, parallel, gpus_per_node);
  std::string text = lost_by_shrinking(model, parallel, gpus_per_node, small);
  text += too_large(small.model);
  if (text.empty()) {
    const Program program = build_program(small.model, small.parallel, small.gpus_per_node);
    if (program.mesh.ranks() == small.parallel.ranks()) return "";
    text = "ranks of the program\n";
  }
  for (const Change& change : small.changes) {
    text += fmt::format("{}: {} -> {}\n", change.key, change.from, change.to);
  }
  return text;
}

ModelConfig model_of(const std::string& name) {
  return load_model(fmt::format("{}/configs/models/{}.json", LOCKSTEP_SOURCE_DIR, name));
}

ParallelConfig four_ways() {
  ParallelConfig out;
  out.tp = 8;
  out.cp = 2;
  out.pp = 4;
  out.dp = 4;
  out.schedule = PipelineOrder::one_f_one_b;
  out.global_batch = 4 * 32;
  return out;
}

}  // namespace lockstep::test
