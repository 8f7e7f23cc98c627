#include "strategies/collectives/registry/registry.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sim/base/check.hpp"
#include "sim/config/did_you_mean.hpp"
#include "strategies/collectives/registry/algorithm_problem.hpp"
#include "strategies/collectives/registry/spec.hpp"
#include "strategies/collectives/rows.hpp"

namespace lockstep {
namespace {

std::vector<CollectiveAlgorithm> every_row() {
  std::vector<CollectiveAlgorithm> all;
  for (auto* const rows :
       {all_reduce_rows, reduce_scatter_rows, all_gather_rows, broadcast_rows, reduce_rows,
        scatter_rows, gather_rows, all_to_all_rows, send_recv_rows, barrier_rows}) {
    for (CollectiveAlgorithm& row : rows()) all.push_back(std::move(row));
  }
  return all;
}

const std::vector<CollectiveAlgorithm>& table() {
  static const std::vector<CollectiveAlgorithm> kTable = every_row();
  return kTable;
}

AlgorithmProblem unknown_parameter(const CollectiveAlgorithm& algorithm, std::string_view name) {
  if (algorithm.parameters.empty())
    return {{}, fmt::format("{} takes no parameters, got \"{}\"", algorithm.name, name)};
  std::vector<std::string_view> names;
  for (const AlgorithmParameter& parameter : algorithm.parameters) names.push_back(parameter.name);
  if (const auto meant = did_you_mean(name, names))
    return {{},
            fmt::format("{} has no parameter \"{}\"; did you mean \"{}\"?", algorithm.name, name,
                        *meant)};
  return {{},
          fmt::format("{} has no parameter \"{}\"; it has: {}", algorithm.name, name,
                      fmt::join(names, ", "))};
}

std::optional<AlgorithmProblem> number_problem(const CollectiveAlgorithm& algorithm,
                                               const AlgorithmParameter& parameter,
                                               std::int64_t given, std::optional<int> n) {
  const bool by_ranks = !parameter.most.has_value();
  const std::int64_t most = parameter.most.value_or(n.value_or(INT32_MAX));
  if (parameter.least <= given && given <= most) return std::nullopt;
  if (by_ranks && !n)
    return AlgorithmProblem{algorithm.name, fmt::format("{} is {} to the number of ranks, got {}",
                                                        parameter.name, parameter.least, given)};
  return AlgorithmProblem{
      algorithm.name, fmt::format("{} is {} to {}{}, got {}", parameter.name, parameter.least, most,
                                  by_ranks ? " (the number of ranks)" : "", given)};
}

/// Dimensions multiply to the number of ranks.
std::optional<AlgorithmProblem> dimensions_problem(const CollectiveAlgorithm& algorithm,
                                                   const AlgorithmParameter& parameter,
                                                   const std::vector<int>& given,
                                                   std::optional<int> n) {
  std::int64_t product = 1;
  for (const int size : given) product *= size;
  if (!n || product == *n) return std::nullopt;
  return AlgorithmProblem{algorithm.name,
                          fmt::format("{}={} makes {} ranks, there are {}", parameter.name,
                                      to_string(ArgumentValue{given}), product, *n)};
}

/// The algorithms without auxiliary ranks.
std::vector<std::string_view> played_alone(Collective collective) {
  std::vector<std::string_view> names;
  for (const CollectiveAlgorithm& row : table())
    if (row.collective == collective && row.auxiliary_ranks == AuxiliaryRanks::none)
      names.push_back(row.name);
  return names;
}

std::optional<AlgorithmProblem> inner_problem(const CollectiveAlgorithm& algorithm,
                                              const AlgorithmParameter& parameter,
                                              const std::string& given) {
  const ParsedSpecs parsed = parse_inner_spec(given, parameter.inner);
  const std::string_view name = std::string_view{given}.substr(0, given.find(':'));
  if (parsed.errors.empty() && parsed.specs.size() == 1) return std::nullopt;
  if (!parsed.errors.empty() && find_algorithm(parameter.inner, name) != nullptr)
    return AlgorithmProblem{algorithm.name,
                            fmt::format("{}: {}", parameter.name, parsed.errors.at(0).message)};
  const std::vector<std::string_view> names = played_alone(parameter.inner);
  const auto meant = did_you_mean(name, names);
  return AlgorithmProblem{
      algorithm.name, fmt::format("{} is an algorithm of {}, got \"{}\"; {}", parameter.name,
                                  to_string(parameter.inner), given,
                                  meant ? fmt::format("did you mean \"{}\"?", *meant)
                                        : fmt::format("there are: {}", fmt::join(names, ", ")))};
}

/// As argument_problem().
std::optional<AlgorithmProblem> problem_of_argument(const CollectiveAlgorithm& algorithm,
                                                    std::string_view name,
                                                    const ArgumentValue& given,
                                                    std::optional<int> n) {
  const AlgorithmParameter* parameter = find_parameter(algorithm, name);
  if (parameter == nullptr) return unknown_parameter(algorithm, name);
  const auto not_a = [&](const char* expected) {
    return AlgorithmProblem{
        {}, fmt::format("{}: expected {}, got \"{}\"", name, expected, to_string(given))};
  };
  switch (parameter->kind) {
    case ParameterKind::whole:
      if (const auto* number = std::get_if<std::int64_t>(&given))
        return number_problem(algorithm, *parameter, *number, n);
      return not_a("an integer");
    case ParameterKind::dimensions:
      if (const auto* sizes = std::get_if<std::vector<int>>(&given))
        return dimensions_problem(algorithm, *parameter, *sizes, n);
      return not_a("dimensions such as 8x4");
    case ParameterKind::algorithm:
      break;
  }
  const std::vector<std::string_view>& names = parameter->names;
  if (!names.empty())
    return std::ranges::find(names, to_string(given)) != names.end()
               ? std::optional<AlgorithmProblem>{}
               : not_a(fmt::format("{}", fmt::join(names, " or ")).c_str());
  return inner_problem(algorithm, *parameter, to_string(given));
}

}  // namespace

std::span<const CollectiveAlgorithm> collective_algorithms() {
  return table();
}

std::vector<Collective> collectives() {
  std::vector<Collective> all;
  for (const CollectiveAlgorithm& row : table()) {
    if (std::ranges::find(all, row.collective) == all.end()) all.push_back(row.collective);
  }
  return all;
}

std::vector<std::string_view> algorithm_names(Collective collective) {
  std::vector<std::string_view> names;
  for (const CollectiveAlgorithm& row : table()) {
    if (row.collective == collective) names.push_back(row.name);
  }
  return names;
}

const CollectiveAlgorithm* find_algorithm(Collective collective, std::string_view name) {
  // Names next to each other: a search through the rows would read all of the table.
  struct Named {
    Collective collective;
    std::string_view name;
    const CollectiveAlgorithm* row;
  };
  static const std::vector<Named> kNames = [] {
    std::vector<Named> out;
    for (const CollectiveAlgorithm& row : table()) out.push_back({row.collective, row.name, &row});
    return out;
  }();
  const auto found = std::ranges::find_if(kNames, [&](const Named& each) {
    return each.collective == collective && each.name == name;
  });
  return found == kNames.end() ? nullptr : found->row;
}

const AlgorithmParameter* find_parameter(const CollectiveAlgorithm& algorithm,
                                         std::string_view name) {
  const auto found = std::ranges::find(algorithm.parameters, name, &AlgorithmParameter::name);
  return found == algorithm.parameters.end() ? nullptr : &*found;
}

std::optional<std::string> argument_problem(const CollectiveAlgorithm& algorithm,
                                            std::string_view name, const ArgumentValue& given,
                                            std::optional<int> n) {
  const auto problem = problem_of_argument(algorithm, name, given, n);
  return problem ? std::optional{problem->text()} : std::nullopt;
}

std::string AlgorithmProblem::text() const {
  return algorithm.empty() ? message : fmt::format("{}: {}", algorithm, message);
}

std::vector<AlgorithmProblem> algorithm_problems(const CollectiveAlgorithm& algorithm,
                                                 const AlgorithmInput& input) {
  std::vector<AlgorithmProblem> problems;
  if (input.n < 1)
    problems.push_back(
        {{}, fmt::format("{} needs at least 1 rank, got {}", algorithm.name, input.n)});
  if (has_root(algorithm.collective) && (input.root < 0 || input.root >= input.n))
    problems.push_back(
        {algorithm.name, fmt::format("the root is 0 to {}, got {}", input.n - 1, input.root)});
  for (const auto& [name, given] : input.arguments) {
    if (auto problem = problem_of_argument(algorithm, name, given, input.n))
      problems.push_back(*std::move(problem));
  }
  if (!problems.empty() || algorithm.refusal == nullptr) return problems;
  AlgorithmInput whole = input;
  for (const AlgorithmParameter& parameter : algorithm.parameters)
    if (parameter.fallback) whole.arguments.emplace(parameter.name, *parameter.fallback);
  if (auto refusal = algorithm.refusal(whole))
    problems.push_back({algorithm.name, *std::move(refusal)});
  return problems;
}

std::vector<std::string> validate(const CollectiveAlgorithm& algorithm,
                                  const AlgorithmInput& input) {
  std::vector<std::string> out;
  for (const AlgorithmProblem& problem : algorithm_problems(algorithm, input))
    out.push_back(problem.text());
  return out;
}

AlgorithmInput complete(const CollectiveAlgorithm& algorithm, const AlgorithmInput& input) {
  LOCKSTEP_CHECK(validate(algorithm, input).empty());
  AlgorithmInput whole = input;
  for (const AlgorithmParameter& parameter : algorithm.parameters)
    if (parameter.fallback) whole.arguments.emplace(parameter.name, *parameter.fallback);
  return whole;
}

SchedulePtr make_schedule(const CollectiveAlgorithm& algorithm, const AlgorithmInput& input) {
  return algorithm.make(complete(algorithm, input));
}

std::optional<CollectiveCost> cost_of(const CollectiveAlgorithm& algorithm,
                                      const AlgorithmInput& input) {
  if (algorithm.cost == nullptr) return std::nullopt;
  return algorithm.cost(complete(algorithm, input));
}

std::optional<CollectiveCost> estimate_of(const CollectiveAlgorithm& algorithm,
                                          const AlgorithmInput& input) {
  if (algorithm.estimate == nullptr) return std::nullopt;
  return algorithm.estimate(complete(algorithm, input));
}

int auxiliary_ranks_of(const CollectiveAlgorithm& algorithm, const AlgorithmInput& input) {
  return make_schedule(algorithm, input)->ranks() - input.n;
}

}  // namespace lockstep
