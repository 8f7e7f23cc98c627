#include "strategies/collectives/registry.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/check.hpp"
#include "topologies/config/did_you_mean.hpp"

namespace lockstep {
namespace {

using Arguments = AlgorithmArguments;

int value(const Arguments& arguments, std::string_view name) {
  return static_cast<int>(arguments.find(name)->second);
}

template <SchedulePtr (*make)(int)>
SchedulePtr plain(int n, const Arguments&) {
  return make(n);
}

template <CollectiveCost (*cost)(int)>
CollectiveCost plain(int n, const Arguments&) {
  return cost(n);
}

template <PeerOrder order>
SchedulePtr halving(int n, const Arguments&) {
  return make_halving_doubling(n, order);
}

constexpr std::string_view kAnyRanks = "n >= 1";
constexpr std::string_view kThakur = "Thakur, Rabenseifner and Gropp 2005, section 4";
constexpr std::string_view kHalvingRounds = "2 lg n; 2 lg N' + 2 where n is not a power of two";
constexpr std::string_view kHalvingSent =
    "2(n-1)/n*S; S + 2(N'-1)/N'*S by the partner of an extra rank";
constexpr std::string_view kHalvingTime =
    "2 lg n*alpha + 2(n-1)/n*S*beta + (n-1)/n*S*gamma; where n is not a power of two "
    "(2 lg N' + 2)*alpha + 2(1 + (N'-1)/N')*S*beta + (1 + (N'-1)/N')*S*gamma";

const std::vector<CollectiveAlgorithm>& table() {
  static const std::vector<CollectiveAlgorithm> kTable = {
      {.collective = "all_reduce",
       .name = "naive",
       .summary = "rank 0 takes everybody's data one by one, then sends the sum one by one",
       .parameters = {},
       .limits = kAnyRanks,
       .rounds = "2(n-1)",
       .sent_per_rank = "(n-1)*S by rank 0, S by every other",
       .time = "2(n-1)*(alpha + S*beta) + (n-1)*S*gamma",
       .example = "naive",
       .source = "Chan, Heimlich, Purkayastha and van de Geijn 2007, section 2",
       .file = "naive.cpp",
       .make = plain<make_naive>,
       .cost = plain<naive_cost>},
      {.collective = "all_reduce",
       .name = "parameter_server",
       .summary = "workers push shards to dedicated servers, which add up and send back",
       .parameters = {{.name = "shards",
                       .meaning = "servers, each a further host that owns one shard",
                       .fallback = 1,
                       .least = 1,
                       .most = std::nullopt}},
       .limits = "n >= 1 workers, shards <= n",
       .rounds = "2",
       .sent_per_rank = "S by a worker, n*S/shards by a server",
       .time = "2*alpha + 2*n/shards*S*beta + n/shards*S*gamma",
       .example = "parameter_server:shards=4",
       .source = "Li et al. 2014, sections 2-3",
       .file = "parameter_server.cpp",
       .make = [](int n,
                  const Arguments& a) { return make_parameter_server(n, value(a, "shards")); },
       .cost = [](int n,
                  const Arguments& a) { return parameter_server_cost(n, value(a, "shards")); }},
      {.collective = "all_reduce",
       .name = "one_shot",
       .summary = "everyone sends everything to everyone, in one round",
       .parameters = {},
       .limits = kAnyRanks,
       .rounds = "1",
       .sent_per_rank = "(n-1)*S",
       .time = "alpha + (n-1)*S*beta + (n-1)*S*gamma",
       .example = "one_shot",
       .source = "MSCCL all-pairs one-pass; vLLM and TensorRT-LLM one-shot",
       .file = "one_shot.cpp",
       .make = plain<make_one_shot>,
       .cost = plain<one_shot_cost>},
      {.collective = "all_reduce",
       .name = "direct",
       .summary = "reduce-scatter, then all-gather, each all-to-all in one round",
       .parameters = {},
       .limits = kAnyRanks,
       .rounds = "2",
       .sent_per_rank = "2(n-1)/n*S",
       .time = "2*alpha + 2(n-1)/n*S*beta + (n-1)/n*S*gamma",
       .example = "direct",
       .source = "MSCCL all-pairs; TensorRT-LLM and vLLM two-shot",
       .file = "direct.cpp",
       .make = plain<make_direct>,
       .cost = plain<direct_cost>},
      {.collective = "all_reduce",
       .name = "ring",
       .summary = "reduce-scatter, then all-gather, block by block round one cycle",
       .parameters = {},
       .limits = kAnyRanks,
       .rounds = "2(n-1)",
       .sent_per_rank = "2(n-1)/n*S",
       .time = "2(n-1)*alpha + 2(n-1)/n*S*beta + (n-1)/n*S*gamma",
       .example = "ring",
       .source = "Patarasuk and Yuan 2009, section 3",
       .file = "ring.cpp",
       .make = plain<make_ring>,
       .cost = plain<ring_cost>},
      {.collective = "all_reduce",
       .name = "recursive_doubling",
       .summary = "exchange everything with ranks 1, 2, 4, ... away: few rounds, many bytes",
       .parameters = {},
       .limits = kAnyRanks,
       .rounds = "lg n; lg N' + 2 where n is not a power of two",
       .sent_per_rank = "lg n*S; (lg N' + 1)*S by the partner of an extra rank",
       .time = "lg n*(alpha + S*beta + S*gamma); where n is not a power of two "
               "(lg N' + 2)*(alpha + S*beta) + (lg N' + 1)*S*gamma",
       .example = "recursive_doubling",
       .source = kThakur,
       .file = "recursive_doubling.cpp",
       .make = plain<make_recursive_doubling>,
       .cost = plain<recursive_doubling_cost>},
      {.collective = "all_reduce",
       .name = "halving_doubling",
       .summary = "recursive halving, then recursive doubling; the largest blocks go furthest",
       .parameters = {},
       .limits = kAnyRanks,
       .rounds = kHalvingRounds,
       .sent_per_rank = kHalvingSent,
       .time = kHalvingTime,
       .example = "halving_doubling",
       .source = kThakur,
       .file = "halving_doubling.cpp",
       .make = halving<PeerOrder::far_first>,
       .cost = plain<halving_doubling_cost>},
      {.collective = "all_reduce",
       .name = "halving_doubling_near",
       .summary = "recursive halving, then recursive doubling; the largest blocks go to neighbours",
       .parameters = {},
       .limits = kAnyRanks,
       .rounds = kHalvingRounds,
       .sent_per_rank = kHalvingSent,
       .time = kHalvingTime,
       .example = "halving_doubling_near",
       .source = kThakur,
       .file = "halving_doubling.cpp",
       .make = halving<PeerOrder::near_first>,
       .cost = plain<halving_doubling_cost>},
  };
  return kTable;
}

const AlgorithmParameter* find_parameter(const CollectiveAlgorithm& algorithm,
                                         std::string_view name) {
  const auto found = std::ranges::find(algorithm.parameters, name, &AlgorithmParameter::name);
  return found == algorithm.parameters.end() ? nullptr : &*found;
}

std::string unknown_parameter(const CollectiveAlgorithm& algorithm, std::string_view name) {
  if (algorithm.parameters.empty())
    return fmt::format("{} takes no parameters, got \"{}\"", algorithm.name, name);
  std::vector<std::string_view> names;
  for (const AlgorithmParameter& parameter : algorithm.parameters) names.push_back(parameter.name);
  if (const auto meant = did_you_mean(name, names))
    return fmt::format("{} has no parameter \"{}\"; did you mean \"{}\"?", algorithm.name, name,
                       *meant);
  return fmt::format("{} has no parameter \"{}\"; it has: {}", algorithm.name, name,
                     fmt::join(names, ", "));
}

}  // namespace

std::span<const CollectiveAlgorithm> collective_algorithms() {
  return table();
}

std::vector<std::string_view> collective_names() {
  std::vector<std::string_view> names;
  for (const CollectiveAlgorithm& row : table()) {
    if (std::ranges::find(names, row.collective) == names.end()) names.push_back(row.collective);
  }
  return names;
}

std::vector<std::string_view> algorithm_names(std::string_view collective) {
  std::vector<std::string_view> names;
  for (const CollectiveAlgorithm& row : table()) {
    if (row.collective == collective) names.push_back(row.name);
  }
  return names;
}

const CollectiveAlgorithm* find_algorithm(std::string_view collective, std::string_view name) {
  for (const CollectiveAlgorithm& row : table()) {
    if (row.collective == collective && row.name == name) return &row;
  }
  return nullptr;
}

std::optional<std::string> argument_problem(const CollectiveAlgorithm& algorithm,
                                            std::string_view name, std::int64_t given,
                                            std::optional<int> n) {
  const AlgorithmParameter* parameter = find_parameter(algorithm, name);
  if (parameter == nullptr) return unknown_parameter(algorithm, name);
  const bool by_ranks = !parameter->most.has_value();
  const std::int64_t most = parameter->most.value_or(n.value_or(INT32_MAX));
  if (parameter->least <= given && given <= most) return std::nullopt;
  if (by_ranks && !n)
    return fmt::format("{}: {} is {} to the number of ranks, got {}", algorithm.name, name,
                       parameter->least, given);
  return fmt::format("{}: {} is {} to {}{}, got {}", algorithm.name, name, parameter->least, most,
                     by_ranks ? " (the number of ranks)" : "", given);
}

std::vector<std::string> validate(const CollectiveAlgorithm& algorithm, int n,
                                  const AlgorithmArguments& arguments) {
  std::vector<std::string> problems;
  if (n < 1) problems.push_back(fmt::format("{} needs at least 1 rank, got {}", algorithm.name, n));
  for (const auto& [name, given] : arguments) {
    if (const auto problem = argument_problem(algorithm, name, given, n))
      problems.push_back(*problem);
  }
  return problems;
}

AlgorithmArguments complete_arguments(const CollectiveAlgorithm& algorithm, int n,
                                      const AlgorithmArguments& arguments) {
  LOCKSTEP_CHECK(validate(algorithm, n, arguments).empty());
  AlgorithmArguments complete = arguments;
  for (const AlgorithmParameter& parameter : algorithm.parameters)
    complete.emplace(parameter.name, parameter.fallback);
  return complete;
}

SchedulePtr make_schedule(const CollectiveAlgorithm& algorithm, int n,
                          const AlgorithmArguments& arguments) {
  return algorithm.make(n, complete_arguments(algorithm, n, arguments));
}

CollectiveCost cost_of(const CollectiveAlgorithm& algorithm, int n,
                       const AlgorithmArguments& arguments) {
  return algorithm.cost(n, complete_arguments(algorithm, n, arguments));
}

int helpers_of(const CollectiveAlgorithm& algorithm, int n, const AlgorithmArguments& arguments) {
  return make_schedule(algorithm, n, arguments)->ranks() - n;
}

}  // namespace lockstep
