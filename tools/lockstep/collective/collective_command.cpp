#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "strategies/collectives/registry/spec.hpp"
#include "tools/app/collective/collective_trace.hpp"
#include "tools/app/collective/setup/root.hpp"
#include "tools/app/write_file.hpp"
#include "tools/lockstep/collective/collective_figure.hpp"
#include "tools/lockstep/collective/collective_options.hpp"
#include "tools/lockstep/collective/collective_render.hpp"
#include "tools/lockstep/collective/message_sizes.hpp"
#include "tools/lockstep/collective/other_renders.hpp"
#include "tools/lockstep/collective/rank_setting_options.hpp"
#include "tools/lockstep/commands.hpp"
#include "tools/lockstep/host/host.hpp"
#include "tools/lockstep/options/assertion.hpp"
#include "tools/lockstep/options/cluster_options.hpp"
#include "tools/lockstep/options/format_option.hpp"
#include "tools/lockstep/options/number_option.hpp"
#include "tools/lockstep/options/sizes.hpp"
#include "tools/lockstep/options/trace_size_note.hpp"
#include "tools/lockstep/output/errors.hpp"
#include "tools/lockstep/parser/command_parser.hpp"
#include "tools/lockstep/parser/settings.hpp"
#include "tools/lockstep/plot/figure_file.hpp"
#include "tools/lockstep/report/report_option.hpp"
#include "tools/lockstep/terminal/progress.hpp"

namespace lockstep::cli {

namespace {

/// The options as written.
struct Options {
  CandidateNames candidates;
  ClusterRequest cluster;
  NetworkRequest network;
  NcclRequest nccl;
  std::optional<int> root;
  MessageSizes sizes;
  std::string type = "float";
  std::string skew = "0 us";
  std::string most_memory = "8G";
  bool check = false;
  bool load = false;
  bool crossover = false;
  std::string concurrent;
  std::string against;
  bool cluster_is_given = false;
  std::vector<std::string> plots;
  std::string trace;
  std::string report;
  std::vector<std::string> asserts;
  std::string fold = "auto";
  bool classes = false;
  RankSettingOptions ranks;
  OutputStyle style;
};

Duration skew_of(const Options& given) {
  if (const auto skew = parse_duration(given.skew)) return *skew;
  throw UsageError("--skew: " + expected_time("10 us", given.skew));
}

const ElementType* type_of(const Options& given) {
  if (const ElementType* type = find_element_type(given.type)) return type;
  std::vector<std::string_view> names;
  for (const ElementType& type : element_types()) names.push_back(type.name);
  throw UsageError(
      fmt::format("-d: expected one of {}, got \"{}\"", fmt::join(names, ", "), given.type));
}

/// What the file of --concurrent says itself, or cannot have.
void check_concurrent(const Options& given) {
  if (given.concurrent.empty()) return;
  const bool sized = given.sizes.any();
  if (given.candidates.any() || sized)
    throw UsageError(
        "--concurrent: collectives, algorithms and sizes are in its file; omit them on the command "
        "line");
}

/// A root that is given has to be somebody's: imported schedules have theirs for good.
void check_root(const Options& given, const CollectiveRequest& request) {
  if (!given.root) return;
  if (!given.concurrent.empty())
    throw UsageError("--concurrent: its file says which ranks are roots; leave out --root");
  if (request.candidates.empty()) return;  // --against: its file names the collective
  std::vector<Collective> collectives;
  bool free = false;
  for (const Candidate& each : request.candidates) {
    collectives.push_back(each.collective);
    free = free || (!each.import && has_root(each.collective));
  }
  (void)root_of(given.root, collectives);
  if (!free) throw UsageError("--root: the roots of schedules from files stand in the files");
}

CollectiveRequest request_of(const Options& given) {
  const int modes = (given.crossover ? 1 : 0) + (given.concurrent.empty() ? 0 : 1) +
                    (given.against.empty() ? 0 : 1);
  if (modes > 1) throw UsageError("--crossover, --concurrent and --against cannot be combined");
  if (!given.concurrent.empty() && !given.plots.empty())
    throw UsageError("--plot draws times over sizes; it cannot be combined with --concurrent");
  if (modes > 0 && !given.trace.empty())
    throw UsageError(
        "--trace holds one algorithm at one size; it cannot be combined with --crossover, "
        "--concurrent or --against");
  const char* mode = !given.concurrent.empty() ? "--concurrent"
                     : given.crossover         ? "--crossover"
                                               : "--against";
  if (modes > 0 && given.check)
    throw UsageError(fmt::format("--check has no effect with {}", mode));
  if (modes > 0 && given.load) throw UsageError(fmt::format("--load has no effect with {}", mode));
  if (modes > 0 && given.concurrent.empty() && given.classes)
    throw UsageError(fmt::format("--classes has no effect with {}", mode));
  if (given.classes)
    require_format(given.style.format, {Format::table, Format::json}, "--classes",
                   "classes of ranks");
  check_concurrent(given);
  CollectiveRequest out;
  out.cluster = given.cluster;
  if (given.concurrent.empty() && given.against.empty()) {
    if (given.candidates.collectives.empty() && given.candidates.schedules.empty())
      throw UsageError("expected a collective, such as all_reduce, or --schedule");
    add_candidates(given.candidates, out);
  }
  out.sizes = sizes_of(given.sizes, given.crossover);
  out.network = given.network;
  out.nccl = given.nccl;
  out.nccl.check();
  (void)out.network.parsed();
  (void)out.cluster.policy();
  check_root(given, out);
  out.root = given.root.value_or(0);
  out.check = given.check;
  out.load = given.load;
  out.type = type_of(given);
  out.skew = skew_of(given);
  out.most_memory = size_option("--max-memory", given.most_memory);
  if (given.fold != "auto" && given.fold != "off")
    throw UsageError(fmt::format("--fold: expected auto or off, got \"{}\"", given.fold));
  out.fold = given.fold == "auto";
  out.step_ends = given.classes;
  out.on_progress = progress_line(given.crossover         ? "crossover"
                                  : given.against.empty() ? "collective"
                                                          : "against",
                                  given.crossover ? "fewer algorithms or -b and -e closer together "
                                                    "take less"
                                                  : "fewer algorithms or sizes take less");
  out.ranks = given.ranks.parsed();
  return out;
}

/// What makes one long simulation shorter.
std::string_view advice_for(const CollectiveRequest& request) {
  if (!request.fold) return "--fold auto or fewer ranks take less";
  if (request.network.parsed() == NetworkModel::queue)
    return "--network fluid or fewer ranks take less";
  return "fewer ranks, or an algorithm with fewer messages, take less";
}

std::vector<FigureTarget> targets_of(const Options& given) {
  std::vector<FigureTarget> out;
  for (const std::string& text : given.plots)
    out.push_back(parse_figure_target(text, {collective_figure_kinds(), "time", true}));
  for (const FigureTarget& target : out)
    if (target.file == "-" && !given.style.is_table())
      throw UsageError("--plot -: draws below a table only, not with --format");
  check_figure_targets(out);
  return out;
}

/// What a mode prints, and draws if asked to.
class CollectiveJob {
 public:
  explicit CollectiveJob(const Options& given)
      : given_{given},
        assertions_{parse_assertions(given.asserts)},
        targets_{targets_of(given)},
        request_{std::make_shared<CollectiveRequest>(request_of(given))} {
    check_report(given.report);
  }

  void run() {
    if (!given_.concurrent.empty()) {
      const auto done = timed([&] { return run_concurrent(given_.concurrent, *request_); });
      const Report report = report_of(*request_, done, given_.concurrent, given_.classes);
      keep([&] { return Findings{[report] { return collective_page(report, nullptr); }}; });
      show(report);
      write_page(report, nullptr);
      check(report);
    } else if (!given_.against.empty()) {
      compare();
    } else if (given_.crossover) {
      cross();
    } else {
      trace();
      const auto shared = timed([&] {
        request_->on_phase = phase_line("collective", advice_for(*request_));
        return std::make_shared<const CollectiveReport>(run_collective(*request_));
      });
      request_->on_phase = {};  // ends its line
      const CollectiveReport& done = *shared;
      if (given_.style.format != Format::table && !request_->every_row)  // tables name them
        for (const RequestProblem& each : done.left_out)
          print_note("note: not applicable: " + text_of_left_out(each));
      const auto report = [request = request_, shared,
                           classes = given_.classes](const OutputStyle& style) {
        return report_of(*request, *shared, classes, style);
      };
      keep_later([report, shared, drawn = has_figures()] {
        // As with --report, which goes with a table: that of other formats has more columns.
        return collective_findings([report] { return report(OutputStyle{}); }, drawn,
                                   {[shared] { return shared; }, nullptr, nullptr});
      });
      print_later(given_.style,
                  [report, style = given_.style] { return render(report(style), style); });
      if (!writes_more() && assertions_.empty()) return;
      const Report made = report(given_.style);
      finish(made, {&done, nullptr, nullptr});
      check(made);
    }
  }

 private:
  /// With a line of phases, which ends with the request.
  static CollectiveRequest shown(CollectiveRequest request) {
    request.on_phase = phase_line("collective", advice_for(request));
    return request;
  }

  static CollectiveReport simulated(const CollectiveRequest& request) {
    return run_collective(shown(request));
  }

  /// Before anything is printed: one algorithm at one size, or a refusal.
  void trace() const {
    if (given_.trace.empty()) return;
    write_collective_trace(shown(*request_), given_.trace,
                           trace_size_note(given_.trace, "fewer ranks or chunks make it smaller"));
  }

  void compare() {
    const auto shared = timed([&] {
      return std::make_shared<const AgainstReport>(run_against(
          {given_.against, given_.candidates, given_.cluster_is_given, given_.root}, *request_));
    });
    const AgainstReport& done = *shared;
    const Report report = report_of(done, given_.against);
    keep([&] {
      return collective_findings([report] { return report; }, has_figures(),
                                 {points_of(done.request), nullptr, shared});
    });
    show(report);
    if (writes_more()) {
      const CollectiveReport points = simulated(done.request);
      finish(report, {&points, nullptr, &done});
    }
    check(report);
  }

  void cross() {
    const auto shared =
        timed([&] { return std::make_shared<const CrossoverReport>(find_crossovers(*request_)); });
    const CrossoverReport& done = *shared;
    const Report report = report_of(*request_, done);
    keep([&] {
      return collective_findings([report] { return report; }, has_figures(),
                                 {points_of(*request_), shared, nullptr});
    });
    show(report);
    if (writes_more()) {
      const CollectiveReport points = simulated(*request_);
      finish(report, {&points, &done, nullptr});
    }
    check(report);
  }

  void check(const Report& report) const {
    if (!assertions_.empty()) check_assertions(assertions_, report, AssertedRows::all);
  }

  void show(const Report& report) const { print(render(report, given_.style)); }

  [[nodiscard]] bool writes_more() const { return !targets_.empty() || !given_.report.empty(); }

  /// Figures, and the page that has all of them.
  void finish(const Report& report, const CollectiveFigureData& data) const {
    for (const FigureTarget& target : targets_)
      write_figure(collective_figure(target.kind, data, target.is_text()), target);
    write_page(report, &data);
  }

  void write_page(const Report& report, const CollectiveFigureData* data) const {
    if (!given_.report.empty())
      write_file(given_.report, collective_page(report, has_figures() ? data : nullptr));
  }

  /// Figures need a size above 0.
  [[nodiscard]] bool has_figures() const {
    return std::ranges::any_of(request_->sizes, [](Bytes size) { return size > Bytes{}; });
  }

  const Options& given_;
  std::vector<Assertion> assertions_;
  std::vector<FigureTarget> targets_;
  std::shared_ptr<CollectiveRequest> request_;
};

void add_sizes(const Command& command, const std::shared_ptr<Options>& given) {
  command.group("Message sizes");
  add_size_options(command, {given, &given->sizes});
  command
      .add_option("-d,--datatype", given->type,
                  "Element type of nccl-tests: float, half, bfloat16, ...")
      ->type_name("TYPE")
      ->capture_default_str();
  command.group("");
}

}  // namespace

void add_collective(const Command& app) {
  const Command command = app.add_subcommand(
      "collective", "Simulate collectives and print times and bandwidths as nccl-tests does");
  const auto given = std::make_shared<Options>();
  add_candidate_options(*command, given->candidates);
  given->cluster.cluster = "star";
  add_cluster(*command, given->cluster);
  command->group("Algorithm");
  add_whole_number(
      *command, "--root,-r", 0, kMostRanks, [given](auto n) { given->root = static_cast<int>(n); },
      "Root of broadcast, reduce, scatter and gather (default 0)");
  command->group("");
  add_sizes(*command, given);
  add_network(*command, given->network);
  add_nccl_options(*command, given->nccl);
  command->group("Ranks and replay");
  command
      ->add_option("--max-memory", given->most_memory,
                   "Refuse replays that need more memory (64M = 64 MiB)")
      ->type_name("SIZE")
      ->capture_default_str();
  command
      ->add_option("--skew", given->skew,
                   "Random start delay of each rank, uniform up to this time")
      ->type_name("TIME")
      ->capture_default_str();
  given->ranks.add_to(*command, "reductions relative to their rate");
  command
      ->add_option("--fold", given->fold,
                   "auto: equivalent ranks are replayed once, to the same picosecond; off: "
                   "individually")
      ->type_name("HOW")
      ->capture_default_str();
  command->group("What to print");
  command->add_flag("--classes", given->classes,
                    "Print the equivalence classes of ranks, how they differ, and when their "
                    "times part and are the same again");
  command->add_flag("--check,-c", given->check,
                    "Run every schedule on real numbers and count wrong elements in #wrong");
  command->add_flag(
      "--load", given->load,
      "Add the busiest link's load: bytes of the busiest link, summed over rounds, per "
      "byte of the message, along single paths");
  command->add_flag("--crossover", given->crossover,
                    "Print the sizes between -b and -e at which the fastest algorithm changes, "
                    "searched between powers of two (default: from 8 bytes to 1G)");
  command
      ->add_option("--concurrent", given->concurrent,
                   "JSON file of collectives to run at the same time; prints how much each slows "
                   "the others down")
      ->type_name("FILE");
  command
      ->add_option("--against", given->against,
                   "Output of nccl-tests, whose measured times are printed next to the simulated "
                   "ones; the file specifies the collective, the number of ranks and, from the "
                   "names of its GPUs, the cluster, unless options do (default algorithm: "
                   "auto:by=nccl)")
      ->type_name("FILE");
  command
      ->add_option("--plot", given->plots,
                   "Draw a figure over the message size: time (default) or busbw, each with its "
                   "bound, the sizes where the fastest changes and, with --against, measured "
                   "points; FILE ends in .svg, .pdf, .png or .txt, or is - for text; repeatable")
      ->type_name("[FIGURE=]FILE")
      ->allow_extra_args(false);
  add_report_option(*command, given->report);
  add_assertions(*command, given->asserts, "'busbw_Bps >= 300 GB/s' or 'best == true'");
  command
      ->add_option("--trace", given->trace,
                   "Write every message of one algorithm at one size as a trace for "
                   "ui.perfetto.dev, compressed if FILE ends in .gz")
      ->type_name("FILE");
  command->group("");
  add_format(*command, given->style);
  command->footer(
      "busbw is algbw times 2(n-1)/n for all_reduce, as in nccl-tests; no link need carry that "
      "rate.\n"
      "Trees and chains over tens of thousands of ranks take minutes to simulate with the best "
      "number\n"
      "of chunks, and less with fewer, as in double_binary_tree:chunks=8.\n"
      "\n"
      "A file for --concurrent (configs/schema/concurrent.schema.json):\n"
      "  {\"collectives\": [{\"collective\": \"all_reduce\", \"algorithm\": \"ring\", \"size\": "
      "\"64 MiB\"},\n"
      "    {\"name\": \"neighbor\", \"collective\": \"broadcast\", \"size\": \"1 MiB\", \"ranks\": "
      "[0, 2, 5],\n"
      "     \"root\": 1, \"start\": \"10 us\", \"repeat\": 3}]}\n"
      "ranks may be {\"first\": 0, \"count\": 4, \"stride\": 2}; the default is all ranks. A rank "
      "with a start\n"
      "of its own (--set-rank) begins none of them before; --skew delays each rank's starts. "
      "Collectives\n"
      "that reduce in switches share these, and those with parameter servers share the hosts.\n"
      "\n"
      "Examples:\n"
      "  lockstep collective all_reduce --cluster configs/clusters/star.json --ranks 8 --algorithm "
      "ring -b 64M -e 64M\n"
      "  lockstep collective all_reduce --cluster configs/clusters/dgx-h100.json --nodes 2 "
      "--algorithm ring,halving_doubling -b 1K -e 1M -f 32\n"
      "  lockstep collective all_reduce --cluster configs/clusters/rail-optimised.json --nodes "
      "2048 --algorithm ring -b 1G -e 1G --classes\n"
      "  lockstep collective all_reduce --cluster configs/clusters/star.json --ranks 8 --algorithm "
      "ring --set-rank 3 \"start=10 us\" --classes\n"
      "  lockstep collective --concurrent tests/data/concurrent/two-jobs.json --cluster dgx-h100\n"
      "  lockstep collective all_reduce --cluster dgx-h100 --nodes 2 --algorithm all --crossover "
      "-b 1K -e 1M\n"
      "  lockstep collective --against tests/data/nccl_tests/allreduce-2xA100.txt");
  command->resets(given);
  command->callback([given, command] {
    given->cluster_is_given = command->count("--cluster") > 0;
    CollectiveJob(*given).run();
  });
}

}  // namespace lockstep::cli
