#include "strategies/sharding/device_mesh.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "sim/base/check.hpp"

namespace lockstep {

namespace {

/// A factor of the number of ranks and the axes that it belongs to.
struct Factor {
  int size = 1;
  std::set<std::string> axes;
  bool mirrored = false;
};

/// Innermost first.
using Factors = std::vector<Factor>;

void append(Factors& factors, int size, std::set<std::string> axes) {
  if (size > 1) factors.push_back({size, std::move(axes)});
}

/// Tensor parallelism: the outer part cuts keys and values.
[[nodiscard]] Factors tensor_factors(int tp, std::int64_t kv_heads) {
  const int cut = kv_heads == 0 ? tp : static_cast<int>(std::gcd<std::int64_t>(tp, kv_heads));
  Factors out;
  append(out, tp / cut, {"tp"});
  append(out, cut, {"tp", "tp_kv"});
  return out;
}

/// The all-to-all inside, the ring outside.
[[nodiscard]] Factors context_factors(int ulysses, int ring, std::int64_t kv_heads_left) {
  const int cut = kv_heads_left == 0
                      ? ulysses
                      : static_cast<int>(std::gcd<std::int64_t>(ulysses, kv_heads_left));
  Factors out;
  append(out, ulysses / cut, {"cp", "ulysses"});
  append(out, cut, {"cp", "ulysses", "ulysses_kv"});
  append(out, ring, {"cp", "ring"});
  return out;
}

[[nodiscard]] bool is_replica(const Factor& factor) {
  return factor.axes.contains("dp") || factor.axes.contains("cp");
}

[[nodiscard]] bool is_tensor(const Factor& factor) {
  return factor.axes.contains("tp");
}

/// Ranks along which experts are distributed or replicated.
[[nodiscard]] bool is_outside_experts(const Factor& factor) {
  return (is_replica(factor) || is_tensor(factor)) && !factor.axes.contains("etp");
}

[[nodiscard]] bool is_data(const Factor& factor) {
  return factor.axes.contains("dp");
}

/// Replicas that train together.
[[nodiscard]] bool is_inner_replica(const Factor& factor) {
  return (is_replica(factor) && !factor.axes.contains("outer")) || factor.axes.contains("copies");
}

/// The two copies of a stage outside, one half of the stages inside.
[[nodiscard]] Factors pipeline_factors(const ParallelConfig& parallel) {
  const int copies = parallel.stage_copies();
  Factors out;
  append(out, parallel.pp / copies, {"pp"});
  if (copies == 1) return out;
  for (Factor& stages : out) stages.mirrored = true;
  append(out, copies, {"pp", "copies"});
  return out;
}

/// A group that cannot be cut out: `left` of its ranks should come from the factor `at` and those
/// outside it, and neither divides the other; without axes: there are fewer ranks.
struct Uncut {
  std::string group;
  int left = 1;
  Factor at;
};

/// Adds the innermost `inner` ranks of the selected factors to one axis and the rest to another,
/// splitting a factor if necessary; what is in the way, if that is impossible. `selected` must not
/// depend on the names of these axes.
[[nodiscard]] std::optional<Uncut> divide(Factors& factors, bool (*selected)(const Factor&),
                                          int inner, const std::string& inner_name,
                                          const std::string& outer_name) {
  int product = 1;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    if (!selected(factors[i])) continue;
    if (product == inner) {
      factors[i].axes.insert(outer_name);
      continue;
    }
    const int left = inner / product;
    if (left % factors[i].size != 0) {
      if (factors[i].size % left != 0) return Uncut{inner_name, left, factors[i]};
      Factor outer = factors[i];
      outer.size /= left;
      factors[i].size = left;
      factors.insert(factors.begin() + static_cast<std::ptrdiff_t>(i) + 1, outer);
    }
    product *= factors[i].size;
    factors[i].axes.insert(inner_name);
  }
  if (product == inner) return std::nullopt;
  return Uncut{inner_name, inner / product, {}};
}

[[nodiscard]] Factors factors_of(const ParallelConfig& parallel, std::int64_t kv_heads,
                                 int ulysses) {
  const std::int64_t kv_left =
      kv_heads == 0 ? 0 : kv_heads / std::gcd<std::int64_t>(kv_heads, parallel.tp);
  Factors out;
  for (const std::string& axis : parallel.order) {
    Factors some;
    if (axis == "tp") some = tensor_factors(parallel.tp, kv_heads);
    if (axis == "cp") some = context_factors(ulysses, parallel.cp / ulysses, kv_left);
    if (axis == "dp") append(some, parallel.dp, {"dp"});
    if (axis == "pp") some = pipeline_factors(parallel);
    out.insert(out.end(), some.begin(), some.end());
  }
  for (Factor& factor : out) {
    if (is_replica(factor)) factor.axes.insert("dp_cp");
  }
  return out;
}

[[nodiscard]] int shard_size(const ParallelConfig& parallel) {
  return parallel.shard_ranks > 0
             ? parallel.shard_ranks
             : parallel.dp * parallel.cp * parallel.stage_copies() / parallel.outer_degree();
}

[[nodiscard]] std::optional<Uncut> divide(Factors& factors, const ParallelConfig& parallel) {
  auto out = divide(factors, is_data, parallel.dp / parallel.outer_degree(), "inner", "outer");
  if (!out) out = divide(factors, is_tensor, parallel.expert_tp(), "etp", "tp_outside_etp");
  if (!out) out = divide(factors, is_outside_experts, parallel.ep, "ep", "edp");
  if (!out) out = divide(factors, is_inner_replica, shard_size(parallel), "shard", "replicate");
  return out;
}

/// "dp", or "dp.0", "dp.1" where there are several.
[[nodiscard]] std::vector<Mesh::Atom> named(const Factors& factors) {
  static constexpr std::array kFirst{"tp", "cp", "dp", "pp"};
  const auto base = [](const Factor& factor) -> std::string {
    for (const char* axis : kFirst) {
      if (factor.axes.contains(axis)) return axis;
    }
    return "rank";
  };
  std::map<std::string, int> count;
  for (const Factor& factor : factors) ++count[base(factor)];
  std::map<std::string, int> next;
  std::vector<Mesh::Atom> out;
  for (const Factor& factor : factors) {
    const std::string name = base(factor);
    out.push_back({count[name] > 1 ? fmt::format("{}.{}", name, next[name]++) : name, factor.size,
                   factor.mirrored});
  }
  return out;
}

/// "dp * cp * 2 copies": the ranks that shard_ranks divides.
[[nodiscard]] std::string replica_words(const ParallelConfig& with) {
  return fmt::format("dp * cp{}{}", with.stage_copies() > 1 ? " * 2 copies" : "",
                     with.outer_degree() > 1 ? " / outer_replicas" : "");
}

/// The setting whose group cannot be cut out, and the ranks that it is cut out of.
struct CutGroup {
  const char* key;
  int ParallelConfig::*degree;
  int of;
  std::string words;
};

[[nodiscard]] CutGroup cut_group(const Uncut& uncut, const ParallelConfig& with) {
  const int replicas = with.dp * with.cp;
  if (uncut.group == "etp") return {"etp", &ParallelConfig::etp, with.tp, "tp"};
  if (uncut.group == "ep" && with.expert_tp() == with.tp)
    return {"ep", &ParallelConfig::ep, replicas, "dp * cp"};
  if (uncut.group == "ep")
    return {"ep", &ParallelConfig::ep, with.tp / with.expert_tp() * replicas, "tp / etp * dp * cp"};
  return {"shard_ranks", &ParallelConfig::shard_ranks,
          replicas * with.stage_copies() / with.outer_degree(), replica_words(with)};
}

/// What else is possible: the nearest degrees, or the axes in another order.
[[nodiscard]] std::string possible_cuts(const CutGroup& group, ParallelConfig with,
                                        std::int64_t kv_heads, int ulysses) {
  const auto possible = [&] {
    Factors factors = factors_of(with, kv_heads, ulysses);
    return !divide(factors, with);
  };
  const int degree = with.*group.degree;
  std::vector<std::string> out;
  const auto try_degree = [&](int other) {
    if (group.of % other != 0) return false;
    with.*group.degree = other;
    if (!possible()) return false;
    out.push_back(fmt::format("{}", other));
    return true;
  };
  for (int other = degree; --other > 0 && !try_degree(other);) {
  }
  for (int other = degree; ++other <= group.of && !try_degree(other);) {
  }
  with.*group.degree = degree;
  for (std::size_t i = with.order.front() == "tp" ? 1 : 0; i < with.order.size(); ++i) {
    for (std::size_t j = i + 1; j < with.order.size(); ++j) {
      std::swap(with.order[i], with.order[j]);
      if (possible()) {
        out.push_back(
            fmt::format("{} with parallel.order {}", degree, fmt::join(with.order, ", ")));
        return fmt::format("{}", fmt::join(out, " or "));
      }
      std::swap(with.order[i], with.order[j]);
    }
  }
  return fmt::format("{}", fmt::join(out, " or "));
}

[[nodiscard]] std::string uncut_problem(const Uncut& uncut, const ParallelConfig& with,
                                        std::int64_t kv_heads, int ulysses) {
  const CutGroup group = cut_group(uncut, with);
  LOCKSTEP_CHECK(!uncut.at.axes.empty());  // mesh_problem() refuses what does not divide
  const auto axis = [&]() -> std::pair<const char*, int> {
    if (uncut.at.axes.contains("copies")) return {"copies", with.stage_copies()};
    if (is_tensor(uncut.at)) return {"tp", with.tp};
    return uncut.at.axes.contains("cp") ? std::pair{"cp", with.cp} : std::pair{"dp", with.dp};
  }();
  const std::string part =
      uncut.at.size == axis.second ? "" : fmt::format("the {} adjacent of ", uncut.at.size);
  return fmt::format(
      "{} = {} divides {} = {}, but groups of adjacent ranks ({}, fastest first) would have {} "
      "along "
      "{}{} = {} and slower axes, and neither divides the other; possible: {}",
      group.key, with.*group.degree, group.words, group.of, fmt::join(with.order, ", "), uncut.left,
      part, axis.first, axis.second, possible_cuts(group, with, kv_heads, ulysses));
}

}  // namespace

int ulysses_degree(const ParallelConfig& parallel, int gpus_per_node) {
  switch (parallel.cp_kind) {
    case ContextKind::ring:
    case ContextKind::all_gather:
      return 1;
    case ContextKind::ulysses:
      return parallel.cp;
    case ContextKind::both:
      if (parallel.ulysses > 0) return parallel.ulysses;
      return std::gcd(parallel.cp, std::max(1, gpus_per_node / parallel.tp));
  }
  return 1;
}

std::optional<std::string> mesh_problem(const ParallelConfig& parallel, std::int64_t kv_heads,
                                        int gpus_per_node) {
  const int replicas = parallel.dp * parallel.cp;
  const int etp = parallel.expert_tp();
  if (parallel.tp % etp != 0)
    return fmt::format("etp = {} does not divide tp = {}", etp, parallel.tp);
  if (parallel.tp / etp * replicas % parallel.ep != 0) {
    return parallel.tp == etp
               ? fmt::format("ep = {} does not divide dp * cp = {}", parallel.ep, replicas)
               : fmt::format("ep = {} does not divide tp / etp * dp * cp = {}", parallel.ep,
                             parallel.tp / etp * replicas);
  }
  const int outer = parallel.outer_degree();
  if (parallel.dp % outer != 0)
    return fmt::format("outer_replicas = {} does not divide dp = {}", outer, parallel.dp);
  const int copies = parallel.stage_copies();
  if (replicas * copies / outer % shard_size(parallel) != 0) {
    return fmt::format("shard_ranks = {} does not divide {} = {}", parallel.shard_ranks,
                       replica_words(parallel), replicas * copies / outer);
  }
  const int ulysses = ulysses_degree(parallel, gpus_per_node);
  if (parallel.cp % ulysses != 0) {
    return fmt::format("ulysses = {} does not divide cp = {}", ulysses, parallel.cp);
  }
  Factors factors = factors_of(parallel, kv_heads, ulysses);
  if (const auto uncut = divide(factors, parallel)) {
    return uncut_problem(*uncut, parallel, kv_heads, ulysses);
  }
  const auto apart = [](const Factor& factor) {
    return factor.axes.contains("ep") && factor.axes.contains("outer");
  };
  if (std::any_of(factors.begin(), factors.end(), apart))
    return fmt::format(
        "ep = {} distributes experts over replicas that train apart: outer_replicas = {} of dp = "
        "{}",
        parallel.ep, outer, parallel.dp);
  return std::nullopt;
}

Mesh device_mesh(const ParallelConfig& parallel, std::int64_t kv_heads, int gpus_per_node) {
  Factors factors = factors_of(parallel, kv_heads, ulysses_degree(parallel, gpus_per_node));
  LOCKSTEP_CHECK(!divide(factors, parallel));
  static constexpr std::array kAxes{"tp",   "cp",    "dp",         "pp",    "dp_cp",     "outer",
                                    "etp",  "ep",    "edp",        "shard", "replicate", "ulysses",
                                    "ring", "tp_kv", "ulysses_kv", "copies"};
  std::vector<std::pair<std::string, MeshSubAxes>> axes;
  for (const char* axis : kAxes) {
    MeshSubAxes atoms;
    for (std::size_t i = factors.size(); i-- > 0;) {
      if (factors[i].axes.contains(axis)) atoms.push_back(static_cast<AtomId>(i));
    }
    axes.emplace_back(axis, std::move(atoms));
  }
  return Mesh{named(factors), std::move(axes)};
}

}  // namespace lockstep
