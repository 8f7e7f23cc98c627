#include "sim/program/mesh.hpp"

#include <doctest/doctest.h>

#include <numeric>
#include <set>

namespace lockstep {
namespace {

/// tp 2 fastest, then cp 3, pp 2, dp 4: 48 ranks.
[[nodiscard]] Mesh mesh() {
  return Mesh{{{"tp", 2}, {"cp", 3}, {"pp", 2}, {"dp", 4}},
              {{"dp_cp", {3, 1}}, {"tp", {0}}, {"none", {}}}};
}

[[nodiscard]] std::vector<MeshSubAxes> every_list() {
  return {{0}, {1}, {2}, {3}, {3, 1}, {1, 3}, {3, 2, 1, 0}, {2, 0}, {}};
}

}  // namespace

TEST_CASE("ranks are numbered with the first atom fastest") {
  const Mesh on = mesh();
  CHECK(on.ranks() == 2 * 3 * 2 * 4);
  // Rank 29 = 1 * 1 + 2 * 2 + 6 * 0 + 12 * 2.
  const auto digit = [&](AtomId atom) { return on.coordinate(29, std::span{&atom, 1}); };
  CHECK(digit(0) == 1);
  CHECK(digit(1) == 2);
  CHECK(digit(2) == 0);
  CHECK(digit(3) == 2);
}

TEST_CASE("a position along several atoms counts the first as the slowest") {
  const Mesh on = mesh();
  CHECK(on.coordinate(29, on.axis("dp_cp")) == 2 * 3 + 2);
  CHECK(on.coordinate(29, MeshSubAxes{1, 3}) == 2 * 4 + 2);
  CHECK(on.coordinate(29, MeshSubAxes{}) == 0);
  CHECK(on.size(on.axis("dp_cp")) == 12);
  CHECK(on.size(MeshSubAxes{}) == 1);
}

TEST_CASE("moving to one's own position is staying, and every position is reached once") {
  const Mesh on = mesh();
  for (const MeshSubAxes& along : every_list()) {
    for (int rank = 0; rank < on.ranks(); ++rank) {
      CHECK(on.moved(rank, along, on.coordinate(rank, along)) == rank);
      const std::vector<int> members = on.members(rank, along);
      CHECK(std::set<int>(members.begin(), members.end()).size() ==
            static_cast<std::size_t>(on.size(along)));
      CHECK(members[static_cast<std::size_t>(on.coordinate(rank, along))] == rank);
      for (std::size_t i = 0; i < members.size(); ++i) {
        CHECK(on.coordinate(members[i], along) == static_cast<int>(i));
        CHECK(on.members(members[i], along) == members);
      }
    }
  }
}

TEST_CASE("communicators along the same atoms are disjoint and cover all ranks") {
  const Mesh on = mesh();
  for (const MeshSubAxes& along : every_list()) {
    std::set<std::vector<int>> groups;
    std::size_t ranks = 0;
    for (int rank = 0; rank < on.ranks(); ++rank) groups.insert(on.members(rank, along));
    for (const auto& group : groups) ranks += group.size();
    CHECK(ranks == static_cast<std::size_t>(on.ranks()));
  }
}

TEST_CASE("axes: named lists, atoms by their own names, nothing where there is one member") {
  const Mesh on{{{"tp", 2}, {"cp", 1}, {"dp", 4}}, {{"dp_cp", {2, 1}}}};
  CHECK(on.axis("dp_cp") == MeshSubAxes{2});
  CHECK(on.axis("tp") == MeshSubAxes{0});
  CHECK(on.axis("cp").empty());
  CHECK(on.axis("pp").empty());
  CHECK(on.name(MeshSubAxes{0}) == "tp");
  CHECK(mesh().name(MeshSubAxes{1, 3}) == "dp_cp");  // in any order
  CHECK(mesh().name(MeshSubAxes{2, 0}) == "pp_tp");
}

TEST_CASE("a mirrored atom runs backwards where the one outside is 1") {
  // Ranks of 2 * 3 stages in a row: 0 1 2 | 2 1 0. Below it pairs of ranks, above it two replicas.
  const Mesh on{{{"tp", 2}, {"pp.0", 3, true}, {"pp.1", 2}, {"dp", 2}}, {{"pp", {2, 1}}}};
  for (int stage = 0; stage < 6; ++stage) {
    const int rank = 12 + 2 * stage + 1;  // the second of its pair, in the second replica
    CAPTURE(stage);
    CHECK(on.coordinate(rank, MeshSubAxes{1}) == std::min(stage, 5 - stage));
    CHECK(on.coordinate(rank, MeshSubAxes{2}) == stage / 3);
    CHECK(on.coordinate(rank, MeshSubAxes{0}) == 1);
    CHECK(on.coordinate(rank, MeshSubAxes{3}) == 1);
    // Along the outer one the stage as far from the other end, with all other coordinates.
    const int other = 12 + 2 * (5 - stage) + 1;
    CHECK(on.moved(rank, MeshSubAxes{2}, 1 - stage / 3) == other);
    CHECK(on.members(rank, MeshSubAxes{2}) ==
          std::vector<int>{std::min(rank, other), std::max(rank, other)});
    for (int place = 0; place < 6; ++place)
      CHECK(on.coordinate(on.moved(rank, MeshSubAxes{2, 1}, place), MeshSubAxes{2, 1}) == place);
  }
  CHECK(on.members(0, MeshSubAxes{2, 1}) == std::vector<int>{0, 2, 4, 10, 8, 6});
}

TEST_CASE("a mesh of nothing is one rank") {
  const Mesh one;
  CHECK(one.ranks() == 1);
  CHECK(one.members(0, {}) == std::vector<int>{0});
}

}  // namespace lockstep
