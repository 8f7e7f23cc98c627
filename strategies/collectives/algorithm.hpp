#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/schedule/contract.hpp"
#include "sim/schedule/schedule.hpp"
#include "strategies/collectives/cost.hpp"

/// Input of an algorithm, and its row in the registry.
namespace lockstep {

using SchedulePtr = std::shared_ptr<const Schedule>;

/// Value of a parameter: an integer, dimensions such as 8x4x2, or a name.
using ArgumentValue = std::variant<std::int64_t, std::vector<int>, std::string>;
/// In the syntax of a spec.
[[nodiscard]] std::string to_string(const ArgumentValue& value);

/// Values by name.
using AlgorithmArguments = std::map<std::string, ArgumentValue, std::less<>>;

enum class ParameterKind : std::uint8_t { whole, dimensions, algorithm };

/// A parameter, as in `parameter_server:shards=4`.
struct AlgorithmParameter {
  std::string_view name;
  std::string_view meaning;
  ParameterKind kind = ParameterKind::whole;
  /// Default value; none: the algorithm chooses by rank layout or size.
  std::optional<ArgumentValue> fallback{};
  std::int64_t least = 1;                     // of an integer
  std::optional<std::int64_t> most{};         // none: the number of ranks n
  Collective inner = Collective::all_reduce;  // if the value names an algorithm: of this collective
  std::vector<std::string_view> names{};      // which ones; empty: all
};

/// Placement of the ranks, as far as algorithms depend on it.
struct RankLayout {
  int per_node = 1;             // consecutive ranks on a node; 1 if nodes differ in size
  std::vector<int> dimensions;  // of a torus, the first varies fastest; empty: no torus
  /// Cycles through the ranks of one node over disjoint links (topologies/routing/node_rings.hpp).
  std::vector<std::vector<int>> node_rings{};
  /// Several nodes: paths through the ranks of each over disjoint links, in one direction.
  std::vector<std::vector<int>> node_paths{};
  /// Switches that reduce and multicast, as trees over the ranks: element i < n is the parent of
  /// rank i, element n + k that of switch k, -1 for a root; switch k executes rank n + k of the
  /// schedule. Empty: no such switches.
  std::vector<int> node_switches;    // NVSwitch
  std::vector<int> fabric_switches;  // of the network
  /// NVLink alone leads from each rank to every other, past no third one.
  bool nvlink_domain = false;
  /// Ranks per node if nodes differ in size; empty: all have per_node.
  std::vector<int> node_sizes{};

  /// "nodes have 1 to 3 ranks" if they differ in size, for algorithms that need equal nodes.
  [[nodiscard]] std::optional<std::string> unequal_nodes() const;
};

/// Everything that determines a schedule.
struct AlgorithmInput {
  int n = 1;                       // ranks that hold data
  AlgorithmArguments arguments{};  // absent ones have their defaults
  int root = 0;                    // of rooted collectives
  RankLayout layout{};
  /// Message size and cost of a hop, for choices such as the number of chunks. None: unknown.
  std::optional<Bytes> size{};
  std::optional<AlphaBeta> hop{};

  /// Typed values; none if the argument is absent and has no default.
  [[nodiscard]] std::optional<std::int64_t> number(std::string_view name) const;
  [[nodiscard]] std::optional<std::vector<int>> dimensions(std::string_view name) const;
  [[nodiscard]] std::optional<std::string> text(std::string_view name) const;
};

/// Who executes the ranks without data.
enum class AuxiliaryRanks : std::uint8_t {
  none,
  hosts,
  node_switches,
  fabric_switches,  // of the network, then those of the nodes for schedules that have more ranks
};

/// One row. In the formulas n is the number of ranks that hold data, S the bytes of the message,
/// alpha, beta and gamma the seconds per message, per byte sent and per byte reduced,
/// N' = 2^floor(lg n).
struct CollectiveAlgorithm {
  Collective collective = Collective::all_reduce;
  std::string_view name;
  std::string_view summary;
  std::vector<AlgorithmParameter> parameters{};
  std::string_view limits;
  std::string_view rounds;
  std::string_view sent_per_rank;
  std::string_view time;
  std::string_view example;
  std::string_view source;
  std::string_view file;  // in the collective's folder
  SchedulePtr (*make)(const AlgorithmInput& complete) = nullptr;
  /// The closed form for one full-duplex port per rank on an otherwise unlimited network; null, or
  /// an empty result, if there is none.
  std::optional<CollectiveCost> (*cost)(const AlgorithmInput& complete) = nullptr;
  /// The same if `time` is approximate; null, or an empty result, if there is none.
  std::optional<CollectiveCost> (*estimate)(const AlgorithmInput& complete) = nullptr;
  /// Why an input is invalid although each argument is in range; null: never invalid.
  std::optional<std::string> (*refusal)(const AlgorithmInput& complete) = nullptr;
  AuxiliaryRanks auxiliary_ranks = AuxiliaryRanks::none;
  bool on_copy_engines = false;  // its transfers take no multiprocessors from computation
};

}  // namespace lockstep
