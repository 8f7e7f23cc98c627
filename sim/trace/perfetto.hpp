#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "sim/program/timeline.hpp"
#include "sim/trace/trace_events.hpp"

/// Traces that ui.perfetto.dev and chrome://tracing open.
namespace lockstep {

/// What one link carries, as steps.
struct LinkSeries {
  struct Point {
    TimePoint at;
    double bytes_per_second = 0;  // from then on
  };
  std::string name;
  std::vector<Point> points{};  // times rise
};

/// The finest slices of a trace; coarser ones lie around them.
enum class TraceDetail : std::uint8_t { microbatch, layer, kernel };

struct TraceOptions {
  /// Ranks of the mesh (hosts: ranks + their number); empty: all that were simulated. Others than
  /// those are left out.
  std::vector<int> ranks{};
  /// Operations that touch [from, to) are written, each with its whole length.
  TimePoint from{};
  std::optional<TimePoint> to{};  // none: the step's end
  std::vector<LinkSeries> links{};
  TraceDetail detail = TraceDetail::kernel;
  /// A thread "passes" above the streams: a slice for each pass of a microbatch (passes.hpp) and,
  /// unless detail is microbatch, one for each layer in it.
  bool passes = false;
  /// Most points of a counter over the window: of those in one of so many equal parts of it the
  /// largest and the last are written. 0: all points.
  std::size_t counter_points = 0;
  bool empty_slices = true;  // computation that takes no time is written, too
};

/// A process per rank (pid = rank + 1: viewers take process 0 for the idle one) with a thread per
/// stream, an event per operation, flows from sends to receives and from the member of a collective
/// that came last to the others, counters of memory in bytes by category; a last process with a
/// counter in bytes per second for each link. Written piece by piece; memory grows with the
/// operations of a rank, not with the text. The same input gives the same text.
/// Errors: InternalError for rates that are not finite, and where a rank and its role differ in
/// length.
void write_perfetto(const TrainingStepTimeline& timeline, const TraceOptions& options,
                    const TextSink& sink);
void write_perfetto(const TrainingStepTimeline& timeline, const TraceOptions& options,
                    std::ostream& out);

}  // namespace lockstep
