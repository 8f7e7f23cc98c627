#include "tools/lockstep/options/cluster_options.hpp"

#include <cstdint>
#include <limits>

#include "tools/lockstep/options/number_option.hpp"
#include "tools/lockstep/parser/command_parser.hpp"

namespace lockstep::cli {

namespace {

void add_links(const Command& command, app::ClusterRequest& request) {
  command
      .add_option(
          "--set-link", request.set_links,
          "Change a link (\"node0/gpu3 -> node0/nvswitch0\", with -- for both directions) "
          "or all links of a switch, NIC, node or rail (\"rail0/leaf0\", \"rail0\"); SETTINGS "
          "are bandwidth=50% or bandwidth=\"25 GB/s\" and latency=\"5 us\", separated by commas; "
          "repeatable")
      ->type_name("LINK SETTINGS")
      ->allow_extra_args(false);
  command
      .add_option("--fail", request.failed,
                  "Remove a link, or all links of a switch, NIC, node or rail, and reroute; "
                  "repeatable")
      ->type_name("LINK")
      ->allow_extra_args(false);
}

}  // namespace

void add_cluster(const Command& command, app::ClusterRequest& request, bool positional) {
  command.group("Cluster");
  const Option file = command.add_option(
      positional ? "cluster,--cluster" : "--cluster", request.cluster,
      "Cluster file, such as configs/clusters/dgx-h100.json, or the name of a shipped one");
  file->required(request.cluster.empty())->type_name("FILE");
  if (!request.cluster.empty()) file->capture_default_str();
  add_whole_number(
      command, "--nodes", 1, kMostNodes,
      [&request](auto n) { request.nodes = static_cast<int>(n); },
      "Number of nodes (default: the cluster file's)");
  add_whole_number(
      command, "--ranks,-n", 1, kMostRanks,
      [&request](auto n) { request.ranks = static_cast<int>(n); },
      "Number of ranks, for clusters of free size");
  command
      .add_option("--set", request.overrides,
                  "Override a value of the cluster file, e.g. topology.shape=[8,8] or "
                  "fabric.link.bandwidth=\"200 Gb/s\"; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command
      .add_option("--routes", request.routes,
                  "auto: rail first, else fewest hops, equal paths split; ecmp: one of them by a "
                  "hash; shortest: always the first")
      ->type_name("POLICY")
      ->capture_default_str();
  add_whole_number(
      command, "--seed", 0, std::numeric_limits<std::uint64_t>::max(),
      [&request](auto n) { request.seed = n; }, "Random seed")
      ->default_str(std::to_string(request.seed));
  add_links(command, request);
  command.group("");
}

void add_network(const Command& command, app::NetworkRequest& request) {
  command.group("Network model");
  command
      .add_option(
          "--network", request.model,
          "fluid: max-min fair shares; alpha-beta: only ports limit; queue: whole messages, "
          "first in first out")
      ->type_name("MODEL")
      ->capture_default_str();
  command
      .add_option("--protocol", request.protocol,
                  "Wire protocol: ll, ll128, simple or a file of one (default: "
                  "the cluster's own link efficiency)")
      ->type_name("NAME");
  command.group("");
}

}  // namespace lockstep::cli
