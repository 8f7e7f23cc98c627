#pragma once

#include <span>
#include <vector>

#include "sim/network/network.hpp"

namespace lockstep::fold {

/// Takes the links out of `routes` that can never be the first to be full: all that crosses such a
/// link A crosses another, B, too, and takes at least as large a part of B as of A. While flows
/// freeze, what is left of B is then never more than what is left of A, and what is still open on B
/// never less, both as parts of the whole; so A's level is never below B's, and where they are
/// equal B freezes the same flows at the same level. Shares are the same to the last bit without A.
///
/// The same holds where several links together let less onto A than A carries, and all that crosses
/// A crosses one of them (the ports of a leaf's hosts and its cables to the spines): while all of
/// them can carry a level, A can carry more. Less by a rate step for every transfer, so that
/// rounding shares down does not make levels equal.
///
/// `only_ports`: other links limit nobody and stay where they are. A route crosses a link at most
/// once.
void drop_slack_links(std::span<Route*> routes, std::span<const Link> links, bool only_ports);

}  // namespace lockstep::fold
