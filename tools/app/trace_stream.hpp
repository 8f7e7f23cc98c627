#pragma once

#include <functional>
#include <string>

#include "sim/trace/trace_events.hpp"
#include "tools/app/trace_size.hpp"

namespace lockstep::app {

/// Writes to a file what `write` passes to its sink, compressed if the name ends in .gz,
/// atomically. `write` is called twice, first to measure the size for `on_size`, and must produce
/// the same output. Throws IoError.
void write_trace_file(const std::string& path, const std::function<void(const TextSink&)>& write,
                      const OnTraceSize& on_size);

}  // namespace lockstep::app
