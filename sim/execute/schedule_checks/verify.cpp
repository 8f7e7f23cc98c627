#include "sim/execute/schedule_checks/verify.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/execute/schedule_checks/round_of.hpp"

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
    return fmt::format("a message of {} chunks in a schedule of {}", contract.blocks,
                       schedule.blocks());
  if (has_root(contract.collective) && (contract.root < 0 || contract.root >= contract.ranks))
    return fmt::format("root {}, but there are {} ranks", contract.root, contract.ranks);
  if (has_parts(contract.collective) && schedule.blocks() % contract.ranks != 0)
    return fmt::format("{} chunks are not as many for each of {} ranks", schedule.blocks(),
                       contract.ranks);
  return {};
}

std::optional<std::int64_t> wrong_round(const Schedule& schedule, const CollectiveVerdict& verdict,
                                        std::optional<int> slots) {
  const std::optional<WrongChunk> wrong = verdict.first_wrong();
  if (wrong && wrong->written) return round_of(schedule, *wrong->written, wrong->chunk, slots);
  const std::optional<ScheduleStepIndex>& at = verdict.symbols.outcome.at;
  return wrong || !at ? std::nullopt : round_of(schedule, *at, {}, slots);
}

/// A lane's entry in a clock is joined that much faster than a transfer is executed.
constexpr std::int64_t kClockShare = 128;

void run_checkers(const Schedule& schedule, const Contract& contract, const VerifyOptions& options,
                  CollectiveVerdict& verdict) {
  bool raced = false;
  const auto race = [&] {
    raced = true;
    verdict.races = check_races(schedule, options.slots, kClockShare * options.most_work);
  };
  // Where every access to a block comes in the same order in all executions, and every message
  // meets the same receive, all executions come to the same. Barriers have no blocks.
  const auto may_race = [&](const ExecuteOutcome& outcome) {
    race();
    return contract.collective == Collective::barrier || outcome.shares_channels ||
           !verdict.races.complete || !verdict.races.right();
  };
  const bool has_numbers = contract.collective != Collective::barrier;
  const std::int64_t count =
      options.count.value_or(std::max<std::int64_t>(0, 3 * schedule.blocks() - 1));
  const NumericOptions numeric{options.seed, options.slots, options.most_floats,
                               options.significand, options.run};
  // Numbers move in the order that symbols are first tried in: one execution does for both.
  std::optional<NumericRun> numbers;
  if (has_numbers) numbers.emplace(schedule, contract, count, numeric);
  verdict.symbols = check_symbols(schedule, contract,
                                  {options.seed, options.slots, options.most_work, may_race,
                                   numbers ? numbers->blocks() : nullptr});
  const ExecuteOutcome::Kind kind = verdict.symbols.outcome.kind;
  const bool finished = kind == ExecuteOutcome::Kind::finished;
  if (finished && !raced) race();
  if (!finished) verdict.races = {};  // are of schedules that end in every order that was tried
  const bool can_end = finished || kind == ExecuteOutcome::Kind::wrong;
  if (!can_end || !has_numbers) return;
  verdict.numbers = verdict.symbols.alongside ? numbers->judge(*verdict.symbols.alongside)
                                              : check_numbers(schedule, contract, count, numeric);
}

}  // namespace

std::string CollectiveVerdict::problem() const {
  if (!impossible.empty()) return impossible;
  const std::string what = !symbols.right() ? symbols.problem()
                           : races.first    ? races.first->what
                                            : numbers.problem();
  return in_round(round, what);
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

std::string in_round(std::optional<std::int64_t> round, const std::string& what) {
  return round ? fmt::format("round {}: {}", *round, what) : what;
}

CollectiveVerdict verify(const Schedule& schedule, const Contract& contract,
                         const VerifyOptions& options) {
  CollectiveVerdict verdict;
  verdict.impossible = why_impossible(schedule, contract);
  if (!verdict.impossible.empty()) return verdict;
  run_checkers(schedule, contract, options, verdict);
  if (!verdict.right()) verdict.round = wrong_round(schedule, verdict, options.slots);
  return verdict;
}

}  // namespace lockstep
