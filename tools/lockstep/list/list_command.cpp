#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "sim/config/did_you_mean.hpp"
#include "tools/app/inputs/cluster_request.hpp"
#include "tools/lockstep/commands.hpp"
#include "tools/lockstep/host/host.hpp"
#include "tools/lockstep/list/card.hpp"
#include "tools/lockstep/list/list_algorithms.hpp"
#include "tools/lockstep/list/list_training.hpp"
#include "tools/lockstep/options/format_option.hpp"
#include "tools/lockstep/output/errors.hpp"
#include "tools/lockstep/parser/command_parser.hpp"
#include "topologies/analysis/slowest_links.hpp"
#include "topologies/builders/build_cluster.hpp"
#include "topologies/builders/registry.hpp"
#include "topologies/devices/device.hpp"

namespace lockstep::cli {

namespace {

Cell text(std::string_view value) {
  return Cell{std::string{value}};
}

Report topologies() {
  Report out;
  out.schema = "lockstep.list.topologies/1";
  out.columns = {{"name", "builder", "", true},
                 {"kind", "kind", "", true},
                 {"parameters", "parameters", "", true, 38},
                 {"summary", "summary", "", true, 50},
                 {"example", "", "", true},
                 {"source", "", "", true}};
  Section section;
  for (const Builder& builder : topology_builders()) {
    std::string parameters;
    for (const Parameter& parameter : builder.parameters)
      parameters += (parameters.empty() ? "" : ", ") + std::string{parameter.name};
    section.rows.push_back({text(builder.name),
                            text(builder.is_node()     ? "node"
                                 : builder.is_fabric() ? "fabric"
                                                       : "direct"),
                            text(parameters), text(builder.summary), text(builder.example),
                            text(builder.source)});
  }
  out.sections.push_back(std::move(section));
  return out;
}

/// "14 datasheet, 2 assumed".
Cell provenance_cell(const std::array<std::int64_t, kProvenances>& counts) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < kProvenances; ++i)
    if (counts[i] > 0) out.push_back(fmt::format("{} {}", counts[i], kProvenanceNames[i]));
  return text(fmt::format("{}", fmt::join(out, ", ")));
}

/// Bandwidth and latency of each kind of link.
Cell provenance_of(const Cluster& cluster) {
  std::array<std::int64_t, kProvenances> counts{};
  for (const std::optional<LinkFigures>& link : slowest_links(cluster)) {
    if (!link) continue;
    ++counts[static_cast<std::size_t>(link->provenance)];
    ++counts[static_cast<std::size_t>(link->latency_provenance)];
  }
  return provenance_cell(counts);
}

std::vector<Cell> device_row(const Device& device) {
  std::vector<Cell> out = {text(device.id), text(device.name)};
  if (device.memory) {
    out.emplace_back(device.memory->size.count(), to_string(device.memory->size));
    out.emplace_back(device.memory->bandwidth.bytes_per_second(),
                     to_string(device.memory->bandwidth));
  } else {
    out.resize(4);
  }
  for (const Precision precision :
       {Precision::kFp32, Precision::kBf16, Precision::kFp16, Precision::kFp8}) {
    const auto peak = device.peak(precision);
    out.push_back(peak ? Cell{peak->per_second(), to_string(*peak)} : Cell{});
  }
  if (device.peer_links) {
    const double all = device.peer_links->bandwidth.bytes_per_second() *
                       static_cast<double>(device.peer_links->count);
    out.emplace_back(all, fmt::format("{} x {}", device.peer_links->count,
                                      to_string(device.peer_links->bandwidth)));
  } else {
    out.emplace_back();
  }
  out.push_back(provenance_cell(count_provenance(device.sources)));
  return out;
}

Report devices() {
  Report out;
  out.schema = "lockstep.list.devices/1";
  out.columns = {{"id", "device", "", true},
                 {"name", "name", "", true},
                 {"memory_bytes", "memory", ""},
                 {"memory_Bps", "memory rate", ""},
                 {"fp32_flops", "fp32", ""},
                 {"bf16_flops", "bf16", ""},
                 {"fp16_flops", "fp16", ""},
                 {"fp8_flops", "fp8", ""},
                 {"peer_links_Bps", "links", "", true},
                 {"provenance", "provenance", "", true, 60}};
  out.left_out_first = {"provenance", "name",      "fp16_flops",
                        "fp32_flops", "fp8_flops", "memory_Bps"};
  Section section;
  const std::string folder = config_folder() + "/devices";
  for (const std::string& id : device_ids(folder))
    section.rows.push_back(device_row(load_device(fmt::format("{}/{}.json", folder, id))));
  out.sections.push_back(std::move(section));
  out.footer = {
      "dense peaks, links one way; `lockstep list devices NAME` prints the sources; files: " +
      folder};
  return out;
}

Report clusters() {
  Report out;
  out.schema = "lockstep.list.clusters/1";
  out.columns = {{"name", "cluster", "", true},
                 {"ranks", "ranks", ""},
                 {"nodes", "nodes", ""},
                 {"device", "device", "", true},
                 {"file", "", "", true},
                 {"summary", "summary", "", true, 200},
                 {"provenance", "links", "", true, 60}};
  out.left_out_first = {"provenance"};
  Section section;
  for (const std::string& name : device_ids(config_folder() + "/clusters")) {
    const std::string path = config_folder() + "/clusters/" + name + ".json";
    const ClusterFile file = load_cluster(path);
    section.rows.push_back({text(name), Cell{std::int64_t{file.cluster.ranks()}},
                            Cell{std::int64_t{file.cluster.nodes()}}, text(file.device), text(path),
                            text(file.summary), provenance_of(file.cluster)});
  }
  out.sections.push_back(std::move(section));
  out.footer = {"sizes as the files say; --nodes or --ranks change them"};
  return out;
}

const std::vector<std::string_view>& lists() {
  static const std::vector<std::string_view> all = {
      "algorithms", "topologies", "devices",    "clusters", "models",
      "scenarios",  "stacks",     "precisions", "spaces",   "campaigns"};
  return all;
}

Report registry(const std::string& which) {
  if (which == "topologies") return topologies();
  if (which == "devices") return devices();
  if (which == "clusters") return clusters();
  if (which == "models") return list_models();
  if (which == "scenarios") return list_scenarios();
  if (which == "stacks") return list_stacks();
  if (which == "precisions") return list_precisions();
  if (which == "spaces") return list_spaces();
  if (which == "campaigns") return list_campaigns();
  const std::string message = fmt::format("no list of \"{}\"", which);
  if (const auto meant = did_you_mean(which, lists()))
    throw UsageError(fmt::format("{}; did you mean \"{}\"?", message, *meant));
  throw UsageError(fmt::format("{}; choose from {}", message, fmt::join(lists(), ", ")));
}

Report list_entry(const std::string& which, const std::string& name) {
  const bool known = std::find(lists().begin(), lists().end(), which) != lists().end();
  return known ? list_card(which, name) : registry(which);
}

}  // namespace

void add_list(const Command& app) {
  struct Options {
    std::string which;
    ListAlgorithms algorithms;
    OutputStyle style;
  };
  const auto given = std::make_shared<Options>();
  const Command command =
      app.add_subcommand("list", "List available algorithms, clusters, models and scenarios");
  command
      ->add_option("registry", given->which,
                   "algorithms, topologies, devices, clusters, models, scenarios, stacks, "
                   "precisions, spaces "
                   "or campaigns")
      ->required();
  command
      ->add_option("collective", given->algorithms.collective,
                   "With algorithms: the collective. With other lists: an entry, to print its "
                   "parameters with units and sources; with models also a file, such as the "
                   "config.json of Hugging Face")
      ->type_name("NAME");
  command
      ->add_option("algorithm", given->algorithms.algorithm,
                   "Algorithm of the collective, to print all its properties")
      ->type_name("ALGORITHM");
  command->add_flag(
      "--verbose", given->algorithms.verbose,
      "Print all properties of each algorithm: formulas, parameters, limits, example, source");
  add_format(*command, given->style);
  command->footer(
      "Examples:\n"
      "  lockstep list scenarios\n"
      "  lockstep list algorithms all_reduce ring\n"
      "  lockstep list devices h100\n"
      "  lockstep list clusters --format json");
  command->resets(given);
  command->callback([given] {
    const bool algorithms = given->which == "algorithms";
    const std::string& name = given->algorithms.collective;
    if (!algorithms && (given->algorithms.verbose || !given->algorithms.algorithm.empty()))
      throw UsageError(fmt::format("list {}: --verbose and a second name are for algorithms only",
                                   given->which));
    given->algorithms.table = given->style.is_table();
    Report report = timed([&] {
      return algorithms     ? list_algorithms(given->algorithms)
             : name.empty() ? registry(given->which)
                            : list_entry(given->which, name);
    });
    // Entries of algorithms and topologies have no card; of a stack the whole text is what one
    // chooses by.
    report.one_line =
        !algorithms && given->which != "topologies" && given->which != "stacks" && name.empty();
    report.whole_entry = fmt::format("`lockstep list {} NAME`", given->which);
    report.config = fmt::format("{{\"registry\": \"{}\"}}", given->which);
    print_later(given->style, [report = std::make_shared<const Report>(std::move(report)),
                               style = given->style] { return render(*report, style); });
  });
}

}  // namespace lockstep::cli
