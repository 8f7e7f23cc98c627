#include <fmt/format.h>

#include <memory>
#include <optional>

#include "sim/config/did_you_mean.hpp"
#include "strategies/collectives/registry/registry.hpp"
#include "strategies/collectives/registry/spec.hpp"
#include "strategies/collectives/sizing.hpp"
#include "tools/app/collective/candidates.hpp"
#include "tools/app/collective/setup/root.hpp"
#include "tools/app/explain/export_schedule.hpp"
#include "tools/app/write_file.hpp"
#include "tools/lockstep/commands.hpp"
#include "tools/lockstep/host/host.hpp"
#include "tools/lockstep/options/cluster_options.hpp"
#include "tools/lockstep/options/number_option.hpp"
#include "tools/lockstep/options/sizes.hpp"
#include "tools/lockstep/output/errors.hpp"
#include "tools/lockstep/output/output.hpp"
#include "tools/lockstep/parser/command_parser.hpp"

namespace lockstep::cli {

namespace {

struct Options {
  std::string collective;
  std::string algorithm;
  ClusterRequest cluster;
  std::optional<int> ranks_per_node;
  std::optional<int> root;
  std::string size = "1M";
  std::string type = "float";
  std::string to = "msccl";
  std::string protocol = "Simple";
  std::string out;
};

AlgorithmSpec spec_of(const Options& given, Collective collective) {
  ParsedSpecs parsed = parse_specs(
      given.algorithm.empty() ? default_algorithm(collective) : given.algorithm, collective);
  if (!parsed.errors.empty()) throw UsageError("--algorithm: " + parsed.errors.front().message);
  if (parsed.specs.size() != 1)
    throw UsageError(fmt::format("--algorithm: expected one, got \"{}\"", given.algorithm));
  return std::move(parsed.specs.front());
}

Bytes size_of(const Options& given) {
  return size_option("--size", given.size);
}

const ElementType& type_of(const Options& given) {
  if (const ElementType* type = find_element_type(given.type)) return *type;
  throw UsageError(fmt::format("-d: unknown element type \"{}\"", given.type));
}

/// Numbers of chunks go by the cluster, as in `lockstep collective`.
ExportRequest request_of(const Options& given, Collective collective) {
  (void)given.cluster.policy();
  ExportRequest out;
  out.form = given.to;
  out.protocol = given.protocol;
  out.stage.cluster = given.cluster;
  out.stage.spec = spec_of(given, collective);
  out.stage.root = root_of(given.root, collective);
  out.stage.size = size_of(given);
  out.stage.type = &type_of(given);
  out.stage.ranks_per_node = given.ranks_per_node;
  return out;
}

/// A schedule on file has its number of chunks for good.
void note_chunks(const Options& given, const Stage& stage) {
  const AlgorithmSpec spec = spec_of(given, collective_of(given.collective));
  const AlgorithmParameter* chunks = find_parameter(*spec.algorithm, "chunks");
  if (chunks == nullptr || chunks->fallback || spec.arguments.contains("chunks")) return;
  print_note(fmt::format(
      "note: chunks are as many as are best for {} on {}; --size, --cluster or {}:chunks=N for "
      "others",
      to_string(size_of(given)), stage.setup->loaded().name, spec.algorithm->name));
}

std::string exported(const Options& given) {
  ExportResult out = export_schedule(request_of(given, collective_of(given.collective)));
  for (const std::string& warning : out.warnings) print_note("note: " + warning);
  note_chunks(given, out.stage);
  return std::move(out.text);
}

}  // namespace

void add_schedule(const Command& app) {
  const Command command = app.add_subcommand("schedule", "Export schedules as MSCCL XML or GOAL");
  command->require_subcommand(1);
  const Command to_file =
      command->add_subcommand("export", "Write the schedule of a collective as MSCCL XML or GOAL");
  const auto given = std::make_shared<Options>();
  to_file->add_option("collective", given->collective, "Collective, such as all_reduce")
      ->required();
  to_file
      ->add_option(
          "--algorithm,-a", given->algorithm,
          "Algorithm with parameters, as in ring:channels=2 (default: ring, or the first of "
          "`lockstep list algorithms`)")
      ->type_name("NAME");
  given->cluster.cluster = "star";
  add_cluster(*to_file, given->cluster);
  to_file->remove_option(to_file->get_option("--ranks"));
  add_whole_number(
      *to_file, "--ranks,-n", 1, 1 << 16,
      [given](auto n) { given->cluster.ranks = static_cast<int>(n); },
      "Number of ranks (default: the cluster's)");
  add_whole_number(
      *to_file, "--ranks-per-node", 1, 1 << 16,
      [given](auto n) { given->ranks_per_node = static_cast<int>(n); },
      "Consecutive ranks per node, for hierarchical algorithms (default: the cluster's)");
  add_whole_number(
      *to_file, "--root,-r", 0, 1 << 16, [given](auto n) { given->root = static_cast<int>(n); },
      "Root of broadcast, reduce, scatter and gather (default 0)");
  to_file
      ->add_option("--size", given->size,
                   "Message size, for GOAL and for algorithms whose number of chunks depends on it")
      ->type_name("SIZE")
      ->capture_default_str();
  to_file->add_option("-d,--datatype", given->type, "Element type")->capture_default_str();
  to_file->add_option("--format", given->to, "MSCCL XML or GOAL")
      ->type_name("msccl|goal")
      ->capture_default_str();
  to_file
      ->add_option("--protocol", given->protocol,
                   "Protocol attribute of the MSCCL XML: Simple, LL or LL128")
      ->capture_default_str();
  to_file->add_option("-o,--output", given->out, "File to write (default: standard output)")
      ->type_name("FILE");
  to_file->footer(
      "Examples:\n"
      "  lockstep schedule export all_reduce --algorithm ring --ranks 4\n"
      "  lockstep schedule export broadcast --algorithm binomial --ranks 8 --format goal --size "
      "1M\n"
      "  lockstep schedule export all_reduce --algorithm hierarchical --cluster dgx-h100 --nodes "
      "2");
  command->footer(
      "Examples:\n"
      "  lockstep schedule export all_reduce --algorithm ring --ranks 4\n"
      "  lockstep schedule export all_gather --algorithm bruck --ranks 5");
  to_file->resets(given);
  to_file->callback([given] {
    const std::string text = exported(*given);
    if (given->out.empty()) {
      print(text);
    } else {
      write_file(given->out, text);
    }
  });
}

}  // namespace lockstep::cli
