#include "strategies/pipeline/chunk_positions.hpp"

#include "sim/base/check.hpp"
#include "strategies/pipeline/pipeline_order.hpp"

namespace lockstep {

namespace {

[[nodiscard]] std::vector<int> layers_of_chunks(int layers, const ParallelConfig& parallel) {
  if (!parallel.stages.empty()) return parallel.stages;
  const int chunks = parallel.pp * parallel.vpp;
  const int missing = parallel.short_edges ? 2 : 0;
  LOCKSTEP_CHECK((layers + missing) % chunks == 0);
  std::vector<int> out(static_cast<std::size_t>(chunks), (layers + missing) / chunks);
  if (parallel.short_edges) {
    --out.front();
    --out.back();
  }
  return out;
}

}  // namespace

std::vector<std::pair<int, int>> chunk_positions(const ChainOfLayers& chain,
                                                 const ParallelConfig& parallel) {
  const int begin = chain.first_is_layer ? 0 : 1;
  const int end = chain.positions - (chain.last_is_layer ? 0 : 1);
  const int between = chain.between_stacks.value_or(end);
  std::vector<std::pair<int, int>> out;
  int position = begin;
  for (const int layers : layers_of_chunks(end - begin - (between < end ? 1 : 0), parallel)) {
    const bool passes = position <= between && between < position + layers;
    out.emplace_back(position, position + layers + (passes && between < end ? 1 : 0));
    position = out.back().second;
  }
  LOCKSTEP_CHECK(position == end);
  out.front().first = 0;
  out.back().second = chain.positions;
  if (is_bidirectional(parallel.schedule)) {
    const std::vector<std::pair<int, int>> copy = out;
    out.insert(out.end(), copy.begin(), copy.end());
  }
  return out;
}

}  // namespace lockstep
