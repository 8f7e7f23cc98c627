#include "sim/trace/summary_mean.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/base/check.hpp"

namespace lockstep {

namespace {

/// Means of parts that have to add up to the mean of the whole: each is rounded down, and those
/// that lost most get what is then missing, a picosecond each. A whole that was itself added up of
/// rounded parts may be less than all of these (those that lost least then give one back), or more
/// by more than one each.
class Means {
 public:
  explicit Means(std::int64_t every) : every_{every} {}

  void add(Duration plain, Duration last, Duration& out) {
    const Int128 sum = Int128{plain.ps()} * (every_ - 1) + last.ps();
    parts_.push_back({static_cast<std::int64_t>(sum % every_), &out});
    out = Duration::picoseconds(static_cast<std::int64_t>(sum / every_));
    missing_ = missing_ - out;
  }

  /// Once all parts are there.
  void finish(Duration whole) {
    std::stable_sort(parts_.begin(), parts_.end(),
                     [](const Part& a, const Part& b) { return a.lost > b.lost; });
    std::int64_t missing = (whole + missing_).ps();
    const auto parts = static_cast<std::int64_t>(parts_.size());
    LOCKSTEP_CHECK(-kMostRounded <= missing && missing <= parts + kMostRounded);
    for (std::size_t i = 0; missing > 0; ++i, --missing)
      *parts_[i % parts_.size()].out += Duration::picoseconds(1);
    for (std::size_t i = parts_.size(); missing < 0; i = i == 0 ? parts_.size() : i) {
      Duration& out = *parts_[--i].out;
      if (out == Duration{}) continue;
      out = out - Duration::picoseconds(1);
      ++missing;
    }
  }

 private:
  /// One for each class of operations that was rounded.
  static constexpr auto kMostRounded = static_cast<std::int64_t>(kOperationClasses);

  struct Part {
    std::int64_t lost = 0;  // of a picosecond, in parts of `every`
    Duration* out = nullptr;
  };
  std::int64_t every_;
  Duration missing_;
  std::vector<Part> parts_;
};

[[nodiscard]] Duration of_group(const Breakdown& rank, const std::string& group) {
  const auto found = rank.exposed.find(group);
  return found == rank.exposed.end() ? Duration{} : found->second;
}

void add_exposed(const Breakdown& plain, const Breakdown& last, Means& means, Breakdown& out) {
  for (const Breakdown* of : {&plain, &last})
    for (const auto& [group, time] : of->exposed) out.exposed[group] = Duration{};
  for (auto& [group, time] : out.exposed)
    means.add(of_group(plain, group), of_group(last, group), time);
}

[[nodiscard]] Breakdown mean_breakdown(const Breakdown& plain, const Breakdown& last,
                                       std::int64_t every, std::size_t rank) {
  Breakdown out;
  out.rank = rank;
  out.step = mean_time(plain.step, last.step, every);
  Means means{every};
  for (std::size_t i = 0; i < kOperationClasses; ++i)
    means.add(plain.computation[i], last.computation[i], out.computation[i]);
  add_exposed(plain, last, means, out);
  means.add(plain.bubble, last.bubble, out.bubble);
  means.add(plain.issue, last.issue, out.issue);
  means.add(plain.waiting, last.waiting, out.waiting);
  means.finish(out.step);
  Means purposes{every};
  for (std::size_t i = 0; i < kPurposes; ++i)
    purposes.add(plain.purpose[i], last.purpose[i], out.purpose[i]);
  purposes.finish(out.computation_total());
  out.fill_drain = std::min(out.bubble, mean_time(plain.fill_drain, last.fill_drain, every));
  out.of_microbatches = mean_time(plain.of_microbatches, last.of_microbatches, every);
  return out;
}

[[nodiscard]] double mean_count(double plain, double last, std::int64_t every) {
  const auto steps = static_cast<double>(every);
  return (plain * (steps - 1) + last) / steps;
}

[[nodiscard]] std::vector<GroupTraffic> mean_groups(const TrainingStepSummary& plain,
                                                    const TrainingStepSummary& last,
                                                    const Breakdown& mean, std::int64_t every) {
  std::map<std::string, std::pair<GroupTraffic, GroupTraffic>> by_group;
  for (const GroupTraffic& group : plain.groups) by_group[group.group].first = group;
  for (const GroupTraffic& group : last.groups) by_group[group.group].second = group;
  std::vector<GroupTraffic> out;
  for (const auto& [name, of] : by_group) {
    const auto& [before, then] = of;
    const double bytes = mean_count(static_cast<double>(before.bytes.count()),
                                    static_cast<double>(then.bytes.count()), every);
    out.push_back({name, mean_count(before.operations, then.operations, every),
                   mean_time(before.transfer, then.transfer, every),
                   mean_time(before.waiting, then.waiting, every), of_group(mean, name),
                   Bytes{std::llround(bytes)}});
  }
  return out;
}

[[nodiscard]] std::vector<PathShare> mean_path(const TrainingStepSummary& plain,
                                               const TrainingStepSummary& last, Duration step,
                                               std::int64_t every) {
  std::map<TimeUse, std::pair<PathShare, PathShare>> by_use;
  for (const PathShare& share : plain.path) by_use[share.use].first = share;
  for (const PathShare& share : last.path) by_use[share.use].second = share;
  std::vector<PathShare> out;
  for (const auto& [use, of] : by_use)
    out.push_back({use, {}, mean_count(of.first.operations, of.second.operations, every)});
  Means means{every};
  auto share = out.begin();
  for (const auto& [use, of] : by_use)
    means.add(of.first.length, of.second.length, (share++)->length);
  means.finish(step);
  std::stable_sort(out.begin(), out.end(),
                   [](const PathShare& a, const PathShare& b) { return a.length > b.length; });
  return out;
}

[[nodiscard]] std::vector<StageUse> mean_stages(const TrainingStepSummary& plain,
                                                const TrainingStepSummary& last, std::int64_t every,
                                                const TrainingStepSummary& shown) {
  LOCKSTEP_CHECK(plain.stages.size() == last.stages.size());
  LOCKSTEP_CHECK(shown.stages.size() == last.stages.size());
  std::vector<StageUse> out;
  for (std::size_t i = 0; i < last.stages.size(); ++i) {
    StageUse use{last.stages[i].role, last.stages[i].name,
                 mean_breakdown(plain.stages[i].rank, last.stages[i].rank, every,
                                shown.stages[i].rank.rank)};
    const double step = use.rank.step.seconds();
    if (step > 0) use.idle_fraction = 1 - use.rank.computation_total().seconds() / step;
    out.push_back(std::move(use));
  }
  return out;
}

}  // namespace

Duration mean_time(Duration plain, Duration last, std::int64_t every) {
  const Int128 sum = Int128{plain.ps()} * (every - 1) + last.ps();
  return Duration::picoseconds(static_cast<std::int64_t>((sum + every / 2) / every));
}

TrainingStepSummary mean_summary(const TrainingStepSummary& plain, const TrainingStepSummary& last,
                                 std::int64_t every, const TrainingStepSummary& shown) {
  TrainingStepSummary out;
  out.step = mean_time(plain.step, last.step, every);
  out.busiest = mean_breakdown(plain.busiest, last.busiest, every, shown.busiest.rank);
  out.groups = mean_groups(plain, last, out.busiest, every);
  out.path = mean_path(plain, last, out.step, every);
  out.path_legs = shown.path_legs;
  out.path_operations = shown.path_operations;
  out.stages = mean_stages(plain, last, every, shown);
  return out;
}

}  // namespace lockstep
