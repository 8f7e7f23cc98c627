#include "strategies/step/lowering/costs/unequal_times.hpp"

#include <algorithm>
#include <memory>
#include <set>

#include "strategies/sharding/experts/unequal_experts.hpp"
#include "strategies/step/lowering/costs/chunked_gemms.hpp"

namespace lockstep {

namespace {

/// Microbatches in which a routine is called.
std::vector<std::set<int>> microbatches_of(const Program& program) {
  std::vector<std::set<int>> out(program.routines.size());
  for (const Role& role : program.roles)
    for (const Call& call : role.calls) out[call.routine].insert(call.microbatch);
  return out;
}

}  // namespace

UnequalTimes::UnequalTimes(const Program& program, const CostModel& cost) {
  add_attention(program, cost);
  add_experts(program, cost);
  if (!times_.empty()) number_loads(program.mesh.ranks());
}

void UnequalTimes::add_attention(const Program& program, const CostModel& cost) {
  std::vector<std::set<int>> calls;
  for (RoutineId id = 0; id < program.routines.size(); ++id) {
    const Routine& routine = program.routines[id];
    for (std::uint32_t i = 0; i < routine.operations.size(); ++i) {
      auto loads = AttentionLoads::of(program, routine.operations[i]);
      if (!loads) continue;
      if (calls.empty()) calls = microbatches_of(program);
      if (calls[id].empty()) continue;
      OfOperation times(static_cast<std::size_t>(*calls[id].rbegin()) + 1);
      const bool differ = routine.operations[i].visible.packed.any();
      for (const int microbatch : calls[id]) {
        auto& of = times[static_cast<std::size_t>(microbatch)];
        if (!differ && microbatch != *calls[id].begin()) {
          of = times[static_cast<std::size_t>(*calls[id].begin())];
          continue;
        }
        for (const MaskedAttention& each : loads->loads(microbatch))
          of.push_back(cost.time(kernel_of(program, routine, i, each)));
      }
      const auto shared = std::make_shared<const AttentionLoads>(std::move(*loads));
      times_.emplace(std::pair{id, i}, Timed{[shared](int rank) { return shared->place_of(rank); },
                                             std::move(times)});
    }
  }
}

void UnequalTimes::add_experts(const Program& program, const CostModel& cost) {
  const auto experts = UnequalExperts::of(program);
  if (!experts) return;
  const Program others = experts->of_others(program);
  for (RoutineId id = 0; id < program.routines.size(); ++id) {
    const Routine& routine = program.routines[id];
    const auto timed = [&](const Program& of) {
      std::vector<Duration> out;
      for (std::size_t i = 0; i < routine.operations.size(); ++i)
        out.push_back(experts->differs(program, routine.operations[i])
                          ? cost.time(kernel_of(of, of.routines[id], i))
                          : Duration{});
      chunk_gemms(of, of.routines[id], cost, out);
      return out;
    };
    std::vector<Duration> first;
    std::vector<Duration> other;
    for (std::uint32_t i = 0; i < routine.operations.size(); ++i) {
      if (!experts->differs(program, routine.operations[i])) continue;
      if (first.empty()) first = timed(program);
      if (other.empty()) other = timed(others);
      if (first[i] == other[i]) continue;
      times_.emplace(std::pair{id, i}, Timed{[experts, &mesh = program.mesh](int rank) {
                                               return experts->place_of(mesh, rank);
                                             },
                                             {{first[i], other[i]}}});
    }
  }
}

void UnequalTimes::number_loads(int ranks) {
  std::map<std::vector<int>, std::uint32_t> by_places;
  std::map<std::vector<Duration>, std::uint32_t> by_times;
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<int> places;
    for (const auto& [operation, timed] : times_) places.push_back(timed.place_of(rank));
    const auto known = by_places.find(places);
    if (known != by_places.end()) {
      load_of_.push_back(known->second);
      continue;
    }
    std::vector<Duration> times;
    std::size_t next = 0;
    for (const auto& [operation, timed] : times_) {
      const auto place = static_cast<std::size_t>(places[next++]);
      for (const auto& of : timed.times)
        if (!of.empty()) times.push_back(of[place]);
    }
    const auto number = static_cast<std::uint32_t>(first_rank_.size());
    const auto [found, is_new] = by_times.try_emplace(std::move(times), number);
    if (is_new) first_rank_.push_back(rank);
    by_places.emplace(std::move(places), found->second);
    load_of_.push_back(found->second);
  }
}

Duration UnequalTimes::of(RoutineId routine, std::uint32_t operation, int microbatch,
                          std::uint32_t load) const {
  const Timed& timed = times_.at({routine, operation});
  const int place = timed.place_of(first_rank_.at(load));
  const std::size_t of = timed.times.size() == 1 ? 0 : static_cast<std::size_t>(microbatch);
  return timed.times.at(of).at(static_cast<std::size_t>(place));
}

RankSpeeds UnequalTimes::with_loads(RankSpeeds speeds) const {
  for (std::size_t rank = 0; rank < load_of_.size(); ++rank)
    if (load_of_[rank] > 0) speeds[static_cast<int>(rank)].load = load_of_[rank];
  return speeds;
}

}  // namespace lockstep
