#pragma once

#include <memory>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/program/operation.hpp"
#include "sim/schedule/schedule.hpp"

namespace lockstep {

/// What one rank sends of its tokens to the experts of others.
struct TokenShares {
  int nodes = 1;
  int per_node = 1;  // ranks of the group
  Bytes to_node{};   // to each other node
  Bytes to_rank{};   // of one rank's tokens, to each rank of its own or of another node
};

/// `nodes`: of each member of the group, in order; not equally many members, or not in a row: one
/// node, all copies going straight to their ranks. `message`: copies for all experts, as an
/// all-to-all has them.
[[nodiscard]] TokenShares token_shares(const TokenCopies& copies, Bytes message,
                                       const std::vector<int>& nodes);

/// DeepEP's dispatch of tokens between nodes (csrc/kernels/internode.cu: RDMA senders, forwarders,
/// NVLink receivers): a token goes once to every node that has experts of it, to the rank with the
/// sender's own place there, and from there once to every rank that has some. Lane 0 sends between
/// nodes in kChunks parts, lane 1 forwards each part as it is complete, after the copies for the
/// sender's own node. `returns`: results take the way back, added up on the forwarding rank, lane 0
/// first. Its numbers of bytes are means: it carries no tensor, so that no contract holds for it.
/// Blocks are bytes.
[[nodiscard]] std::shared_ptr<const Schedule> make_token_dispatch(const TokenShares& shares,
                                                                  bool returns);

}  // namespace lockstep
