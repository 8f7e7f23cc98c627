#include "strategies/step/lowering/collective_choice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <utility>

#include "sim/base/check.hpp"
#include "strategies/collectives/placement/chunk_search.hpp"
#include "strategies/collectives/placement/ready_algorithms.hpp"
#include "strategies/collectives/sizing.hpp"
#include "strategies/sharding/experts/token_dispatch.hpp"
#include "topologies/graph/nodes.hpp"

namespace lockstep {

namespace {

/// What messages are cut into multiples of: floats, as `collective` cuts them if not specified
/// otherwise, where they are as long; else single bytes. Element types are the program's own
/// affair.
[[nodiscard]] const ElementType& element_of(Bytes message) {
  return *find_element_type(message.count() % 4 == 0 ? "float" : "uint8");
}

constexpr int kLongestRing = 256;

[[nodiscard]] std::optional<AlgorithmSpec> parsed(const std::string& text, Collective collective) {
  ParsedSpecs specs = parse_specs(text, collective);
  if (!specs.errors.empty() || specs.specs.size() != 1) return std::nullopt;
  return std::move(specs.specs.front());
}

/// All that a schedule follows from, and what it costs to launch.
[[nodiscard]] std::string key_of(const AlgorithmSpec& spec, const AlgorithmInput& input,
                                 const std::string& group, Duration launch) {
  const RankLayout& layout = input.layout;
  std::string key = fmt::format(
      "{} {} {} {} {} {} {} {} {} {} {} {} {}\n", group, to_string(spec.algorithm->collective),
      spec.algorithm->name, input.n, input.root, input.size->count(), launch.ps(), layout.per_node,
      fmt::join(layout.node_sizes, ","), fmt::join(layout.dimensions, ","),
      fmt::join(layout.node_switches, ","), fmt::join(layout.fabric_switches, ","),
      layout.node_rings.size());
  for (const auto* cycles : {&layout.node_rings, &layout.node_paths})
    for (const auto& each : *cycles) key += fmt::format("{} ", fmt::join(each, ","));
  for (const auto& [name, value] : input.arguments)
    key += fmt::format("{}={} ", name, to_string(value));
  return key;
}

/// Beyond the ranks only switches that reduce play in a step.
[[nodiscard]] bool playable(const CollectiveAlgorithm& row) {
  return row.auxiliary_ranks != AuxiliaryRanks::hosts;
}

/// All-to-alls whose messages may be unequal.
[[nodiscard]] bool sends_straight(const CollectiveAlgorithm& row) {
  return row.name == "direct" || row.name == "pairwise" || row.name == "copy_engine";
}

}  // namespace

bool uses_fabric_switches(const std::map<std::string, std::string>& algorithms) {
  return std::any_of(algorithms.begin(), algorithms.end(), [](const auto& of_group) {
    const ParsedAutomaticChoice automatic = parse_automatic_choice(of_group.second);
    if (automatic.choice) return automatic.choice->collnet;
    const ParsedSpecs parsed = parse_specs(of_group.second, Collective::all_reduce);
    return std::any_of(parsed.specs.begin(), parsed.specs.end(), [](const AlgorithmSpec& spec) {
      return spec.algorithm->auxiliary_ranks == AuxiliaryRanks::fabric_switches;
    });
  });
}

CollectiveChoice::CollectiveChoice(const Cluster& cluster, const Network& network,
                                   const ReducingSwitches& switches, const Device& device,
                                   NcclTuning tuning, std::map<std::string, std::string> algorithms,
                                   NetworkModel model)
    : cluster_{cluster},
      network_{network},
      switches_{switches},
      device_{device},
      tuning_{std::move(tuning)},
      algorithms_{std::move(algorithms)},
      model_{model} {}

/// Where the ranks are, from the first one's node on where nodes are equal.
fold::Key CollectiveChoice::shape_of(const std::vector<EndpointId>& ranks) const {
  fold::KeyBuilder key;
  const int first = has_equal_nodes(cluster_) ? node_of(cluster_, ranks.front()) : 0;
  for (const EndpointId rank : ranks) {
    const int node = node_of(cluster_, rank);
    key.add(node - first).add(static_cast<int>(rank) - first_rank_of_node(cluster_, node));
  }
  // The trees above them may differ where the nodes do not.
  for (const int above : switches_.above(AuxiliaryRanks::fabric_switches, ranks).parent)
    key.add(above);
  return key.key();
}

const NcclCommunicator& CollectiveChoice::communicator(const std::vector<EndpointId>& ranks) {
  const fold::Key shape = shape_of(ranks);
  const auto found = communicators_.find(shape);
  if (found != communicators_.end()) return found->second;
  PlacedCommunicator placed{cluster_, network_, switches_, ranks};
  return communicators_
      .emplace(shape, NcclCommunicator{tuning_, NcclFilters{}, device_, std::move(placed)})
      .first->second;
}

/// A host among the members sits on no GPU's place: nothing is said of nodes.
AlgorithmInput CollectiveChoice::input_with_host(const NcclCommunicator& ranks,
                                                 const std::vector<EndpointId>& members) const {
  AlgorithmInput out = ranks.placed().input({}, 0, std::nullopt);
  out.n = static_cast<int>(members.size());
  out.layout = {};
  return out;
}

AlgorithmSpec CollectiveChoice::fallback(const Call& call, const NcclFacts& facts) const {
  const Collective collective = call.collective;
  if (call.host) {
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
    const std::int64_t channels = std::min(facts.ranks_per_node(), 64);
    return {row, {{"channels", ArgumentValue{channels}}}};
  }
  return {find_algorithm(collective, algorithm_names(collective).front()), {}};
}

/// Devices of a torus without kernels of GPUs have libraries of their own, which follow the torus.
bool CollectiveChoice::is_without_nccl() const {
  return device_.kernels.empty() && cluster_.dimensions().size() > 1;
}

bool CollectiveChoice::fills_torus(const Call& call, const std::vector<EndpointId>& ranks) const {
  return !call.host && static_cast<int>(ranks.size()) == cluster_.ranks() &&
         std::is_sorted(ranks.begin(), ranks.end());
}

/// On the whole torus all-reduces by dimension, and two rings for each dimension.
AlgorithmSpec CollectiveChoice::of_torus(const Call& call, const NcclFacts& facts) const {
  if (call.collective == Collective::all_reduce)
    return {find_algorithm(call.collective, "torus"), {}};
  AlgorithmSpec out = fallback(call, facts);
  if (find_parameter(*out.algorithm, "channels") != nullptr)
    out.arguments = {{"channels", ArgumentValue{2 * std::ssize(cluster_.dimensions())}}};
  return out;
}

AlgorithmSpec CollectiveChoice::named(Collective collective, const std::string& group) const {
  const auto given = algorithms_.find(group);
  if (given == algorithms_.end()) return {};
  return parsed(given->second, collective).value_or(AlgorithmSpec{});
}

/// NCCL's by default.
AutomaticChoice CollectiveChoice::automatic(const std::string& group) const {
  const auto given = algorithms_.find(group);
  if (given == algorithms_.end()) return {};
  return parse_automatic_choice(given->second).choice.value_or(AutomaticChoice{});
}

/// Without the launch, which all have in common.
AlgorithmSpec CollectiveChoice::fastest(const Call& call, const NcclCommunicator& ranks) const {
  const PlacedCommunicator& placed = ranks.placed();
  ChunkSearch chunks{model_};
  AlgorithmSpec best;
  std::optional<Duration> least;
  for (AlgorithmSpec& spec : ready_algorithms(placed, call.collective, call.root)) {
    const AlgorithmInput input = chunks.with_best_chunks(
        *spec.algorithm, placed.input(spec.arguments, call.root, call.message), placed);
    const auto time =
        replayed_alone(*spec.algorithm, input, placed, model_, element_of(call.message));
    if (!time || (least && *least <= *time)) continue;
    least = time;
    best = std::move(spec);
  }
  return best;
}

CollectiveChoice::Made& CollectiveChoice::make_dispatch(const Call& call,
                                                        const std::vector<EndpointId>& members) {
  std::vector<int> nodes;
  for (const EndpointId member : members) nodes.push_back(node_of(cluster_, member));
  const TokenShares shares = token_shares(*call.copies, call.message, nodes);
  ChosenCollective out;
  out.block = Bytes{1};
  out.text = fmt::format("deepep:nodes={}", shares.nodes);
  const std::string key =
      fmt::format("{} {} {} {} {} {}", call.group, out.text, shares.per_node,
                  shares.to_node.count(), shares.to_rank.count(), call.copies->returns);
  const auto [found, is_new] = made_.try_emplace(key);
  if (!is_new) return found->second;
  out.schedule = make_token_dispatch(shares, call.copies->returns);
  found->second.report = {call.group, call.collective, call.message, members.size(), out.text,
                          {},         std::nullopt};
  found->second.chosen = std::move(out);
  return found->second;
}

CollectiveChoice::Made& CollectiveChoice::make(const Call& call,
                                               const std::vector<EndpointId>& members) {
  const std::vector<EndpointId> ranks{members.begin(), members.end() - (call.host ? 1 : 0)};
  const NcclCommunicator& communicator = this->communicator(ranks);
  AlgorithmSpec spec = named(call.collective, call.group);
  const AutomaticChoice automatic = this->automatic(call.group);
  if (!call.host && automatic.by == AutomaticChoice::By::replay) spec = fastest(call, communicator);
  const bool named = spec.algorithm != nullptr;
  const bool asked = named || algorithms_.contains(call.group);
  const bool by_torus = !asked && is_without_nccl() && fills_torus(call, ranks);
  if (by_torus) spec = of_torus(call, communicator.facts());
  std::optional<NcclPick> pick;
  if (!call.host && (asked || !is_without_nccl()))
    pick = communicator.pick(call.collective, call.message, automatic);
  if (pick && !named) spec = pick->spec;
  // A ring that a scenario names goes by rank; NCCL's go along NVLinks.
  const auto asked_input = [&] {
    AlgorithmInput in;
    if (call.host) {
      in = input_with_host(communicator, members);
    } else {
      in = named ? communicator.placed().input({}, 0, std::nullopt)
                 : communicator.input({}, 0, std::nullopt);
    }
    if (by_torus) in.layout.dimensions = cluster_.dimensions();
    in.arguments = spec.arguments;
    in.root = call.root;
    in.size = call.message;
    return in;
  };
  const auto fits = [&] {
    return spec.algorithm != nullptr && playable(*spec.algorithm) &&
           validate(*spec.algorithm, asked_input()).empty();
  };
  const std::string refused = named && !fits() ? spec.text() : std::string{};
  if (!fits()) spec = fallback(call, communicator.facts());
  LOCKSTEP_CHECK(fits());
  ChosenCollective out;
  if (pick) out.launch = named ? communicator.base_latency(pick->choice) : pick->launch;
  out.on_copy_engines = spec.algorithm->on_copy_engines;
  if (out.on_copy_engines) out.launch = communicator.copy_engine_launch();
  AlgorithmInput input = asked_input();
  if (!call.host)
    input = ChunkSearch{model_}.with_best_chunks(*spec.algorithm, std::move(input),
                                                 communicator.placed());
  out.text = pick && !named && !pick->windows_kernel.empty() ? pick->text : spec.text();
  out.auxiliary_ranks = spec.algorithm->auxiliary_ranks;
  // Groups that sit alike have one schedule, so that folding can take them for one.
  const bool skewed = call.skew && sends_straight(*spec.algorithm);
  const std::string unequal =
      skewed ? fmt::format("{} {}", call.skew->others, call.skew->returns) : std::string{};
  const auto [found, is_new] =
      made_.try_emplace(key_of(spec, input, call.group, out.launch) + refused + unequal);
  if (!is_new) return found->second;
  out.schedule = make_schedule(*spec.algorithm, input);
  out.block = divide_message(call.message, element_of(call.message), out.schedule->blocks()).block;
  if (skewed) {
    out.schedule =
        make_unequal_all_to_all(input.n, spec.algorithm->name == "pairwise", out.block, *call.skew);
    out.block = Bytes{1};
  }
  found->second.report = {call.group,
                          call.collective,
                          call.message,
                          members.size(),
                          out.text,
                          refused,
                          !named && pick ? pick->provenance : std::nullopt};
  found->second.chosen = std::move(out);
  return found->second;
}

const ChosenCollective& CollectiveChoice::choose(Collective collective, const std::string& group,
                                                 const std::vector<EndpointId>& members, int root,
                                                 bool host, Bytes message,
                                                 const std::optional<TokenCopies>& copies,
                                                 const std::optional<TokenSkew>& skew) {
  const std::vector<EndpointId> ranks{members.begin(), members.end() - (host ? 1 : 0)};
  const fold::Key shape = shape_of(ranks);
  fold::KeyBuilder builder;
  builder.add(shape.high).add(shape.low).add(static_cast<std::uint64_t>(collective));
  for (const char letter : group) builder.add(static_cast<std::uint64_t>(letter));
  builder.add(root).add(host ? 1 : 0).add(message.count());
  if (copies)
    builder.add(copies->experts)
        .add(copies->top_k)
        .add(copies->groups)
        .add(copies->group_top_k)
        .add(std::int64_t{std::llround(copies->widening * 1e6)})
        .add(copies->returns ? 1 : 0);
  if (skew) builder.add(std::int64_t{std::llround(skew->others * 1e12)}).add(skew->returns ? 1 : 0);
  const fold::Key key = builder.key();
  const auto known = known_.find(key);
  if (known != known_.end()) return reported(*known->second);
  const Call call{collective, group, root, host, message, copies, skew};
  Made& made = copies ? make_dispatch(call, members) : make(call, members);
  known_.emplace(key, &made);
  return reported(made);
}

std::int64_t CollectiveChoice::slowed_permille(const Communication& how) const {
  if (!how.copies || !device_.multiprocessors) return 1000;
  const std::int64_t left =
      std::max<std::int64_t>(1, *device_.multiprocessors - how.copies->multiprocessors);
  return std::llround(1000.0 * static_cast<double>(*device_.multiprocessors) /
                      static_cast<double>(left));
}

const ChosenCollective& CollectiveChoice::reported(Made& made) {
  if (std::exchange(made.reports, reports_) != reports_) report_.push_back(made.report);
  return made.chosen;
}

void CollectiveChoice::begin_report() {
  report_.clear();
  ++reports_;
}

std::vector<EndpointId> CollectiveChoice::participants(const ChosenCollective& chosen,
                                                       std::vector<EndpointId> members) const {
  const auto more = static_cast<std::size_t>(chosen.schedule->ranks()) - members.size();
  if (more == 0) return members;
  const auto switches = switches_.above(chosen.auxiliary_ranks, members).switches;
  LOCKSTEP_CHECK(switches.size() >= more);
  members.insert(members.end(), switches.begin(),
                 switches.begin() + static_cast<std::ptrdiff_t>(more));
  return members;
}

}  // namespace lockstep
