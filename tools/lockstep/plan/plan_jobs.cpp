#include "tools/lockstep/plan/plan_jobs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "sim/config/did_you_mean.hpp"
#include "tools/lockstep/output/errors.hpp"

namespace lockstep::cli {

namespace {

/// Takes minutes on two cores.
constexpr std::uint64_t kPointsPerShard = 30'000'000;
constexpr std::string_view kScenario = "scenario";

}  // namespace

EmitTarget emit_target(const std::string& name) {
  std::vector<std::string_view> names;
  for (const auto& [each, framework] : launch_frameworks()) {
    if (each == name) return framework;
    names.push_back(each);
  }
  if (name == kScenario) return EmitsScenario{};
  names.push_back(kScenario);
  for (const auto& [each, engine] : job_engines()) {
    if (each == name) return engine;
    names.push_back(each);
  }
  const auto near = did_you_mean(name, names);
  throw UsageError(fmt::format("--emit: expected {}, got \"{}\"{}", fmt::join(names, ", "), name,
                               near ? fmt::format("; did you mean \"{}\"?", *near) : ""));
}

std::string job_script_of(const Command& command, JobEngine engine, const JobScriptOptions& given) {
  // Options of single shards, which the script sets itself, and those of a result.
  for (const char* name : {"--shard", "--explain", "--resume", "--plot", "--report"})
    if (command.count(name) > 0)
      throw UsageError(
          fmt::format("{}: this --emit prints a script that searches all shards", name));
  JobScriptRequest script;
  script.engine = engine;
  script.shards = given.shards > 0 ? given.shards
                                   : std::max<std::uint64_t>(
                                         16, app::make_space(given.space).size() / kPointsPerShard);
  if (!given.store.empty()) script.store = given.store;
  script.arguments = command.given_words(
      {"--emit", "--shards", "--store", "--threads", "--format", "--wide", "--color"});
  return app::job_script(script);
}

}  // namespace lockstep::cli
