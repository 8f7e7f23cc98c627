#include "sim/execute/host/program/exchange.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/execute/host/kernels/execution_error.hpp"

namespace lockstep {

namespace {

using Members = std::vector<ExchangePart>;

void check_all(const Communication& how, const Members& members) {
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

void combine(Reduction reduction, const std::vector<double>& from, std::vector<double>& into) {
  if (from.size() != into.size()) {
    throw ExecutionError{fmt::format("{} values meet {}", from.size(), into.size())};
  }
  for (std::size_t i = 0; i < from.size(); ++i) {
    into[i] = reduction == Reduction::sum ? into[i] + from[i] : std::max(into[i], from[i]);
  }
}

[[nodiscard]] std::vector<double> reduced(Reduction reduction, const Members& members) {
  std::vector<double> out;
  const PartLayout* first = nullptr;
  for (const ExchangePart& member : members) {
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

void all_reduce(const Communication& how, Members& members) {
  check_all(how, members);
  const std::vector<double> result = reduced(how.reduction, members);
  for (ExchangePart& member : members) {
    check_same_part(*member.from, *member.to);
    member.got = result;
  }
}

/// Every member gets its part from whoever has some of it; `times`: how often each element comes.
void collect(Members& members, std::int64_t times, bool add) {
  for (ExchangePart& member : members) {
    std::int64_t count = 0;
    for (const ExchangePart& other : members) {
      count += copy_common(*other.from, *other.brought, *member.to, member.got, add);
    }
    const std::int64_t wanted = times * member.to->filled();
    if (count == wanted) continue;
    throw ExecutionError{fmt::format("{} elements come where {} are to come", count, wanted)};
  }
}

void pass_on(const Communication& how, Members& members) {
  check_all(how, members);
  for (std::size_t i = 0; i < members.size(); ++i) {
    ExchangePart& next = members[(i + 1) % members.size()];
    if (next.got.size() != members[i].brought->size()) {
      throw ExecutionError{fmt::format("{} values are passed on to where {} belong",
                                       members[i].brought->size(), next.got.size())};
    }
    next.got = *members[i].brought;
  }
}

void broadcast(std::size_t root, Members& members) {
  if (members[root].from == nullptr) throw ExecutionError{"the root has nothing to broadcast"};
  for (ExchangePart& member : members) {
    if (member.to == nullptr) continue;
    check_same_part(*members[root].from, *member.to);
    member.got = *members[root].brought;
  }
}

void reduce(const Communication& how, std::size_t root, Members& members) {
  if (members[root].to == nullptr) throw ExecutionError{"the root takes nothing"};
  members[root].got = reduced(how.reduction, members);
  for (const ExchangePart& member : members) {
    if (member.from != nullptr) check_same_part(*member.from, *members[root].to);
  }
}

}  // namespace

void check_order(const Communication& how, const Members& members) {
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
  ascending(
      [&](const ExchangePart& part) { return first_of(gathers ? *part.from : *part.to, how.cut); });
  if (exchanges) {
    ascending([&](const ExchangePart& part) { return first_of(*part.from, how.joined); });
  }
}

void exchange(const Communication& how, int root, Members& members) {
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

}  // namespace lockstep
