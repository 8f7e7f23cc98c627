#include <fmt/format.h>

#include <charconv>
#include <memory>

#include "tools/app/inputs/cluster_request.hpp"
#include "tools/app/json.hpp"
#include "tools/app/topology/topology.hpp"
#include "tools/app/write_file.hpp"
#include "tools/lockstep/commands.hpp"
#include "tools/lockstep/host/host.hpp"
#include "tools/lockstep/options/cluster_options.hpp"
#include "tools/lockstep/options/format_option.hpp"
#include "tools/lockstep/output/cluster_json.hpp"
#include "tools/lockstep/output/errors.hpp"
#include "tools/lockstep/parser/command_parser.hpp"
#include "tools/lockstep/topology/link_text.hpp"
#include "tools/lockstep/topology/topology_import.hpp"
#include "topologies/graph/nodes.hpp"

namespace lockstep::cli {

namespace {

struct Options {
  ClusterRequest cluster;
  OutputStyle style;
  std::string from = "0";
  std::string to = "1";
  std::string as = "dot";
  std::string output;
};

std::string config_of(const ClusterRequest& asked, const LoadedCluster& loaded) {
  Json config;
  config["cluster"] = cluster_json(asked, loaded);
  config["routes"] = asked.routes;
  if (loaded.link_changes.any()) config["link_changes"] = lines_of(loaded);
  return config.dump();
}

/// Beyond the range of Rate's own text: a bisection may be many PB/s.
std::string bandwidth_text(double bytes_per_second) {
  return fmt::format("{:.6g} GB/s", bytes_per_second * 1e-9);
}

// --- show

/// A row that grows together with its columns.
struct Listing {
  Report& report;
  std::vector<Cell> row;

  void add(const std::string& key, const std::string& heading, Cell cell) {
    report.columns.push_back({key, heading, "", true});
    row.push_back(std::move(cell));
  }
};

/// "xgmi" for the direct links of AMD's GPUs, which are read and simulated as NVLinks are.
std::string_view kind_name(LinkKind kind, const Device& device) {
  if (kind == LinkKind::nvlink && device.peer_links) return device.peer_links->kind;
  return to_string(kind);
}

void add_counts(Listing& listing, const Census& census, const Device& device) {
  for (std::size_t i = 0; i < kVertexKindNames.size(); ++i)
    if (census.vertices.at(i) > 0)
      listing.add(fmt::format("{}_vertices", kVertexKindNames.at(i)),
                  fmt::format("{} vertices", kVertexKindNames.at(i)),
                  Cell{static_cast<std::int64_t>(census.vertices.at(i))});
  for (std::size_t i = 0; i < kLinkKindNames.size(); ++i) {
    const std::string_view kind = kind_name(static_cast<LinkKind>(i), device);
    if (census.links.at(i) > 0)
      listing.add(fmt::format("{}_links", kind), fmt::format("{} links (directed)", kind),
                  Cell{static_cast<std::int64_t>(census.links.at(i))});
  }
}

/// Where nodes differ in size there is no one number.
void add_node_sizes(Listing& listing, const Cluster& cluster) {
  Cell one;
  if (has_equal_nodes(cluster)) one.value = std::int64_t{largest_node(cluster)};
  one.text = node_sizes_text(cluster);
  listing.add("gpus_per_node", "ranks per node", one);
  listing.add("smallest_node_ranks", "", Cell{std::int64_t{smallest_node(cluster)}});
  listing.add("largest_node_ranks", "", Cell{std::int64_t{largest_node(cluster)}});
}

void add_bisection(Listing& listing, const std::optional<Bisection>& cut) {
  const auto cell = [](double bandwidth) { return Cell{bandwidth, bandwidth_text(bandwidth)}; };
  const bool even = !cut || cut->is_even();
  listing.add("bisection_Bps", even ? "bisection, each way" : "",
              cut ? cell(cut->least()) : Cell{});
  listing.add("bisection_up_Bps", even ? "" : "bisection, lower to upper half",
              cut ? cell(cut->up) : Cell{});
  listing.add("bisection_down_Bps", even ? "" : "bisection, upper to lower half",
              cut ? cell(cut->down) : Cell{});
}

void add_diameter(Listing& listing, const Diameter& longest) {
  const std::string sampled = longest.exact ? "" : " at the least (64 ranks looked at)";
  listing.add("diameter_hops", "longest route",
              Cell{longest.hops,
                   fmt::format("{} hop{}{}", longest.hops, longest.hops == 1 ? "" : "s", sampled)});
  listing.add("diameter_latency_s", "largest latency",
              Cell{longest.latency.seconds(), to_string(longest.latency) + sampled});
  listing.add("diameter_exact", "", Cell{longest.exact});
}

Report report_of(const ClusterRequest& asked, const TopologySummary& summary) {
  const LoadedCluster& loaded = summary.loaded;
  Report out;
  out.schema = "lockstep.topology.show/2";
  out.upright = true;
  out.config = config_of(asked, loaded);
  out.seed = asked.seed;
  Listing listing{out, {}};
  listing.add("name", "", Cell{loaded.name});
  listing.add("device", "device", Cell{loaded.device.id});
  listing.add("nodes", "nodes", Cell{std::int64_t{loaded.cluster.nodes()}});
  add_node_sizes(listing, loaded.cluster);
  listing.add("ranks", "ranks", Cell{std::int64_t{loaded.cluster.ranks()}});
  add_counts(listing, summary.census, loaded.device);
  if (summary.failed_links > 0)
    listing.add("failed_links", "failed links (directed)", Cell{summary.failed_links});
  add_bisection(listing, summary.bisection);
  add_diameter(listing, summary.diameter);
  Section section;
  section.notes = {loaded.summary.empty() ? loaded.name
                                          : fmt::format("{}: {}", loaded.name, loaded.summary)};
  for (std::string& line : lines_of(loaded)) section.notes.push_back(std::move(line));
  section.rows.push_back(listing.row);
  out.sections.push_back(std::move(section));
  return out;
}

void show(const Options& given) {
  const auto summary = timed(
      [&] { return std::make_shared<const TopologySummary>(summarize_topology(given.cluster)); });
  print_later(given.style, [asked = given.cluster, style = given.style, summary] {
    return render(report_of(asked, *summary), style);
  });
}

// --- routes

std::vector<Cell> hop_row(const LoadedCluster& loaded, const Hop& hop, bool limits) {
  const Cluster& cluster = loaded.cluster;
  const ClusterLink link = cluster.link(hop.link);
  const double share = static_cast<double>(hop.weight) / static_cast<double>(kWeightUnit);
  return {Cell{std::int64_t{hop.link}},
          Cell{cluster.vertex_name(link.from)},
          Cell{cluster.vertex_name(link.to)},
          Cell{std::string{kind_name(link.kind, loaded.device)}},
          Cell{link.figures.bandwidth.bytes_per_second()},
          Cell{link.figures.carried().bytes_per_second(), to_string(link.figures.carried())},
          Cell{link.figures.efficiency},
          Cell{link.figures.latency.seconds(), to_string(link.figures.latency)},
          Cell{share, fmt::format("{:.4g}", share)},
          Cell{limits, limits ? "<- limits" : " "}};
}

/// A rank by its number, or the name of its vertex.
void read_end(const std::string& text, std::int64_t& rank, std::string& vertex) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, rank);
  if (error != std::errc{} || stop != end) vertex = text;
}

RouteRequest request_of(const Options& given) {
  RouteRequest out{given.cluster, 0, 1, {}, {}};
  read_end(given.from, out.from, out.from_vertex);
  read_end(given.to, out.to, out.to_vertex);
  return out;
}

/// An endpoint after the last GPU is a CPU socket or a host, which few mean by a number.
void note_host(EndpointId endpoint, const Cluster& cluster, std::vector<std::string>& notes) {
  if (endpoint >= static_cast<EndpointId>(cluster.ranks()))
    notes.push_back(fmt::format("{} is {}, not a GPU", endpoint,
                                cluster.vertex_name(cluster.vertex_of(endpoint))));
}

Report routes(const Options& given) {
  const RouteResult found = find_route(request_of(given));
  const LoadedCluster& loaded = found.loaded;
  const Cluster& cluster = loaded.cluster;
  const Route& route = found.route;
  Report out;
  out.schema = "lockstep.topology.routes/3";
  out.config = config_of(given.cluster, loaded);
  out.seed = given.cluster.seed;
  out.columns = {{"link", "link", ""},
                 {"from", "from", "", true},
                 {"to", "to", "", true},
                 {"kind", "kind", "", true},
                 {"bandwidth_Bps", "", ""},
                 {"carries_Bps", "carries", ""},
                 {"efficiency", "efficiency", ""},
                 {"latency_s", "latency", ""},
                 {"share_fraction", "share", ""},
                 {"limits", " ", "", true}};
  out.left_out_first = {"efficiency", "link", "latency_s", "share_fraction"};
  const auto& limit = found.bottleneck;
  Section section;
  section.notes.push_back(fmt::format(
      "{} -> {}: {} path{} of {} link{}, latency {}, {}",
      cluster.vertex_name(cluster.vertex_of(found.from)),
      cluster.vertex_name(cluster.vertex_of(found.to)), route.paths, route.paths == 1 ? "" : "s",
      path_length(route), path_length(route) == 1 ? "" : "s", to_string(route.latency),
      limit ? fmt::format("{} alone", to_string(limit->rate)) : "nothing to cross"));
  for (std::string& line : lines_of(loaded)) section.notes.push_back(std::move(line));
  note_host(found.from, cluster, section.notes);
  note_host(found.to, cluster, section.notes);
  for (const Hop& hop : route.hops)
    section.rows.push_back(hop_row(loaded, hop, limit && limit->link == hop.link));
  out.sections.push_back(std::move(section));
  return out;
}

// --- export

void export_graph(const Options& given) {
  const std::string text = export_topology(given.cluster, given.as);
  if (given.output.empty()) {
    print(text);
  } else {
    write_file(given.output, text);
  }
}

}  // namespace

void add_topology(const Command& app) {
  const Command topology =
      app.add_subcommand("topology", "Show a cluster, its routes and its graph; import machines");
  topology->require_subcommand(1);
  topology->footer(
      "Examples:\n"
      "  lockstep topology show dgx1\n"
      "  lockstep topology routes dgx-h100 --nodes 2 --from 0 --to "
      "11");
  const auto given = std::make_shared<Options>();

  const Command showing = topology->add_subcommand(
      "show", "Show the size, bisection bandwidth and diameter of a cluster");
  add_cluster(*showing, given->cluster, true);
  add_format(*showing, given->style);
  showing->footer(
      "The bisection is the minimum cut between the lower and the upper half of the ranks.\n\n"
      "Examples:\n"
      "  lockstep topology show --cluster configs/clusters/torus-2d.json\n"
      "  lockstep topology show dgx-h100 --nodes 4 --format json");
  showing->resets(given);
  showing->callback([given] { show(*given); });

  const Command routing =
      topology->add_subcommand("routes", "Show the route between two ranks, link by link");
  add_cluster(*routing, given->cluster, true);
  add_format(*routing, given->style);
  routing->add_option("--from", given->from, "Sending rank or its vertex, such as node0/gpu0")
      ->type_name("RANK")
      ->capture_default_str();
  routing->add_option("--to", given->to, "Receiving rank or its vertex, such as node1/gpu3")
      ->type_name("RANK")
      ->capture_default_str();
  routing->footer(
      "The share of a link is the fraction of the transfer that crosses it (equal-cost split).\n"
      "\n"
      "Examples:\n"
      "  lockstep topology routes dgx-h100 --nodes 2 --from 0 --to 11\n"
      "  lockstep topology routes --cluster configs/clusters/fat-tree.json --from 0 --to 63 "
      "--routes ecmp");
  routing->callback([given] { print(render(routes(*given), given->style)); });

  const Command exporting =
      topology->add_subcommand("export", "Export the topology graph as DOT or GraphML");
  add_cluster(*exporting, given->cluster, true);
  exporting->add_option("--format", given->as, "Graph as DOT or GraphML")
      ->type_name("dot|graphml")
      ->capture_default_str();
  exporting->add_option("-o,--output", given->output, "File to write (default: standard output)")
      ->type_name("FILE");
  exporting->footer(
      "Examples:\n"
      "  lockstep topology export --cluster configs/clusters/dgx1.json --format dot\n"
      "  lockstep topology export --cluster configs/clusters/ring.json --ranks 4 --format graphml");
  exporting->callback([given] { export_graph(*given); });

  add_topology_import(*topology);
}

}  // namespace lockstep::cli
