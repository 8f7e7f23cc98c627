#include "strategies/sharding/device_mesh.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>

namespace lockstep {
namespace {

[[nodiscard]] ParallelConfig layout(int tp, int cp, int dp, int pp) {
  ParallelConfig out;
  out.tp = tp;
  out.cp = cp;
  out.dp = dp;
  out.pp = pp;
  return out;
}

[[nodiscard]] std::vector<int> group(const Mesh& mesh, int rank, const char* axis) {
  return mesh.members(rank, mesh.axis(axis));
}

}  // namespace

TEST_CASE("the first axis of the order varies fastest") {
  ParallelConfig with = layout(2, 2, 2, 2);
  with.order = {"tp", "cp", "dp", "pp"};
  const Mesh usual = device_mesh(with, 0, 8);
  CHECK(usual.ranks() == 16);
  CHECK(group(usual, 0, "tp") == std::vector<int>{0, 1});
  CHECK(group(usual, 0, "cp") == std::vector<int>{0, 2});
  CHECK(group(usual, 0, "dp") == std::vector<int>{0, 4});
  CHECK(group(usual, 0, "pp") == std::vector<int>{0, 8});
  with.order = {"dp", "pp", "tp", "cp"};
  const Mesh other = device_mesh(with, 0, 8);
  CHECK(group(other, 0, "dp") == std::vector<int>{0, 1});
  CHECK(group(other, 0, "pp") == std::vector<int>{0, 2});
  CHECK(group(other, 0, "tp") == std::vector<int>{0, 4});
  CHECK(group(other, 0, "cp") == std::vector<int>{0, 8});
}

TEST_CASE("every order gives the same number of groups of the same sizes") {
  std::array<std::string, 4> order{"tp", "cp", "dp", "pp"};
  std::sort(order.begin(), order.end());
  do {
    ParallelConfig with = layout(2, 3, 4, 5);
    with.order.assign(order.begin(), order.end());
    const Mesh mesh = device_mesh(with, 0, 8);
    CHECK(mesh.ranks() == 120);
    CHECK(mesh.size(mesh.axis("tp")) == 2);
    CHECK(mesh.size(mesh.axis("cp")) == 3);
    CHECK(mesh.size(mesh.axis("dp")) == 4);
    CHECK(mesh.size(mesh.axis("pp")) == 5);
    CHECK(mesh.size(mesh.axis("dp_cp")) == 12);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("the two copies of a stage of DualPipe are replicas of each other") {
  // Stage s and stage 5 - s; ranks stand in the order of stages.
  ParallelConfig with = layout(2, 1, 2, 6);
  with.schedule = PipelineOrder::dualpipe;
  REQUIRE(!mesh_problem(with, 0, 8));
  const Mesh mesh = device_mesh(with, 0, 8);
  CHECK(mesh.ranks() == 24);
  CHECK(group(mesh, 4, "copies") == std::vector<int>{4, 16});
  CHECK(group(mesh, 0, "pp") == std::vector<int>{0, 4, 8, 20, 16, 12});
  CHECK(group(mesh, 0, "shard") == std::vector<int>{0, 2, 20, 22});
  CHECK(mesh.axis("replicate").empty());
  CHECK(mesh.size(mesh.axis("dp_cp")) == 2);
  with.shard_ranks = 2;  // within dp
  const Mesh hybrid = device_mesh(with, 0, 8);
  CHECK(group(hybrid, 0, "shard") == std::vector<int>{0, 2});
  CHECK(group(hybrid, 0, "replicate") == std::vector<int>{0, 20});
  with.shard_ranks = 3;
  CHECK(mesh_problem(with, 0, 8) == "shard_ranks = 3 does not divide dp * cp * 2 copies = 4");
}

TEST_CASE("experts are cut along the innermost part of dp * cp, edp is the rest") {
  // 4 ranks of cp inside 4 of dp: ep 8 takes all of cp and a half of dp.
  ParallelConfig with = layout(1, 4, 4, 1);
  for (const int ep : {1, 2, 4, 8, 16}) {
    CAPTURE(ep);
    with.ep = ep;
    REQUIRE(!mesh_problem(with, 0, 8));
    const Mesh mesh = device_mesh(with, 0, 8);
    CHECK(mesh.size(mesh.axis("ep")) == ep);
    CHECK(mesh.size(mesh.axis("edp")) == 16 / ep);
    std::vector<int> neighbours(static_cast<std::size_t>(ep));
    for (int i = 0; i < ep; ++i) neighbours[static_cast<std::size_t>(i)] = i;
    CHECK(group(mesh, 0, "ep") == neighbours);
    // Both together are the replicas.
    CHECK(mesh.size(mesh.axis("dp_cp")) == 16);
  }
}

// Liu et al., arXiv 2504.14960, section 3.2: etp * ep * edp = tp * cp * dp, each on adjacent ranks
// from inside out.
TEST_CASE("parallel folding: experts are distributed over the ranks of tp too") {
  ParallelConfig with = layout(4, 2, 4, 1);
  for (const int etp : {1, 2, 4}) {
    for (const int ep : {1, 2, 4, 8, 16}) {
      if (ep > 32 / etp) continue;
      CAPTURE(etp);
      CAPTURE(ep);
      with.etp = etp;
      with.ep = ep;
      if (4 / etp * 8 % ep != 0) continue;
      REQUIRE(!mesh_problem(with, 0, 8));
      const Mesh mesh = device_mesh(with, 0, 8);
      CHECK(mesh.size(mesh.axis("etp")) == etp);
      CHECK(mesh.size(mesh.axis("ep")) == ep);
      CHECK(mesh.size(mesh.axis("edp")) == 32 / etp / ep);
      CHECK(mesh.size(mesh.axis("tp")) == 4);
      std::vector<int> every_etp(static_cast<std::size_t>(ep));
      for (int i = 0; i < ep; ++i) every_etp[static_cast<std::size_t>(i)] = i * etp;
      CHECK(group(mesh, 0, "ep") == every_etp);
    }
  }
  with.etp = 3;
  with.ep = 1;
  CHECK(mesh_problem(with, 0, 8) == "etp = 3 does not divide tp = 4");
  with.etp = 1;
  with.ep = 3;
  CHECK(mesh_problem(with, 0, 8) == "ep = 3 does not divide tp / etp * dp * cp = 32");
}

TEST_CASE("ZeRO's shards and experts may cut the replicas at different places") {
  ParallelConfig with = layout(1, 1, 16, 1);
  with.ep = 8;
  with.shard_ranks = 4;
  const Mesh mesh = device_mesh(with, 0, 8);
  CHECK(group(mesh, 0, "shard") == std::vector<int>{0, 1, 2, 3});
  CHECK(group(mesh, 1, "replicate") == std::vector<int>{1, 5, 9, 13});
  CHECK(group(mesh, 0, "ep") == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(group(mesh, 1, "edp") == std::vector<int>{1, 9});
  with.shard_ranks = 0;  // all of them
  const Mesh whole = device_mesh(with, 0, 8);
  CHECK(whole.size(whole.axis("shard")) == 16);
  CHECK(whole.axis("replicate").empty());
}

TEST_CASE("the all-to-all lies inside, the ring outside") {
  ParallelConfig with = layout(2, 8, 1, 1);
  with.cp_kind = ContextKind::both;
  with.ulysses = 4;
  const Mesh mesh = device_mesh(with, 0, 8);
  CHECK(group(mesh, 0, "ulysses") == std::vector<int>{0, 2, 4, 6});
  CHECK(group(mesh, 0, "ring") == std::vector<int>{0, 8});
  CHECK(group(mesh, 0, "cp") == std::vector<int>{0, 2, 4, 6, 8, 10, 12, 14});
}

TEST_CASE("an all-to-all takes as many ranks as share a node, where nothing is said") {
  ParallelConfig with = layout(2, 8, 1, 1);
  CHECK(ulysses_degree(with, 8) == 1);
  with.cp_kind = ContextKind::ulysses;
  CHECK(ulysses_degree(with, 8) == 8);
  with.cp_kind = ContextKind::both;
  CHECK(ulysses_degree(with, 8) == 4);  // 8 GPUs of a node over tp 2
  CHECK(ulysses_degree(with, 4) == 2);
  with.cp = 6;
  CHECK(ulysses_degree(with, 8) == 2);  // what divides both
  with.ulysses = 3;
  CHECK(ulysses_degree(with, 8) == 3);
}

TEST_CASE("heads of keys: the part of tp and of ulysses that cuts them") {
  // tp 8 and 2 heads: 2 parts, which 4 neighbours each share.
  const Mesh tensor = device_mesh(layout(8, 1, 1, 1), 2, 8);
  CHECK(group(tensor, 0, "tp_kv") == std::vector<int>{0, 4});
  CHECK(tensor.size(tensor.axis("tp")) == 8);
  // Enough heads: all of tp cuts them.
  const Mesh enough = device_mesh(layout(8, 1, 1, 1), 16, 8);
  CHECK(enough.axis("tp_kv") == enough.axis("tp"));
  // tp 2 takes two of 4 heads apart, ulysses 4 the two that are left: by 2.
  ParallelConfig with = layout(2, 4, 1, 1);
  with.cp_kind = ContextKind::ulysses;
  const Mesh both = device_mesh(with, 4, 8);
  CHECK(both.size(both.axis("tp_kv")) == 2);
  CHECK(both.size(both.axis("ulysses_kv")) == 2);
  CHECK(group(both, 0, "ulysses_kv") == std::vector<int>{0, 4});
}

// tp 2 inside cp 3: adjacent are groups of 2, 6, 12 and 24, or with dp next to tp of 2, 4, 8
// and 24.
TEST_CASE("groups that are not cut out by whole axes are refused by name, with what is possible") {
  ParallelConfig with = layout(2, 3, 4, 1);
  with.etp = 1;
  with.ep = 4;
  CHECK(mesh_problem(with, 0, 8) ==
        "ep = 4 divides tp / etp * dp * cp = 24, but groups of adjacent ranks (tp, cp, dp, pp, "
        "fastest first) would have 2 along cp = 3 and slower axes, and neither divides the other; "
        "possible: 2 or 6 or 4 with parallel.order tp, dp, cp, pp");
  for (const int ep : {2, 6, 12, 24}) {
    with.ep = ep;
    CHECK(!mesh_problem(with, 0, 8));
  }
  with.ep = 1;
  with.shard_ranks = 2;
  CHECK(mesh_problem(with, 0, 8) ==
        "shard_ranks = 2 divides dp * cp = 12, but groups of adjacent ranks (tp, cp, dp, pp, "
        "fastest first) would have 2 along cp = 3 and slower axes, and neither divides the other; "
        "possible: 1 or 3 or 2 with parallel.order tp, dp, cp, pp");
  with.shard_ranks = 0;
  with.ep = 4;
  with.order = {"tp", "dp", "cp", "pp"};
  REQUIRE(!mesh_problem(with, 0, 8));
  CHECK(group(device_mesh(with, 0, 8), 0, "ep") == std::vector<int>{0, 1, 2, 3});
}

// 2 KV heads cut tp 6 into 3 inside 2. A divisor of 6 that is possible alone would leave ep 12 too
// few of the 24 ranks (etp 6: 4) or would do (etp 1, whose ep takes 6 and 2).
TEST_CASE("what is possible instead of a tensor-parallel degree of experts is so with all groups") {
  ParallelConfig with = layout(6, 1, 4, 1);
  with.etp = 2;
  with.ep = 12;
  CHECK(
      mesh_problem(with, 2, 8) ==
      "etp = 2 divides tp = 6, but groups of adjacent ranks (tp, cp, dp, pp, fastest first) would "
      "have 2 along the 3 adjacent of tp = 6 and slower axes, and neither divides the other; "
      "possible: 1");
}

TEST_CASE("meshes that cannot be say why") {
  ParallelConfig with = layout(1, 2, 3, 1);
  with.ep = 4;
  CHECK(mesh_problem(with, 0, 8) == "ep = 4 does not divide dp * cp = 6");
  with.ep = 1;
  with.shard_ranks = 4;
  CHECK(mesh_problem(with, 0, 8) == "shard_ranks = 4 does not divide dp * cp = 6");
  // 3 ranks of cp inside 2 of dp: a group of two would have to cut the three.
  with = layout(1, 3, 2, 1);
  with.ep = 2;
  CHECK(
      mesh_problem(with, 0, 8) ==
      "ep = 2 divides dp * cp = 6, but groups of adjacent ranks (tp, cp, dp, pp, fastest first) "
      "would have 2 along cp = 3 and slower axes, and neither divides the other; possible: 1 or 3 "
      "or 2 with parallel.order tp, dp, cp, pp");
  with.order = {"tp", "dp", "cp", "pp"};  // dp inside: it is the two
  CHECK(!mesh_problem(with, 0, 8));
  // 6 ranks of cp in all-to-alls of 2, which share a node of 8 / 3 GPUs: three experts' parts would
  // have to cut these.
  with = layout(3, 6, 1, 1);
  with.cp_kind = ContextKind::both;
  with.ep = 3;
  CHECK(
      mesh_problem(with, 12, 8) ==
      "ep = 3 divides dp * cp = 6, but groups of adjacent ranks (tp, cp, dp, pp, fastest first) "
      "would have 3 along the 2 adjacent of cp = 6 and slower axes, and neither divides the other; "
      "possible: 2 or 6");
  with.ulysses = 3;
  CHECK(!mesh_problem(with, 12, 8));
}

}  // namespace lockstep
