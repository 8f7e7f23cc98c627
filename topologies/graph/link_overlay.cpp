#include "topologies/graph/link_overlay.hpp"

#include <algorithm>
#include <utility>

namespace lockstep {

LinkOverlay::LinkOverlay(std::vector<LinkState> states) : states_{std::move(states)} {
  std::ranges::sort(states_, {}, &LinkState::id);
  any_failed_ = std::ranges::any_of(states_, &LinkState::failed);
  any_delayed_ = std::ranges::any_of(states_, &LinkState::delayed);
}

const LinkState* LinkOverlay::find(LinkId id) const {
  const auto found = std::ranges::lower_bound(states_, id, {}, &LinkState::id);
  return found != states_.end() && found->id == id ? &*found : nullptr;
}

}  // namespace lockstep
