#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "tools/app/plan/launch/job_script.hpp"
#include "tools/app/plan/launch/launch_flags.hpp"
#include "tools/app/plan/space.hpp"
#include "tools/lockstep/output/app.hpp"
#include "tools/lockstep/parser/command_parser.hpp"

namespace lockstep::cli {

using EmitTarget = std::variant<LaunchFramework, JobEngine>;

/// What --emit prints: launch flags of a framework, or a script of an engine. Throws UsageError
/// with what is near.
[[nodiscard]] EmitTarget emit_target(const std::string& name);

struct JobScriptOptions {
  SpaceRequest space;
  std::string store;         // that the shards are merged into; empty: plan.db
  std::uint64_t shards = 0;  // 0: as many as make tasks of minutes
};

/// The script that searches the space in shards, with the options of the command line. Throws
/// UsageError for options without a meaning there, RequestError as make_space().
[[nodiscard]] std::string job_script_of(const Command& command, JobEngine engine,
                                        const JobScriptOptions& given);

}  // namespace lockstep::cli
