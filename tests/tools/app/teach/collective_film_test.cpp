#include "tools/app/teach/collective_film.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "strategies/collectives/registry/registry.hpp"
#include "tools/app/errors.hpp"

/// Films of collectives. star.json: 1 us per link, so 2 us a hop, and 20 ps a byte.
namespace lockstep::app {

namespace {

using namespace literals;

StageRequest star(Collective collective, std::string_view algorithm, int ranks, Bytes size) {
  StageRequest out;
  out.cluster.cluster = "star";
  out.cluster.ranks = ranks;
  out.spec = {find_algorithm(collective, algorithm), {}};
  out.size = size;
  out.type = find_element_type("float");
  return out;
}

/// Contents of every chunk when the clock has passed all writes up to `at`.
std::vector<std::vector<std::string>> board(const CollectiveFilm& film, TimePoint at) {
  auto cells = film.initial;
  for (const FilmWrite& write : film.writes)
    if (write.at <= at)
      cells[static_cast<std::size_t>(write.rank)][write.column] =
          static_cast<std::int64_t>(write.content);
  std::vector<std::vector<std::string>> out;
  for (const auto& row : cells) {
    auto& line = out.emplace_back();
    for (const std::int64_t content : row)
      line.push_back(content < 0 ? "" : film.contents[static_cast<std::size_t>(content)].text);
  }
  return out;
}

}  // namespace

TEST_CASE("a film of a ring of three has every message with its time, and chunks as they change") {
  // 48 bytes in chunks of 16: a message takes 2 us + 16 * 20 ps.
  const CollectiveFilm film = make_film(star(Collective::all_reduce, "ring", 3, Bytes{48}));
  const Duration hop = Duration::picoseconds(2'000'320);
  CHECK(film.rounds == 4);  // 2(n-1)
  CHECK(film.time == 4 * hop);
  REQUIRE(film.transfers.size() == 12);
  for (std::size_t i = 0; i < 12; ++i) {
    const FilmTransfer& each = film.transfers[i];
    CHECK(each.to == (each.from + 1) % 3);
    CHECK(each.size == Bytes{16});
    CHECK(each.round == static_cast<std::int64_t>(i / 3) + 1);
    CHECK(each.start.since_start() == (each.round - 1) * hop);
    CHECK(each.end.since_start() == each.round * hop);
    CHECK(film.routes[each.route].links.size() == 2);  // to the switch and from it
  }
  using Board = std::vector<std::vector<std::string>>;
  CHECK(board(film, {}) == Board{{"0", "0", "0"}, {"1", "1", "1"}, {"2", "2", "2"}});
  // As explain has them after round 1.
  CHECK(board(film, TimePoint{} + hop) ==
        Board{{"0", "0", "0+2"}, {"0+1", "1", "1"}, {"2", "1+2", "2"}});
  CHECK(board(film, TimePoint{} + 4 * hop) == Board(3, {"all", "all", "all"}));
}

TEST_CASE("sums show up in the order in which messages arrive") {
  // One round: all messages of `direct` share rank 0's port, so they end together; of `naive` they
  // come one by one.
  const CollectiveFilm film = make_film(star(Collective::all_reduce, "naive", 4, 64_KiB));
  std::vector<std::string> of_rank_0;
  for (const FilmWrite& write : film.writes)
    if (write.rank == 0) of_rank_0.push_back(film.contents[write.content].text);
  CHECK(of_rank_0 == std::vector<std::string>{"0+1", "0..2", "all"});
}

TEST_CASE("every algorithm that a star allows has a film that ends with its result") {
  int films = 0;
  for (const CollectiveAlgorithm& row : collective_algorithms()) {
    if (row.auxiliary_ranks == AuxiliaryRanks::node_switches ||
        row.auxiliary_ranks == AuxiliaryRanks::fabric_switches)
      continue;
    // The large message is sent in many chunks, which several lanes pass between the same ranks.
    for (const auto& [ranks, size] :
         {std::pair{2, Bytes{1000}}, {5, Bytes{1000}}, {8, Bytes{1000}}, {16, 4_MiB}}) {
      CAPTURE(row.name);
      CAPTURE(ranks);
      AlgorithmInput input;
      input.n = ranks;
      if (!validate(row, input).empty()) continue;
      // make_film() checks every rank's result and that the time is that of explain.
      const CollectiveFilm film = make_film(star(row.collective, row.name, ranks, size));
      CHECK(film.transfers.size() > 0);
      CHECK(std::is_sorted(film.writes.begin(), film.writes.end(),
                           [](const auto& a, const auto& b) { return a.at < b.at; }));
      ++films;
    }
  }
  CHECK(films > 80);
}

TEST_CASE("films of too many ranks or messages are refused") {
  CHECK_THROWS_WITH_AS((void)make_film(star(Collective::all_reduce, "ring", 65, Bytes{64})),
                       "ranks: at most 64 ranks can be shown, got 65", RequestError);
  StageRequest chunks = star(Collective::broadcast, "chain", 64, 1_GiB);
  chunks.spec.arguments = {{"chunks", std::int64_t{4000}}};
  CHECK_THROWS_AS((void)make_film(chunks), Refusal);
}

}  // namespace lockstep::app
