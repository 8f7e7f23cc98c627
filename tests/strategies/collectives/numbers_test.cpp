#include <doctest/doctest.h>

#include <map>
#include <utility>

#include "sim/execute/host/all_reduce_check.hpp"
#include "tests/sim/execute/host/table_schedule.hpp"
#include "tests/strategies/collectives/every_row.hpp"

/// Every schedule of the table, executed on real numbers, and again with one thing broken.
using namespace lockstep;

namespace {

using Table = std::vector<TableSchedule::Rank>;

Table written_down(const Schedule& schedule) {
  Table table(static_cast<std::size_t>(schedule.ranks()), TableSchedule::Rank(1));
  for (int rank = 0; rank < schedule.ranks(); ++rank) {
    TableSchedule::Lane& lane = table[static_cast<std::size_t>(rank)][0];
    lane.resize(static_cast<std::size_t>(schedule.steps(rank, 0)));
    for (std::size_t i = 0; i < lane.size(); ++i)
      schedule.step(rank, 0, static_cast<std::int64_t>(i), lane[i]);
  }
  return table;
}

/// A send or receive by rank, step and position in the step.
struct Site {
  std::size_t rank = 0;
  std::size_t step = 0;
  std::size_t position = 0;
};

struct Transfer {
  Site send;
  Site receive;
};

/// Sends and receives matched first to first per pair of ranks.
std::vector<Transfer> transfers_of(const Table& table) {
  std::map<std::pair<int, int>, std::vector<Site>> sends;
  for (std::size_t rank = 0; rank < table.size(); ++rank) {
    for (std::size_t s = 0; s < table[rank][0].size(); ++s) {
      const auto& step = table[rank][0][s];
      for (std::size_t i = 0; i < step.sends.size(); ++i)
        sends[{static_cast<int>(rank), step.sends[i].peer}].push_back({rank, s, i});
    }
  }
  std::map<std::pair<int, int>, std::size_t> taken;
  std::vector<Transfer> transfers;
  for (std::size_t rank = 0; rank < table.size(); ++rank) {
    for (std::size_t s = 0; s < table[rank][0].size(); ++s) {
      const auto& step = table[rank][0][s];
      for (std::size_t i = 0; i < step.receives.size(); ++i) {
        const std::pair key{step.receives[i].peer, static_cast<int>(rank)};
        transfers.push_back({sends.at(key).at(taken[key]++), {rank, s, i}});
      }
    }
  }
  return transfers;
}

Send& send_at(Table& table, Site site) {
  return table[site.rank][0][site.step].sends[site.position];
}
Receive& receive_at(Table& table, Site site) {
  return table[site.rank][0][site.step].receives[site.position];
}
template <typename T>
void erase_at(std::vector<T>& from, std::size_t position) {
  from.erase(from.begin() + static_cast<std::ptrdiff_t>(position));
}

void drop(Table& table, const Transfer& transfer) {
  erase_at(table[transfer.send.rank][0][transfer.send.step].sends, transfer.send.position);
  erase_at(table[transfer.receive.rank][0][transfer.receive.step].receives,
           transfer.receive.position);
}

void flip_combine(Table& table, const Transfer& transfer) {
  Combine& combine = receive_at(table, transfer.receive).combine;
  combine = combine == Combine::copy ? Combine::reduce : Combine::copy;
}

void shift_block(Table& table, const Transfer& transfer, std::int64_t blocks) {
  Chunk& chunk = receive_at(table, transfer.receive).chunk;
  chunk.first += chunk.first + chunk.count < blocks ? 1 : -1;
}

void misdirect(Table& table, const Transfer& transfer) {
  int& peer = send_at(table, transfer.send).peer;
  peer = (peer + 1) % static_cast<int>(table.size());
}

template <typename Change>
bool caught(const RowCase& row, const Table& table, std::int64_t blocks, const Change& change) {
  Table broken = table;
  change(broken);
  return !check_all_reduce(TableSchedule{std::move(broken), blocks}, row.n(), 3 * blocks).right();
}

/// Tries all faults on all transfers of a schedule.
void break_everything(const RowCase& row) {
  const SchedulePtr schedule = row.make();
  const std::int64_t blocks = schedule->blocks();
  const Table table = written_down(*schedule);
  for (const Transfer& transfer : transfers_of(table)) {
    CAPTURE(transfer.receive.rank);
    CAPTURE(transfer.receive.step);
    CAPTURE(transfer.receive.position);
    CHECK(caught(row, table, blocks, [&](Table& broken) { drop(broken, transfer); }));
    CHECK(caught(row, table, blocks, [&](Table& broken) { misdirect(broken, transfer); }));
    // A copy over a server's zeros is no fault where it arrives first.
    if (transfer.receive.rank < static_cast<std::size_t>(row.n()))
      CHECK(caught(row, table, blocks, [&](Table& broken) { flip_combine(broken, transfer); }));
    Table copy = table;
    if (receive_at(copy, transfer.receive).chunk.count < blocks)
      CHECK(caught(row, table, blocks,
                   [&](Table& broken) { shift_block(broken, transfer, blocks); }));
  }
}

}  // namespace

TEST_CASE("every schedule adds up every contribution exactly once") {
  for (const RowCase& row : every_row(kRankCounts)) {
    if (row.row->collective != Collective::all_reduce) continue;
    const SchedulePtr schedule = row.make();
    const std::int64_t blocks = schedule->blocks();
    // Nothing; one element; one block not full; blocks full; blocks of several elements, not full.
    for (const std::int64_t count :
         {std::int64_t{0}, std::int64_t{1}, blocks - 1, blocks, 3 * blocks, 5 * blocks + 1}) {
      CAPTURE(row.name());
      CAPTURE(count);
      const AllReduceCheck check = check_all_reduce(*schedule, row.n(), count);
      CHECK_MESSAGE(check.right(), check.problem());
      CHECK(check.worst <= 1);
    }
  }
}

TEST_CASE("a dropped, misdirected, misplaced or miscombined transfer is caught") {
  for (const RowCase& row : every_row({2, 3, 5, 8})) {
    if (row.row->collective != Collective::all_reduce) continue;
    CAPTURE(row.name());
    REQUIRE(check_all_reduce(TableSchedule{written_down(*row.make()), row.make()->blocks()},
                             row.n(), 3 * row.make()->blocks())
                .right());
    break_everything(row);
  }
}
