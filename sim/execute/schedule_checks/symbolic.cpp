#include "sim/execute/schedule_checks/symbolic.hpp"

#include <fmt/format.h>

#include <numeric>
#include <vector>

#include "sim/base/check.hpp"
#include "sim/execute/schedule/chunk_text.hpp"
#include "sim/execute/schedule/execution_orders.hpp"
#include "sim/execute/schedule/paired_blocks.hpp"
#include "sim/execute/schedule/write_log.hpp"
#include "sim/execute/schedule_checks/barrier_reach.hpp"
#include "sim/execute/schedule_checks/contribution_trace.hpp"
#include "sim/execute/schedule_checks/contributions.hpp"
#include "sim/execute/schedule_checks/symbol_blocks.hpp"

namespace lockstep {
namespace {

/// "rank 1's chunk 0, rank 2's chunk 0 and 7 more".
std::string list(const ContributionSets::Difference& difference) {
  std::string text;
  for (std::size_t i = 0; i < difference.first.size(); ++i) {
    const bool is_last = static_cast<std::int64_t>(i) + 1 == difference.count;
    text += (i == 0 ? "" : is_last ? " and " : ", ") + to_string(difference.first[i]);
  }
  const std::int64_t more = difference.count - std::ssize(difference.first);
  return more == 0 ? text : text + fmt::format(" and {} more", more);
}

/// See SymbolicOptions::most_work; at least 1.
std::int64_t work_of(const ExecuteOutcome& outcome) {
  const std::vector<std::int64_t>& blocks = outcome.traffic.received;
  return 1 + outcome.transfers +
         std::accumulate(blocks.begin(), blocks.end(), std::int64_t{0}) / 16;
}

/// Of most_work, for orders that cannot show anything else.
constexpr std::int64_t kShareWhereRuledOut = 16;

class SymbolicChecker {
 public:
  SymbolicChecker(const Schedule& schedule, const Contract& contract,
                  const SymbolicOptions& options)
      : schedule_{schedule}, contract_{contract}, options_{options}, sets_{contract.ranks} {}

  SymbolicVerdict run() {
    const ExecuteOptions base{.seed = options_.seed, .slots = options_.slots};
    attempt(base);
    std::int64_t most = options_.most_work / work_of(verdict_.outcome);
    if (verdict_.right() && options_.may_race && !options_.may_race(verdict_.outcome))
      most /= kShareWhereRuledOut;
    const auto orders = execution_orders(schedule_, base, 1 + most);
    for (std::size_t i = 1; i < orders.size() && verdict_.right(); ++i) attempt(orders[i]);
    return std::move(verdict_);
  }

 private:
  void attempt(const ExecuteOptions& order) {
    ++verdict_.orders;
    verdict_.order = to_text(order);
    if (contract_.collective == Collective::barrier) {
      attempt_barrier(order);
    } else {
      attempt_blocks(order);
    }
  }

  void attempt_blocks(const ExecuteOptions& order) {
    SymbolBlocks blocks{schedule_, contract_, sets_};
    const bool with_others = verdict_.orders == 1 && options_.alongside != nullptr;
    if (with_others) {
      PairedBlocks both{blocks, *options_.alongside};
      verdict_.outcome = execute(schedule_, both, order);
      if (verdict_.outcome.finished()) verdict_.alongside = verdict_.outcome;
    } else {
      verdict_.outcome = execute(schedule_, blocks, order);
    }
    if (blocks.mistaken()) {
      const ScheduleStepIndex place = verdict_.outcome.at.value_or(ScheduleStepIndex{});
      verdict_.first_wrong = {place.rank, *blocks.mistaken(), verdict_.outcome.problem, place};
    }
    if (!verdict_.outcome.finished() || is_right(blocks)) return;
    explain_wrong(order);
  }

  /// What rank `rank`'s result must hold in `block`; none: anything.
  [[nodiscard]] std::optional<Contributions> wanted(int rank, std::int64_t block) const {
    const Expected expected = contract_.expected(rank, block);
    if (expected.anything) return std::nullopt;
    return expected.all_ranks ? sets_.all(expected.block)
                              : sets_.one({expected.rank, expected.block});
  }

  [[nodiscard]] bool is_right(const SymbolBlocks& blocks) const {
    for (int rank = 0; rank < contract_.ranks; ++rank) {
      for (std::int64_t block = 0; block < schedule_.blocks(); ++block) {
        const auto must_be = wanted(rank, block);
        if (must_be && !sets_.equal(blocks.at(rank, contract_.result, block), *must_be))
          return false;
      }
    }
    return true;
  }

  /// Executes it once more, as before, and takes note of who writes.
  void explain_wrong(const ExecuteOptions& order) {
    SymbolBlocks blocks{schedule_, contract_, sets_};
    WriteLog log{schedule_, blocks};
    LOCKSTEP_CHECK(execute(schedule_, log, order).finished());
    first_key_.reset();
    lacking_.reset();
    for (int rank = 0; rank < contract_.ranks; ++rank) compare(rank, blocks, log);
    if (lacking_) verdict_.first_wrong->lost = what_became_of(*lacking_, blocks, order);
  }

  /// Executes it once more, up to the write that left the first wrong block as it is.
  [[nodiscard]] std::string what_became_of(const Contribution& lacking, const SymbolBlocks& ended,
                                           const ExecuteOptions& order) {
    SymbolBlocks blocks{schedule_, contract_, sets_};
    ContributionTrace trace{blocks, sets_, lacking, first_key_->write};
    (void)execute(schedule_, trace, order);
    return trace.text(is_in_some_result(lacking, ended));
  }

  [[nodiscard]] bool is_in_some_result(const Contribution& wanted, const SymbolBlocks& blocks) {
    for (int rank = 0; rank < contract_.ranks; ++rank) {
      for (std::int64_t block = 0; block < schedule_.blocks(); ++block) {
        const Contributions& got = blocks.at(rank, contract_.result, block);
        const bool owned = Contribution{rank, block} == wanted;
        if (owned || contract_.expected(rank, block).anything || !got.written()) continue;
        if (sets_.difference(sets_.one(wanted), got, 0).count == 0) return true;
      }
    }
    return false;
  }

  void compare(int rank, const SymbolBlocks& blocks, const WriteLog& log) {
    for (std::int64_t block = 0; block < schedule_.blocks(); ++block) {
      const auto must_be = wanted(rank, block);
      const Contributions& got = blocks.at(rank, contract_.result, block);
      if (!must_be || sets_.equal(got, *must_be)) continue;
      ++verdict_.wrong_blocks;
      note(rank, block, log, got, *must_be);
    }
  }

  void note(int rank, std::int64_t block, const WriteLog& log, const Contributions& got,
            const Contributions& wanted) {
    const auto missing = sets_.difference(wanted, got, 1);
    const bool foreign = got.written() && sets_.difference(got, wanted, 0).count > 0;
    const Key key{!foreign, log.last_number(rank, contract_.result, block)};
    const auto written = log.last_write(rank, contract_.result, block);
    if (!first_key_ || key < *first_key_) {
      first_key_ = key;
      verdict_.first_wrong = {rank, {contract_.result, block, 1}, say(got, wanted), written};
      lacking_.reset();
      if (missing.count > 0) lacking_ = missing.first.front();
      return;
    }
    WrongChunk& first = *verdict_.first_wrong;
    const bool next = first.rank == rank && first.chunk.first + first.chunk.count == block;
    if (next && first.written == written) ++first.chunk.count;
  }

  [[nodiscard]] std::string say(const Contributions& got, const Contributions& wanted) const {
    if (!got.written()) return "holds an uninitialized chunk";
    constexpr std::size_t kShown = 3;
    const auto missing = sets_.difference(wanted, got, kShown);
    const auto foreign = sets_.difference(got, wanted, kShown);
    if (foreign.count == 0) return "lacks " + list(missing);
    if (missing.count == 0) return fmt::format("holds {}, which is too much", list(foreign));
    return fmt::format("lacks {}, holds {} instead", list(missing), list(foreign));
  }

  void attempt_barrier(const ExecuteOptions& order) {
    BarrierReach heard{schedule_.ranks()};
    verdict_.outcome = execute(schedule_, heard, order);
    if (!verdict_.outcome.finished()) return;
    for (int rank = 0; rank < contract_.ranks; ++rank) {
      for (int other = 0; other < contract_.ranks; ++other) {
        if (heard.has(rank, other)) continue;
        ++verdict_.wrong_blocks;
        if (!verdict_.first_wrong)
          verdict_.first_wrong = {
              rank, {}, fmt::format("may end before rank {} has begun", other), {}};
      }
    }
  }

  /// What went wrong first has the least.
  struct Key {
    bool nothing_foreign = false;
    std::int64_t write = 0;  // the last, by number

    friend auto operator<=>(const Key&, const Key&) = default;
  };

  const Schedule& schedule_;
  const Contract& contract_;
  const SymbolicOptions& options_;
  ContributionSets sets_;
  SymbolicVerdict verdict_;
  std::optional<Key> first_key_;         // of verdict_.first_wrong
  std::optional<Contribution> lacking_;  // there, one of them
};

}  // namespace

std::string SymbolicVerdict::problem() const {
  const std::string where = order.empty() ? std::string{} : ", " + order;
  if (!outcome.finished()) return outcome.problem + where;
  if (!first_wrong) return {};
  const WrongChunk& wrong = *first_wrong;
  if (wrong.chunk.count == 0) return fmt::format("rank {} {}{}", wrong.rank, wrong.what, where);
  return fmt::format("rank {}, {}: {}; {}{}{}", wrong.rank, to_text(wrong.chunk), wrong.what,
                     last_written(wrong.written), wrong.lost, where);
}

SymbolicVerdict check_symbols(const Schedule& schedule, const Contract& contract,
                              const SymbolicOptions& options) {
  LOCKSTEP_CHECK(0 < contract.ranks && contract.ranks <= schedule.ranks());
  return SymbolicChecker{schedule, contract, options}.run();
}

}  // namespace lockstep
