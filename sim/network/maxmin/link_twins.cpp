#include "sim/network/maxmin/link_twins.hpp"

#include <algorithm>
#include <tuple>
#include <unordered_map>

namespace lockstep::maxmin {

LinkTwins::LinkTwins(std::span<const std::uint64_t> capacities, bool looks)
    : looks_{looks}, class_of_(capacities.size()), position_(capacities.size()) {
  if (!looks) return;
  std::unordered_map<std::uint64_t, std::uint32_t> class_of_width;  // looked up, never walked
  for (std::size_t i = 0; i < capacities.size(); ++i) {
    const auto link = static_cast<LinkId>(i);
    const auto [found, added] =
        class_of_width.try_emplace(capacities[i], static_cast<std::uint32_t>(classes_.size()));
    if (added) classes_.push_back({link, {}});
    std::vector<LinkId>& members = classes_[found->second].members;
    class_of_[link] = found->second;
    position_[link] = static_cast<std::uint32_t>(members.size());
    members.push_back(link);
  }
}

/// Brings together what may stay together: equal class and equal weight.
void LinkTwins::sort_shared() {
  std::sort(shared_.begin(), shared_.end(), [this](const Hop& a, const Hop& b) {
    return std::tuple{class_of_[a.link], a.weight, a.link} <
           std::tuple{class_of_[b.link], b.weight, b.link};
  });
}

/// Where the run of hops ends that began in one class and have one weight. Parting an earlier run
/// of the same class does not change whether two hops of this one are together.
std::size_t LinkTwins::end_of_run(std::size_t first) const {
  std::size_t last = first + 1;
  while (last < shared_.size() && class_of_[shared_[last].link] == class_of_[shared_[first].link] &&
         shared_[last].weight == shared_[first].weight)
    ++last;
  return last;
}

bool LinkTwins::contains(std::size_t first, std::size_t last, LinkId link) const {
  return std::any_of(shared_.begin() + static_cast<std::ptrdiff_t>(first),
                     shared_.begin() + static_cast<std::ptrdiff_t>(last),
                     [&](const Hop& hop) { return hop.link == link; });
}

/// Moves the run's links to a class of their own and returns it. The old speaker goes on speaking
/// for the class that it is in then.
std::uint32_t LinkTwins::part(std::uint32_t from, std::size_t first, std::size_t last) {
  const auto own = static_cast<std::uint32_t>(classes_.size());
  const LinkId known = classes_[from].speaker;
  const bool takes_speaker = contains(first, last, known);
  classes_.emplace_back();
  std::vector<LinkId>& left = classes_[from].members;
  std::vector<LinkId>& taken = classes_[own].members;
  for (std::size_t i = first; i < last; ++i) {
    const LinkId link = shared_[i].link;
    const LinkId moved = left.back();
    left[position_[link]] = moved;
    position_[moved] = position_[link];
    left.pop_back();
    class_of_[link] = own;
    position_[link] = static_cast<std::uint32_t>(taken.size());
    taken.push_back(link);
  }
  classes_[own].speaker = takes_speaker ? known : taken.front();
  if (takes_speaker) classes_[from].speaker = left.front();
  return own;
}

}  // namespace lockstep::maxmin
