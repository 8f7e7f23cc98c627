#include "tools/app/step/trace_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <system_error>

#include "sim/trace/perfetto.hpp"
#include "tools/app/errors.hpp"
#include "tools/app/step/run_step.hpp"
#include "tools/app/write_file.hpp"

namespace lockstep::app {

namespace {

void check_ranks(const std::vector<int>& wanted, const StepTimeline& timeline) {
  for (const int rank : wanted) {
    const bool there = std::any_of(timeline.ranks.begin(), timeline.ranks.end(),
                                   [rank](const RankTimeline& one) { return one.rank == rank; });
    if (there) continue;
    std::vector<int> ranks;
    for (const RankTimeline& one : timeline.ranks) ranks.push_back(one.rank);
    ranks.resize(std::min<std::size_t>(ranks.size(), 8));
    throw RequestError(
        "trace_ranks",
        fmt::format("rank {} was not simulated (only {}, ... stand for the others; --fidelity "
                    "all simulates every rank)",
                    rank, fmt::join(ranks, ", ")));
  }
}

[[noreturn]] void give_up(const std::string& path, const std::string& beside, int error) {
  if (beside != path) std::remove(beside.c_str());
  throw IoError(fmt::format("cannot write {}: {}", path, std::generic_category().message(error)));
}

}  // namespace

void write_trace(const StepRequest& request, const SimulatedStep& step) {
  check_ranks(request.trace_ranks, step.timeline);
  TraceOptions options;
  options.ranks = request.trace_ranks;
  options.links = step.links;
  if (request.trace_window) {
    options.from = request.trace_window->first;
    options.to = request.trace_window->second;
  }
  const std::string beside = place_to_write(request.trace);
  {
    std::ofstream out(beside, std::ios::binary);
    if (out) write_perfetto(step.timeline, options, out);
    out.flush();
    if (!out) give_up(request.trace, beside, errno);
  }
  if (beside != request.trace && std::rename(beside.c_str(), request.trace.c_str()) != 0)
    give_up(request.trace, beside, errno);
}

}  // namespace lockstep::app
