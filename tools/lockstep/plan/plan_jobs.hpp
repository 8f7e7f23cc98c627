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

/// The best layout as a scenario for `run`.
struct EmitsScenario {};

using EmitTarget = std::variant<LaunchFramework, JobEngine, EmitsScenario>;

/// The value of --emit: a framework whose launch flags are printed, an engine whose job script is,
/// or "scenario". Throws UsageError with the nearest name.
[[nodiscard]] EmitTarget emit_target(const std::string& name);

struct JobScriptOptions {
  SpaceRequest space;
  std::string store;         // into which the shards are merged; empty: plan.db
  std::uint64_t shards = 0;  // 0: chosen so that each takes minutes
};

/// A script that searches the space in shards with the options of the command line. Throws
/// UsageError for options that do not apply to shards, RequestError as make_space().
[[nodiscard]] std::string job_script_of(const Command& command, JobEngine engine,
                                        const JobScriptOptions& given);

}  // namespace lockstep::cli
