#pragma once

#include "tools/app/collective/candidates.hpp"
#include "tools/app/collective/setup/nccl_choice.hpp"
#include "tools/lockstep/output/app.hpp"
#include "tools/lockstep/parser/command_parser.hpp"

/// Options of `lockstep collective` that fill parts of its request, which must outlive the command.
namespace lockstep::cli {

/// The collective, --algorithm, --schedule and --slots.
void add_candidate_options(const Command& command, CandidateNames& names);

/// --nccl, --nccl-algo, --nccl-proto and --calibration.
void add_nccl_options(const Command& command, NcclRequest& request);

}  // namespace lockstep::cli
