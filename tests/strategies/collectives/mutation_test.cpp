#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <tuple>
#include <vector>

#include "sim/execute/schedule/chunk_text.hpp"
#include "sim/execute/schedule/host_memory.hpp"
#include "sim/execute/schedule_checks/contributions.hpp"
#include "sim/execute/schedule_checks/verify.hpp"
#include "tests/strategies/collectives/every_row.hpp"
#include "tests/strategies/collectives/mutant.hpp"
#include "tests/strategies/collectives/plain_execution.hpp"

/// Every schedule of the table with one thing broken at random: verify must see it and say where.
/// Some changes can be proved to matter. Whether any other does is decided by a second, plain
/// execution that shares no code with the one under test.
using namespace lockstep;

namespace {

/// A send or a receive.
struct Site {
  int rank = 0;
  int lane = 0;
  std::int64_t step = 0;
  std::size_t place = 0;
};
struct Transfer {
  Site send;
  Site receive;
};

/// One row at one size, taken apart.
struct Subject {
  RowCase row;
  SchedulePtr schedule;
  Contract contract;
  std::vector<Site> steps;  // all of them; `place` means nothing
  std::vector<Transfer> transfers;
};

template <typename Visit>
void each_step(const Schedule& schedule, const Visit& visit) {
  ScheduleStep step;
  for (int rank = 0; rank < schedule.ranks(); ++rank) {
    for (int lane = 0; lane < schedule.lanes(); ++lane) {
      for (std::int64_t i = 0; i < schedule.steps(rank, lane); ++i) {
        step.clear();
        schedule.step(rank, lane, i, step);
        visit(Site{rank, lane, i, 0}, step);
      }
    }
  }
}

/// Sends and receives matched first to first per connection, which belongs to one lane.
std::vector<Transfer> transfers_of(const Schedule& schedule) {
  std::map<std::tuple<int, int, int>, std::pair<std::vector<Site>, std::vector<Site>>> ends;
  each_step(schedule, [&](Site site, const ScheduleStep& step) {
    for (const Send& send : step.sends) {
      ends[{site.rank, send.peer, send.channel}].first.push_back(site);
      ++site.place;
    }
    site.place = 0;
    for (const Receive& receive : step.receives) {
      ends[{receive.peer, site.rank, receive.channel}].second.push_back(site);
      ++site.place;
    }
  });
  std::vector<Transfer> transfers;
  for (const auto& [connection, both] : ends) {
    REQUIRE(both.first.size() == both.second.size());
    for (std::size_t i = 0; i < both.first.size(); ++i)
      transfers.push_back({both.first[i], both.second[i]});
  }
  return transfers;
}

Subject take_apart(const RowCase& row) {
  Subject subject;
  subject.row = row;
  subject.schedule = row.make();
  subject.contract = row.contract(*subject.schedule);
  each_step(*subject.schedule,
            [&](const Site& site, const ScheduleStep&) { subject.steps.push_back(site); });
  subject.transfers = transfers_of(*subject.schedule);
  return subject;
}

ScheduleStep& step_at(Mutant& mutant, const Site& site) {
  return mutant.at(site.rank, site.lane, site.step);
}
Send& send_at(Mutant& mutant, const Transfer& transfer) {
  return step_at(mutant, transfer.send).sends[transfer.send.place];
}
Receive& receive_at(Mutant& mutant, const Transfer& transfer) {
  return step_at(mutant, transfer.receive).receives[transfer.receive.place];
}
template <typename T>
void erase_at(std::vector<T>& from, std::size_t place) {
  from.erase(from.begin() + static_cast<std::ptrdiff_t>(place));
}

using Random = std::mt19937;  // its sequence is fixed by the standard

std::size_t draw(Random& random, std::size_t below) {
  return random() % below;
}

/// How a change can matter.
enum class Effect { always, if_seen };

/// What a change did: whether it could be made at all, and where it must be noticed.
struct Change {
  bool made = false;
  std::optional<ScheduleStepIndex> must_name{};
};

using Mutation = std::function<Change(const Subject&, Mutant&, Random&)>;

/// The same sentence in every case: something is wrong at some rank.
void check_caught(const CollectiveVerdict& verdict, const Change& change) {
  CHECK_FALSE(verdict.right());
  CHECK(verdict.problem().find("rank ") != std::string::npos);
  if (change.must_name) CHECK(verdict.symbols.outcome.at == change.must_name);
}

/// Verify is stricter than a result: it refuses double contributions that are overwritten later,
/// and tries more orders than the second opinion does.
bool stricter(const CollectiveVerdict& verdict) {
  return verdict.symbols.outcome.kind == ExecuteOutcome::Kind::wrong ||
         !verdict.symbols.order.empty();
}

/// Tries some mutants of every row; returns how many were tried and how many of them mattered.
std::pair<int, int> try_mutants(Effect effect, const Mutation& mutate,
                                const std::vector<int>& ranks = {2, 3, 4, 5, 8}) {
  constexpr int kMutants = 4;
  int tried = 0;
  int mattered = 0;
  for (const RowCase& row : every_row(ranks)) {
    const Subject subject = take_apart(row);
    if (subject.transfers.empty()) continue;
    CAPTURE(row.name());
    Random random{static_cast<unsigned>(row.input.n)};
    for (int i = 0; i < kMutants; ++i) {
      CAPTURE(i);
      Mutant mutant{subject.schedule};
      const Change change = mutate(subject, mutant, random);
      if (!change.made) continue;
      ++tried;
      const CollectiveVerdict verdict = verify(mutant, subject.contract);
      const bool matters = effect == Effect::always ||
                           !PlainExecution{mutant, subject.contract}.right_in_all_orders();
      mattered += matters ? 1 : 0;
      if (matters) {
        check_caught(verdict, change);
      } else {
        CHECK_MESSAGE((verdict.right() || stricter(verdict)), verdict.problem());
      }
    }
  }
  return {tried, mattered};
}

const Transfer& some_transfer(const Subject& subject, Random& random) {
  return subject.transfers[draw(random, subject.transfers.size())];
}

/// One run of blocks moved by one place; false where it fills its buffer.
bool shift(const Schedule& schedule, int rank, Chunk& chunk) {
  const std::int64_t held = held_blocks(schedule, rank, chunk.buffer);
  if (chunk.count == 0 || chunk.count >= held) return false;
  chunk.first += chunk.first + chunk.count < held ? 1 : -1;
  return true;
}

}  // namespace

TEST_CASE("two opinions agree that every schedule is right") {
  for (const RowCase& row : every_row({1, 2, 3, 5, 8, 12})) {
    CAPTURE(row.name());
    const SchedulePtr schedule = row.make();
    const Contract contract = row.contract(*schedule);
    const CollectiveVerdict verdict = verify(*schedule, contract);
    CHECK_MESSAGE(verdict.right(), verdict.problem());
    CHECK(PlainExecution{*schedule, contract}.right());
  }
}

TEST_CASE("a send to the wrong peer is caught: one receive is left over") {
  const auto [tried, mattered] =
      try_mutants(Effect::always, [](const Subject& subject, Mutant& mutant, Random& random) {
        const int ranks = subject.schedule->ranks();
        Send& send = send_at(mutant, some_transfer(subject, random));
        const auto further = 1 + draw(random, static_cast<std::size_t>(ranks) - 1);
        send.peer = (send.peer + static_cast<int>(further)) % ranks;
        return Change{true};
      });
  CHECK(tried == mattered);
  CHECK(tried > 500);
}

TEST_CASE("a reduction that is done twice is caught in the very step") {
  const auto [tried, mattered] =
      try_mutants(Effect::always, [](const Subject& subject, Mutant& mutant, Random& random) {
        const Transfer& transfer = some_transfer(subject, random);
        if (receive_at(mutant, transfer).combine == Combine::copy) return Change{};
        const Send send = send_at(mutant, transfer);
        const Receive receive = receive_at(mutant, transfer);
        auto& sends = step_at(mutant, transfer.send).sends;
        auto& receives = step_at(mutant, transfer.receive).receives;
        sends.insert(sends.begin() + static_cast<std::ptrdiff_t>(transfer.send.place), send);
        receives.insert(receives.begin() + static_cast<std::ptrdiff_t>(transfer.receive.place),
                        receive);
        return Change{true, ScheduleStepIndex{transfer.receive.rank, transfer.receive.lane,
                                              transfer.receive.step}};
      });
  CHECK(tried == mattered);
  CHECK(tried > 300);
}

TEST_CASE("a transfer that is left out is caught") {
  const auto [tried, mattered] =
      try_mutants(Effect::if_seen, [](const Subject& subject, Mutant& mutant, Random& random) {
        const Transfer& transfer = some_transfer(subject, random);
        erase_at(step_at(mutant, transfer.send).sends, transfer.send.place);
        erase_at(step_at(mutant, transfer.receive).receives, transfer.receive.place);
        return Change{true};
      });
  CHECK(tried > 500);
  CHECK(mattered > tried * 9 / 10);
}

TEST_CASE("blocks laid down in the wrong place are caught") {
  const auto [tried, mattered] =
      try_mutants(Effect::if_seen, [](const Subject& subject, Mutant& mutant, Random& random) {
        const Transfer& transfer = some_transfer(subject, random);
        return Change{
            shift(*subject.schedule, transfer.receive.rank, receive_at(mutant, transfer).chunk)};
      });
  CHECK(tried > 300);
  CHECK(mattered > tried * 9 / 10);
}

TEST_CASE("blocks taken from the wrong place are caught") {
  const auto [tried, mattered] = try_mutants(Effect::if_seen, [](const Subject& subject,
                                                                 Mutant& mutant, Random& random) {
    const Transfer& transfer = some_transfer(subject, random);
    return Change{shift(*subject.schedule, transfer.send.rank, send_at(mutant, transfer).chunk)};
  });
  CHECK(tried > 300);
  CHECK(mattered > tried * 9 / 10);
}

TEST_CASE("copying where it should add, and adding where it should copy, are caught") {
  const auto [tried, mattered] =
      try_mutants(Effect::if_seen, [](const Subject& subject, Mutant& mutant, Random& random) {
        Receive& receive = receive_at(mutant, some_transfer(subject, random));
        if (receive.chunk.count == 0) return Change{};
        receive.combine = receive.combine == Combine::copy ? Combine::reduce : Combine::copy;
        return Change{true};
      });
  CHECK(tried > 500);
  CHECK(mattered > tried * 7 / 10);
}

TEST_CASE("two steps in the wrong order are caught where it matters") {
  const auto [tried, mattered] =
      try_mutants(Effect::if_seen, [](const Subject& subject, Mutant& mutant, Random& random) {
        const Site site = subject.steps[draw(random, subject.steps.size())];
        if (site.step + 1 >= subject.schedule->steps(site.rank, site.lane)) return Change{};
        std::swap(mutant.at(site.rank, site.lane, site.step),
                  mutant.at(site.rank, site.lane, site.step + 1));
        return Change{true};
      });
  CHECK(tried > 300);
  CHECK(mattered > tried / 2);
}

TEST_CASE("a dependency that is left out is caught where it matters") {
  const auto leave_out = [](const Subject& subject, Mutant& mutant, Random& random) {
    std::vector<Site> waiting;
    each_step(*subject.schedule, [&](Site site, const ScheduleStep& step) {
      for (; site.place < step.after.size(); ++site.place) waiting.push_back(site);
    });
    if (waiting.empty()) return Change{};
    const Site site = waiting[draw(random, waiting.size())];
    erase_at(step_at(mutant, site).after, site.place);
    return Change{true};
  };
  const auto [tried, mattered] = try_mutants(Effect::if_seen, leave_out, {2, 4, 6});
  CHECK(tried > 100);
  CHECK(mattered > tried / 4);
}

namespace {

constexpr int kRingRanks[] = {3, 4, 5, 8};

Subject ring_of(int n) {
  Subject subject;
  subject.schedule =
      make_schedule(*find_algorithm(Collective::all_reduce, "ring"), AlgorithmInput{.n = n});
  subject.contract = contract_of(Collective::all_reduce, *subject.schedule, n);
  subject.transfers = transfers_of(*subject.schedule);
  return subject;
}

/// Every transfer of rings of several sizes, changed alone.
template <typename Visit>  // visit(n, transfer, its block, mutant)
void each_ring_transfer(const Visit& visit) {
  for (const int n : kRingRanks) {
    const Subject ring = ring_of(n);
    for (const Transfer& transfer : ring.transfers) {
      Mutant mutant{ring.schedule};
      const std::int64_t block = receive_at(mutant, transfer).chunk.first;
      CAPTURE(n);
      CAPTURE(transfer.send.rank);
      CAPTURE(transfer.send.step);
      visit(ring, transfer, block, mutant);
    }
  }
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

}  // namespace

TEST_CASE("the place of a transfer that a ring leaves out is named") {
  each_ring_transfer([](const Subject& ring, const Transfer& left_out, std::int64_t block,
                        Mutant& mutant) {
    const auto [rank, lane, step, place] = left_out.send;
    erase_at(step_at(mutant, left_out.send).sends, place);
    erase_at(step_at(mutant, left_out.receive).receives, left_out.receive.place);
    const CollectiveVerdict verdict = verify(mutant, ring.contract);
    REQUIRE(verdict.symbols.first_wrong.has_value());
    const int n = ring.contract.ranks;
    if (step >= n - 1) {
      // All-gather: the receiver keeps what it had, and hands it on.
      CHECK(verdict.symbols.first_wrong->rank == left_out.receive.rank);
      CHECK(verdict.symbols.first_wrong->chunk.first == block);
      return;
    }
    // Reduce-scatter: what the sender had of ranks rank-step to rank goes nowhere else. The least
    // of these is told of.
    int least = rank;
    for (int back = 1; back <= step; ++back) least = std::min(least, (rank - back + n) % n);
    const std::string who = "; " + to_string(Contribution{least, block});
    const std::string what = least == rank ? who + " was never passed on"
                                           : who + " came no further than " +
                                                 to_text(ScheduleStepIndex{rank, lane, step - 1});
    CHECK_MESSAGE(ends_with(verdict.problem(), what), verdict.problem());
  });
}

TEST_CASE("the place where a ring overwrites what it should add to is named") {
  each_ring_transfer(
      [](const Subject& ring, const Transfer& transfer, std::int64_t block, Mutant& mutant) {
        Receive& receive = receive_at(mutant, transfer);
        if (receive.combine == Combine::copy) return;
        receive.combine = Combine::copy;
        const CollectiveVerdict verdict = verify(mutant, ring.contract);
        const auto [rank, lane, step, place] = transfer.receive;
        const std::string what =
            fmt::format("; {} was overwritten by {}", to_string(Contribution{rank, block}),
                        to_text(ScheduleStepIndex{rank, lane, step}));
        CHECK_MESSAGE(ends_with(verdict.problem(), what), verdict.problem());
      });
}

TEST_CASE("the place where a ring adds to the wrong block is named") {
  each_ring_transfer(
      [](const Subject& ring, const Transfer& transfer, std::int64_t, Mutant& mutant) {
        Receive& receive = receive_at(mutant, transfer);
        if (receive.combine == Combine::copy) return;
        REQUIRE(shift(*ring.schedule, transfer.receive.rank, receive.chunk));
        const CollectiveVerdict verdict = verify(mutant, ring.contract);
        const auto [rank, lane, step, place] = transfer.receive;
        CHECK(verdict.symbols.outcome.at == ScheduleStepIndex{rank, lane, step});
        CHECK(verdict.problem().find("which are different chunks") != std::string::npos);
      });
}
