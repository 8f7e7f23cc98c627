#include "tools/lockstep/run/trace_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <system_error>

#include "sim/trace/perfetto.hpp"
#include "tools/lockstep/errors.hpp"
#include "tools/lockstep/run/run_step.hpp"
#include "tools/lockstep/write_file.hpp"

namespace lockstep::cli {

namespace {

void check_ranks(const std::vector<int>& wanted, const StepTimeline& timeline) {
  for (const int rank : wanted) {
    const bool there = std::any_of(timeline.ranks.begin(), timeline.ranks.end(),
                                   [rank](const RankTimeline& one) { return one.rank == rank; });
    if (there) continue;
    std::vector<int> ranks;
    for (const RankTimeline& one : timeline.ranks) ranks.push_back(one.rank);
    ranks.resize(std::min<std::size_t>(ranks.size(), 8));
    throw UsageError(fmt::format(
        "--trace-ranks: rank {} was not simulated (only {}, ... stand for the others; --fidelity "
        "all simulates every rank)",
        rank, fmt::join(ranks, ", ")));
  }
}

[[noreturn]] void give_up(const std::string& path, const std::string& beside, int error) {
  if (beside != path) std::remove(beside.c_str());
  throw IoError(fmt::format("cannot write {}: {}", path, std::generic_category().message(error)));
}

std::optional<TimePoint> instant_of(const std::string& text) {
  const auto duration = parse_duration(text);
  return duration ? std::optional{TimePoint{*duration}} : std::nullopt;
}

}  // namespace

void write_trace(const RunQuestion& question, const SimulatedStep& step) {
  check_ranks(question.trace_ranks, step.timeline);
  TraceOptions options;
  options.ranks = question.trace_ranks;
  options.links = step.links;
  if (question.trace_window) {
    options.from = question.trace_window->first;
    options.to = question.trace_window->second;
  }
  const std::string beside = place_to_write(question.trace);
  {
    std::ofstream out(beside, std::ios::binary);
    if (out) write_perfetto(step.timeline, options, out);
    out.flush();
    if (!out) give_up(question.trace, beside, errno);
  }
  if (beside != question.trace && std::rename(beside.c_str(), question.trace.c_str()) != 0)
    give_up(question.trace, beside, errno);
}

std::pair<TimePoint, TimePoint> parse_window(const std::string& text) {
  const std::size_t dots = text.find("..");
  if (dots != std::string::npos) {
    const auto from = instant_of(text.substr(0, dots));
    const auto to = instant_of(text.substr(dots + 2));
    if (from && to && *from < *to) return {*from, *to};
  }
  throw UsageError(fmt::format(
      "--trace-window: expected two times, the first before the second, such as \"10 ms..12.5 "
      "ms\", got \"{}\"",
      text));
}

}  // namespace lockstep::cli
