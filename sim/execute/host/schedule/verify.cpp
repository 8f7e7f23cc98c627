#include "sim/execute/host/schedule/verify.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace lockstep {
namespace {

/// Whether a rank's own part of the message has a meaning.
bool has_parts(Collective collective) {
  switch (collective) {
    case Collective::scatter:
    case Collective::gather:
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::all_to_all:
      return true;
    default:
      return false;
  }
}

std::string why_impossible(const Schedule& schedule, const Contract& contract) {
  if (contract.ranks < 1 || contract.ranks > schedule.ranks())
    return fmt::format("{} ranks with data in a schedule of {}", contract.ranks, schedule.ranks());
  if (contract.blocks != schedule.blocks())
    return fmt::format("a message of {} blocks in a schedule of {}", contract.blocks,
                       schedule.blocks());
  if (has_root(contract.collective) && (contract.root < 0 || contract.root >= contract.ranks))
    return fmt::format("root {}, but there are {} ranks", contract.root, contract.ranks);
  if (has_parts(contract.collective) && schedule.blocks() % contract.ranks != 0)
    return fmt::format("{} blocks are not as many for each of {} ranks", schedule.blocks(),
                       contract.ranks);
  return {};
}

/// A lane's entry in a clock is joined that much faster than a transfer is executed.
constexpr std::int64_t kClockShare = 128;

}  // namespace

std::string CollectiveVerdict::problem() const {
  if (!impossible.empty()) return impossible;
  if (!symbols.right()) return symbols.problem();
  return races.first ? races.first->what : numbers.problem();
}

std::optional<WrongChunk> CollectiveVerdict::first_wrong() const {
  if (symbols.first_wrong) return symbols.first_wrong;
  if (races.first)
    return WrongChunk{races.first->second.rank, races.first->chunk, races.first->what,
                      races.first->second};
  if (!numbers.first_wrong) return std::nullopt;
  const WrongElement& element = *numbers.first_wrong;
  return WrongChunk{element.rank, element.chunk, numbers.problem(), element.written};
}

CollectiveVerdict verify(const Schedule& schedule, const Contract& contract,
                         const VerifyOptions& options) {
  CollectiveVerdict verdict;
  verdict.impossible = why_impossible(schedule, contract);
  if (!verdict.impossible.empty()) return verdict;
  verdict.symbols =
      check_symbols(schedule, contract, {options.seed, options.slots, options.most_work});
  const ExecuteOutcome::Kind kind = verdict.symbols.outcome.kind;
  const bool finished = kind == ExecuteOutcome::Kind::finished;
  if (finished)
    verdict.races = check_races(schedule, options.slots, kClockShare * options.most_work);
  const bool can_end = finished || kind == ExecuteOutcome::Kind::wrong;
  if (!can_end || contract.collective == Collective::barrier) return verdict;
  const std::int64_t count =
      options.count.value_or(std::max<std::int64_t>(0, 3 * schedule.blocks() - 1));
  verdict.numbers = check_numbers(
      schedule, contract, count,
      {options.seed, options.slots, options.most_floats, options.significand, options.run});
  return verdict;
}

}  // namespace lockstep
