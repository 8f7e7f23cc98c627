#pragma once

#include "sim/program/operation.hpp"

namespace lockstep {

/// Share of tokens, 0 .. 1, that go to at least one expert of a unit, the mean over `units` equal
/// runs of experts in order (ranks or nodes; a divisor of the experts). A token goes to
/// `group_top_k` of the groups, all equally likely, and to `top_k` of their experts, all equally
/// likely: 1 - C(E - E/U, k) / C(E, k) with one group (DeepEP V2 deep_ep/buffers/elastic.py counts
/// the same for its number of SMs), and with groups the mean of that over the groups chosen.
/// Routers choose groups by the sum of their best scores, which favors groups with several of the k
/// experts: what a balanced router hits lies a little below.
[[nodiscard]] double share_of_tokens(const TokenCopies& copies, int units);

}  // namespace lockstep
