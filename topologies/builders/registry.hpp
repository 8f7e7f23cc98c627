#pragma once

#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "topologies/graph/parameters.hpp"

/// The registry of topology builders, one file each in topologies/builders/.
namespace lockstep {

struct NodeBlueprint;
struct FabricBlueprint;
struct FabricDemand;

/// Directly connected single GPUs, each a node of its own. `ranks`: requested number; 0: from the
/// parameters.
using DirectBuilder = NodeBlueprint (*)(const Parameters& parameters, int ranks);
/// One node; several are connected by a fabric.
using NodeBuilder = NodeBlueprint (*)(const Parameters& parameters);
/// Switches between the nodes' NICs; on its own, between single GPUs.
using FabricBuilder = FabricBlueprint (*)(const Parameters& parameters, const FabricDemand& demand);

struct Builder {
  std::string_view name;
  std::string_view summary;
  std::vector<Parameter> parameters;
  std::string_view example;  // the JSON object of a cluster file
  std::string_view source;
  std::variant<DirectBuilder, NodeBuilder, FabricBuilder> build;

  [[nodiscard]] bool is_direct() const { return std::holds_alternative<DirectBuilder>(build); }
  [[nodiscard]] bool is_node() const { return std::holds_alternative<NodeBuilder>(build); }
  [[nodiscard]] bool is_fabric() const { return std::holds_alternative<FabricBuilder>(build); }
};

[[nodiscard]] const std::vector<Builder>& topology_builders();
/// nullptr if there is no such builder.
[[nodiscard]] const Builder* find_topology_builder(std::string_view name);

/// GPUs of an NVL72.
inline constexpr int kGpusOfRack = 72;
/// GPUs, and NICs, of a compute tray of it.
inline constexpr int kGpusOfTray = 4;
/// GPUs of each rack if a job of `ranks` takes equally many whole trays in the fewest racks, such
/// as 64 for 512. Where less than twice the fewest cannot so, those of the larger racks if its
/// trays are spread as evenly as possible over the fewest, such as 40 for 76 (40 and 36). 72 where
/// one rack holds it, or it is no whole trays.
[[nodiscard]] int rack_gpus(std::int64_t ranks);

}  // namespace lockstep
