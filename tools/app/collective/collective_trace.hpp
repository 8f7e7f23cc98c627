#pragma once

#include <string>

#include "tools/app/collective/collective_request.hpp"
#include "tools/app/trace_size.hpp"

namespace lockstep::app {

/// Writes the transfers of one candidate at one size as a trace for ui.perfetto.dev, compressed if
/// the file ends in .gz: one process per rank, one slice per sent message and a flow to its
/// receiver. Throws RequestError unless the request has exactly one candidate and size, IoError,
/// and as run_collective().
void write_collective_trace(const CollectiveRequest& request, const std::string& file,
                            const OnTraceSize& on_size);

}  // namespace lockstep::app
