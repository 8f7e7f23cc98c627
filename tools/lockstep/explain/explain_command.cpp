#include <fmt/format.h>

#include <charconv>
#include <memory>
#include <optional>
#include <string>

#include "strategies/collectives/registry/spec.hpp"
#include "strategies/layout/scenario_names.hpp"
#include "tools/app/collective/candidates.hpp"
#include "tools/app/collective/setup/root.hpp"
#include "tools/app/inputs/config_folder.hpp"
#include "tools/lockstep/commands.hpp"
#include "tools/lockstep/explain/explain_render.hpp"
#include "tools/lockstep/host/host.hpp"
#include "tools/lockstep/options/cluster_options.hpp"
#include "tools/lockstep/options/format_option.hpp"
#include "tools/lockstep/options/number_option.hpp"
#include "tools/lockstep/options/sizes.hpp"
#include "tools/lockstep/output/errors.hpp"
#include "tools/lockstep/parser/command_parser.hpp"
#include "topologies/files/config_names.hpp"

namespace lockstep::cli {

namespace {

/// The options as written.
struct Options {
  std::string collective;
  ClusterRequest cluster;
  NetworkRequest network;
  std::string algorithm;
  std::string schedule;  // MSCCL XML file; empty: none
  std::string size = "64M";
  std::string type = "float";
  std::optional<int> root;
  std::optional<int> ranks_per_node;
  std::string dimensions;
  std::string rounds;
  OutputStyle style;
};

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return number;
}

AlgorithmSpec spec_of(const std::string& text, Collective collective) {
  ParsedSpecs parsed = parse_specs(text.empty() ? default_algorithm(collective) : text, collective);
  if (!parsed.errors.empty())
    throw UsageError(fmt::format("--algorithm: {}", parsed.errors.front().message));
  if (parsed.specs.size() != 1)
    throw UsageError(fmt::format("--algorithm: one at a time, got {}", parsed.specs.size()));
  return std::move(parsed.specs.front());
}

const ElementType* type_of(const std::string& text) {
  if (const ElementType* type = find_element_type(text)) return type;
  std::vector<std::string_view> names;
  for (const ElementType& type : element_types()) names.push_back(type.name);
  throw UsageError(fmt::format("-d: expected one of {}, got \"{}\"", fmt::join(names, ", "), text));
}

/// 8x4x2.
std::vector<int> dimensions_of(const std::string& text) {
  std::vector<int> out;
  if (text.empty()) return out;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('x', begin), text.size());
    const auto size = whole_number(std::string_view{text}.substr(begin, end - begin));
    if (!size || *size < 1 || *size > kMostRanks)
      throw UsageError(fmt::format("--dims: expected dimensions such as 4x4x2, got \"{}\"", text));
    out.push_back(static_cast<int>(*size));
    begin = end + 1;
  }
  return out;
}

/// "3", "2..5".
std::optional<RoundRange> rounds_of(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const std::size_t dots = text.find("..");
  const auto first = whole_number(std::string_view{text}.substr(0, dots));
  const auto last =
      dots == std::string::npos ? first : whole_number(std::string_view{text}.substr(dots + 2));
  if (!first || !last || *first < 1 || *last < *first)
    throw UsageError(
        fmt::format("--rounds: expected rounds counted from 1, as in 3 or 2..5, got \"{}\"", text));
  return RoundRange{*first, *last};
}

/// Refuses a scenario and the name of a pipeline schedule with what shows them.
void refuse_pipelines(const std::string& name) {
  if (parse_collective(name)) return;
  const ConfigNames scenarios{config_folder(), "scenarios"};
  const std::vector<std::string> begins = scenarios.beginning_with("pipeline-" + name);
  const auto scenario = begins.empty() ? scenarios.known(name) : begins.front();
  if (scenario)
    throw UsageError(
        fmt::format("explain shows collectives; for {}: lockstep run {} --plot pipeline={}.svg",
                    name, *scenario, *scenario));
  if (name.starts_with("pipeline") || named(pipeline_names(), name))
    throw UsageError(
        "explain shows collectives; for pipelines: lockstep run pipeline-1f1b "
        "--plot pipeline=1f1b.svg");
}

/// Takes the schedule of a file.
void import_schedule(const Options& given, Collective collective, app::StageRequest& out) {
  if (!given.algorithm.empty())
    throw UsageError("--algorithm and --schedule cannot be combined: explain shows one");
  if (given.root) throw UsageError("--root: the root of a schedule from a file stands in the file");
  MscclImport read = read_msccl(given.schedule);
  if (read.collective && *read.collective != collective)
    throw UsageError(fmt::format("--schedule {}: it does {}, not {}", given.schedule,
                                 to_string(*read.collective), to_string(collective)));
  if (!out.cluster.nodes && !out.cluster.ranks) out.cluster.ranks = read.ranks;
  out.imported = std::make_shared<const app::ImportedAlgorithm>(std::move(read), collective);
  out.spec.algorithm = &out.imported->row;
}

ExplainRequest request_of(const Options& given) {
  refuse_pipelines(given.collective);
  const Collective collective = collective_of(given.collective);
  ExplainRequest out;
  out.stage.cluster = given.cluster;
  (void)given.cluster.policy();
  out.stage.network = given.network;
  (void)given.network.parsed();
  if (given.schedule.empty()) {
    out.stage.spec = spec_of(given.algorithm, collective);
    out.stage.root = root_of(given.root, collective);
  } else {
    import_schedule(given, collective, out.stage);
  }
  out.stage.size = size_option("--size", given.size);
  out.stage.type = type_of(given.type);
  out.stage.ranks_per_node = given.ranks_per_node;
  out.stage.dimensions = dimensions_of(given.dimensions);
  out.rounds = rounds_of(given.rounds);
  out.all_places = given.style.wide;
  return out;
}

}  // namespace

void add_explain(const Command& app) {
  const Command command = app.add_subcommand(
      "explain", "Show round by round what an algorithm sends, reduces and costs");
  const auto given = std::make_shared<Options>();
  given->cluster.cluster = "star";
  command->add_option("collective", given->collective, "all_reduce, broadcast, ...")->required();
  command
      ->add_option("-a,--algorithm", given->algorithm,
                   "Algorithm with parameters, as in parameter_server:shards=4; see `lockstep list "
                   "algorithms`")
      ->type_name("NAME");
  command
      ->add_option("--schedule", given->schedule,
                   "MSCCL XML file with a schedule to show instead of an algorithm")
      ->type_name("FILE");
  command->add_option("-b,--size", given->size, "Message size (64M = 64 MiB)")
      ->type_name("SIZE")
      ->capture_default_str();
  add_cluster(*command, given->cluster);
  add_network(*command, given->network);
  add_whole_number(
      *command, "--root,-r", 0, kMostRanks - 1,
      [given](auto n) { given->root = static_cast<int>(n); },
      "Root rank of broadcast, reduce, scatter and gather")
      ->default_str("0");
  add_whole_number(
      *command, "--ranks-per-node", 1, kMostRanks,
      [given](auto n) { given->ranks_per_node = static_cast<int>(n); },
      "Ranks per node that the algorithm assumes (default: the cluster's)");
  command
      ->add_option(
          "--dims", given->dimensions,
          "Torus dimensions that the algorithm assumes, as in 4x4 (default: the cluster's)")
      ->type_name("AxB");
  command
      ->add_option("--rounds", given->rounds,
                   "Rounds to print, as in 3 or 2..5 (default: all, or the first and the last)")
      ->type_name("A..B");
  command
      ->add_option("-d,--datatype,--type", given->type,
                   "Element type of nccl-tests: float, half, bfloat16, ...")
      ->type_name("TYPE")
      ->capture_default_str();
  add_format(*command, given->style);
  command->footer(
      "Examples:\n"
      "  lockstep explain all_reduce --algorithm ring --ranks 4 --size 64M\n"
      "  lockstep explain all_reduce --algorithm halving_doubling --ranks 8 --rounds 1..3 --format "
      "md");
  command->resets(given);
  command->callback([given] {
    const ExplainRequest request = request_of(*given);
    const auto found = timed([&] { return std::make_shared<const Explanation>(explain(request)); });
    print_later(given->style, [found, style = given->style] { return render(*found, style); });
  });
}

}  // namespace lockstep::cli
