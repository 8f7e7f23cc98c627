#include "strategies/interop/text/message_tags.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

namespace lockstep {

namespace {

using Indices = std::span<const std::size_t>;

class Planner {
 public:
  explicit Planner(const std::vector<MessageEnd>& ends) : ends_{ends} {}

  MessageTags plan() {
    const std::vector<std::size_t> order = sorted();
    plan_.tags.resize(ends_.size());
    const auto same_connection = [this](std::size_t a, std::size_t b) {
      return connection(a) == connection(b);
    };
    each_run(order, same_connection, [this](Indices run) { plan_connection(run); });
    return std::move(plan_);
  }

 private:
  [[nodiscard]] std::tuple<int, int, std::uint32_t> connection(std::size_t i) const {
    return {ends_[i].from, ends_[i].to, ends_[i].tag};
  }

  /// By connection, size, direction and place. Keys side by side: looking each up in the ends takes
  /// several times as long.
  [[nodiscard]] std::vector<std::size_t> sorted() const {
    using SortKey = std::tuple<int, int, std::uint32_t, Bytes, bool, std::size_t>;
    std::vector<SortKey> keys;
    keys.reserve(ends_.size());
    for (std::size_t i = 0; i < ends_.size(); ++i) {
      const MessageEnd& end = ends_[i];
      keys.emplace_back(end.from, end.to, end.tag, end.size, !end.sending, i);
    }
    std::sort(keys.begin(), keys.end());
    std::vector<std::size_t> order;
    order.reserve(keys.size());
    for (const SortKey& key : keys) order.push_back(std::get<5>(key));
    return order;
  }

  /// Calls visit(run) for every longest run of neighbors that are the same.
  template <class Same, class Visit>
  static void each_run(Indices all, Same same, Visit visit) {
    for (std::size_t first = 0; first < all.size();) {
      std::size_t end = first + 1;
      while (end < all.size() && same(all[first], all[end])) ++end;
      visit(all.subspan(first, end - first));
      first = end;
    }
  }

  void plan_connection(Indices run) {
    std::optional<std::size_t> send;
    std::optional<std::size_t> receive;
    const Bytes shortest = ends_[run.front()].size;
    const auto same_size = [this](std::size_t a, std::size_t b) {
      return ends_[a].size == ends_[b].size;
    };
    each_run(run, same_size, [&](Indices equal) {
      const MessageEnd& first = ends_[equal.front()];
      const std::uint32_t tag = first.size == shortest ? first.tag : tag_for(first.tag, first.size);
      for (const std::size_t i : equal) plan_.tags[i] = tag;
      const std::size_t sends = count_sends(equal);
      if (!send && 2 * sends > equal.size()) send = equal[equal.size() - sends];
      if (!receive && 2 * sends < equal.size()) receive = equal[2 * sends];
    });
    if (send && receive) plan_.conflicts.push_back({*send, *receive});
  }

  /// Sends stand before receives.
  [[nodiscard]] std::size_t count_sends(Indices equal) const {
    return static_cast<std::size_t>(std::count_if(
        equal.begin(), equal.end(), [this](std::size_t i) { return ends_[i].sending; }));
  }

  /// A tag that the trace does not use, the same for the same two arguments.
  std::uint32_t tag_for(std::uint32_t tag, Bytes size) {
    const auto [found, fresh] = extra_.try_emplace({tag, size}, 0);
    if (fresh) found->second = unused_tag();
    return found->second;
  }

  std::uint32_t unused_tag() {
    if (used_.empty()) {
      for (const MessageEnd& end : ends_) used_.push_back(end.tag);
      std::sort(used_.begin(), used_.end());
    }
    while (std::binary_search(used_.begin(), used_.end(), next_)) --next_;
    return next_--;
  }

  const std::vector<MessageEnd>& ends_;
  MessageTags plan_;
  std::map<std::pair<std::uint32_t, Bytes>, std::uint32_t> extra_;
  std::vector<std::uint32_t> used_;
  std::uint32_t next_ = UINT32_MAX;
};

}  // namespace

MessageTags plan_tags(const std::vector<MessageEnd>& ends) {
  return Planner(ends).plan();
}

}  // namespace lockstep
