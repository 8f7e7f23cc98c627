#include "tools/lockstep/run/text/document_notes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/program/several_documents.hpp"
#include "sim/program/visible_keys.hpp"

namespace lockstep::cli {

namespace {

std::string lengths_of(const PackedDocuments& packed) {
  if (!packed.drawn)
    return fmt::format("documents: {} lists of lengths, one sequence after the other",
                       packed.lists.size());
  const DocumentDraw& draw = *packed.drawn;
  if (draw.kind == DocumentDraw::Kind::uniform)
    return fmt::format("documents: uniform, {} to {} tokens, seed {}", draw.shortest, draw.longest,
                       draw.seed);
  return fmt::format("documents: lognormal, mean {:g} tokens, sigma {:g}, seed {}", draw.mean,
                     draw.sigma, draw.seed);
}

}  // namespace

std::vector<std::string> document_notes(const Scenario& scenario) {
  const TransformerConfig* model = scenario.model.transformer();
  if (model == nullptr || !may_hold_several(model->packed, model->sequence)) return {};
  VisibleKeys visible;
  visible.packed = model->packed;
  double most = 0;
  for (std::int64_t i = 0; i < scenario.parallel.global_batch; ++i)
    most = std::max(most, visible_pairs(visible.of_sequence(i, model->sequence), model->sequence));
  const double mean = mean_pairs(visible, model->sequence, scenario.parallel.global_batch);
  return {
      fmt::format("{}; the sequence with the most attention has {:.4g} times that of the mean, "
                  "and ranks wait for the slowest",
                  lengths_of(model->packed), most / mean)};
}

}  // namespace lockstep::cli
