#include "tools/lockstep/jobs/jobs_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <sstream>
#include <string_view>
#include <utility>

#include "tools/lockstep/options/number_option.hpp"
#include "tools/lockstep/options/rank_list.hpp"
#include "tools/lockstep/output/errors.hpp"

namespace lockstep::cli {

namespace {

constexpr std::uint64_t kMostGpus = 65536;
constexpr std::uint64_t kMostSteps = 100;

std::uint64_t seed_of(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    throw UsageError(
        fmt::format("--place random: expected an integer as the seed, got \"{}\"", text));
  return value;
}

/// "parallel.tp=4".
bool begins_override(const std::string& word) {
  const std::size_t equals = word.find('=');
  constexpr std::string_view kKey =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";
  return equals != std::string::npos && equals > 0 && word.find_first_not_of(kKey) == equals;
}

/// "llama7b-256 parallel.tp=4 parallel.dp=8". What-ifs are of the first job alone.
app::TrainingStepRequest job_of(const std::string& text, const app::TrainingStepRequest& first,
                                const StepOf& step_of) {
  std::istringstream words{text};
  std::string word;
  words >> word;
  app::TrainingStepRequest out = step_of(word);
  out.simulation.network = first.simulation.network;
  out.ignore_memory = first.ignore_memory;
  while (words >> word) {
    // Values have spaces ("200 Gb/s").
    if (begins_override(word))
      out.overrides.push_back(word);
    else if (!out.overrides.empty())
      out.overrides.back() += " " + word;
    else
      throw UsageError(fmt::format(
          "--job \"{}\": expected a scenario and then KEY=VALUE, got \"{}\"", text, word));
  }
  return out;
}

app::PlacementRequest placement_of(const std::vector<std::string>& places, std::size_t jobs) {
  using app::PlacementPolicy;
  app::PlacementRequest out;
  if (places.empty() || places.front() == "packed") {
    out.policy = PlacementPolicy::packed;
  } else if (places.front() == "spread") {
    out.policy = PlacementPolicy::spread;
  } else if (places.front().starts_with("random")) {
    out.policy = PlacementPolicy::random;
    const std::string rest = places.front().substr(std::string{"random"}.size());
    if (!rest.empty() && rest.front() != ':')
      throw UsageError(
          fmt::format("--place: expected random or random:SEED, got \"{}\"", places.front()));
    if (!rest.empty()) out.seed = seed_of(rest.substr(1));
  } else {
    out.policy = PlacementPolicy::listed;
    if (places.front().find_first_of("0123456789") != 0)
      throw UsageError(
          fmt::format("--place: expected packed, spread, random[:SEED] or a list of GPUs such as "
                      "0..7,16..23 for each job, got \"{}\"",
                      places.front()));
    for (const std::string& list : places)
      out.listed.push_back(parse_rank_list("--place", list, 0));
    if (places.size() != jobs)
      throw UsageError(
          fmt::format("--place: {} lists of GPUs for {} jobs: one for each", places.size(), jobs));
    return out;
  }
  if (places.size() > 1)
    throw UsageError("--place: one of packed, spread and random[:SEED], or a list of GPUs per job");
  return out;
}

}  // namespace

void add_jobs(const Command& command, JobsOptions& given) {
  command
      .add_option(
          "--job", given.jobs,
          "Another training job at the same time on other GPUs of this scenario's cluster, with "
          "KEY=VALUE after it: \"llama7b-256 parallel.tp=4\"; repeatable. Prints how much "
          "the jobs slow each other down")
      ->type_name("SCENARIO|RESULT|POINT")
      ->allow_extra_args(false);
  command
      .add_option("--place", given.places,
                  "GPUs of the jobs: packed, spread (nodes in turn), random[:SEED] (nodes), or a "
                  "list such as 0..7,16..23 for each job, repeated (default: packed)")
      ->type_name("PLACEMENT")
      ->allow_extra_args(false);
  add_whole_number(
      command, "--gpus", 1, kMostGpus, [&given](auto n) { given.gpus = static_cast<int>(n); },
      "GPUs of the cluster that the jobs share (default: as many as they have)");
  add_whole_number(
      command, "--steps", 1, kMostSteps, [&given](auto n) { given.steps = static_cast<int>(n); },
      "Steps of the longest job; shorter ones run as long (default: 1)");
}

app::JobsRequest jobs_request(const JobsOptions& given, const app::TrainingStepRequest& first,
                              const StepOf& step_of) {
  app::JobsRequest out;
  out.jobs.push_back(first);
  for (const std::string& each : given.jobs) out.jobs.push_back(job_of(each, first, step_of));
  out.placement = placement_of(given.places, out.jobs.size());
  out.gpus = given.gpus;
  out.steps = given.steps;
  return out;
}

ConfigError as_written(const ConfigError& error, const app::JobsRequest& request) {
  constexpr std::string_view kSet = "--set ";
  std::vector<Problem> problems = error.problems();
  for (Problem& each : problems) {
    if (!each.file.starts_with(kSet)) continue;
    const std::string written = each.file.substr(kSet.size());
    for (std::size_t job = 1; job < request.jobs.size(); ++job)
      if (std::ranges::count(request.jobs[job].overrides, written) > 0)
        each.file.replace(0, kSet.size(), "--job ");
  }
  return {std::move(problems), error.total()};
}

}  // namespace lockstep::cli
