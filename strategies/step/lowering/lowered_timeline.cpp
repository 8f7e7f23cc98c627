#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "sim/program/communicator.hpp"
#include "strategies/step/lowering/lowering.hpp"

namespace lockstep {

namespace {

/// What the host waited for last before it launched each operation of a role; empty where it never
/// waits.
[[nodiscard]] std::vector<std::uint32_t> launched_after(const std::vector<HostLaunch>& issued) {
  static_assert(HostLaunch::kStart == OperationWaits::kNothing);
  if (issued.empty() || issued.back().after == HostLaunch::kStart) return {};
  std::vector<std::uint32_t> out;
  out.reserve(issued.size());
  for (const HostLaunch& each : issued) out.push_back(each.after);
  return out;
}

/// Reads the ends of one rank after the other.
class EndsOfRanks {
 public:
  explicit EndsOfRanks(const StreamEnds& streams) : streams_{streams} {}

  /// Per operation of the role; until the next call.
  [[nodiscard]] const std::vector<TimePoint>& of(const RoleProgram& role,
                                                 const LoweredProgram::Places& places) {
    const std::vector<ActivityRef>& at = *places.operations;
    ends_.resize(role.operations.size());
    if (places_ != &at) {
      places_ = &at;
      std::uint32_t count = 0;
      for (const ActivityRef& place : at) count = std::max(count, place.stream + 1);
      by_stream_.resize(count);
    }
    for (std::size_t s = 0; s < by_stream_.size(); ++s) {
      const std::size_t stream = places.first_stream + s;
      by_stream_[s].resize(streams_.operations(stream));
      streams_.copy(stream, 0, by_stream_[s].size(), by_stream_[s].data());
    }
    for (std::size_t i = 0; i < ends_.size(); ++i) ends_[i] = by_stream_[at[i].stream][at[i].index];
    return ends_;
  }

 private:
  const StreamEnds& streams_;
  const std::vector<ActivityRef>* places_ = nullptr;
  std::vector<std::vector<TimePoint>> by_stream_;
  std::vector<TimePoint> ends_;
};

}  // namespace

RankTimeline rank_timeline(const RoleProgram& role, int rank, const LoweredProgram::Places& places,
                           std::shared_ptr<const OperationWaits> waits,
                           const StreamEnds& stream_ends) {
  return {rank, role.role,
          OperationTimes{EndsOfRanks{stream_ends}.of(role, places), std::move(waits)}};
}

TrainingStepTimeline timeline_of(std::shared_ptr<const Program> program, RolePrograms roles,
                                 const std::vector<int>& ranks, const LoweredProgram& lowered,
                                 const StreamEnds& stream_ends) {
  TrainingStepTimeline out;
  out.program = std::move(program);
  out.roles = std::move(roles);
  out.ranks.reserve(ranks.size());
  std::vector<std::shared_ptr<const OperationWaits>> waits(out.roles.all().size());
  std::vector<std::optional<std::size_t>> last(out.roles.all().size());  // rank of each role
  EndsOfRanks reader{stream_ends};
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const std::size_t role = role_played(*out.program, ranks[i]);
    if (waits[role] == nullptr)
      waits[role] = std::make_shared<OperationWaits>(out.roles[role], lowered.issued[role]);
    const std::vector<TimePoint>& ends = reader.of(out.roles[role], lowered.places[i]);
    // Neighbours often have the same ends.
    if (last[role] && std::ranges::equal(out.ranks[*last[role]].operations.ends(), ends)) {
      out.ranks.push_back({ranks[i], out.roles[role].role, out.ranks[*last[role]].operations});
    } else {
      out.ranks.push_back({ranks[i], out.roles[role].role, OperationTimes{ends, waits[role]}});
    }
    last[role] = i;
  }
  for (const std::vector<HostLaunch>& issued : lowered.issued)
    out.launched_after.push_back(launched_after(issued));
  return out;
}

}  // namespace lockstep
