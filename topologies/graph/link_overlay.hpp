#pragma once

#include <span>
#include <vector>

#include "topologies/graph/elements.hpp"

namespace lockstep {

/// A link that is not as the cluster was built with.
struct LinkState {
  LinkId id = 0;
  LinkFigures figures;   // as they are now
  bool failed = false;   // carries nothing; routes avoid it
  bool delayed = false;  // its latency is another one
};

/// The links of a cluster that have changed. Few, compared with all links.
class LinkOverlay {
 public:
  LinkOverlay() = default;
  /// At most one state per link.
  explicit LinkOverlay(std::vector<LinkState> states);

  /// nullptr where the link is as it was built.
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
