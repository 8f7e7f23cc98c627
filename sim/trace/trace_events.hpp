#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.hpp"

namespace lockstep {

/// Consumer of text, piece by piece.
using TextSink = std::function<void(std::string_view)>;

/// A JSON array of strings.
[[nodiscard]] std::string json_strings(const std::vector<std::string_view>& texts);
/// Picoseconds as microseconds, without rounding: "12.000345".
[[nodiscard]] std::string trace_time(std::int64_t ps);

/// Writes events of the Chrome trace event format through a buffer of bounded size. Source: "Trace
/// Event Format", Google, docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
/// (ph M: names; X: complete events; s and f: flows; C: counters; ts and dur in microseconds).
class TraceEvents {
 public:
  struct Track {
    std::int64_t process = 0;
    std::int64_t thread = 0;
  };

  explicit TraceEvents(const TextSink& sink);
  TraceEvents(const TraceEvents&) = delete;
  TraceEvents& operator=(const TraceEvents&) = delete;
  /// Ends the document; nothing may be added afterwards.
  void finish();

  /// Viewers sort processes by `process`, threads by `thread`.
  void name_process(std::int64_t process, std::string_view name);
  void name_thread(Track track, std::string_view name);
  /// `args`: the members of a JSON object, such as `"bytes":8`.
  void complete(Track track, std::string_view name, std::string_view category, TimePoint start,
                TimePoint end, std::string_view args);
  /// An arrow from the event around `at` on one track to that on another, by the same id. The start
  /// must directly follow its event and precede the end in time.
  void flow_start(Track track, std::uint64_t id, TimePoint at);
  void flow_end(Track track, std::uint64_t id, TimePoint at);
  void counter(std::int64_t process, std::string_view name, TimePoint at, std::string_view args);

 private:
  void begin();
  void end();
  void flow(std::string_view phase, Track track, std::uint64_t id, TimePoint at);

  const TextSink* sink_;
  fmt::memory_buffer buffer_;
  bool first_ = true;
};

}  // namespace lockstep
