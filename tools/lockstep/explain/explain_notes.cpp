#include "tools/lockstep/explain/explain_notes.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace lockstep::cli {

namespace {

/// Whether the algorithm's own parameter sets the number of chunks, and more than two are set.
bool has_chunks(const Explanation& explanation) {
  const auto& parameters = explanation.request.stage.spec.algorithm->parameters;
  return std::any_of(parameters.begin(), parameters.end(),
                     [](const auto& each) { return each.name == "chunks"; });
}

}  // namespace

std::vector<std::string> notes_of(const Explanation& explanation) {
  const app::ExplanationOmissions& omitted = explanation.omitted;
  std::vector<std::string> out;
  if (omitted.rounds_too_large)
    out.emplace_back("too large to print round by round; use fewer ranks");
  const auto add = [&out](const std::optional<app::ShownPlaces>& places, std::string_view what) {
    if (places)
      out.push_back(fmt::format("tables show {} of {} {}; --wide shows all", places->shown,
                                places->total, what));
  };
  add(omitted.ranks, "ranks");
  add(omitted.chunks, "chunks");
  if (omitted.chunks && has_chunks(explanation))
    out.push_back(fmt::format("--algorithm {}:chunks=2 shows its pattern with fewer chunks",
                              explanation.request.stage.spec.algorithm->name));
  if (const auto& range = omitted.rounds)
    out.push_back(
        fmt::format("rounds {0} to {1} of {2} are not shown; --rounds {0}..{1} prints them",
                    range->first, range->last, explanation.total_rounds));
  if (omitted.too_many_to_simulate)
    out.emplace_back("not simulated: too many messages for a quick replay");
  return out;
}

std::string verdict_of(const Explanation& explanation) {
  return fmt::format("result verified: every rank holds what {} requires",
                     to_string(explanation.request.stage.spec.algorithm->collective));
}

}  // namespace lockstep::cli
