#pragma once

#include "strategies/interop/msccl/msccl_layout.hpp"
#include "strategies/interop/msccl/msccl_program.hpp"

/// Checks of an MSCCL file across elements. Every function reports all problems it finds.
namespace lockstep {

/// Every chunk of a step lies within its buffer, and no copy overlaps its own source.
void check_msccl_chunks(const MscclProgram& program, const MscclLayout& layout, Problems& problems);

/// Every connection (source, destination, channel) belongs to one thread block at either end, as
/// MSCCL requires, and its sends match its receives in number and length.
void check_msccl_connections(const MscclProgram& program, Problems& problems);

/// Dependencies exist, and steps of one GPU have no cyclic dependencies.
void check_msccl_dependencies(const MscclProgram& program, Problems& problems);

}  // namespace lockstep
