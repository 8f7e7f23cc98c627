#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <memory>

#include "tools/lockstep/collective/rank_setting_options.hpp"
#include "tools/lockstep/commands.hpp"
#include "tools/lockstep/host/host.hpp"
#include "tools/lockstep/options/cluster_options.hpp"
#include "tools/lockstep/options/format_option.hpp"
#include "tools/lockstep/options/number_option.hpp"
#include "tools/lockstep/options/sizes.hpp"
#include "tools/lockstep/output/errors.hpp"
#include "tools/lockstep/parser/command_parser.hpp"
#include "tools/lockstep/replay/replay_render.hpp"

namespace lockstep::cli {

namespace {

struct Options {
  ReplayTraceRequest request;
  std::string compute = "as-is";
  std::string fold = "auto";
  std::string most_memory = "8G";
  RankSettingOptions ranks;
  OutputStyle style;
};

double compute_scale_of(const std::string& text) {
  if (text == "as-is") return 1;
  if (text == "zero") return 0;
  constexpr double kLargestScale = 1e6;
  double factor = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, factor);
  if (error != std::errc{} || stop != end || !(factor >= 0 && factor <= kLargestScale))
    throw UsageError(fmt::format(
        "--compute: expected as-is, zero or a factor from 0 to 1000000 such as 0.5, got \"{}\"",
        text));
  return factor;
}

ReplayTraceRequest request_of(const Options& given) {
  ReplayTraceRequest out = given.request;
  if (out.classes)
    require_format(given.style.format, {Format::table, Format::json}, "--classes",
                   "classes of ranks");
  out.compute_scale = compute_scale_of(given.compute);
  if (given.fold != "auto" && given.fold != "off")
    throw UsageError(fmt::format("--fold: expected auto or off, got \"{}\"", given.fold));
  out.fold = given.fold == "auto";
  out.ranks = given.ranks.parsed();
  out.most_memory = size_option("--max-memory", given.most_memory);
  (void)out.network.parsed();
  (void)out.cluster.policy();
  return out;
}

/// Only tables and JSON have room for notes.
void run(const Options& given) {
  const ReplayTraceRequest request = request_of(given);
  const ReplayTraceResult result = timed([&] { return replay_trace(request); });
  const Format format = given.style.format;
  if (format == Format::csv || format == Format::md)
    for (const std::string& note : result.notes) fmt::print(stderr, "lockstep: note: {}\n", note);
  print(render(report_of(request, result), given.style));
}

}  // namespace

void add_replay(const Command& app) {
  const Command command = app.add_subcommand("replay", "Replay GOAL schedules and Chakra traces");
  const auto given = std::make_shared<Options>();
  ReplayTraceRequest& request = given->request;
  command
      ->add_option("trace", request.trace,
                   "GOAL file, or Chakra traces: PREFIX of PREFIX.0.et, PREFIX.1.et, ... (or "
                   ".json), or their folder")
      ->required()
      ->type_name("TRACE");
  request.cluster.cluster = "star";
  add_cluster(*command, request.cluster);
  add_network(*command, request.network);
  command
      ->add_option("--algorithm,-a", request.algorithms,
                   "Algorithms for the collectives of a trace, one per collective, separated by "
                   "commas, as in "
                   "halving_doubling,bruck (default: ring, if available)")
      ->type_name("NAME,...");
  command
      ->add_option("--compute", given->compute,
                   "Compute times: those of the trace (as-is), none (zero), or scaled by a factor")
      ->type_name("as-is|zero|FACTOR")
      ->capture_default_str();
  add_whole_number(
      *command, "--slots", 0, 1 << 20, [&request](auto n) { request.slots = static_cast<int>(n); },
      "Maximum messages in flight per pair of ranks and tag; 0: rendezvous (default: no limit)");
  command
      ->add_option("--fold", given->fold,
                   "auto: equivalent ranks are replayed once, to the same picosecond; off: "
                   "individually")
      ->type_name("HOW")
      ->capture_default_str();
  command->add_flag("--classes", request.classes,
                    "Print the equivalence classes of ranks, how they differ, and when their times "
                    "part and are the same again");
  given->ranks.add_to(*command, "computations relative to those of the trace");
  command
      ->add_option("--max-memory", given->most_memory,
                   "Refuse replays that need more memory (64M = 64 MiB)")
      ->type_name("SIZE")
      ->capture_default_str();
  add_format(*command, given->style);
  command->footer(
      "Sends are eager: a send ends when its last byte has left, whether or not the receive is "
      "posted.\n"
      "Row all is the end of the last rank, and sums over ranks.\n"
      "\n"
      "Examples:\n"
      "  lockstep replay tests/data/goal/pair.goal\n"
      "  lockstep replay tests/data/chakra/pair --cluster dgx-h100 --compute zero\n"
      "  lockstep replay tests/data/goal/pairs.goal --set-rank 2=0.5 --classes");
  command->resets(given);
  command->callback([given] { run(*given); });
}

}  // namespace lockstep::cli
