#include "tools/app/replay/replay_algorithms.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/config/did_you_mean.hpp"
#include "tools/app/errors.hpp"

namespace lockstep::app {

namespace {

std::string name_at(const std::string& list, std::size_t position) {
  return list.substr(position,
                     std::min(list.find_first_of(",:", position), list.size()) - position);
}

bool is_known(const std::string& name) {
  const auto all = collective_algorithms();
  return std::any_of(all.begin(), all.end(),
                     [&name](const CollectiveAlgorithm& row) { return row.name == name; });
}

/// A mistake wherever it is met, and not a name of another collective.
void refuse(const std::string& list, const SpecError& error) {
  const std::string name = name_at(list, error.position);
  if (is_known(name)) return;
  const bool is_name = error.position == 0 || list[error.position - 1] == ',';
  if (!is_name) throw RequestError("algorithm", error.message);
  std::vector<std::string_view> names;
  for (const CollectiveAlgorithm& row : collective_algorithms()) names.push_back(row.name);
  const auto meant = did_you_mean(name, names);
  throw RequestError("algorithm", fmt::format("no algorithm named \"{}\"; {}", name,
                                              meant ? fmt::format("did you mean \"{}\"?", *meant)
                                                    : "`lockstep list algorithms` names them"));
}

}  // namespace

ReplayAlgorithms::ReplayAlgorithms(const CollectiveSetup& setup, const std::string& list)
    : setup_{setup} {
  if (list.empty()) return;
  for (const Collective collective : collectives()) {
    ParsedSpecs parsed = parse_specs(list, collective);
    for (const SpecError& error : parsed.errors) refuse(list, error);
    for (AlgorithmSpec& spec : parsed.specs)
      if (!given_.try_emplace(collective, std::move(spec)).second)
        throw RequestError("algorithm", fmt::format("\"{}\" names two algorithms of {}", list,
                                                    to_string(collective)));
  }
}

AlgorithmSpec ReplayAlgorithms::spec_of(Collective collective) const {
  if (const auto given = given_.find(collective); given != given_.end()) return given->second;
  const CollectiveAlgorithm* ring = find_algorithm(collective, "ring");
  if (ring != nullptr) return {ring, {}};
  return {find_algorithm(collective, algorithm_names(collective).front()), {}};
}

SchedulePtr ReplayAlgorithms::choose(Collective collective, std::span<const int> ranks,
                                     Bytes message) {
  const AlgorithmSpec& spec = chosen_.try_emplace(collective, spec_of(collective)).first->second;
  const AlgorithmInput input =
      setup_.communicator_of({ranks.begin(), ranks.end()}).input(spec.arguments, 0, message);
  const auto refuse_it = [&](std::string_view why) {
    throw RequestError("algorithm " + spec.text(),
                       fmt::format("{} (for {} of {} bytes among {} ranks)", why,
                                   to_string(collective), message.count(), ranks.size()));
  };
  if (spec.algorithm->auxiliary_ranks != AuxiliaryRanks::none)
    refuse_it("needs more than the ranks; not for the collectives of a trace");
  for (const std::string& problem : validate(*spec.algorithm, input)) refuse_it(problem);
  return make_schedule(*spec.algorithm, input);
}

}  // namespace lockstep::app
