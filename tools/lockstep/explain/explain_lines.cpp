#include "tools/lockstep/explain/explain_lines.hpp"

namespace lockstep::cli {

const CollectiveAlgorithm& algorithm_of(const Explanation& explanation) {
  return *explanation.request.stage.spec.algorithm;
}

ExplainWords words_of(const Explanation& explanation) {
  const Stage& stage = explanation.stage;
  return ExplainWords({stage.input.n, algorithm_of(explanation).auxiliary_ranks,
                       stage.schedule->blocks(), stage.layout.block});
}

std::vector<std::string> row_labels(const Explanation& explanation) {
  const ExplainWords words = words_of(explanation);
  std::vector<std::string> out;
  for (const auto& rank : explanation.rows) out.push_back(rank ? words.label(*rank) : "...");
  return out;
}

ShownLines lines_of(const Explanation& explanation, const Round& round) {
  constexpr std::size_t kMostLines = 24;
  ShownLines out{round_lines(round, words_of(explanation), explanation.details), 0};
  if (out.lines.size() > kMostLines) {
    out.left_out = out.lines.size() - kMostLines;
    out.lines.resize(kMostLines);
  }
  return out;
}

}  // namespace lockstep::cli
