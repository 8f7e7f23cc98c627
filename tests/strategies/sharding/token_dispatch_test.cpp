#include "strategies/sharding/experts/token_dispatch.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "strategies/sharding/experts/expert_copies.hpp"

namespace lockstep {
namespace {

/// Members on nodes of `per_node`, node after node.
std::vector<int> nodes_of(int ranks, int per_node) {
  std::vector<int> out;
  for (int rank = 0; rank < ranks; ++rank) out.push_back(rank / per_node);
  return out;
}

struct Sent {
  std::int64_t between = 0;  // nodes, bytes of one rank
  std::int64_t within = 0;
};

/// What every rank sends, the same on all; each send has its receive.
Sent sent(const Schedule& schedule, int per_node) {
  std::map<std::tuple<int, int, std::int64_t>, int> open;  // from, to, bytes
  std::vector<Sent> out(static_cast<std::size_t>(schedule.ranks()));
  for (int rank = 0; rank < schedule.ranks(); ++rank) {
    for (int lane = 0; lane < schedule.lanes(); ++lane) {
      for (std::int64_t index = 0; index < schedule.steps(rank, lane); ++index) {
        ScheduleStep step;
        schedule.step(rank, lane, index, step);
        for (const Send& send : step.sends) {
          ++open[{rank, send.peer, send.chunk.count}];
          Sent& of = out[static_cast<std::size_t>(rank)];
          (rank / per_node == send.peer / per_node ? of.within : of.between) += send.chunk.count;
          if (rank / per_node != send.peer / per_node)
            CHECK(rank % per_node == send.peer % per_node);
        }
        for (const Receive& receive : step.receives)
          --open[{receive.peer, rank, receive.chunk.count}];
      }
    }
  }
  for (const auto& [ends, count] : open) CHECK(count == 0);
  for (const Sent& of : out) {
    CHECK(of.between == out.front().between);
    CHECK(of.within == out.front().within);
  }
  return out.front();
}

// 4,096 tokens of 7,168 bytes, 8 copies each; 256 experts in 8 groups of which 4, on 8 nodes of 8.
const TokenCopies kRouting{
    .experts = 256, .top_k = 8, .groups = 8, .group_top_k = 4, .widening = 1, .returns = false};
constexpr std::int64_t kTokens = 4096L * 7168;

TEST_CASE("between nodes each token goes once to a node, within once to a rank of those") {
  const TokenShares shares = token_shares(kRouting, Bytes{8 * kTokens}, nodes_of(64, 8));
  CHECK(shares.nodes == 8);
  CHECK(shares.per_node == 8);
  const auto bytes = [](double share) { return std::llround(kTokens * share); };
  CHECK(shares.to_node.count() == bytes(share_of_tokens(kRouting, 8)));
  CHECK(shares.to_rank.count() == bytes(share_of_tokens(kRouting, 64)));
  for (const bool returns : {false, true}) {
    const Sent of = sent(*make_token_dispatch(shares, returns), 8);
    CHECK(of.between == 7 * shares.to_node.count());
    // To 7 other ranks of the node what is a rank's own, and what it got for them from 7 nodes.
    CHECK(static_cast<double>(of.within) ==
          doctest::Approx(7.0 * 8 * static_cast<double>(shares.to_rank.count())).epsilon(1e-5));
  }
}

TEST_CASE("in one node, and with a rank a node, copies go straight to ranks") {
  const TokenShares one = token_shares(kRouting, Bytes{8 * kTokens}, nodes_of(8, 8));
  CHECK(one.nodes == 1);
  CHECK(sent(*make_token_dispatch(one, false), 8).within == 7 * one.to_rank.count());
  const TokenShares apart = token_shares(kRouting, Bytes{8 * kTokens}, nodes_of(8, 1));
  CHECK(apart.nodes == 8);
  CHECK(apart.to_node == apart.to_rank);
  CHECK(sent(*make_token_dispatch(apart, true), 1).between == 7 * apart.to_node.count());
}

TEST_CASE("members that nodes have unequally many of, or not in a row, are served one by one") {
  CHECK(token_shares(kRouting, Bytes{64}, {0, 0, 0, 1}).nodes == 1);
  CHECK(token_shares(kRouting, Bytes{64}, {0, 1, 0, 1}).nodes == 4);
  CHECK(token_shares(kRouting, Bytes{64}, {0, 0, 1, 0}).nodes == 1);
}

TEST_CASE("scales of blocks travel with the numbers") {
  TokenCopies scaled = kRouting;
  scaled.widening = 1 + 4.0 / 128;
  const auto to_node = [](const TokenCopies& of) {
    return token_shares(of, Bytes{8 * kTokens}, nodes_of(64, 8)).to_node.count();
  };
  CHECK(static_cast<double>(to_node(scaled)) ==
        doctest::Approx(1.03125 * static_cast<double>(to_node(kRouting))));
}

}  // namespace
}  // namespace lockstep
