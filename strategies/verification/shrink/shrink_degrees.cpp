#include <numeric>
#include <string>

#include "strategies/pipeline/pipeline_order.hpp"
#include "strategies/sharding/device_mesh.hpp"
#include "strategies/verification/shrink/shrink_parts.hpp"

namespace lockstep::shrinking {

namespace {

[[nodiscard]] std::vector<int> divisors_between(int of, int least, int most) {
  std::vector<int> out;
  for (int i = least; i <= most; ++i) {
    if (of % i == 0) out.push_back(i);
  }
  return out;
}

/// What a degree may become: divisors, so that what divided its multiples does so still (an
/// algorithm for powers of two, say), or else 2 or 3.
[[nodiscard]] std::vector<int> smaller(int degree, int most) {
  if (degree == 1) return {1};
  std::vector<int> out = divisors_between(degree, 2, std::min(degree, most));
  for (const int other : {3, 2}) {
    if (degree > other && degree % other != 0) out.push_back(other);
  }
  return out;
}

/// Sizes of a group among `replicas` ranks: all, one or a part, as it was.
[[nodiscard]] std::vector<int> part_sizes(int group, int of, int replicas) {
  if (group <= 1) return {group};
  if (group == of) return {replicas};
  return divisors_between(replicas, 2, replicas - 1);
}

class Degrees {
 public:
  Degrees(const SizedLayout& whole, const ShrinkLimits& limits)
      : whole_{whole},
        layout_{whole.parallel},
        limits_{limits},
        ulysses_{ulysses_degree(whole.parallel, whole.gpus_per_node)} {}

  [[nodiscard]] std::vector<SizedLayout> all() {
    if (!limits_.degrees) return {whole_};
    for (const int tp : options("tp", layout_.tp)) {
      for (const int dp : options("dp", layout_.dp)) {
        for (const int pp : options("pp", layout_.pp)) {
          if (is_bidirectional(layout_.schedule) && pp % 2 != 0) continue;
          if (tp * dp * pp <= limits_.ranks) add_context(tp, dp, pp);
        }
      }
    }
    return std::move(out_);
  }

 private:
  [[nodiscard]] bool keeps(const char* key) const {
    return stays(limits_, std::string{"parallel."} + key);
  }
  [[nodiscard]] std::vector<int> options(const char* key, int degree) const {
    return keeps(key) ? std::vector{degree} : smaller(degree, limits_.ranks);
  }

  [[nodiscard]] bool two_levels() const { return layout_.cp_kind == ContextKind::both; }

  /// Two levels shrink one by one.
  void add_context(int tp, int dp, int pp) {
    const bool keeps_ulysses = two_levels() && layout_.ulysses > 0 && keeps("ulysses");
    const int whole_ring = layout_.cp / ulysses_;
    if (keeps("cp")) {
      for (const int ulysses : divisors_between(layout_.cp, 1, layout_.cp)) {
        if ((keeps_ulysses || !two_levels()) && ulysses != ulysses_) continue;
        if ((ulysses > 1) != (ulysses_ > 1)) continue;
        if ((layout_.cp / ulysses > 1) != (whole_ring > 1)) continue;
        add_context(tp, dp, pp, ulysses, layout_.cp);
      }
      return;
    }
    for (const int ulysses :
         keeps_ulysses ? std::vector{ulysses_} : smaller(ulysses_, limits_.ranks)) {
      for (const int ring : smaller(whole_ring, limits_.ranks)) {
        add_context(tp, dp, pp, ulysses, ring * ulysses);
      }
    }
  }

  void add_context(int tp, int dp, int pp, int ulysses, int cp) {
    if (tp * dp * pp * cp > limits_.ranks) return;
    ParallelConfig next = layout_;
    next.tp = tp;
    next.dp = dp;
    next.pp = pp;
    next.cp = cp;
    if (two_levels() && layout_.ulysses > 0) next.ulysses = ulysses;
    if (!keeps("servers") && layout_.servers > kServers) next.servers = kServers;
    add_replicas(next, ulysses);
  }

  /// Replicas that train apart: all, one or a part of dp, as they were.
  void add_replicas(ParallelConfig next, int ulysses) {
    for (const int outer : part_sizes(layout_.outer_replicas, layout_.dp, next.dp)) {
      if (keeps("outer_replicas") && outer != layout_.outer_replicas) continue;
      next.outer_replicas = outer;
      add_parts(next, ulysses);
    }
  }

  /// Parts of the replicas that train together.
  void add_parts(ParallelConfig next, int ulysses) {
    const int replicas = next.dp * next.cp * next.stage_copies() / next.outer_degree();
    const int of = layout_.dp * layout_.cp * layout_.stage_copies() / layout_.outer_degree();
    for (const auto& [etp, ep] : expert_degrees(next)) {
      if (keeps("ep") && ep != layout_.ep) continue;
      if (keeps("etp") && etp != layout_.etp) continue;
      next.etp = etp;
      for (const int shards : part_sizes(layout_.shard_ranks, of, replicas)) {
        if (keeps("shard_ranks") && shards != layout_.shard_ranks) continue;
        next.ep = ep;
        next.shard_ranks = shards;
        add_chunks(next, ulysses);
      }
    }
  }

  /// etp and ep such that tp is divided, and other ranks are, as they were.
  [[nodiscard]] std::vector<std::pair<int, int>> expert_degrees(const ParallelConfig& next) const {
    const int replicas = next.dp * next.cp / next.outer_degree();
    const int of = layout_.dp * layout_.cp / layout_.outer_degree();
    std::vector<std::pair<int, int>> out;
    if (layout_.expert_tp() == layout_.tp) {
      for (const int ep : part_sizes(layout_.ep, of, replicas))
        out.emplace_back(layout_.etp > 0 ? next.tp : 0, ep);
      return out;
    }
    std::vector<int> sizes = part_sizes(layout_.etp, layout_.tp, next.tp);
    if (sizes.empty()) sizes = {1};  // no degree between 1 and tp
    for (const int etp : sizes) {
      const int ranks = next.tp / etp * replicas;
      for (const int ep : part_sizes(layout_.ep, layout_.tp / layout_.etp * of, ranks))
        out.emplace_back(etp, ep);
      // All of them where there are too few for a part.
      if (layout_.ep > 1 && ranks > 1 && ranks <= layout_.ep) out.emplace_back(etp, ranks);
    }
    return out;
  }

  void add_chunks(ParallelConfig next, int ulysses) {
    const int per_node = fewer_per_node(whole_, next, ulysses);
    const bool keeps = is_v(layout_.schedule) && next.pp > 1;  // two chunks
    for (const int vpp : keeps ? std::vector{2} : options("vpp", layout_.vpp)) {
      next.vpp = vpp;
      out_.push_back({whole_.model, next, per_node});
    }
  }

  static constexpr int kServers = 3;
  const SizedLayout& whole_;
  const ParallelConfig& layout_;
  const ShrinkLimits& limits_;
  int ulysses_;
  std::vector<SizedLayout> out_{};
};

/// Groups of an axis, innermost first, cp in its two levels: neighbors in a group are `stride`
/// ranks apart, and the group covers `span`.
struct Reach {
  int stride = 1;
  int span = 1;
};

[[nodiscard]] std::vector<Reach> reaches(const ParallelConfig& layout, int ulysses) {
  std::vector<Reach> out;
  int stride = 1;
  const auto add = [&](int size) {
    out.push_back({stride, stride * size});
    stride *= size;
  };
  for (const std::string& axis : layout.order) {
    if (axis == "tp") add(layout.tp);
    if (axis == "dp") add(layout.dp);
    if (axis == "pp") add(layout.pp);
    if (axis == "cp") add(ulysses);
    if (axis == "cp") add(layout.cp / ulysses);
  }
  return out;
}

enum class Place { within, across, one_a_node };

[[nodiscard]] Place place_of(const Reach& group, int per_node) {
  if (group.span <= per_node || group.span == group.stride) return Place::within;
  return group.stride >= per_node ? Place::one_a_node : Place::across;
}

[[nodiscard]] int alike(const std::vector<Reach>& before, int whole_node,
                        const std::vector<Reach>& after, int per_node) {
  int out = 0;
  for (std::size_t i = 0; i < after.size(); ++i) {
    out += place_of(before[i], whole_node) == place_of(after[i], per_node) ? 1 : 0;
  }
  return out;
}

}  // namespace

std::vector<SizedLayout> with_fewer_ranks(const SizedLayout& whole, const ShrinkLimits& limits) {
  return Degrees{whole, limits}.all();
}

int fewer_per_node(const SizedLayout& whole, const ParallelConfig& small, int ulysses) {
  const bool by_node = small.cp > 1 && small.cp_kind == ContextKind::both && small.ulysses == 0;
  if (by_node) return small.tp * ulysses;
  if (whole.parallel.ranks() <= whole.gpus_per_node) return whole.gpus_per_node;
  const std::vector<Reach> before =
      reaches(whole.parallel, ulysses_degree(whole.parallel, whole.gpus_per_node));
  const std::vector<Reach> after = reaches(small, ulysses);
  int best = 1;
  int most = 0;
  for (int per_node = 1; per_node <= std::min(small.ranks() - 1, whole.gpus_per_node); ++per_node) {
    if (small.ranks() % per_node != 0) continue;
    const int same = alike(before, whole.gpus_per_node, after, per_node);
    if (same >= most) best = per_node;
    most = std::max(most, same);
  }
  return best;
}

}  // namespace lockstep::shrinking
