#include "sim/execute/program/exchange.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/execute/kernels/execution_error.hpp"

namespace lockstep {

namespace {

template <class Real>
using Members = std::vector<ExchangePart<Real>>;

template <class Real>
void check_all(const Communication& how, const Members<Real>& members) {
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (members[i].from != nullptr && members[i].to != nullptr) continue;
    throw ExecutionError{
        fmt::format("member {} of {} has nothing to give or to get", i, to_string(how.collective))};
  }
}

void check_same_part(const PartLayout& a, const PartLayout& b) {
  if (a.axes == b.axes && a.first_flat == b.first_flat && a.elements() == b.elements()) return;
  throw ExecutionError{"members hold different parts of what they reduce"};
}

template <class Real>
void combine(Reduction reduction, const std::vector<Real>& from, std::vector<Real>& into) {
  if (from.size() != into.size()) {
    throw ExecutionError{fmt::format("{} values meet {}", from.size(), into.size())};
  }
  for (std::size_t i = 0; i < from.size(); ++i) {
    into[i] = reduction == Reduction::sum ? into[i] + from[i] : std::max(into[i], from[i]);
  }
}

template <class Real>
[[nodiscard]] std::vector<Real> reduced(Reduction reduction, const Members<Real>& members) {
  std::vector<Real> out;
  const PartLayout* first = nullptr;
  for (const ExchangePart<Real>& member : members) {
    if (member.from == nullptr) continue;
    if (first == nullptr) {
      first = member.from;
      out = *member.brought;
      continue;
    }
    check_same_part(*first, *member.from);
    combine(reduction, *member.brought, out);
  }
  return out;
}

template <class Real>
void all_reduce(const Communication& how, Members<Real>& members) {
  check_all(how, members);
  const std::vector<Real> result = reduced(how.reduction, members);
  for (ExchangePart<Real>& member : members) {
    check_same_part(*member.from, *member.to);
    member.got = result;
  }
}

/// Every member gets its part from the members that have some of it; `times`: how often each
/// element comes.
template <class Real>
void collect(Members<Real>& members, std::int64_t times, bool add) {
  for (ExchangePart<Real>& member : members) {
    std::int64_t count = 0;
    for (const ExchangePart<Real>& other : members) {
      count += copy_common(*other.from, *other.brought, *member.to, member.got, add);
    }
    const std::int64_t wanted = times * member.to->filled();
    if (count == wanted) continue;
    throw ExecutionError{fmt::format("{} elements come where {} are to come", count, wanted)};
  }
}

template <class Real>
void check_passed_on(const ExchangePart<Real>& from, const ExchangePart<Real>& to) {
  if (to.got.size() == from.brought->size()) return;
  throw ExecutionError{fmt::format("{} values are passed on to where {} belong",
                                   from.brought->size(), to.got.size())};
}

template <class Real>
void pass_on(const Communication& how, Members<Real>& members) {
  check_all(how, members);
  for (std::size_t i = 0; i < members.size(); ++i) {
    ExchangePart<Real>& next = members[(i + 1) % members.size()];
    check_passed_on(members[i], next);
    next.got = *members[i].brought;
  }
}

template <class Real>
void broadcast(std::size_t root, Members<Real>& members) {
  if (members[root].from == nullptr) throw ExecutionError{"the root has nothing to broadcast"};
  for (ExchangePart<Real>& member : members) {
    if (member.to == nullptr) continue;
    check_same_part(*members[root].from, *member.to);
    member.got = *members[root].brought;
  }
}

template <class Real>
void reduce(const Communication& how, std::size_t root, Members<Real>& members) {
  if (members[root].to == nullptr) throw ExecutionError{"the root takes nothing"};
  members[root].got = reduced(how.reduction, members);
  for (const ExchangePart<Real>& member : members) {
    if (member.from != nullptr) check_same_part(*member.from, *members[root].to);
  }
}

}  // namespace

template <class Real>
void check_order(const Communication& how, const Members<Real>& members) {
  constexpr std::int64_t kBehind = INT64_MAX;  // the end: all padding
  const bool gathers = how.collective == Collective::all_gather;
  const bool exchanges = how.collective == Collective::all_to_all;
  if (!gathers && !exchanges && how.collective != Collective::reduce_scatter) return;
  const auto ascending = [&](auto&& place_of) {
    for (std::size_t k = 1; k < members.size(); ++k) {
      const std::int64_t place = place_of(members[k]);
      if (place != kBehind && place_of(members[k - 1]) >= place) {
        throw ExecutionError{
            fmt::format("member {} has not the {}th part of {}", k, k, to_string(how.collective))};
      }
    }
  };
  const auto first_of = [](const PartLayout& layout, const std::optional<Dim>& dim) {
    if (!dim) return layout.first_flat;
    const PartAxis* axis = layout.find(*dim);
    if (axis == nullptr) throw ExecutionError{"nothing of the dimension that is cut"};
    return axis->at.empty() || axis->at.front() < 0 ? kBehind : axis->at.front();
  };
  ascending([&](const ExchangePart<Real>& part) {
    return first_of(gathers ? *part.from : *part.to, how.cut);
  });
  if (exchanges) {
    ascending([&](const ExchangePart<Real>& part) { return first_of(*part.from, how.joined); });
  }
}

bool receives_from(const Communication& how, int root, std::size_t members, std::size_t member,
                   std::size_t other) {
  const auto at_root = static_cast<std::size_t>(root);
  switch (how.collective) {
    case Collective::broadcast:
      return other == at_root;
    case Collective::reduce:
      return member == at_root;
    case Collective::send_recv:
      return (other + 1) % members == member;
    default:
      return true;
  }
}

template <class Real>
void exchange_early(const Communication& how, int root, Members<Real>& members,
                    std::size_t member) {
  if (how.collective == Collective::reduce || members[member].to == nullptr) return;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (!receives_from(how, root, members.size(), member, i)) continue;
    if (members[i].from == nullptr) throw ExecutionError{"a member has nothing to give"};
    if (how.collective == Collective::broadcast)
      check_same_part(*members[i].from, *members[member].to);
    check_passed_on(members[i], members[member]);
    members[member].got = *members[i].brought;
  }
}

template <class Real>
void exchange(const Communication& how, int root, Members<Real>& members) {
  switch (how.collective) {
    case Collective::all_reduce:
      all_reduce(how, members);
      return;
    case Collective::reduce_scatter:
      check_all(how, members);
      collect(members, static_cast<std::int64_t>(members.size()), true);
      return;
    case Collective::all_gather:
    case Collective::all_to_all:
      check_all(how, members);
      collect(members, 1, false);
      return;
    case Collective::send_recv:
      pass_on(how, members);
      return;
    case Collective::broadcast:
      broadcast(static_cast<std::size_t>(root), members);
      return;
    case Collective::reduce:
      reduce(how, static_cast<std::size_t>(root), members);
      return;
    default:
      throw ExecutionError{fmt::format("no meaning for {}", to_string(how.collective))};
  }
}

template void check_order(const Communication&, const Members<float>&);
template void check_order(const Communication&, const Members<double>&);
template void exchange(const Communication&, int, Members<float>&);
template void exchange(const Communication&, int, Members<double>&);
template void exchange_early(const Communication&, int, Members<float>&, std::size_t);
template void exchange_early(const Communication&, int, Members<double>&, std::size_t);

}  // namespace lockstep
