#include "sim/symmetry/partition/partition.hpp"

#include "sim/symmetry/partition/cells.hpp"

namespace lockstep::fold {
namespace {

/// Lists of numbers by a key below `keys`, side by side.
struct Lists {
  std::vector<std::uint32_t> first;
  std::vector<std::uint32_t> of;

  template <typename Each>  // each(add), add(key, number), the same both times
  Lists(std::size_t keys, const Each& each) : first(keys + 1, 0) {
    each([this](std::uint32_t key, std::uint32_t) { ++first[key + 1]; });
    for (std::size_t key = 0; key < keys; ++key) first[key + 1] += first[key];
    of.resize(first.back());
    std::vector<std::uint32_t> next(first.begin(), first.end() - 1);
    each([&](std::uint32_t key, std::uint32_t number) { of[next[key]++] = number; });
  }
  [[nodiscard]] std::span<const std::uint32_t> at(std::uint32_t key) const {
    return std::span{of}.subspan(first[key], first[key + 1] - first[key]);
  }
};

/// Vertices are members, then pairs, then links that matter, then end points that several members
/// share. A link that one pair alone crosses is part of that pair's key.
class Refiner {
 public:
  Refiner(const Relations& relations, const Network& network, NetworkModel model)
      : relations_{relations},
        network_{network},
        model_{model},
        members_{static_cast<std::uint32_t>(relations.members.size())},
        pairs_{static_cast<std::uint32_t>(relations.pairs.size())},
        received_{members_, [&](auto&& add) {
                    for (std::uint32_t p = 0; p < pairs_; ++p) add(relations.pairs[p].receiver, p);
                  }} {
    number_links();
    number_endpoints();
  }

  Partition run() {
    const Lists crossing{links_, [&](auto&& add) {
                           for (std::uint32_t i = 0; i < relations_.crossings.size(); ++i)
                             if (const auto link = vertex_of_link_[relations_.crossings[i].link];
                                 link != kNone)
                               add(link, i);
                         }};
    crossing_ = &crossing;
    if (links_ > 0) find_owners();
    Cells cells{keys()};
    while (const auto cell = cells.next()) refine(cells, *cell);
    return result(cells);
  }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  /// Where only ports limit, other links are nothing but a cap of each transfer's own.
  void number_links() {
    vertex_of_link_.assign(relations_.links.size(), kNone);
    for (std::size_t i = 0; i < relations_.links.size(); ++i) {
      const bool limits =
          model_ != NetworkModel::alpha_beta || network_.links[relations_.links[i]].port;
      if (limits && relations_.users[i] > 1) {
        vertex_of_link_[i] = links_++;
        link_of_vertex_.push_back(static_cast<std::uint32_t>(i));
      }
    }
  }

  void number_endpoints() {
    vertex_of_endpoint_.assign(network_.endpoints.size(), kNone);
    for (std::uint32_t m = 0; m < members_; ++m) {
      if (!relations_.shares_endpoint(m)) continue;
      const EndpointId endpoint = relations_.members[m].endpoint;
      if (vertex_of_endpoint_[endpoint] == kNone) {
        vertex_of_endpoint_[endpoint] = static_cast<std::uint32_t>(at_endpoint_.size());
        at_endpoint_.emplace_back();
        endpoint_of_vertex_.push_back(endpoint);
      }
      at_endpoint_[vertex_of_endpoint_[endpoint]].push_back(m);
    }
  }

  [[nodiscard]] std::vector<Key> keys() const {
    std::vector<Key> keys;
    keys.reserve(members_ + pairs_ + links_ + at_endpoint_.size());
    for (const Member& member : relations_.members)
      keys.push_back(KeyBuilder{}.add(1).add(member.key).key());
    for (std::uint32_t p = 0; p < pairs_; ++p) keys.push_back(key_of_pair(p));
    for (const std::uint32_t link : link_of_vertex_) {
      const Link& figures = network_.links[relations_.links[link]];
      keys.push_back(KeyBuilder{}.add(3).add(figures.bandwidth.steps()).key());
    }
    for (const EndpointId endpoint : endpoint_of_vertex_) {
      const Endpoint& figures = network_.endpoints[endpoint];
      keys.push_back(KeyBuilder{}
                         .add(4)
                         .add(figures.message_overhead.ps())
                         .add(figures.reduce_rate ? figures.reduce_rate->steps() : 0)
                         .add(figures.copy_rate ? figures.copy_rate->steps() : 0)
                         .key());
    }
    return keys;
  }

  /// With what it crosses alone distinguished from what it shares.
  [[nodiscard]] Key key_of_pair(std::uint32_t p) const {
    Key alone;
    for (const Crossing& each : relations_.crossings_of(p)) {
      if (vertex_of_link_[each.link] != kNone) continue;
      const Link& link = network_.links[relations_.links[each.link]];
      alone +=
          KeyBuilder{}.add(link.bandwidth.steps()).add(link.port ? 1 : 0).add(each.weight).key();
    }
    return KeyBuilder{}.add(2).add(relations_.pairs[p].key).add(alone).key();
  }

  void refine(Cells& cells, Cells::CellId cell) const {
    const Cells::Vertex vertex = cells.members(cell).front();
    if (vertex < members_) return refine_by_members(cells, cell);
    if (vertex < members_ + pairs_) return refine_by_pairs(cells, cell);
    if (vertex < members_ + pairs_ + links_) return refine_by_links(cells, cell);
    refine_by_endpoints(cells, cell);
  }

  void refine_by_members(Cells& cells, Cells::CellId cell) const {
    for (const std::uint32_t m : cells.members(cell))
      for (std::uint32_t p = relations_.first_pair[m]; p < relations_.first_pair[m + 1]; ++p)
        cells.count(members_ + p, 1);
    cells.split();
    for (const std::uint32_t m : cells.members(cell))
      for (const std::uint32_t p : received_.at(m)) cells.count(members_ + p, 1);
    cells.split();
    if (at_endpoint_.empty()) return;
    for (const std::uint32_t m : cells.members(cell))
      if (relations_.shares_endpoint(m)) cells.count(endpoint_vertex(m), 1);
    cells.split();
  }

  void refine_by_pairs(Cells& cells, Cells::CellId cell) const {
    for (const std::uint32_t vertex : cells.members(cell))
      cells.count(relations_.pairs[vertex - members_].sender, 1);
    cells.split();
    for (const std::uint32_t vertex : cells.members(cell))
      cells.count(relations_.pairs[vertex - members_].receiver, 1);
    cells.split();
    if (links_ == 0) return;
    for (const std::uint32_t vertex : cells.members(cell))
      for (const Crossing& each : relations_.crossings_of(vertex - members_))
        if (const std::uint32_t link = vertex_of_link_[each.link]; link != kNone)
          cells.count(members_ + pairs_ + link, each.weight);
    cells.split();
  }

  void refine_by_links(Cells& cells, Cells::CellId cell) const {
    for (const std::uint32_t vertex : cells.members(cell)) {
      for (const std::uint32_t i : crossing_->at(vertex - members_ - pairs_))
        cells.count(members_ + owner_[i], relations_.crossings[i].weight);
    }
    cells.split();
  }

  /// Whose the crossings are.
  void find_owners() {
    owner_.resize(relations_.crossings.size());
    for (std::uint32_t p = 0; p < pairs_; ++p)
      for (auto i = relations_.first_crossing[p]; i < relations_.first_crossing[p + 1]; ++i)
        owner_[i] = p;
  }

  void refine_by_endpoints(Cells& cells, Cells::CellId cell) const {
    for (const std::uint32_t vertex : cells.members(cell))
      for (const std::uint32_t m : at_endpoint_[vertex - members_ - pairs_ - links_])
        cells.count(m, 1);
    cells.split();
  }

  [[nodiscard]] std::uint32_t endpoint_vertex(std::uint32_t member) const {
    return members_ + pairs_ + links_ + vertex_of_endpoint_[relations_.members[member].endpoint];
  }

  /// Classes numbered by their first vertices.
  struct Numbering {
    std::vector<std::uint32_t> first;
    std::vector<std::uint32_t> size;
  };
  template <typename Take>  // take(vertex, class)
  static Numbering number(const Cells& cells, std::uint32_t begin, std::uint32_t count,
                          std::vector<std::uint32_t>& class_of_cell, const Take& take) {
    Numbering out;
    for (std::uint32_t i = 0; i < count; ++i) {
      std::uint32_t& known = class_of_cell[cells.cell_of(begin + i)];
      if (known == kNone) {
        known = static_cast<std::uint32_t>(out.first.size());
        out.first.push_back(i);
        out.size.push_back(0);
      }
      ++out.size[known];
      take(i, known);
    }
    return out;
  }

  Partition result(const Cells& cells) {
    std::vector<std::uint32_t> class_of_cell(cells.count(), kNone);
    Partition out;
    out.member_class.resize(members_);
    Numbering of = number(cells, 0, members_, class_of_cell,
                          [&](std::uint32_t i, std::uint32_t c) { out.member_class[i] = c; });
    out.first_member = std::move(of.first);
    out.members_in = std::move(of.size);
    out.pair_class.resize(pairs_);
    of = number(cells, members_, pairs_, class_of_cell,
                [&](std::uint32_t i, std::uint32_t c) { out.pair_class[i] = c; });
    out.first_pair = std::move(of.first);
    out.pairs_in = std::move(of.size);
    out.link_class.assign(relations_.links.size(), Partition::kNoClass);
    of = number(cells, members_ + pairs_, links_, class_of_cell,
                [&](std::uint32_t i, std::uint32_t c) { out.link_class[link_of_vertex_[i]] = c; });
    out.first_link = std::move(of.first);
    for (std::uint32_t& first : out.first_link) first = link_of_vertex_[first];
    out.links_in = std::move(of.size);
    out.received = std::move(received_.of);
    out.first_received = std::move(received_.first);
    return out;
  }

  const Relations& relations_;
  const Network& network_;
  NetworkModel model_;
  std::uint32_t members_;
  std::uint32_t pairs_;
  std::uint32_t links_ = 0;
  Lists received_;
  const Lists* crossing_ = nullptr;   // per link vertex, indices of crossings
  std::vector<std::uint32_t> owner_;  // per crossing, its pair
  std::vector<std::uint32_t> vertex_of_link_;
  std::vector<std::uint32_t> link_of_vertex_;
  std::vector<std::uint32_t> vertex_of_endpoint_;
  std::vector<EndpointId> endpoint_of_vertex_;
  std::vector<std::vector<std::uint32_t>> at_endpoint_;
};

}  // namespace

Partition find_partition(const Relations& relations, const Network& network, NetworkModel model) {
  return Refiner{relations, network, model}.run();
}

}  // namespace lockstep::fold
