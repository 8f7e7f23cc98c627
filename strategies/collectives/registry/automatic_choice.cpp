#include "strategies/collectives/registry/automatic_choice.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace lockstep {
namespace {

constexpr std::string_view kAuto = "auto";

/// Sets one parameter, or says why not.
std::string set(std::string_view parameter, AutomaticChoice& choice) {
  if (parameter == "by=nccl") {
    choice.by = AutomaticChoice::By::nccl;
  } else if (parameter == "by=replay") {
    choice.by = AutomaticChoice::By::replay;
  } else if (parameter == "windows=symmetric") {
    choice.symmetric_windows = true;
  } else if (parameter == "cta_policy=zero") {
    choice.zero_ctas = true;
  } else if (parameter == "collnet=enable") {
    choice.collnet = true;
  } else {
    return fmt::format(
        "auto takes by=nccl or by=replay, and with by=nccl windows=symmetric, cta_policy=zero and "
        "collnet=enable, got \"{}\"",
        parameter);
  }
  return {};
}

std::string problem_of(const AutomaticChoice& choice) {
  const bool asks_nccl = choice.symmetric_windows || choice.zero_ctas || choice.collnet;
  if (choice.by == AutomaticChoice::By::replay && asks_nccl)
    return "windows, cta_policy and collnet are NCCL's: they go with by=nccl";
  if (choice.zero_ctas && !choice.symmetric_windows)
    return "cta_policy=zero needs windows=symmetric: copy engines write into registered windows";
  return {};
}

}  // namespace

std::string AutomaticChoice::text() const {
  if (by == By::replay) return "auto:by=replay";
  return fmt::format("auto:by=nccl{}{}{}", symmetric_windows ? ",windows=symmetric" : "",
                     zero_ctas ? ",cta_policy=zero" : "", collnet ? ",collnet=enable" : "");
}

bool is_automatic(std::string_view text) {
  return text == kAuto || text.starts_with("auto:") || text.starts_with("auto,");
}

ParsedAutomaticChoice parse_automatic_choice(std::string_view text) {
  if (!is_automatic(text) || text == kAuto)
    return {std::nullopt, fmt::format("expected auto:by=nccl or auto:by=replay, got \"{}\"", text)};
  AutomaticChoice choice;
  bool by_whom = false;
  for (std::size_t begin = kAuto.size() + 1; begin <= text.size();) {
    const std::size_t end = std::min(text.find_first_of(",:", begin), text.size());
    const std::string_view parameter = text.substr(begin, end - begin);
    if (std::string problem = set(parameter, choice); !problem.empty())
      return {std::nullopt, std::move(problem)};
    by_whom = by_whom || parameter.starts_with("by=");
    begin = end + 1;
  }
  std::string problem = by_whom ? problem_of(choice) : "auto takes by=nccl or by=replay first";
  if (!problem.empty()) return {std::nullopt, std::move(problem)};
  return {choice, {}};
}

}  // namespace lockstep
