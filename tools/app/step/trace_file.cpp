#include "tools/app/step/trace_file.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/trace/perfetto.hpp"
#include "tools/app/errors.hpp"
#include "tools/app/step/run_step.hpp"
#include "tools/app/trace_stream.hpp"

namespace lockstep::app {

namespace {

/// Most points of a counter, over the window: with kernels two for each pixel of a wide screen.
std::size_t counter_points(TraceDetail detail) {
  switch (detail) {
    case TraceDetail::microbatch:
      return 256;
    case TraceDetail::layer:
      return 1024;
    case TraceDetail::kernel:
      break;
  }
  return 4096;
}

void check_ranks(const std::vector<int>& wanted, const TrainingStepTimeline& timeline) {
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

}  // namespace

void write_trace(const TrainingStepRequest& request, const SimulatedTrainingStep& step) {
  check_ranks(request.trace_ranks, step.timeline);
  TraceOptions options;
  options.ranks = request.trace_ranks;
  options.links = step.links;
  if (request.trace_window) {
    options.from = request.trace_window->first;
    options.to = request.trace_window->second;
  }
  options.detail = request.trace_detail;
  options.passes = true;
  options.counter_points = counter_points(request.trace_detail);
  options.empty_slices = false;
  write_trace_file(
      request.trace, [&](const TextSink& sink) { write_perfetto(step.timeline, options, sink); },
      request.on_trace_size);
}

}  // namespace lockstep::app
