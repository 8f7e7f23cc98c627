#include "strategies/sharding/experts/expert_copies.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "sim/base/check.hpp"
#include "strategies/layout/passes.hpp"

namespace lockstep {

namespace {

/// C(of - without, k) / C(of, k): that none of k draws hits one of `without`.
[[nodiscard]] double missed(std::int64_t of, std::int64_t without, std::int64_t k) {
  double out = 1;
  for (std::int64_t i = 0; i < k; ++i)
    out *= static_cast<double>(std::max<std::int64_t>(0, of - without - i)) /
           static_cast<double>(of - i);
  return out;
}

/// Ways to choose groups of which a unit has some experts: by how many are chosen, and by how many
/// experts of the unit they have together, each as a share of all ways to choose as many groups.
class Choices {
 public:
  Choices(std::int64_t groups, std::int64_t chosen, std::int64_t experts)
      : left_{groups},
        experts_{experts},
        ways_(static_cast<std::size_t>((chosen + 1) * (experts + 1))) {
    at(0, 0) = 1;
    chosen_ = chosen;
  }

  /// The next group: it is chosen with the share of groups that are still to be chosen.
  void add(std::int64_t of_unit) {
    for (std::int64_t taken = chosen_; taken >= 0; --taken) {
      for (std::int64_t with = experts_; with >= 0; --with) {
        double& here = at(taken, with);
        const double is_chosen = static_cast<double>(chosen_ - taken) / static_cast<double>(left_);
        const double moves = here * is_chosen;
        here -= moves;
        if (moves > 0) at(taken + 1, with + of_unit) += moves;
      }
    }
    --left_;
  }

  /// Shares by experts of the unit, all groups having been added.
  [[nodiscard]] double share(std::int64_t with) { return at(chosen_, with); }

 private:
  [[nodiscard]] double& at(std::int64_t taken, std::int64_t with) {
    return ways_[static_cast<std::size_t>(taken * (experts_ + 1) + with)];
  }

  std::int64_t left_;
  std::int64_t chosen_ = 0;
  std::int64_t experts_;
  std::vector<double> ways_;
};

/// Of the experts [first, last), those of a group.
[[nodiscard]] std::int64_t common_experts(std::int64_t first, std::int64_t last, std::int64_t group,
                                          std::int64_t size) {
  const std::int64_t begin = std::max(first, group * size);
  const std::int64_t end = std::min(last, (group + 1) * size);
  return std::max<std::int64_t>(0, end - begin);
}

[[nodiscard]] bool is_token_exchange(const Operation& operation) {
  return operation.communication && operation.communication->group == "ep" &&
         operation.communication->collective == Collective::all_to_all;
}

[[nodiscard]] bool shares(const std::vector<Ref>& some, const std::vector<Ref>& others) {
  return std::any_of(some.begin(), some.end(), [&](const Ref& ref) {
    return std::find(others.begin(), others.end(), ref) != others.end();
  });
}

void add(std::vector<Ref>& to, const std::vector<Ref>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

using Body = std::vector<Operation>;

/// Moves what `riding`, a later operation, needs in front of `host`; returns the host's new place.
std::size_t move_needed(Body& body, std::size_t host, std::size_t riding) {
  std::vector<Ref> needed = body[riding].reads;
  Body before;
  Body rest;
  for (std::size_t i = riding; i-- > host;) {
    const bool moves = shares(body[i].writes, needed);
    LOCKSTEP_CHECK(i > host || !moves);
    if (moves) add(needed, body[i].reads);
    (moves ? before : rest).push_back(std::move(body[i]));
  }
  const auto moved = static_cast<std::ptrdiff_t>(before.size());
  const auto at = body.begin() + static_cast<std::ptrdiff_t>(host);
  std::move(before.rbegin(), before.rend(), at);
  std::move(rest.rbegin(), rest.rend(), at + moved);
  return host + before.size();
}

/// Moves what follows from `riding`, an earlier operation, behind `host`; returns its new place.
std::size_t move_following(Body& body, std::size_t riding, std::size_t host) {
  std::vector<Ref> made = body[riding].writes;
  Body rest;
  Body behind;
  for (std::size_t i = riding + 1; i <= host; ++i) {
    const bool moves = shares(body[i].reads, made) || shares(body[i].writes, made);
    LOCKSTEP_CHECK(i < host || !moves);
    if (moves) add(made, body[i].writes);
    (moves ? behind : rest).push_back(std::move(body[i]));
  }
  const auto at = body.begin() + static_cast<std::ptrdiff_t>(riding) + 1;
  std::move(behind.begin(), behind.end(), std::move(rest.begin(), rest.end(), at));
  return riding + rest.size();
}

/// The nearest exchange of tokens the same way.
[[nodiscard]] std::size_t host_of(const Body& body, std::size_t riding) {
  const Communication& how = *body[riding].communication;
  std::optional<std::size_t> out;
  const auto distance = [&](std::size_t i) { return i > riding ? i - riding : riding - i; };
  for (std::size_t i = 0; i < body.size(); ++i) {
    if (!body[i].communication || !body[i].communication->copies) continue;
    const Communication& other = *body[i].communication;
    if (other.joined != how.joined || other.over != how.over) continue;
    if (!out || distance(i) < distance(*out)) out = i;
  }
  LOCKSTEP_CHECK(out);
  return *out;
}

/// The exchange of weights becomes part of that of their tokens.
void join(Body& body, std::size_t riding) {
  std::size_t host = host_of(body, riding);
  if (host < riding) {
    host = move_needed(body, host, riding);
  } else {
    host = move_following(body, riding, host);
  }
  add(body[host].reads, body[riding].reads);
  add(body[host].writes, body[riding].writes);
  body.erase(body.begin() + static_cast<std::ptrdiff_t>(riding));
}

}  // namespace

double share_of_tokens(const TokenCopies& copies, int units) {
  LOCKSTEP_CHECK(units > 0 && copies.experts % units == 0 && copies.experts % copies.groups == 0);
  const std::int64_t size = copies.experts / copies.groups;
  const std::int64_t of_unit = copies.experts / units;
  double sum = 0;
  for (std::int64_t unit = 0; unit < units; ++unit) {
    Choices choices{copies.groups, copies.group_top_k, of_unit};
    for (std::int64_t group = 0; group < copies.groups; ++group)
      choices.add(common_experts(unit * of_unit, (unit + 1) * of_unit, group, size));
    for (std::int64_t with = 0; with <= of_unit; ++with)
      sum += choices.share(with) * (1 - missed(copies.group_top_k * size, with, copies.top_k));
  }
  return sum / units;
}

void deduplicate_tokens(TrainingStepAssembly& step) {
  const ExpertsConfig& experts = *step.model.transformer()->experts;
  constexpr double kScales = 1 + 4.0 / 128;  // fp8: 4 bytes for 128 numbers (DeepEP low-precision
                                             // dispatch, x = (fp8, scales))
  const auto slots_of = [&](const Operation& operation) -> const Tensor& {
    return step.graph.tensors[operation.reads.front().tensor];
  };
  const auto of_weights = [&](const Operation& operation) {
    return is_token_exchange(operation) && find_extent(slots_of(operation), Dim::hidden) == nullptr;
  };
  for (Block& block : step.graph.blocks) {
    for (auto* operations : {&block.forward, &block.backward}) {
      for (Operation& operation : *operations) {
        if (!is_token_exchange(operation) || of_weights(operation)) continue;
        Communication& how = *operation.communication;
        how.copies = TokenCopies{.experts = experts.experts,
                                 .top_k = experts.top_k,
                                 .groups = experts.groups,
                                 .group_top_k = experts.group_top_k,
                                 .widening = slots_of(operation).dtype == Dtype::fp8 ? kScales : 1,
                                 .returns = how.joined == Dim::expert,
                                 .multiprocessors = step.parallel.dispatch_sms};
      }
      for (;;) {
        const auto riding = std::find_if(operations->begin(), operations->end(), of_weights);
        if (riding == operations->end()) break;
        join(*operations, static_cast<std::size_t>(riding - operations->begin()));
      }
    }
  }
}

}  // namespace lockstep
