#include "topologies/files/cluster_file.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "topologies/builders/build_cluster.hpp"
#include "topologies/files/cluster_reader.hpp"
#include "topologies/graph/cluster_data.hpp"

namespace lockstep {
namespace {

bool has_parameter(const std::optional<BuilderCall>& call, std::string_view name) {
  if (!call || call->builder == nullptr) return false;
  const auto& table = call->builder->parameters;
  return std::any_of(table.begin(), table.end(),
                     [name](const Parameter& row) { return row.name == name; });
}

/// What a file says of its cluster, read but not built.
struct Plan {
  std::optional<BuilderCall> topology;
  std::optional<BuilderCall> fabric;
  std::optional<ValueReader> topology_at;
  std::optional<ValueReader> fabric_at;
  ClusterSize size;
};

/// Notes what building refuses at the value that is to blame, if the file has it.
void blame(const Plan& plan, ObjectReader& in, const BuildError& error) {
  const auto at = [&](const std::optional<ValueReader>& section) {
    section->object([&](ObjectReader& members) {
      members.note(error.parameter(), error.what());
      (void)members.all();
    });
  };
  if (has_parameter(plan.fabric, error.parameter())) return at(plan.fabric_at);
  if (has_parameter(plan.topology, error.parameter())) return at(plan.topology_at);
  in.note(error.parameter(), error.what());
}

std::optional<BuilderCall> read_fabric(const std::optional<ValueReader>& at) {
  if (!at) return std::nullopt;
  return at->object(read_fabric_call);
}

std::optional<BuilderCall> read_topology(const std::optional<ValueReader>& at) {
  if (!at) return std::nullopt;
  return at->object([](ObjectReader& in) {
    return read_builder_call(in, "topology", [](const Builder&) { return true; });
  });
}

std::optional<int> read_count(ObjectReader& in, std::string_view key, std::int64_t most) {
  const auto count = in.optional_integer(key, 1, most);
  if (!count) return std::nullopt;
  return static_cast<int>(*count);
}

/// Nodes are counted in nodes, single GPUs in ranks, and some shapes say it all themselves.
void check_size_key(ObjectReader& in, const Plan& plan) {
  if (!plan.topology || plan.topology->builder == nullptr) return;
  const Builder& builder = *plan.topology->builder;
  const bool shaped = has_parameter(plan.topology, "shape");
  const std::string name = in_quotes(builder.name);
  if (plan.size.nodes && !builder.is_node()) {
    in.note("nodes", "the topology " + name + " is made of single GPUs: say \"ranks\"");
  }
  if (plan.size.ranks && builder.is_node()) {
    in.note("ranks", "the topology " + name + " is a node: say how many \"nodes\"");
  }
  if (plan.size.ranks && shaped) {
    in.note("ranks", "the topology " + name + " has as many ranks as its shape says");
  }
  const bool sized = plan.size.nodes || plan.size.ranks || shaped;
  if (!sized) {
    in.note(builder.is_node() ? "say how many \"nodes\" there are"
                              : "say how many \"ranks\" there are");
  }
}

Plan read_plan(ObjectReader& in) {
  Plan plan;
  plan.topology_at = in.optional("topology");
  plan.fabric_at = in.optional("fabric");
  plan.topology = read_topology(plan.topology_at);
  plan.fabric = read_fabric(plan.fabric_at);
  plan.size.nodes = read_count(in, "nodes", kMostNodes);
  plan.size.ranks = read_count(in, "ranks", kMostRanks);
  check_size_key(in, plan);
  return plan;
}

/// The requested size overrides the file's.
void resize(Plan& plan, const ClusterSize& asked) {
  if (asked.nodes || asked.ranks) {
    plan.size.nodes = asked.nodes;
    plan.size.ranks = asked.ranks;
  }
  plan.size.extra_hosts = asked.extra_hosts;
}

/// What `make` builds, or a note of why it cannot be built.
template <class Make>
std::optional<Cluster> or_blame(const Plan& plan, ObjectReader& in, Make&& make) {
  try {
    return make();
  } catch (const BuildError& error) {
    blame(plan, in, error);
  } catch (const OutOfRange& error) {  // such as two links of 100 TB/s taken as one
    in.note(plan.topology ? "topology" : "fabric",
            std::string{error.what()} + " once its figures are put together");
  }
  return std::nullopt;
}

std::optional<Cluster> build(Plan plan, ObjectReader& in, const ClusterSize& asked) {
  if (in.self().problems().any()) return std::nullopt;
  resize(plan, asked);
  return or_blame(plan, in,
                  [&plan] { return build_cluster(*plan.topology, plan.fabric, plan.size); });
}

/// A cluster that is written out has the size that it has.
void refuse_size(ObjectReader& in, const Cluster& cluster, const ClusterSize& asked) {
  const auto refuse = [&](std::string_view what, int has, std::optional<int> wanted) {
    if (!wanted || *wanted == has) return;
    in.note("graph", "this cluster is written out with " + std::to_string(has) + " " +
                         std::string{what} + ", got " + std::to_string(*wanted));
  };
  refuse("ranks", cluster.ranks(), asked.ranks);
  refuse("nodes", cluster.nodes(), asked.nodes);
  refuse("extra hosts", 0, asked.extra_hosts);
}

std::optional<Cluster> read_written_out(ObjectReader& in, const ClusterSize& asked) {
  const auto cluster = in.object("graph", [](ObjectReader& graph) { return read_graph(graph); });
  if (cluster) refuse_size(in, *cluster, asked);
  return cluster;
}

/// A node written out, repeated and joined as the file says, in the size that is asked for.
std::optional<Cluster> read_node_cluster(ObjectReader& in, const ClusterSize& asked) {
  Plan plan;
  auto node = in.object("node", [](ObjectReader& parts) { return read_node(parts); });
  plan.fabric_at = in.optional("fabric");
  plan.fabric = read_fabric(plan.fabric_at);
  plan.size.nodes = static_cast<int>(in.integer("nodes", 1, kMostNodes));
  if (in.self().problems().any()) return std::nullopt;
  resize(plan, asked);
  return or_blame(plan, in,
                  [&] { return cluster_of_nodes(std::move(*node), plan.fabric, plan.size); });
}

std::optional<Cluster> read_built(ObjectReader& in, const ClusterSize& asked) {
  return build(read_plan(in), in, asked);
}

/// One of a topology, a node and a graph.
std::optional<Cluster> read_body(ObjectReader& in, const ClusterSize& asked) {
  const bool written_out = in.optional("graph").has_value();
  const bool node = in.optional("node").has_value();
  const bool built = in.optional("topology").has_value();
  if (written_out && !node && !built) return read_written_out(in, asked);
  if (node && !written_out && !built) return read_node_cluster(in, asked);
  if (built && !node && !written_out) return read_built(in, asked);
  (void)in.all();
  in.note(
      "expected one of \"topology\" (a builder), \"node\" (vertices and cables of one node) and "
      "\"graph\" (vertices and cables of the whole)");
  return std::nullopt;
}

struct Read {
  std::string name;
  std::string summary;
  std::string device;
  OperatingCosts costs;
  std::optional<Cluster> cluster;
};

Read read_root(ObjectReader& in, const ClusterSize& size) {
  Read parts;
  parts.name = in.string("name");
  parts.summary = in.string("summary", "");
  parts.device = in.string({"device", "Device of configs/devices (default: host)"}, "host");
  parts.costs = read_operating_costs(in);
  if (in.describes()) {
    describe_cluster_body(in);
  } else {
    parts.cluster = read_body(in, size);
  }
  return parts;
}

}  // namespace

ClusterFile read_cluster(const JsonDocument& document, const ClusterSize& size) {
  Read read = read_document(document, [&size](ObjectReader& in) { return read_root(in, size); });
  return {std::move(read.name), std::move(read.summary), std::move(read.device),
          std::move(*read.cluster), read.costs};
}

JsonValue cluster_schema() {
  return schema_of("cluster",
                   "A cluster: a topology builder with its parameters, or an explicit graph of one "
                   "node or of the whole cluster.",
                   [](ObjectReader& in) { return read_root(in, {}); });
}

ClusterFile load_cluster(const std::filesystem::path& path, const ClusterSize& size) {
  return read_cluster(read_json(path), size);
}

}  // namespace lockstep
