#include "tools/lockstep/run/run_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <stdexcept>

#include "tools/app/inputs/network_request.hpp"
#include "tools/app/inputs/shipped_or_file.hpp"
#include "tools/app/shell_word.hpp"
#include "tools/lockstep/options/number_option.hpp"
#include "tools/lockstep/output/errors.hpp"
#include "tools/lockstep/run/rank_speed_options.hpp"

namespace lockstep::cli {

namespace {

std::optional<TimePoint> instant_of(const std::string& text) {
  const auto duration = parse_duration(text);
  return duration ? std::optional{TimePoint{*duration}} : std::nullopt;
}

Fidelity fidelity_of(const std::string& text) {
  if (text == "auto") return Fidelity::automatic;
  if (text == "all") return Fidelity::all_ranks;
  if (text == "representatives") return Fidelity::representatives;
  throw UsageError(
      fmt::format("--fidelity: expected auto, all or representatives, got \"{}\"", text));
}

Folding folding_of(const std::string& text) {
  if (text == "auto") return Folding::automatic;
  if (text == "off") return Folding::off;
  throw UsageError(fmt::format("--fold: expected auto or off, got \"{}\"", text));
}

/// "200G", "400 Gb/s" or "50 GB/s".
Rate parse_nic(const std::string& text) {
  const bool bare = text.size() > 1 && text.back() == 'G';
  const auto rate = parse_rate(bare ? text.substr(0, text.size() - 1) + " Gb/s" : text);
  if (!rate)
    throw UsageError(fmt::format(
        "--nic: expected a rate such as 200G, \"400 Gb/s\" or \"50 GB/s\", got \"{}\"", text));
  return *rate;
}

}  // namespace

std::vector<std::string> with_seed(std::vector<std::string> overrides, const RunOptions& options) {
  if (options.seed) overrides.push_back(fmt::format("seed={}", *options.seed));
  return overrides;
}

bool changes_parts(const RunOptions& options) {
  return !options.gpu_speeds.empty() || !options.rank_settings.empty() || !options.nic.empty() ||
         options.step.links.any();
}

std::string part_changes_of(const RunOptions& options) {
  std::vector<std::string> out;
  for (const std::string& each : options.gpu_speeds)
    out.push_back("--gpu-speed " + app::shell_word(each));
  for (const auto& [rank, setting] : options.rank_settings)
    out.push_back(fmt::format("--set-rank {} {}", app::shell_word(rank), app::shell_word(setting)));
  if (!options.nic.empty()) out.push_back("--nic " + app::shell_word(options.nic));
  for (const auto& [link, settings] : options.step.links.set_links)
    out.push_back(
        fmt::format("--set-link {} {}", app::shell_word(link), app::shell_word(settings)));
  for (const std::string& link : options.step.links.failed)
    out.push_back("--fail " + app::shell_word(link));
  return fmt::format("{}", fmt::join(out, " "));
}

void add_part_changes_of(const RunOptions& given, RunOptions& to) {
  const auto add = [](auto& list, const auto& more) {
    list.insert(list.end(), more.begin(), more.end());
  };
  if (!given.nic.empty()) to.nic = given.nic;
  for (const auto& setting : given.rank_settings)
    std::erase_if(to.rank_settings, [&](const auto& each) { return each.first == setting.first; });
  add(to.rank_settings, given.rank_settings);
  add(to.gpu_speeds, given.gpu_speeds);
  add(to.step.links.set_links, given.step.links.set_links);
  add(to.step.links.failed, given.step.links.failed);
}

std::string changes_of(const RunOptions& options) {
  std::vector<std::string> out;
  for (const std::string& each : options.step.overrides)
    out.push_back("--set " + app::shell_word(each));
  if (std::string parts = part_changes_of(options); !parts.empty()) out.push_back(std::move(parts));
  return fmt::format("{}", fmt::join(out, " "));
}

std::string command_of(const RunOptions& options) {
  const std::string& file = options.step.file;
  const std::string name = std::filesystem::path{file}.stem().string();
  const bool shipped = app::shipped_or_file(name, "scenarios") == file;
  const std::string changes = changes_of(options);
  return "lockstep run " + app::shell_word(shipped ? name : file) +
         (changes.empty() ? "" : " " + changes);
}

std::string quicker_options(const RunOptions& options, bool suggests, bool traces) {
  std::vector<std::string> out;
  if (traces) out.emplace_back("a step without --trace, where ranks share work,");
  if (options.fold == "off") out.emplace_back("--fold auto");
  if (options.network == "queue") out.emplace_back("--network fluid");
  if (options.fidelity != "representatives") out.emplace_back("--fidelity representatives");
  if (suggests) out.emplace_back("--suggest 0");
  if (out.empty()) return {};
  return fmt::format("{} take{} less", fmt::join(out, " or "), out.size() == 1 ? "s" : "");
}

std::pair<TimePoint, TimePoint> parse_window(const std::string& text) {
  const std::size_t dots = text.find("..");
  if (dots != std::string::npos) {
    const auto from = instant_of(text.substr(0, dots));
    const auto to = instant_of(text.substr(dots + 2));
    if (from && to && *from < *to) return {*from, *to};
  }
  throw UsageError(fmt::format(
      "--trace-window: expected two times, the first before the second, such as \"10 ms..12.5 "
      "ms\", got \"{}\"",
      text));
}

namespace {

void add_gpu_speed(const Command& command, RunOptions& run) {
  command
      .add_option(
          "--gpu-speed", run.gpu_speeds,
          "Relative compute speed of GPUs: all=0.95, 0..63=0.9, 3,17=0.8, or random:1%=0.95 of "
          "as many ranks (to the nearest, at least one), drawn with --seed; speeds are drawn as "
          "for --set-rank; repeatable, the "
          "later one counts")
      ->type_name("RANKS=SPEED")
      ->allow_extra_args(false);
}

void add_link_changes(const Command& command, app::LinkChangeRequest& links) {
  command
      .add_option(
          "--set-link", links.set_links,
          "Change a link (\"node0/gpu3 -> node0/nvswitch0\", with -- for both directions) or "
          "all links of a switch, NIC, node or rail (\"rail0\"); SETTINGS are bandwidth=50% or "
          "bandwidth=\"25 GB/s\" and latency=\"5 us\", separated by commas; repeatable")
      ->type_name("LINK SETTINGS")
      ->allow_extra_args(false);
  command
      .add_option("--fail", links.failed,
                  "Remove a link, or all links of a switch, NIC, node or rail, and reroute; "
                  "repeatable")
      ->type_name("LINK")
      ->allow_extra_args(false);
}

void add_set_rank(const Command& command, RunOptions& run) {
  command
      .add_option(
          "--set-rank", run.rank_settings,
          "Relative compute speed of ranks: 17, 0..7, 3,9,12..15, all, or random:1% of all (to "
          "the nearest, at least one), drawn with --seed among those not drawn before; SETTINGS "
          "are compute=0.8, drawn for each rank "
          "as compute=0.9..0.99 (uniform) or compute=normal(0.95,0.02) (mean and standard "
          "deviation), to a thousandth, and, for a time of the step, from=\"1 s\" and "
          "until=\"2 s\", separated by commas; 17=0.8 is short for 17 compute=0.8; repeatable")
      ->type_name("RANKS SETTINGS")
      ->allow_extra_args(false);
}

void add_nic(const Command& command, RunOptions& run) {
  command.add_option("--nic", run.nic, "Speed of every NIC and fabric link, e.g. 200G")
      ->type_name("RATE");
}

void add_calibration(const Command& command, RunOptions& run) {
  command
      .add_option("--calibration", run.step.calibration,
                  "Calibration, a file or the name of a shipped one, that overrides the shipped "
                  "parameters: kernel times of one machine "
                  "(and NVLinks, if it has several GPUs), or a fit to results (`calibrate --from`)")
      ->type_name("FILE");
}

void add_ignore_memory(const Command& command, RunOptions& run) {
  command.add_flag("--ignore-memory", run.step.ignore_memory,
                   "Simulate even if the memory of a rank does not fit");
}

constexpr const char* kNetwork =
    "fluid: max-min fair shares; alpha-beta: only ports limit; queue: whole messages, first in "
    "first out";
constexpr const char* kFidelity =
    "all: every rank and transfer on one network; representatives: one rank of each role; auto: "
    "all where that is quick, folded or not";
constexpr const char* kFold =
    "auto: equivalent ranks are simulated once, to the same picosecond; off: individually";

}  // namespace

void add_draw_seed(const Command& command, RunOptions& run) {
  add_whole_number(
      command, "--seed", 0, INT64_MAX, [&run](auto n) { run.seed = n; },
      "Seed of ranks and speeds that are drawn, instead of the scenario's (default: 1)");
}

void add_what_ifs(const Command& command, RunOptions& run) {
  add_gpu_speed(command, run);
  add_draw_seed(command, run);
  add_nic(command, run);
  add_link_changes(command, run.step.links);
}

void add_part_changes(const Command& command, RunOptions& run) {
  add_set_rank(command, run);
  add_gpu_speed(command, run);
  add_link_changes(command, run.step.links);
}

void add_fidelity(const Command& command, std::string& fidelity) {
  command.add_option("--fidelity", fidelity, std::string{kFidelity} + " (default: auto)")
      ->type_name("auto|all|representatives");
}

void add_fold(const Command& command, std::string& fold) {
  command.add_option("--fold", fold, std::string{kFold} + " (default: auto)")
      ->type_name("auto|off");
}

void add_changed_simulation(const Command& command, RunOptions& run) {
  command.group("Slow and failed parts");
  add_part_changes(command, run);
  add_nic(command, run);
  add_draw_seed(command, run);
  command.group("Simulation");
  add_fidelity(command, run.fidelity);
  add_fold(command, run.fold);
  command.add_option("--network", run.network, std::string{kNetwork} + " (default: fluid)")
      ->type_name("MODEL");
  add_calibration(command, run);
  add_ignore_memory(command, run);
}

void add_classes(const Command& command, RunOptions& run) {
  command.add_flag("--classes", run.classes,
                   "Print the equivalence classes of ranks and how they differ");
}

void add_simulation(const Command& command, RunOptions& run) {
  command.add_option("--fidelity", run.fidelity, kFidelity)
      ->type_name("auto|all|representatives")
      ->capture_default_str();
  command.add_option("--network", run.network, kNetwork)->type_name("MODEL")->capture_default_str();
  add_calibration(command, run);
  add_ignore_memory(command, run);
}

void add_folding(const Command& command, RunOptions& run) {
  command.add_option("--fold", run.fold, kFold)->type_name("auto|off")->capture_default_str();
  add_set_rank(command, run);
}

TrainingStepRequest step_request_of(const RunOptions& run) {
  TrainingStepRequest out = run.step;
  out.simulation.fidelity = fidelity_of(run.fidelity);
  out.simulation.fold = folding_of(run.fold);
  if (run.classes && out.simulation.fold == Folding::automatic)
    out.simulation.fold = Folding::always;
  out.compares_ranks = run.classes;
  out.speeds = parse_rank_speeds(run.gpu_speeds, run.rank_settings);
  if (!run.nic.empty()) out.nic = parse_nic(run.nic);
  out.simulation.network = NetworkRequest{run.network, {}}.parsed();
  return out;
}

}  // namespace lockstep::cli
