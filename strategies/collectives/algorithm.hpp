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

/// What an algorithm is given, and its row in the table.
namespace lockstep {

using SchedulePtr = std::shared_ptr<const Schedule>;

/// A parameter's value: a whole number, dimensions as in 8x4x2, or a name.
using ArgumentValue = std::variant<std::int64_t, std::vector<int>, std::string>;
/// As the user would write it.
[[nodiscard]] std::string to_string(const ArgumentValue& value);

/// Values by name.
using AlgorithmArguments = std::map<std::string, ArgumentValue, std::less<>>;

enum class ParameterKind : std::uint8_t { whole, dimensions, algorithm };

/// A parameter, as in `parameter_server:shards=4`.
struct AlgorithmParameter {
  std::string_view name;
  std::string_view meaning;
  ParameterKind kind = ParameterKind::whole;
  /// When it is not given; none: the algorithm chooses, by the layout of the ranks or the size.
  std::optional<ArgumentValue> fallback{};
  std::int64_t least = 1;                     // of a whole number
  std::optional<std::int64_t> most{};         // none: the number of ranks n
  Collective inner = Collective::all_reduce;  // whose algorithm `algorithm` names
};

/// How the ranks sit, as far as an algorithm may care.
struct RankLayout {
  int per_node = 1;             // consecutive ranks that share a node; 1 where nodes differ in size
  std::vector<int> dimensions;  // of a torus, consecutive ranks along the first; empty: no torus
  /// Cycles through the ranks of one node along links of their own
  /// (topologies/routing/node_rings.hpp).
  std::vector<std::vector<int>> node_rings{};
  /// Switches that reduce and multicast, as trees over the ranks: element i < n is the switch above
  /// rank i, element n + k the one above switch k, -1 if there is none; switch k plays rank
  /// n + k of the schedule. Empty: no such switches.
  std::vector<int> node_switches;    // NVSwitch
  std::vector<int> fabric_switches;  // of the network
  /// Where nodes differ in size, the ranks of each, in order; empty: all have per_node.
  std::vector<int> node_sizes{};

  /// "nodes have 1 to 3 ranks" where they differ in size: for algorithms that need equal ones.
  [[nodiscard]] std::optional<std::string> unequal_nodes() const;
};

/// Everything that a schedule follows from.
struct AlgorithmInput {
  int n = 1;                       // ranks that hold data
  AlgorithmArguments arguments{};  // what is missing falls back
  int root = 0;                    // of collectives that have one
  RankLayout layout{};
  /// The message's length and what a hop costs: for choices such as a chunk count. None: unknown.
  std::optional<Bytes> size{};
  std::optional<AlphaBeta> hop{};

  /// Typed values; none where the argument is neither given nor has a fallback.
  [[nodiscard]] std::optional<std::int64_t> number(std::string_view name) const;
  [[nodiscard]] std::optional<std::vector<int>> dimensions(std::string_view name) const;
  [[nodiscard]] std::optional<std::string> text(std::string_view name) const;
};

/// What plays the ranks beyond those that hold data.
enum class AuxiliaryRanks : std::uint8_t { none, hosts, node_switches, fabric_switches };

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
  /// The same where `time` is near and not exact; null, or an empty result, if there is none.
  std::optional<CollectiveCost> (*estimate)(const AlgorithmInput& complete) = nullptr;
  /// What is wrong with an input whose arguments are each in their range; null: nothing ever.
  std::optional<std::string> (*refusal)(const AlgorithmInput& complete) = nullptr;
  AuxiliaryRanks auxiliary_ranks = AuxiliaryRanks::none;
};

}  // namespace lockstep
