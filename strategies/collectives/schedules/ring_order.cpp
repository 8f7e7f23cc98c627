#include "strategies/collectives/schedules/ring_order.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

namespace lockstep {
namespace {

int positive(int a, int modulus) {
  return ((a % modulus) + modulus) % modulus;
}

/// The GPU by which the ring of a channel enters a node, which is one of the first `common` that
/// all nodes have. Even nodes are entered at the channel's GPU and left by the one below it, odd
/// nodes the other way; the last of an odd number has to be entered at a third.
int entry_of(int node, int nodes, int common, int channel) {
  if (node % 2 == 1) return positive(channel - 1, common);
  const bool odd_one_out = node > 0 && node + 1 == nodes && common > 2;
  return (channel + (odd_one_out ? 1 : 0)) % common;
}

/// How far above its entry the ring leaves a node of `size` GPUs, by which it enters the next.
int leaving_distance(int entry, int next_entry, int size) {
  const int distance = positive(next_entry - entry, size);
  return distance == 0 ? size - 1 : distance;
}

/// Node after node: a ring enters a node at one GPU, passes the others in turn and leaves by
/// another, by which it then enters the next node.
class NodeOrder {
 public:
  NodeOrder(int n, int per_node, int channel)
      : per_node_{per_node}, nodes_{n / per_node}, channel_{channel % per_node} {}

  [[nodiscard]] int rank_at(int place) const {
    const int node = place / per_node_;
    return node * per_node_ + (enters(node) + distance_of(node, place % per_node_)) % per_node_;
  }

  /// Pairs of nodes are alike, if all have a partner.
  [[nodiscard]] int period() const { return nodes_ % 2 == 0 ? 2 * per_node_ : 0; }

  [[nodiscard]] int place_of(int rank) const {
    const int node = rank / per_node_;
    const int distance = positive(rank % per_node_ - enters(node), per_node_);
    const int last = leaves_after(node);
    if (distance == last) return node * per_node_ + per_node_ - 1;
    return node * per_node_ + (distance < last ? distance : distance - 1);
  }

 private:
  [[nodiscard]] int enters(int node) const { return entry_of(node, nodes_, per_node_, channel_); }

  [[nodiscard]] int leaves_after(int node) const {
    return leaving_distance(enters(node), enters(node + 1 == nodes_ ? 0 : node + 1), per_node_);
  }

  [[nodiscard]] int distance_of(int node, int place) const {
    const int last = leaves_after(node);
    if (place == per_node_ - 1) return last;
    return place < last ? place : place + 1;
  }

  int per_node_;
  int nodes_;
  int channel_;
};

/// The same along a path through each node without a switch, every second one the other way round,
/// so that a ring enters a node on the rail on which it has left the one before.
class PathOrder {
 public:
  PathOrder(int n, std::vector<int> path)
      : per_node_{static_cast<int>(path.size())},
        nodes_{n / per_node_},
        path_{std::move(path)},
        place_(path_.size()) {
    for (int i = 0; i < per_node_; ++i)
      place_[static_cast<std::size_t>(path_[static_cast<std::size_t>(i)])] = i;
  }

  [[nodiscard]] int rank_at(int place) const {
    const int node = place / per_node_;
    const int at = turned(node, place % per_node_);
    return node * per_node_ + path_[static_cast<std::size_t>(at)];
  }
  [[nodiscard]] int place_of(int rank) const {
    const int node = rank / per_node_;
    const int at = place_[static_cast<std::size_t>(rank % per_node_)];
    return node * per_node_ + turned(node, at);
  }
  [[nodiscard]] int period() const { return nodes_ % 2 == 0 ? 2 * per_node_ : 0; }

 private:
  [[nodiscard]] int turned(int node, int i) const { return node % 2 == 0 ? i : per_node_ - 1 - i; }

  int per_node_;
  int nodes_;
  std::vector<int> path_;
  std::vector<int> place_;
};

/// Nodes of different sizes: a ring crosses from one to the next at GPUs of the same number, which
/// both have; consecutive channels at different ones.
class UnequalOrder {
 public:
  UnequalOrder(const std::vector<int>& sizes, int channel)
      : sizes_{sizes},
        channel_{channel},
        least_{*std::min_element(sizes.begin(), sizes.end())},
        begins_(sizes.size()) {
    std::exclusive_scan(sizes.begin(), sizes.end(), begins_.begin(), 0);
  }

  [[nodiscard]] int rank_at(int place) const {
    const std::size_t node = node_of(place);
    const int size = sizes_[node];
    const int last = leaves_after(node);
    int distance = place - begins_[node];
    if (distance == size - 1)
      distance = last;
    else if (distance >= last)
      ++distance;
    return begins_[node] + (enters(node) + distance) % size;
  }

  [[nodiscard]] int place_of(int rank) const {
    const std::size_t node = node_of(rank);
    const int size = sizes_[node];
    const int last = leaves_after(node);
    const int distance = positive(rank - begins_[node] - enters(node), size);
    if (distance == last) return begins_[node] + size - 1;
    return begins_[node] + (distance < last ? distance : distance - 1);
  }

 private:
  [[nodiscard]] std::size_t node_of(int rank) const {
    const auto next = std::upper_bound(begins_.begin(), begins_.end(), rank);
    return static_cast<std::size_t>(next - begins_.begin()) - 1;
  }

  [[nodiscard]] int enters(std::size_t node) const {
    return entry_of(static_cast<int>(node), static_cast<int>(sizes_.size()), least_, channel_);
  }

  [[nodiscard]] int leaves_after(std::size_t node) const {
    const std::size_t next = node + 1 == sizes_.size() ? 0 : node + 1;
    return leaving_distance(enters(node), enters(next), sizes_[node]);
  }

  std::vector<int> sizes_;
  int channel_;
  int least_;
  std::vector<int> begins_;
};

/// A dimension of a torus: how far apart in rank its neighbors are.
struct Dimension {
  int size = 1;
  int stride = 1;
};

/// A mixed-radix Gray code over the dimensions, slowest first: one place further is one step in one
/// dimension.
class GrayOrder {
 public:
  enum class Kind { reflected, modular };
  GrayOrder(std::vector<Dimension> slowest_first, Kind kind)
      : dimensions_{std::move(slowest_first)}, kind_{kind} {}

  [[nodiscard]] int rank_at(int place) const {
    int rank = 0;
    int unit = places();
    int above = 0;  // reflected: the number that the digits above make; modular: the last of them
    for (const Dimension& dimension : dimensions_) {
      unit /= dimension.size;
      const int digit = place / unit % dimension.size;
      rank += dimension.stride * coordinate(digit, above, dimension.size);
      above = next(above, digit, dimension.size);
    }
    return rank;
  }

  [[nodiscard]] int place_of(int rank) const {
    int place = 0;
    int above = 0;
    for (const Dimension& dimension : dimensions_) {
      const int at = rank / dimension.stride % dimension.size;
      const int digit = digit_of(at, above, dimension.size);
      place = place * dimension.size + digit;
      above = next(above, digit, dimension.size);
    }
    return place;
  }

 private:
  [[nodiscard]] int places() const {
    int all = 1;
    for (const Dimension& dimension : dimensions_) all *= dimension.size;
    return all;
  }
  [[nodiscard]] int next(int above, int digit, int size) const {
    return kind_ == Kind::reflected ? above * size + digit : digit;
  }
  [[nodiscard]] int coordinate(int digit, int above, int size) const {
    if (kind_ == Kind::modular) return positive(digit - above, size);
    return above % 2 == 0 ? digit : size - 1 - digit;
  }
  [[nodiscard]] int digit_of(int at, int above, int size) const {
    if (kind_ == Kind::modular) return (at + above) % size;
    return above % 2 == 0 ? at : size - 1 - at;
  }

  std::vector<Dimension> dimensions_;
  Kind kind_;
};

/// A cycle of neighbors: modular where all dimensions are equal, `turn` of which come last;
/// reflected where one that is even can be the slowest.
std::optional<GrayOrder> gray_order(const std::vector<int>& sizes, int turn) {
  std::vector<Dimension> dimensions;
  int stride = 1;
  for (const int size : sizes) {
    if (size > 1) dimensions.insert(dimensions.begin(), {size, stride});
    stride *= size;
  }
  if (dimensions.empty()) return std::nullopt;
  const auto equal = [&](const Dimension& d) { return d.size == dimensions.front().size; };
  if (std::all_of(dimensions.begin(), dimensions.end(), equal)) {
    const auto first = dimensions.begin() + turn % std::ssize(dimensions);
    std::rotate(dimensions.begin(), first, dimensions.end());
    return GrayOrder{std::move(dimensions), GrayOrder::Kind::modular};
  }
  const auto even = std::find_if(dimensions.begin(), dimensions.end(),
                                 [](const Dimension& d) { return d.size % 2 == 0; });
  if (even == dimensions.end()) return std::nullopt;
  std::rotate(dimensions.begin(), even, even + 1);
  return GrayOrder{std::move(dimensions), GrayOrder::Kind::reflected};
}

template <typename Order>
RankOrder as_rank_order(const Order& order) {
  return {[order](int place) { return order.rank_at(place); },
          [order](int rank) { return order.place_of(rank); }};
}

template <typename Order>
RankOrder along_nodes(const Order& order) {
  RankOrder out = as_rank_order(order);
  out.period = order.period();
  return out;
}

/// A cycle as it is, or the other way round.
RankOrder along(const std::vector<int>& cycle, bool backwards) {
  std::vector<int> at = cycle;
  if (backwards) std::reverse(at.begin(), at.end());
  std::vector<int> place(at.size());
  for (std::size_t i = 0; i < at.size(); ++i)
    place[static_cast<std::size_t>(at[i])] = static_cast<int>(i);
  return {[at](int i) { return at[static_cast<std::size_t>(i)]; },
          [place](int rank) { return place[static_cast<std::size_t>(rank)]; }};
}

}  // namespace

RankOrder reversed(RankOrder order, int n) {
  const int period = order.rank_at ? order.period : 1;
  return {[forward = std::move(order.rank_at), n](int place) {
            return forward ? forward(n - 1 - place) : n - 1 - place;
          },
          [forward = std::move(order.place_of), n](int rank) {
            return n - 1 - (forward ? forward(rank) : rank);
          },
          period};
}

RankOrder ring_order(int n, const RankLayout& layout, int channel) {
  if (1 < layout.per_node && layout.per_node < n && n % layout.per_node == 0) {
    const auto& paths = layout.node_paths;
    if (paths.empty()) return along_nodes(NodeOrder{n, layout.per_node, channel});
    return along_nodes(PathOrder{n, paths[static_cast<std::size_t>(channel) % paths.size()]});
  }
  if (std::accumulate(layout.node_sizes.begin(), layout.node_sizes.end(), 0) == n)
    return as_rank_order(UnequalOrder{layout.node_sizes, channel});
  if (!layout.node_rings.empty() && std::ssize(layout.node_rings.front()) == n)
    return along(
        layout.node_rings[static_cast<std::size_t>(channel / 2) % layout.node_rings.size()],
        channel % 2 == 1);
  const auto& sizes = layout.dimensions;
  const int ranks = std::accumulate(sizes.begin(), sizes.end(), 1, std::multiplies<>{});
  if (sizes.empty() || ranks != n) return {};
  const auto order = gray_order(sizes, channel / 2);
  if (!order) return {};
  return channel % 2 == 0 ? as_rank_order(*order) : reversed(as_rank_order(*order), n);
}

}  // namespace lockstep
