#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "sim/program/timeline.hpp"
#include "sim/trace/trace_events.hpp"

/// Traces for ui.perfetto.dev and chrome://tracing.
namespace lockstep {

/// Load of one link as a step function.
struct LinkSeries {
  struct Point {
    TimePoint at;
    double bytes_per_second = 0;  // from then on
  };
  std::string name;
  std::vector<Point> points{};  // ascending times
};

/// The finest slices of a trace; coarser ones enclose them.
enum class TraceDetail : std::uint8_t { microbatch, layer, kernel };

struct TraceOptions {
  /// Ranks of the mesh (hosts: ranks + host number) to include; empty: all simulated ones.
  std::vector<int> ranks{};
  /// Includes operations that overlap [from, to), with their full length.
  TimePoint from{};
  std::optional<TimePoint> to{};  // none: the end of the step
  std::vector<LinkSeries> links{};
  TraceDetail detail = TraceDetail::kernel;
  /// Adds a thread "passes" above the streams: a slice per pass of a microbatch (passes.hpp) and,
  /// unless detail is microbatch, one per layer in it.
  bool passes = false;
  /// Maximum number of points of a counter in the window: in each of that many equal intervals the
  /// largest and the last are written. 0: all points.
  std::size_t counter_points = 0;
  bool empty_slices = true;  // include computation without duration
};

/// Writes a process per rank (pid = rank + 1, since viewers treat process 0 as idle) with a thread
/// per stream, an event per operation, flows from sends to receives and from a collective's last
/// member to the others, and counters of memory in bytes by category; a last process has a counter
/// in bytes per second per link. Streamed: memory grows with the operations of a rank, not with the
/// output. Deterministic.
/// Throws InternalError for rates that are not finite, and if a rank and its role differ in length.
void write_perfetto(const TrainingStepTimeline& timeline, const TraceOptions& options,
                    const TextSink& sink);
void write_perfetto(const TrainingStepTimeline& timeline, const TraceOptions& options,
                    std::ostream& out);

}  // namespace lockstep
