#include "sim/execute/schedule_checks/resources.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "sim/base/check.hpp"
#include "sim/execute/schedule/no_content.hpp"

namespace lockstep {
namespace {

ExecuteOutcome run(const Schedule& schedule, int slots, bool known_steps = false) {
  NoContent memory;
  return execute(schedule, memory, {.slots = slots, .known_steps = known_steps});
}

/// With which it ends, tried first with as many as it filled without a limit.
std::optional<int> some_slots(const Schedule& schedule, const ExecuteOutcome& unlimited) {
  if (!unlimited.finished()) return std::nullopt;
  std::int64_t slots = unlimited.traffic.deepest_queue;
  const std::int64_t all = std::min<std::int64_t>(unlimited.transfers, INT32_MAX);
  while (!run(schedule, static_cast<int>(slots)).finished()) {
    if (slots >= all) return std::nullopt;
    slots = std::min(2 * slots + 1, all);
  }
  return static_cast<int>(slots);
}

/// The fewest slots with which it ends: more never hurt, because nobody chooses.
std::optional<int> enough_slots(const Schedule& schedule, const ExecuteOutcome& unlimited) {
  const auto some = some_slots(schedule, unlimited);
  if (!some) return std::nullopt;
  int too_few = -1;
  int enough = *some;
  while (enough - too_few > 1) {
    const int middle = too_few + (enough - too_few) / 2;
    (run(schedule, middle).finished() ? enough : too_few) = middle;
  }
  return enough;
}

double most(std::span<const std::int64_t> blocks, std::int64_t message) {
  if (blocks.empty() || message == 0) return 0;
  return static_cast<double>(*std::ranges::max_element(blocks)) / static_cast<double>(message);
}

}  // namespace

LeastTraffic least_traffic(const Contract& contract) {
  const double n = contract.ranks;
  if (contract.ranks < 2) return {};
  const double others = (n - 1) / n;
  switch (contract.collective) {
    case Collective::send_recv:
      return contract.distance % contract.ranks == 0 ? LeastTraffic{} : LeastTraffic{1, 1};
    case Collective::scatter:
      return {others, 1 / n};
    case Collective::gather:
      return {1 / n, others};
    case Collective::reduce:
    case Collective::broadcast:
      return {1, 1};
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::all_to_all:
      return {others, others};
    case Collective::all_reduce:
      return {2 * others, 2 * others};
    case Collective::barrier:
      break;
  }
  return {};
}

std::string ResourceVerdict::problem() const {
  if (ends()) return {};
  if (outcome.kind != ExecuteOutcome::Kind::stuck) return outcome.problem;
  const std::string depth = slots == 0   ? "where every send waits for its receive"
                            : slots == 1 ? "with 1 slot"
                                         : fmt::format("with {} slots", slots);
  const std::string hope =
      enough_slots ? fmt::format(" ({} would be enough)", *enough_slots) : " (nor with any number)";
  return fmt::format("deadlock {}{}: {}", depth, hope, waits);
}

ResourceVerdict check_resources(const Schedule& schedule, const Contract& contract,
                                std::optional<int> slots, const ExecuteOutcome* finished) {
  ResourceVerdict verdict;
  verdict.slots = slots.value_or(schedule.slots());
  verdict.outcome = finished != nullptr ? *finished : run(schedule, verdict.slots);
  LOCKSTEP_CHECK(finished == nullptr || finished->finished());
  const ExecuteOutcome unlimited =
      run(schedule, std::numeric_limits<int>::max(), finished != nullptr);
  if (verdict.outcome.kind == ExecuteOutcome::Kind::stuck) {
    verdict.waits = describe_waits(schedule, verdict.outcome.waits);
    verdict.enough_slots = enough_slots(schedule, unlimited);
  }
  verdict.deepest_queue = unlimited.traffic.deepest_queue;
  const std::span<const std::int64_t> sent = unlimited.traffic.sent;
  const std::span<const std::int64_t> received = unlimited.traffic.received;
  const auto ranks = static_cast<std::size_t>(contract.ranks);
  verdict.sent = most(sent.first(ranks), schedule.blocks());
  verdict.received = most(received.first(ranks), schedule.blocks());
  verdict.sent_by_auxiliary = most(sent.subspan(ranks), schedule.blocks());
  verdict.received_by_auxiliary = most(received.subspan(ranks), schedule.blocks());
  verdict.least = least_traffic(contract);
  verdict.auxiliary_ranks = schedule.ranks() > contract.ranks;
  return verdict;
}

}  // namespace lockstep
