#include "topologies/analysis/bisection_classes.hpp"

#include <algorithm>
#include <set>

#include "topologies/blocks/node_blocks.hpp"
#include "topologies/graph/fabric_ports.hpp"
#include "topologies/graph/nodes.hpp"

namespace lockstep {
namespace {

/// Rounded up: a cut is then never narrower than it is.
std::int64_t bytes_per_second(Rate rate) {
  constexpr std::uint64_t kOne = std::uint64_t{1} << Rate::kFractionBits;
  return static_cast<std::int64_t>((rate.steps() + kOne - 1) >> Rate::kFractionBits);
}

void add(std::int64_t& sum, std::int64_t capacity, std::int64_t times) {
  const auto more = static_cast<UInt128>(capacity) * static_cast<UInt128>(times);
  const UInt128 all = static_cast<UInt128>(sum) + more;
  sum = static_cast<std::int64_t>(std::min(all, static_cast<UInt128>(BisectionClasses::kMost)));
}

class Merger {
 public:
  explicit Merger(const Cluster& cluster)
      : cluster_{cluster}, data_{cluster.data()}, ports_{data_} {
    if (cluster.overlay().all().empty()) blocks_ = NodeBlocks::find(data_);
  }

  BisectionClasses run() {
    find_changed();
    for (std::size_t plane = 0; plane < planes(); ++plane) name_switches();
    group_nodes();
    for (const auto& [key, group] : groups_) add_group(group);
    for (std::size_t plane = 0; plane < planes(); ++plane) add_switch_links(plane);
    return std::move(out_);
  }

 private:
  /// Nodes that stand for one another.
  struct Group {
    std::size_t first = 0;
    std::int64_t count = 0;
  };

  [[nodiscard]] std::size_t planes() const { return static_cast<std::size_t>(data_.planes); }
  [[nodiscard]] std::size_t first_rank(std::size_t copy) const {
    return data_.single_gpus() ? copy : data_.first_rank(copy);
  }

  std::uint32_t new_class(Half half) {
    out_.half.push_back(half);
    out_.reach.push_back(0);
    return static_cast<std::uint32_t>(out_.half.size() - 1);
  }

  [[nodiscard]] Half half_of_rank(std::size_t rank) const {
    const auto ranks = static_cast<std::size_t>(cluster_.ranks());
    if (rank >= ranks) return Half::none;
    return rank < ranks / 2 ? Half::lower : Half::upper;
  }
  /// None where ranks of both are in these nodes.
  [[nodiscard]] std::optional<Half> half_of_nodes(std::size_t first, std::size_t count) const {
    const Half half = half_of_rank(first_rank(first));
    const Half last = half_of_rank(first_rank(first + count) - 1);
    return half == last ? std::optional{half} : std::nullopt;
  }

  /// Nodes with links that have changed are like no other.
  void find_changed() {
    for (const LinkState& state : cluster_.overlay().all()) {
      if (state.id < data_.first_plane_link()) {
        changed_.insert(state.id / data_.node_links());
      } else if (const auto host = ports_.find(state.id)) {
        changed_.insert(host->copy);
      }
    }
  }

  /// Switches of blocks that are all in one half have a class together, by their turn.
  void name_switches() {
    std::map<std::pair<Half, std::size_t>, std::uint32_t> known;
    switch_class_.emplace_back();
    for (VertexId v = 0; v < data_.plane_vertices(); ++v) {
      const auto place = blocks_ ? blocks_->switch_place(v) : std::nullopt;
      const auto half =
          place ? half_of_nodes(place->block * blocks_->nodes(), blocks_->nodes()) : std::nullopt;
      if (!half) {
        switch_class_.back().push_back(new_class(Half::none));
        continue;
      }
      const auto next = static_cast<std::uint32_t>(out_.half.size());
      const auto [found, is_new] = known.try_emplace({*half, place->turn}, next);
      if (is_new) new_class(Half::none);
      switch_class_.back().push_back(found->second);
    }
  }

  [[nodiscard]] std::uint32_t leaf_class(std::size_t copy, std::size_t terminal) const {
    return switch_class_[ports_.plane(terminal)][ports_.leaf(copy, terminal)];
  }

  void group_nodes() {
    for (std::size_t copy = 0; copy < static_cast<std::size_t>(data_.copies); ++copy) {
      const auto half = half_of_nodes(copy, 1);
      const bool alone = data_.planes == 0 || !half || changed_.contains(copy);
      std::vector<std::size_t> key{alone ? copy + 1 : 0,
                                   static_cast<std::size_t>(half.value_or(Half::none)),
                                   first_rank(copy + 1) - first_rank(copy)};
      for (std::size_t t = 0; t < data_.terminals.size() && data_.planes != 0; ++t)
        key.push_back(leaf_class(copy, t));
      Group& group = groups_.try_emplace(std::move(key), Group{copy, 0}).first->second;
      ++group.count;
    }
  }

  void add_group(const Group& group) {
    const std::size_t vertices = data_.node_vertices();
    const std::size_t first_vertex = group.first * vertices;
    const auto first_class = static_cast<std::uint32_t>(out_.half.size());
    for (std::size_t v = 0; v < vertices; ++v) new_class(Half::none);
    for (std::size_t rank = first_rank(group.first);
         rank < std::min(first_rank(group.first + 1), static_cast<std::size_t>(cluster_.ranks()));
         ++rank) {
      const VertexId vertex = cluster_.vertex_of(static_cast<EndpointId>(rank));
      out_.half[first_class + (vertex - first_vertex)] = half_of_rank(rank);
    }
    const auto class_of = [&](VertexId v) {
      return first_class + static_cast<std::uint32_t>(v - first_vertex);
    };
    for (std::size_t i = 0; i < data_.node_links(); ++i) {
      const auto id = static_cast<LinkId>(group.first * data_.node_links() + i);
      if (is_absent_link(cluster_, id)) continue;
      const ClusterLink link = cluster_.link(id);
      add_link(class_of(link.from), class_of(link.to), link.figures, group.count);
    }
    for (std::size_t t = 0; t < data_.terminals.size() && data_.planes != 0; ++t) {
      if (data_.is_absent(group.first, data_.terminals[t])) continue;
      const ClusterLink up = cluster_.link(ports_.up(group.first, t));
      const ClusterLink down = cluster_.link(ports_.down(group.first, t));
      add_link(class_of(up.from), leaf_class(group.first, t), up.figures, group.count);
      add_link(leaf_class(group.first, t), class_of(down.to), down.figures, group.count);
    }
  }

  void add_switch_links(std::size_t plane) {
    const auto first_switch =
        static_cast<VertexId>(data_.first_switch() + plane * data_.plane_vertices());
    const std::vector<std::uint32_t>& classes = switch_class_[plane];
    for (std::size_t i = 0; i < data_.switch_links.size(); ++i) {
      const ClusterLink link =
          cluster_.link(ports_.first_switch_link(plane) + static_cast<LinkId>(i));
      add_link(classes[link.from - first_switch], classes[link.to - first_switch], link.figures, 1);
    }
  }

  void add_link(std::uint32_t from, std::uint32_t to, const LinkFigures& figures,
                std::int64_t times) {
    const std::int64_t capacity = bytes_per_second(figures.carried());
    add(out_.reach[from], capacity, times);
    add(out_.reach[to], capacity, times);
    if (from != to) add(out_.capacities[{from, to}], capacity, times);
  }

  const Cluster& cluster_;
  const ClusterData& data_;
  FabricPorts ports_;
  std::optional<NodeBlocks> blocks_;
  std::set<std::size_t> changed_;
  std::vector<std::vector<std::uint32_t>> switch_class_;  // per plane and switch
  std::map<std::vector<std::size_t>, Group> groups_;
  BisectionClasses out_;
};

}  // namespace

BisectionClasses bisection_classes(const Cluster& cluster) {
  return Merger{cluster}.run();
}

}  // namespace lockstep
