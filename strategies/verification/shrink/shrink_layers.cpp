#include <numeric>

#include "strategies/verification/shrink/shrink_parts.hpp"

namespace lockstep::shrinking {

namespace {

/// Layers of part `chunk` in kind: none, the fewest of any part with some, or more.
[[nodiscard]] int few_of_stage(const std::vector<int>& stages, int chunk, int chunks) {
  const auto last = static_cast<int>(stages.size()) - 1;
  const int like = chunks == 1 ? 0 : (chunk * last + (chunks - 1) / 2) / (chunks - 1);
  int fewest = 0;
  for (const int layers : stages) {
    if (layers > 0 && (fewest == 0 || layers < fewest)) fewest = layers;
  }
  const int layers = stages[static_cast<std::size_t>(like)];
  if (layers == 0) return 0;
  return layers == fewest ? 1 : 2;
}

[[nodiscard]] bool is_even(const std::vector<int>& stages) {
  return std::adjacent_find(stages.begin(), stages.end(), std::not_equal_to<>{}) == stages.end();
}

[[nodiscard]] bool has_empty(const std::vector<int>& stages) {
  return std::find(stages.begin(), stages.end(), 0) != stages.end();
}

/// The corresponding index, in another number of parts, of the smallest (or largest) of these.
[[nodiscard]] std::size_t place_of(const std::vector<int>& stages, std::size_t place,
                                   std::size_t chunks) {
  return stages.size() < 2 ? 0 : place * (chunks - 1) / (stages.size() - 1);
}

}  // namespace

std::int64_t fewer_layers(std::int64_t layers, const ParallelConfig& whole,
                          const ParallelConfig& small, std::int64_t least) {
  const std::int64_t chunks = std::int64_t{small.pp} * small.vpp;
  if (chunks == 1) return std::min(layers, std::max<std::int64_t>(2, least));
  const std::int64_t edges = small.short_edges ? 2 : 0;
  const std::int64_t was = (layers + edges) / (std::int64_t{whole.pp} * whole.vpp);
  std::int64_t each = edges > 0 && was > 1 ? 2 : 1;
  while (each < was && each * chunks - edges < std::max<std::int64_t>(2, least)) ++each;
  return each * chunks - edges;
}

void divide_layers(TransformerConfig& model, std::int64_t layers) {
  std::int64_t& encoder = model.encoder->layers;
  const std::int64_t share = (layers * encoder + model.layers / 2) / (encoder + model.layers);
  const std::int64_t least = layers < 4 ? 1 : 2;
  const std::int64_t of_encoder = std::min(encoder, least);
  const std::int64_t of_decoder = std::min(model.layers, least);
  encoder = std::max(of_encoder, std::min(share, layers - of_decoder));
  model.layers = layers - encoder;
}

std::vector<int> fewer_stages(const std::vector<int>& stages, int chunks, std::int64_t least) {
  std::vector<int> out;
  for (int chunk = 0; chunk < chunks; ++chunk) out.push_back(few_of_stage(stages, chunk, chunks));
  const auto at = [&](auto found) {
    return place_of(stages, static_cast<std::size_t>(found - stages.begin()), out.size());
  };
  if (has_empty(stages) && !has_empty(out)) {
    out[at(std::min_element(stages.begin(), stages.end()))] = 0;
  }
  if (is_even(out) && !is_even(stages)) {
    ++out[at(std::max_element(stages.begin(), stages.end()))];
  }
  while (std::accumulate(out.begin(), out.end(), std::int64_t{0}) < least) {
    for (int& layers : out) layers += layers > 0 ? 1 : 0;
  }
  return out;
}

std::vector<int> spread_layers(std::int64_t layers, int chunks, bool uneven) {
  const auto each = static_cast<int>(layers / chunks);
  const auto more = static_cast<int>(layers % chunks);
  std::vector<int> out(static_cast<std::size_t>(chunks), each);
  for (int chunk = 0; chunk < more; ++chunk) ++out[static_cast<std::size_t>(chunk)];
  if (uneven && more == 0 && each > 0 && chunks > 1) {
    ++out.front();
    --out.back();
  }
  return out;
}

}  // namespace lockstep::shrinking
