#pragma once

#include <span>
#include <vector>

#include "sim/network/network.hpp"

namespace lockstep {

/// Removes links from `routes` that can never be the first to saturate: every flow on such a link A
/// also crosses a link B and takes at least as large a fraction of B as of A. While flows freeze,
/// the residual of B is then never more than that of A and its open weight never less, both as
/// fractions; so A's level is never below B's, and at equal levels B freezes the same flows. Shares
/// without A are equal to the last bit (monotony: sim/network/maxmin/README.md).
///
/// The same holds if several links together admit less to A than its capacity and every flow on A
/// crosses one of them (the ports of a leaf's hosts and its cables to the spines), with a margin of
/// one rate step per transfer for rounding.
///
/// `only_ports`: other links are unlimited and are kept. A route crosses a link at most once.
void drop_slack_links(std::span<Route*> routes, std::span<const Link> links, bool only_ports);

}  // namespace lockstep
