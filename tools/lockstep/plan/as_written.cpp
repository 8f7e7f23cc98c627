#include "tools/lockstep/plan/as_written.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lockstep::cli {

namespace {

constexpr std::string_view kSet = "--set ";

std::string key_of(const std::string& assignment) {
  return assignment.substr(0, assignment.find('='));
}

/// The option that stands for a key of the scenario; empty if there is none.
std::string_view option_of(const std::string& key) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kOptions{{
      {"cluster.nodes", "--nodes"},
      {"cluster.ranks", "--gpus"},
      {"cluster.gpu", "--gpu"},
      {"parallel.global_batch", "--global-batch"},
      {"model.seq", "--seq"},
      {"tokens", "--tokens"},
      {"parallel.precision", "--precision"},
      {"stack", "--stack"},
  }};
  const auto* found = std::find_if(kOptions.begin(), kOptions.end(),
                                   [&key](const auto& each) { return each.first == key; });
  return found == kOptions.end() ? std::string_view{} : found->second;
}

/// "--fix zero=9" of the assignments that set this key.
std::string among(std::string_view option, const std::vector<std::string>& given,
                  const std::string& key) {
  const auto found = std::find_if(given.begin(), given.end(), [&key](const std::string& each) {
    return key_of(each) == key || "parallel." + key_of(each) == key;
  });
  return found == given.end() ? "" : std::string{option} + " " + *found;
}

/// Of a problem in the scenario that options describe.
std::string place_of_value(const std::string& pointer, const app::SpaceRequest& request) {
  std::string key = pointer.substr(std::min<std::size_t>(1, pointer.size()));
  std::replace(key.begin(), key.end(), '/', '.');
  for (const std::string& each : request.overrides)
    if (key_of(each) == key) return std::string{kSet} + each;
  if (const std::string_view option = option_of(key); !option.empty()) return std::string{option};
  if (pointer.starts_with("/model")) return "--model " + request.model;
  return pointer.starts_with("/cluster") ? "--cluster " + request.cluster : "";
}

std::string place_of(const Problem& problem, const app::SpaceRequest& request) {
  if (problem.file.empty()) return place_of_value(problem.pointer, request);
  if (!problem.file.starts_with(kSet)) return problem.file;
  const std::string assignment = problem.file.substr(kSet.size());
  const auto& set = request.overrides;
  if (std::find(set.begin(), set.end(), assignment) != set.end()) return problem.file;
  const std::string key = key_of(assignment);
  if (const std::string fixed = among("--fix", request.fix, key); !fixed.empty()) return fixed;
  if (const std::string varied = among("--vary", request.vary, key); !varied.empty()) return varied;
  const std::string_view option = option_of(key);
  if (option.empty()) return problem.file;
  return std::string{option} + " " + assignment.substr(key.size() + 1);
}

}  // namespace

ConfigError as_written(const ConfigError& error, const app::SpaceRequest& request) {
  std::vector<Problem> problems = error.problems();
  for (Problem& problem : problems) problem.file = place_of(problem, request);
  return ConfigError{std::move(problems), error.total()};
}

}  // namespace lockstep::cli
