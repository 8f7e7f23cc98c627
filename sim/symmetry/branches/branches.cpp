#include "sim/symmetry/branches/branches.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace lockstep::fold {
namespace {

constexpr std::uint32_t kNone = Branches::kNone;

/// Classes of members, then classes of pairs, then links that several of these cross; a pair is
/// joined to both its members and to its links.
class Graph {
 public:
  Graph(const Relations& relations, const Partition& partition, const Quotient& quotient)
      : members_{static_cast<std::uint32_t>(partition.first_member.size())},
        pairs_{static_cast<std::uint32_t>(partition.first_pair.size())} {
    std::vector<std::uint32_t> users(quotient.network.links.size(), 0);
    for (const ClassRoute& way : quotient.class_routes)
      for (const Hop& hop : way.route.hops) ++users[hop.link];
    const auto each_edge = [&](const auto& add) {
      for (std::uint32_t c = 0; c < pairs_; ++c) {
        const Pair& pair = relations.pairs[partition.first_pair[c]];
        add(partition.member_class[pair.sender], members_ + c);
        add(partition.member_class[pair.receiver], members_ + c);
        for (const Hop& hop : quotient.class_routes[c].route.hops)
          if (users[hop.link] > 1) add(members_ + pairs_ + hop.link, members_ + c);
      }
    };
    first_.assign(members_ + pairs_ + users.size() + 1, 0);
    each_edge([this](std::uint32_t a, std::uint32_t b) {
      ++first_[a + 1];
      ++first_[b + 1];
    });
    for (std::size_t v = 1; v < first_.size(); ++v) first_[v] += first_[v - 1];
    neighbours_.resize(first_.back());
    std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
    each_edge([&](std::uint32_t a, std::uint32_t b) {
      neighbours_[next[a]++] = b;
      neighbours_[next[b]++] = a;
    });
  }

  [[nodiscard]] std::uint32_t members() const { return members_; }
  [[nodiscard]] std::uint32_t pairs() const { return pairs_; }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(first_.size() - 1); }
  [[nodiscard]] std::span<const std::uint32_t> neighbours(std::uint32_t vertex) const {
    return std::span{neighbours_}.subspan(first_[vertex], first_[vertex + 1] - first_[vertex]);
  }
  /// The member with the most pairs, which is hardly inside a branch.
  [[nodiscard]] std::uint32_t hub() const {
    std::uint32_t best = 0;
    for (std::uint32_t m = 1; m < members_; ++m)
      if (neighbours(m).size() > neighbours(best).size()) best = m;
    return best;
  }

 private:
  std::uint32_t members_;
  std::uint32_t pairs_;
  std::vector<std::uint32_t> first_;
  std::vector<std::uint32_t> neighbours_;
};

/// Where a graph comes apart when a vertex is taken out: depth-first search from one vertex with
/// the earliest vertex that each subtree reaches past its top (Hopcroft and Tarjan 1973).
class Search {
 public:
  Search(const Graph& graph, std::uint32_t root)
      : graph_{graph}, number_(graph.size(), kNone), low_(graph.size(), kNone) {
    enter(root, kNone);
    while (!path_.empty()) {
      Place& top = path_.back();
      const auto neighbours = graph.neighbours(top.vertex);
      if (top.next == neighbours.size()) {
        leave();
        continue;
      }
      const std::uint32_t other = neighbours[top.next++];
      if (number_[other] == kNone) {
        enter(other, top.vertex);
      } else {
        low_[top.vertex] = std::min(low_[top.vertex], number_[other]);
      }
    }
  }

  /// A subtree: so many vertices of `order()` from `first` on. They reach the rest by `above` only.
  struct Hanging {
    std::uint32_t above = 0;
    std::uint32_t first = 0;
    std::uint32_t count = 0;
  };
  [[nodiscard]] const std::vector<std::uint32_t>& order() const { return order_; }
  /// Those below members, by their first vertices.
  [[nodiscard]] std::vector<Hanging> hanging() const {
    std::vector<Hanging> out = hanging_;
    std::sort(out.begin(), out.end(),
              [](const Hanging& a, const Hanging& b) { return a.first < b.first; });
    return out;
  }

 private:
  struct Place {
    std::uint32_t vertex = 0;
    std::uint32_t above = 0;
    std::size_t next = 0;
  };

  void enter(std::uint32_t vertex, std::uint32_t above) {
    number_[vertex] = low_[vertex] = static_cast<std::uint32_t>(order_.size());
    order_.push_back(vertex);
    path_.push_back({vertex, above, 0});
  }

  void leave() {
    const auto [vertex, above, next] = path_.back();
    path_.pop_back();
    if (above == kNone) return;
    if (low_[vertex] >= number_[above] && above < graph_.members())
      hanging_.push_back(
          {above, number_[vertex], static_cast<std::uint32_t>(order_.size()) - number_[vertex]});
    low_[above] = std::min(low_[above], low_[vertex]);
  }

  const Graph& graph_;
  std::vector<std::uint32_t> number_;
  std::vector<std::uint32_t> low_;
  std::vector<std::uint32_t> order_;
  std::vector<Place> path_;
  std::vector<Hanging> hanging_;
};

class Finder {
 public:
  Finder(const Relations& relations, const Partition& partition, const Quotient& quotient)
      : relations_{relations},
        partition_{partition},
        quotient_{quotient},
        local_(partition.first_member.size(), kNone) {}

  Branches run() {
    const Graph graph{relations_, partition_, quotient_};
    const Search search{graph, graph.hub()};
    std::uint32_t end = 0;  // of the last branch: what hangs on its members is part of it
    for (const Search::Hanging& each : search.hanging()) {
      if (each.first < end || each.count > graph.size() / 2) continue;
      add(graph, std::span{search.order()}.subspan(each.first, each.count), each.above);
      end = each.first + each.count;
    }
    keep_frequent();
    return std::move(out_);
  }

 private:
  void add(const Graph& graph, std::span<const std::uint32_t> vertices, std::uint32_t attachment) {
    Branch branch{.attachment = attachment};
    for (const std::uint32_t v : vertices) {
      if (v < graph.members()) branch.members.push_back(v);
      if (v >= graph.members() && v < graph.members() + graph.pairs())
        branch.pairs.push_back(v - graph.members());
    }
    const bool one_by_one = sends_one_by_one(attachment) ||
                            std::any_of(branch.members.begin(), branch.members.end(),
                                        [this](std::uint32_t m) { return sends_one_by_one(m); });
    if (branch.members.empty() || one_by_one || !is_plain(branch)) return;
    std::sort(branch.members.begin(), branch.members.end());
    number(branch);
    sort_pairs(branch);
    branch.kind = kind_of(branch);
    out_.all.push_back(std::move(branch));
  }

  /// As many of every class, so that each member of the attachment's has a branch of its own, and
  /// nothing happens at the instant at which it is posted.
  [[nodiscard]] bool is_plain(const Branch& branch) const {
    const std::uint32_t many = partition_.members_in[branch.attachment];
    return std::all_of(branch.members.begin(), branch.members.end(),
                       [&](std::uint32_t m) { return partition_.members_in[m] == many; }) &&
           std::all_of(branch.pairs.begin(), branch.pairs.end(), [&](std::uint32_t p) {
             return partition_.pairs_in[p] == many && pair(p).latency > Duration{};
           });
  }

  [[nodiscard]] bool sends_one_by_one(std::uint32_t member) const {
    const EndpointId at =
        quotient_.workload.calls.front().members[quotient_.member_slots[member].rank];
    return quotient_.network.endpoints[at].message_overhead > Duration{};
  }

  [[nodiscard]] const Pair& pair(std::uint32_t c) const {
    return relations_.pairs[partition_.first_pair[c]];
  }
  [[nodiscard]] std::uint32_t local(std::uint32_t member) const {
    return local_[partition_.member_class[member]];
  }

  /// The members in order, then the attachment.
  void number(const Branch& branch) {
    for (std::uint32_t i = 0; i < branch.members.size(); ++i) local_[branch.members[i]] = i;
    local_[branch.attachment] = static_cast<std::uint32_t>(branch.members.size());
  }

  void sort_pairs(Branch& branch) const {
    const auto rank = [this](std::uint32_t c) {
      const Pair& each = pair(c);
      return std::tuple{local(each.sender), local(each.receiver), each.key, c};
    };
    std::sort(branch.pairs.begin(), branch.pairs.end(),
              [&](std::uint32_t a, std::uint32_t b) { return rank(a) < rank(b); });
  }

  /// All that a branch's replay depends on but the attachment, in numbers of its own.
  std::uint32_t kind_of(const Branch& branch) {
    std::vector<std::uint64_t> facts{branch.members.size()};
    for (const std::uint32_t m : branch.members) {
      const Key& key = relations_.members[partition_.first_member[m]].key;
      facts.insert(facts.end(), {key.low, key.high});
    }
    std::map<LinkId, std::uint64_t> links;
    for (const std::uint32_t c : branch.pairs) {
      const Pair& each = pair(c);
      const ClassRoute& way = quotient_.class_routes[c];
      facts.insert(facts.end(),
                   {local(each.sender), local(each.receiver), each.key.low, each.key.high,
                    static_cast<std::uint64_t>(way.route.latency.ps()), way.route.hops.size()});
      for (const Hop& hop : way.route.hops) {
        const Link& link = quotient_.network.links[hop.link];
        facts.insert(facts.end(), {links.try_emplace(hop.link, links.size()).first->second,
                                   hop.weight, link.bandwidth.steps(), link.port ? 1U : 0U});
      }
    }
    const auto next = static_cast<std::uint32_t>(kinds_.size());
    return kinds_.try_emplace(std::move(facts), next).first->second;
  }

  /// Drops branches that are alone of their kind, or all where they are few.
  void keep_frequent() {
    std::vector<std::uint32_t> of_kind(kinds_.size(), 0);
    for (const Branch& branch : out_.all) ++of_kind[branch.kind];
    std::erase_if(out_.all, [&](const Branch& branch) { return of_kind[branch.kind] < 2; });
    std::size_t inside = 0;
    for (const Branch& branch : out_.all) inside += branch.members.size();
    if (2 * inside < partition_.first_member.size()) out_.all.clear();
    out_.pairs.resize(partition_.first_pair.size());
    out_.inside.assign(partition_.first_member.size(), false);
    std::vector<std::uint32_t> number(kinds_.size(), kNone);
    for (std::uint32_t i = 0; i < out_.all.size(); ++i) {
      Branch& branch = out_.all[i];
      std::uint32_t& kind = number[branch.kind];
      if (kind == kNone) {
        kind = static_cast<std::uint32_t>(out_.first_of_kind.size());
        out_.first_of_kind.push_back(i);
      }
      branch.kind = kind;
      add_places(i);
      for (const std::uint32_t m : branch.members) out_.inside[m] = true;
    }
  }

  void add_places(std::uint32_t id) {
    const Branch& branch = out_.all[id];
    number(branch);
    for (std::uint32_t i = 0; i < branch.pairs.size(); ++i) {
      const Pair& each = pair(branch.pairs[i]);
      const bool sent = partition_.member_class[each.sender] == branch.attachment;
      out_.pairs[branch.pairs[i]] = {id, i, local(sent ? each.receiver : each.sender)};
    }
  }

  const Relations& relations_;
  const Partition& partition_;
  const Quotient& quotient_;
  std::vector<std::uint32_t> local_;  // per class of members, of the branch at hand
  std::map<std::vector<std::uint64_t>, std::uint32_t> kinds_;
  Branches out_;
};

}  // namespace

Branches find_branches(const Relations& relations, const Partition& partition,
                       const Quotient& quotient) {
  if (quotient.workload.calls.size() != 1) return {};
  const CollectiveCall& call = quotient.workload.calls.front();
  if (call.schedule->slots() > 0 || call.traffic_weight != 1) return {};
  if (call.members.size() != quotient.network.endpoints.size()) return {};  // some share one
  return Finder{relations, partition, quotient}.run();
}

}  // namespace lockstep::fold
