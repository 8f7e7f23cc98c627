#pragma once

#include <string>

#include "tools/app/collective/collective_request.hpp"
#include "tools/app/trace_size.hpp"

namespace lockstep::app {

/// Writes the transfers of one candidate at one size as a trace for ui.perfetto.dev, compressed if
/// the file ends in .gz: a process for each rank, a slice for each message that it sends and a flow
/// to its receiver. Throws RequestError unless the request has one candidate and one size, IoError,
/// and as run_collective() does.
void write_collective_trace(const CollectiveRequest& request, const std::string& file,
                            const OnTraceSize& on_size);

}  // namespace lockstep::app
