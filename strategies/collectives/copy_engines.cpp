#include "strategies/collectives/copy_engines.hpp"

namespace lockstep {

std::optional<std::string> copy_engines_refusal(const AlgorithmInput& input) {
  if (input.n == 1 || input.layout.nvlink_domain) return std::nullopt;
  return "needs all ranks in one NVLink domain: copy engines write to GPUs that NVLink reaches";
}

}  // namespace lockstep
