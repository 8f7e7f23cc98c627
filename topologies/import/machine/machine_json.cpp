#include "topologies/import/machine/machine_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <utility>

#include "topologies/import/machine/rate_text.hpp"

namespace lockstep {
namespace {

/// A name of another tool may be any bytes; JSON's texts are UTF-8.
std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string figures_text(const SourcedLink& link, const std::string& bandwidth) {
  const std::string efficiency =
      link.figures.efficiency == 1.0
          ? ""
          : fmt::format(R"("efficiency": {}, )", link.figures.efficiency);
  const LinkFigures& of = link.figures;
  const std::string latency_provenance =
      of.latency_provenance == of.provenance
          ? ""
          : fmt::format(R"(, "latency_provenance": "{}")", to_string(of.latency_provenance));
  return fmt::format(R"("bandwidth": "{}", {}"latency": "{}", "source": {}, "provenance": "{}"{})",
                     bandwidth, efficiency, to_string(of.latency), quoted(link.source),
                     to_string(of.provenance), latency_provenance);
}

class Writer {
 public:
  Writer(const Machine& machine, const std::vector<int>& rails) : machine_{machine}, rails_{rails} {
    std::map<VertexKind, int> counted;
    std::set<std::size_t> hosts;
    for (const MachineVertex& vertex : machine.vertices) {
      const int number = counted[vertex.kind]++;
      numbers_.push_back(number);
      hosts.insert(vertex.host);
    }
    several_hosts_ = hosts.size() > 1;
  }

  [[nodiscard]] std::string node() const {
    std::vector<std::string> vertices;
    for (std::size_t v = 0; v < machine_.vertices.size(); ++v) vertices.push_back(vertex(v));
    std::vector<std::string> cables;
    for (const MachineCable& one : sorted_cables()) cables.push_back(cable(one));
    return fmt::format("  \"node\": {{\n    \"vertices\": [\n      {}\n    ],\n",
                       fmt::join(vertices, ",\n      ")) +
           fmt::format("    \"cables\": [\n      {}\n    ]\n  }}", fmt::join(cables, ",\n      "));
  }

 private:
  [[nodiscard]] std::string id(std::size_t v) const {
    return std::string{to_string(machine_.vertices[v].kind)} + std::to_string(numbers_[v]);
  }

  /// Kind by kind, in the order of what they join.
  [[nodiscard]] std::vector<MachineCable> sorted_cables() const {
    std::vector<MachineCable> cables = machine_.cables;
    for (MachineCable& cable : cables) {
      if (cable.from > cable.to) std::swap(cable.from, cable.to);
    }
    std::ranges::stable_sort(cables, {}, [](const MachineCable& cable) {
      return std::tuple{cable.kind, cable.from, cable.to};
    });
    return cables;
  }

  /// What hangs on the CPUs of another host of the same NVLink domain is reached over its GPUs.
  [[nodiscard]] std::string vertex(std::size_t v) const {
    const MachineVertex& own = machine_.vertices[v];
    std::string text = fmt::format(R"({{"id": "{}", "kind": "{}")", id(v), to_string(own.kind));
    if (own.kind == VertexKind::nic) text += fmt::format(R"(, "rail": {})", numbers_[v]);
    if (own.kind == VertexKind::gpu) {
      text += fmt::format(R"(, "rail": {})", rails_[static_cast<std::size_t>(numbers_[v])]);
      if (several_hosts_) text += R"(, "forwards": true)";
    }
    if (!own.source.empty()) text += R"(, "source": )" + quoted(own.source);
    return text + "}";
  }

  [[nodiscard]] std::string cable(const MachineCable& cable) const {
    return fmt::format(
        R"({{"between": ["{}", "{}"], "kind": "{}", {}}})", id(cable.from), id(cable.to),
        machine_.xgmi && cable.kind == LinkKind::nvlink ? "xgmi" : to_string(cable.kind),
        figures_text(cable.link, rate_text(cable.link.figures.bandwidth)));
  }

  const Machine& machine_;
  const std::vector<int>& rails_;
  std::vector<int> numbers_;  // among the vertices of the same kind
  bool several_hosts_ = false;
};

}  // namespace

std::string cluster_json(const ClusterHead& head, const Machine& machine,
                         const std::vector<int>& rails) {
  std::string text =
      "{\n  \"name\": " + quoted(head.name) + ",\n  \"summary\": " + quoted(head.summary) + ",\n";
  if (!head.device.empty()) text += "  \"device\": " + quoted(head.device) + ",\n";
  text += Writer{machine, rails}.node();
  text += fmt::format(",\n  \"nodes\": {}", head.nodes);
  if (head.link) {
    text += fmt::format(",\n  \"fabric\": {{\n    \"builder\": \"{}\",\n    \"link\": {{{}}}\n  }}",
                        head.fabric,
                        figures_text(*head.link, network_rate_text(head.link->figures.bandwidth)));
  }
  return text + "\n}\n";
}

}  // namespace lockstep
