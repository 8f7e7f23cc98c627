#include "strategies/training/collective_choice.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/check.hpp"
#include "strategies/collectives/sizing.hpp"
#include "strategies/nccl/cost_terms.hpp"
#include "strategies/nccl/facts_of.hpp"
#include "strategies/nccl/plan.hpp"
#include "strategies/nccl/tuning.hpp"
#include "topologies/node_rings.hpp"

namespace lockstep {

namespace {

/// Messages are cut into single bytes' multiples: element types are the program's own affair.
[[nodiscard]] const ElementType& element() {
  return *find_element_type("uint8");
}

constexpr int kLongestRing = 256;

/// What differs between groups, as far as an algorithm may care.
[[nodiscard]] std::string key_of(Collective collective, const std::string& group, std::size_t n,
                                 int per_node, int root, bool host, Bytes message) {
  return fmt::format("{}/{}/{}/{}/{}/{}/{}", to_string(collective), group, n, per_node, root, host,
                     message.count());
}

[[nodiscard]] std::optional<AlgorithmSpec> parsed(const std::string& text, Collective collective) {
  ParsedSpecs specs = parse_specs(text, collective);
  if (!specs.errors.empty() || specs.specs.size() != 1) return std::nullopt;
  return std::move(specs.specs.front());
}

/// Switches that add up take no part in a training step here: what NCCL picks without them.
[[nodiscard]] const NcclChoices& by_ranks_alone() {
  static const NcclChoices choices =
      parse_nccl_choices("^nvls,nvlstree,collnetdirect,collnetchain", "").choices;
  return choices;
}

}  // namespace

CollectiveChoice::CollectiveChoice(const Cluster& cluster, const Network& network,
                                   const Device& device, NcclTuning tuning,
                                   std::map<std::string, std::string> algorithms)
    : cluster_{cluster},
      network_{network},
      tuning_{std::move(tuning)},
      facts_{nccl_facts_of(tuning_, cluster, device)},
      algorithms_{std::move(algorithms)},
      node_rings_{nvlink_rings(cluster)} {}

bool CollectiveChoice::is_whole_node(const std::vector<EndpointId>& members) const {
  const auto gpus = static_cast<std::size_t>(std::max(1, cluster_.gpus_per_node()));
  if (members.size() != gpus || members.front() % gpus != 0) return false;
  for (std::size_t i = 0; i < gpus; ++i)
    if (members[i] != members.front() + i) return false;
  return true;
}

int CollectiveChoice::per_node(const std::vector<EndpointId>& members) const {
  const auto gpus = static_cast<EndpointId>(std::max(1, cluster_.gpus_per_node()));
  std::size_t run = 1;
  while (run < members.size() && members[run] / gpus == members[0] / gpus) ++run;
  if (members.size() % run != 0) return 1;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (members[i] / gpus != members[i - i % run] / gpus) return 1;
  }
  return static_cast<int>(run);
}

NcclFacts CollectiveChoice::facts(const std::vector<EndpointId>& members) const {
  NcclFacts out = facts_;
  out.ranks = static_cast<int>(members.size());
  out.nodes = out.ranks / per_node(members);
  return out;
}

AlgorithmInput CollectiveChoice::input(const std::vector<EndpointId>& members, int root,
                                       const AlgorithmArguments& arguments, Bytes message) const {
  AlgorithmInput out;
  out.n = static_cast<int>(members.size());
  out.arguments = arguments;
  out.root = root;
  out.layout.per_node = per_node(members);
  out.size = message;
  if (is_whole_node(members)) out.layout.node_rings = node_rings_;
  const std::size_t far =
      out.layout.per_node < out.n ? static_cast<std::size_t>(out.layout.per_node) : 1;
  Route route;
  if (members.size() < 2 || !network_.router->route(members[0], members[far], route) ||
      route.hops.empty()) {
    return out;
  }
  Rate slowest = network_.links[route.hops.front().link].bandwidth;
  for (const Hop& hop : route.hops) slowest = std::min(slowest, network_.links[hop.link].bandwidth);
  out.hop = AlphaBeta{route.latency, slowest, network_.endpoints[0].reduce_rate};
  return out;
}

AlgorithmSpec CollectiveChoice::fallback(Collective collective, bool host,
                                         const NcclFacts& facts) const {
  if (host) {
    if (const CollectiveAlgorithm* flat = find_algorithm(collective, "flat")) return {flat, {}};
  }
  // A ring of many ranks has as many rounds, which nobody would wait for.
  if (collective == Collective::all_reduce && facts.ranks > kLongestRing) {
    return {find_algorithm(collective, "halving_doubling"), {}};
  }
  static constexpr std::array kUsual{"ring", "direct", "shift"};
  for (const char* name : kUsual) {
    const CollectiveAlgorithm* row = find_algorithm(collective, name);
    if (row == nullptr) continue;
    // Between nodes as many rings as there are ranks, and so NICs, in each.
    if (facts.nodes == 1 || find_parameter(*row, "channels") == nullptr) return {row, {}};
    return {row, {{"channels", ArgumentValue{std::int64_t{facts.ranks_per_node()}}}}};
  }
  return {find_algorithm(collective, algorithm_names(collective).front()), {}};
}

AlgorithmSpec CollectiveChoice::named(Collective collective, const std::string& group) const {
  const auto given = algorithms_.find(group);
  if (given == algorithms_.end()) return {};
  return parsed(given->second, collective).value_or(AlgorithmSpec{});
}

ChosenCollective CollectiveChoice::make(Collective collective, const std::string& group,
                                        const std::vector<EndpointId>& members, int root, bool host,
                                        Bytes message) {
  AlgorithmSpec spec = named(collective, group);
  ChosenCollective out;
  const NcclFacts facts = this->facts(members);
  const bool named = spec.algorithm != nullptr;
  std::optional<NcclPlan> plan;
  if (!host) plan = nccl_plan(tuning_, facts, collective, message, by_ranks_alone());
  if (plan && !named) spec = parsed(plan->spec, collective).value_or(AlgorithmSpec{});
  // A ring that a scenario names goes by rank; NCCL's go along NVLinks.
  const auto asked_input = [&] {
    AlgorithmInput in = input(members, root, spec.arguments, message);
    if (named) in.layout.node_rings.clear();
    return in;
  };
  const auto fits = [&] {
    return spec.algorithm != nullptr && spec.algorithm->helpers == Helpers::none &&
           validate(*spec.algorithm, asked_input()).empty();
  };
  const bool asked = spec.algorithm != nullptr && algorithms_.contains(group);
  const std::string refused = asked && !fits() ? spec.text() : std::string{};
  if (!fits()) spec = fallback(collective, host, facts);
  LOCKSTEP_CHECK(fits());
  if (plan && named && plan->algorithm) {
    out.launch = tuning_.base_latency[*plan->algorithm][plan->protocol].value_or(Duration{});
  } else if (plan && !named) {
    out.launch = nccl_overhead(tuning_, facts, collective, message, *plan);
  }
  out.schedule = make_schedule(*spec.algorithm, asked_input());
  out.block = lay_out(message, element(), out.schedule->blocks()).block;
  out.text = spec.text();
  if (!refused.empty()) out.text += ", as these ranks cannot have " + refused;
  return out;
}

const ChosenCollective& CollectiveChoice::choose(Collective collective, const std::string& group,
                                                 const std::vector<EndpointId>& members, int root,
                                                 bool host, Bytes message) {
  const std::string key =
      key_of(collective, group, members.size(), host ? 0 : per_node(members), root, host, message);
  const auto known = made_.find(key);
  if (known != made_.end()) return known->second;
  ChosenCollective made = make(collective, group, members, root, host, message);
  report_.push_back(fmt::format("{}: {} of {} bytes among {} by {}", group, to_string(collective),
                                message.count(), members.size(), made.text));
  return made_.emplace(key, std::move(made)).first->second;
}

}  // namespace lockstep
