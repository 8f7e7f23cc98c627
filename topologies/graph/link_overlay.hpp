#pragma once

#include <span>
#include <vector>

#include "topologies/graph/elements.hpp"

namespace lockstep {

/// A link whose state differs from the original cluster.
struct LinkState {
  LinkId id = 0;
  LinkFigures figures;   // current
  bool failed = false;   // without bandwidth; avoided by routes
  bool delayed = false;  // its latency has changed
};

/// The modified links of a cluster: few, compared with all links.
class LinkOverlay {
 public:
  LinkOverlay() = default;
  /// At most one state per link.
  explicit LinkOverlay(std::vector<LinkState> states);

  /// nullptr if the link is unmodified.
  [[nodiscard]] const LinkState* find(LinkId id) const;
  /// In order of id.
  [[nodiscard]] std::span<const LinkState> all() const { return states_; }
  [[nodiscard]] bool any_failed() const { return any_failed_; }
  [[nodiscard]] bool any_delayed() const { return any_delayed_; }

 private:
  std::vector<LinkState> states_;
  bool any_failed_ = false;
  bool any_delayed_ = false;
};

}  // namespace lockstep
