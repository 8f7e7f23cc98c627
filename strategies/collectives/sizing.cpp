#include "strategies/collectives/sizing.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/schedule/schedule_traits.hpp"

namespace lockstep {
namespace {

constexpr std::array kElementTypes = {
    ElementType{"int8", Bytes{1}},   ElementType{"uint8", Bytes{1}},
    ElementType{"int32", Bytes{4}},  ElementType{"uint32", Bytes{4}},
    ElementType{"int64", Bytes{8}},  ElementType{"uint64", Bytes{8}},
    ElementType{"half", Bytes{2}},   ElementType{"float", Bytes{4}},
    ElementType{"double", Bytes{8}}, ElementType{"bfloat16", Bytes{2}},
};

/// Each step of a lane as often as it counts: a phase's first step for all of them.
class ScheduleStepCounts {
 public:
  explicit ScheduleStepCounts(const Schedule& schedule) : phases_{schedule.phases()} {}

  template <typename Visit>  // visit(index, times), false to stop
  bool visit(std::int64_t first, std::int64_t steps, const Visit& visit) const {
    std::int64_t index = first;
    for (const Phase& phase : phases_) {
      for (; index < std::min(phase.first, steps); ++index) {
        if (!visit(index, 1)) return false;
      }
      const std::int64_t times = std::min(phase.first + phase.count, steps) - index;
      if (times <= 0) continue;
      if (!visit(index, times)) return false;
      index += times;
    }
    for (; index < steps; ++index) {
      if (!visit(index, 1)) return false;
    }
    return true;
  }

 private:
  std::vector<Phase> phases_;
};

class Measurer {
 public:
  Measurer(const Schedule& schedule, std::int64_t most_visits, int senders)
      : schedule_{schedule}, counts_{schedule}, visits_left_{most_visits}, senders_{senders} {}

  /// Where all blocks of ranks do alike, the first one stands for them.
  std::optional<ScheduleMeasure> run() {
    const auto moves = moves_of(schedule_);
    const int ranks = moves ? moves->block : schedule_.ranks();
    for (int rank = 0; rank < ranks; ++rank)
      if (!visit_rank(rank, moves ? moves->blocks : 1)) return std::nullopt;
    return measure_;
  }

  std::optional<ScheduleMeasure> run(std::span<const RankMultiple> classes) {
    for (const RankMultiple& each : classes)
      if (!visit_rank(each.representative, each.ranks)) return std::nullopt;
    // Equivalent ranks may differ in how many steps they have in which nothing is sent.
    for (int rank = 0; rank < schedule_.ranks(); ++rank)
      for (int lane = 0; lane < schedule_.lanes(); ++lane)
        measure_.rounds = std::max(measure_.rounds, schedule_.steps(rank, lane));
    return measure_;
  }

 private:
  bool visit_rank(int rank, std::int64_t alike) {
    sent_ = 0;
    const std::int64_t before = measure_.messages;
    for (int lane = 0; lane < schedule_.lanes(); ++lane) {
      if (!visit_lane(rank, lane)) return false;
    }
    measure_.messages += (alike - 1) * (measure_.messages - before);
    if (rank < senders_) measure_.sent_blocks = std::max(measure_.sent_blocks, sent_);
    return true;
  }

  bool visit_lane(int rank, int lane) {
    const std::int64_t steps = schedule_.steps(rank, lane);
    measure_.rounds = std::max(measure_.rounds, steps);
    return counts_.visit(first_step(schedule_, rank, lane), steps,
                         [&](std::int64_t index, std::int64_t times) {
                           step_.clear();
                           schedule_.step(rank, lane, index, step_);
                           for (const Send& send : step_.sends)
                             sent_ += times * step_.blocks_of(send);
                           const auto messages = static_cast<std::int64_t>(step_.sends.size());
                           measure_.messages += times * messages;
                           visits_left_ -= 1 + messages;
                           return visits_left_ >= 0;
                         });
  }

  const Schedule& schedule_;
  ScheduleStepCounts counts_;
  std::int64_t visits_left_;
  int senders_;
  std::int64_t sent_ = 0;
  ScheduleMeasure measure_;
  ScheduleStep step_;
};

}  // namespace

std::span<const ElementType> element_types() {
  return kElementTypes;
}

namespace {

/// Names of precisions for the types that nccl-tests names.
std::string_view nccl_name_of(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kPrecisions{
      {{"fp32", "float"},
       {"float32", "float"},
       {"fp16", "half"},
       {"float16", "half"},
       {"bf16", "bfloat16"},
       {"fp64", "double"},
       {"float64", "double"},
       {"byte", "int8"}}};
  for (const auto& [precision, type] : kPrecisions)
    if (precision == name) return type;
  return name;
}

}  // namespace

const ElementType* find_element_type(std::string_view given) {
  const std::string_view name = nccl_name_of(given);
  const auto* found = std::ranges::find(kElementTypes, name, &ElementType::name);
  return found == kElementTypes.end() ? nullptr : found;
}

MessageLayout divide_message(Bytes size, const ElementType& type, std::int64_t blocks) {
  const std::int64_t count = size.count() / type.size.count();
  const std::int64_t per_block = count / blocks + (count % blocks == 0 ? 0 : 1);
  const Bytes block = per_block * type.size;
  return {count, count * type.size, block, blocks * block};
}

std::optional<ScheduleMeasure> measure(const Schedule& schedule, std::int64_t most_visits,
                                       std::optional<int> senders) {
  return Measurer{schedule, most_visits, senders.value_or(schedule.ranks())}.run();
}

std::optional<ScheduleMeasure> measure(const Schedule& schedule,
                                       std::span<const RankMultiple> classes,
                                       std::int64_t most_visits, int senders) {
  return Measurer{schedule, most_visits, senders}.run(classes);
}

std::optional<double> algbw_gb_per_s(Bytes size, Duration time) {
  if (time.ps() <= 0) return std::nullopt;
  return static_cast<double>(size.count()) / static_cast<double>(time.ps()) * 1e3;
}

double bus_factor(Collective collective, int n) {
  const double share = static_cast<double>(n - 1) / n;
  switch (collective) {
    case Collective::all_reduce:
      return 2 * share;
    case Collective::reduce_scatter:
    case Collective::all_gather:
    case Collective::all_to_all:
    case Collective::gather:
    case Collective::scatter:
      return share;
    default:
      return 1;
  }
}

}  // namespace lockstep
