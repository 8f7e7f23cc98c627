#include "strategies/interop/text/dependency_cycle.hpp"

#include <algorithm>
#include <cstddef>

namespace lockstep {

namespace {

/// Depth first, without recursion: a trace may be one chain of a million nodes.
class Search {
 public:
  explicit Search(const std::vector<std::vector<std::uint32_t>>& after)
      : after_{after}, state_(after.size(), State::unseen) {}

  std::vector<std::uint32_t> find() {
    for (std::uint32_t node = 0; node < after_.size(); ++node) {
      if (state_[node] != State::unseen) continue;
      enter(node);
      while (!path_.empty())
        if (const auto closed = go_on(); !closed.empty()) return closed;
    }
    return {};
  }

 private:
  enum class State : std::uint8_t { unseen, on_path, done };
  struct Place {
    std::uint32_t node = 0;
    std::size_t next = 0;  // which of its dependencies comes next
  };

  void enter(std::uint32_t node) {
    state_[node] = State::on_path;
    path_.push_back({node, 0});
  }

  /// One step from the end of the path. What it returns is a cycle, or empty.
  std::vector<std::uint32_t> go_on() {
    Place& place = path_.back();
    if (place.next == after_[place.node].size()) {
      state_[place.node] = State::done;
      path_.pop_back();
      return {};
    }
    const std::uint32_t next = after_[place.node][place.next++];
    if (state_[next] == State::on_path) return path_from(next);
    if (state_[next] == State::unseen) enter(next);
    return {};
  }

  [[nodiscard]] std::vector<std::uint32_t> path_from(std::uint32_t node) const {
    const auto first = std::find_if(path_.begin(), path_.end(),
                                    [node](const Place& place) { return place.node == node; });
    std::vector<std::uint32_t> out;
    std::for_each(first, path_.end(), [&out](const Place& place) { out.push_back(place.node); });
    return out;
  }

  const std::vector<std::vector<std::uint32_t>>& after_;
  std::vector<State> state_;
  std::vector<Place> path_;
};

}  // namespace

std::vector<std::uint32_t> find_cycle(const std::vector<std::vector<std::uint32_t>>& after) {
  return Search(after).find();
}

}  // namespace lockstep
