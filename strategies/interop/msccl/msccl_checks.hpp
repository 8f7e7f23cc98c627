#pragma once

#include "strategies/interop/msccl/msccl_layout.hpp"
#include "strategies/interop/msccl/msccl_program.hpp"

/// What cannot be seen from one element of an MSCCL file alone. Every function notes all it finds.
namespace lockstep {

/// Every chunk that a step names lies within its buffer, and no step copies onto a part of its own
/// source.
void check_msccl_chunks(const MscclProgram& program, const MscclLayout& layout, Problems& problems);

/// A connection (source, destination, channel) belongs to one tb at either end, as MSCCL demands,
/// and what is sent on it is received there: as many messages, each as long.
void check_msccl_connections(const MscclProgram& program, Problems& problems);

/// What a step waits for exists, and no steps of one GPU wait for each other in a circle.
void check_msccl_dependencies(const MscclProgram& program, Problems& problems);

}  // namespace lockstep
