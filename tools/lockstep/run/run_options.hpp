#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tools/app/step/run_step.hpp"
#include "tools/app/step/variants.hpp"
#include "tools/lockstep/output/app.hpp"
#include "tools/lockstep/parser/command_parser.hpp"

namespace lockstep::cli {

/// Options of `lockstep run` as given, and the resulting request.
struct RunOptions {
  TrainingStepRequest step;
  std::string fidelity = "auto";
  std::string network = "fluid";
  std::string fold = "auto";
  bool classes = false;                                              // print them
  std::vector<std::string> gpu_speeds{};                             // "all=0.95"
  std::string nic{};                                                 // "200G"; empty: unchanged
  std::string append{};                                              // CSV file; empty: none
  std::string report{};                                              // HTML file; empty: none
  std::vector<std::pair<std::string, std::string>> rank_settings{};  // "17", "compute=0.8"
  std::optional<std::uint64_t> seed{};                               // none: the scenario's
};

/// `overrides`, then that of --seed.
[[nodiscard]] std::vector<std::string> with_seed(std::vector<std::string> overrides,
                                                 const RunOptions& options);

/// Changes of the scenario as options: "--set parallel.tp=4 --nic 200G"; empty: none.
[[nodiscard]] std::string changes_of(const RunOptions& options);

/// "lockstep run pipeline-1f1b --nic 200G", for a POSIX shell. A shipped scenario is given by its
/// name, whatever its folder.
[[nodiscard]] std::string command_of(const RunOptions& options);

/// What makes a step of minutes shorter, of the options that are not given: "--fold auto or
/// --suggest 0 take less"; empty: nothing.
[[nodiscard]] std::string quicker_options(const RunOptions& options, bool suggests,
                                          bool traces = false);

/// "10 ms..12.5 ms". Throws UsageError.
[[nodiscard]] std::pair<TimePoint, TimePoint> parse_window(const std::string& text);

/// --gpu-speed, --seed, --nic, --set-link and --fail.
void add_what_ifs(const Command& command, RunOptions& run);
/// --fidelity, --network, --calibration and --ignore-memory.
void add_simulation(const Command& command, RunOptions& run);
/// --fold and --set-rank.
void add_folding(const Command& command, RunOptions& run);

/// --set-rank, --gpu-speed, --set-link and --fail, of commands whose scenarios all have them.
void add_part_changes(const Command& command, RunOptions& run);
/// --seed, of what they draw.
void add_draw_seed(const Command& command, RunOptions& run);
/// --fidelity; empty: not given.
void add_fidelity(const Command& command, std::string& fidelity);
/// --fold; empty: not given.
void add_fold(const Command& command, std::string& fold);
/// The groups of options of commands that simulate steps with slow and failed parts: these, --nic,
/// --seed, --fidelity, --fold, --network, --calibration and --ignore-memory.
void add_changed_simulation(const Command& command, RunOptions& run);
/// --classes.
void add_classes(const Command& command, RunOptions& run);

/// Whether GPUs, links or NICs are other than the scenario's.
[[nodiscard]] bool changes_parts(const RunOptions& options);
/// These changes as options: "--set-rank 17 compute=0.8 --fail rail3"; empty: none.
[[nodiscard]] std::string part_changes_of(const RunOptions& options);
/// Adds these changes to those that `to` has; a rank's setting overrides one of the same ranks.
void add_part_changes_of(const RunOptions& given, RunOptions& to);

/// The request without suggestions, traces and callbacks. Throws UsageError for values of these
/// options.
[[nodiscard]] TrainingStepRequest step_request_of(const RunOptions& run);

}  // namespace lockstep::cli
