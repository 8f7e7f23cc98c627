#include "tools/app/replay/replay_classes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "sim/base/hash.hpp"

namespace lockstep::app {

namespace {

using Ends = std::vector<TimePoint>;

std::uint64_t with(std::uint64_t hash, std::uint64_t value) {
  return mix64(hash ^ value) + kGoldenGamma;
}

/// What a rank executes.
struct RankProgram {
  std::uint64_t kinds = 0;    // of operations, stream by stream
  std::uint64_t amounts = 0;  // their durations and sizes
};

class ClassFinder {
 public:
  ClassFinder(const Workload& workload, const ReplayResult& result, int ranks)
      : workload_{workload}, result_{result}, streams_(static_cast<std::size_t>(ranks)) {
    for (std::uint32_t s = 0; s < workload.streams.size(); ++s)
      if (workload.streams[s].endpoint < streams_.size())
        streams_[workload.streams[s].endpoint].push_back(s);
    for (std::size_t rank = 0; rank < streams_.size(); ++rank) programs_.push_back(program(rank));
  }

  [[nodiscard]] std::vector<ReplayClass> find(const StreamFoldReport& fold) {
    std::map<std::uint64_t, std::size_t> known;
    std::vector<ReplayClass> out;
    for (std::size_t rank = 0; rank < streams_.size(); ++rank) {
      const std::uint64_t key = fold.folded ? fold.class_of.at(rank) : history(rank);
      const auto [found, is_new] = known.try_emplace(key, out.size());
      if (is_new) out.push_back({.representative = static_cast<int>(rank)});
      add(static_cast<int>(rank), out[found->second]);
    }
    compare(out);
    return out;
  }

 private:
  [[nodiscard]] RankProgram program(std::size_t rank) const {
    RankProgram out;
    for (const std::uint32_t s : streams_[rank]) {
      out.kinds = with(out.kinds, workload_.streams[s].operations.size());
      for (const Activity& of : workload_.streams[s].operations) {
        out.kinds = with(out.kinds, static_cast<std::uint64_t>(of.kind));
        out.amounts = with(out.amounts, static_cast<std::uint64_t>(of.duration.ps()));
        out.amounts = with(out.amounts, static_cast<std::uint64_t>(of.size.count()));
      }
    }
    return out;
  }

  [[nodiscard]] Ends ends(std::size_t rank) const {
    Ends out;
    for (const std::uint32_t s : streams_[rank]) {
      const std::vector<TimePoint> own = result_.stream_ends[s].all();
      out.insert(out.end(), own.begin(), own.end());
    }
    return out;
  }

  [[nodiscard]] std::uint64_t history(std::size_t rank) const {
    std::uint64_t hash = programs_[rank].kinds;
    for (const TimePoint end : ends(rank)) hash = with(hash, static_cast<std::uint64_t>(end.ps()));
    return hash;
  }

  static void add(int rank, ReplayClass& to) {
    ++to.ranks;
    add_rank(rank, to.ranges);
  }

  /// With the largest class of the same kinds of operations.
  void compare(std::vector<ReplayClass>& classes) const {
    std::map<std::uint64_t, std::size_t> usual;
    std::size_t largest = 0;
    for (std::size_t c = 0; c < classes.size(); ++c) {
      if (classes[c].ranks > classes[largest].ranks) largest = c;
      const auto found = usual.try_emplace(of(classes[c]).kinds, c).first;
      if (classes[c].ranks > classes[found->second].ranks) found->second = c;
    }
    for (std::size_t c = 0; c < classes.size(); ++c) {
      const std::size_t other = usual.at(of(classes[c]).kinds);
      if (c == other) {
        if (c != largest) classes[c].difference = "other operations";
        continue;
      }
      classes[c].difference = of(classes[c]).amounts == of(classes[other]).amounts
                                  ? "different peers or links (direct or indirect)"
                                  : "other computation times or message sizes";
      classes[c].parting = parting(static_cast<std::size_t>(classes[c].representative),
                                   static_cast<std::size_t>(classes[other].representative));
    }
  }

  [[nodiscard]] const RankProgram& of(const ReplayClass& each) const {
    return programs_[static_cast<std::size_t>(each.representative)];
  }

  [[nodiscard]] std::optional<ReplayParting> parting(std::size_t rank, std::size_t usual) const {
    const Ends own = ends(rank);
    const Ends theirs = ends(usual);
    std::vector<std::size_t> order(own.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return theirs[a] < theirs[b]; });
    const auto later = [&](std::size_t i) { return (own[i] - theirs[i]).ps(); };
    std::optional<std::size_t> first;
    const auto at = [&](std::size_t i) { return std::min(own[i], theirs[i]); };
    for (const std::size_t i : order)
      if (later(i) != 0 && (!first || at(i) < at(*first))) first = i;
    if (!first) return std::nullopt;
    ReplayParting out{at(*first), name(rank, *first), later(order.back())};
    std::size_t same = order.size() - 1;
    while (same > 0 && later(order[same - 1]) == out.later_ps) --same;
    if (same + 1 < order.size()) out.again = own[order[same]];
    return out;
  }

  [[nodiscard]] std::string name(std::size_t rank, std::size_t operation) const {
    for (const std::uint32_t s : streams_[rank]) {
      const std::vector<Activity>& all = workload_.streams[s].operations;
      if (operation >= all.size()) {
        operation -= all.size();
        continue;
      }
      const Activity& found = all[operation];
      switch (found.kind) {
        case Activity::Kind::compute:
          return "computation";
        case Activity::Kind::send:
          return fmt::format("send to rank {}", found.peer);
        case Activity::Kind::receive:
          return fmt::format("receive from rank {}", found.peer);
        case Activity::Kind::collective:
          return workload_.calls[found.call].name;
      }
    }
    return {};
  }

  const Workload& workload_;
  const ReplayResult& result_;
  std::vector<std::vector<std::uint32_t>> streams_;  // by rank
  std::vector<RankProgram> programs_;
};

std::string text_of(const RankSetting& setting) {
  std::vector<std::string> values;
  if (setting.compute)
    values.push_back(fmt::format("computes at {} of the speed", *setting.compute));
  if (setting.start) values.push_back("starts at " + to_string(*setting.start));
  if (setting.message_overhead)
    values.push_back("message overhead " + to_string(*setting.message_overhead));
  if (setting.reduce_rate) values.push_back("reduces at " + to_string(*setting.reduce_rate));
  return fmt::format("{}", fmt::join(values, ", "));
}

}  // namespace

std::vector<ReplayClass> replay_classes(const Workload& workload, const ReplayResult& result,
                                        const StreamFoldReport& fold,
                                        const std::vector<RankSetting>& settings, int ranks) {
  std::vector<ReplayClass> out = ClassFinder{workload, result, ranks}.find(fold);
  std::map<int, std::string> own;
  for (const RankSetting& each : settings) own.emplace(each.rank, text_of(each));
  for (ReplayClass& each : out)
    if (const auto found = own.find(each.representative); found != own.end())
      each.difference = found->second;
  const auto is_own = [&](const ReplayClass& of) { return own.contains(of.representative); };
  std::stable_sort(out.begin(), out.end(), [&](const ReplayClass& a, const ReplayClass& b) {
    if (a.parting.has_value() != b.parting.has_value()) return a.parting.has_value();
    if (!a.parting) return a.ranks > b.ranks;
    if (a.parting->at != b.parting->at) return a.parting->at < b.parting->at;
    return is_own(a) && !is_own(b);
  });
  return out;
}

}  // namespace lockstep::app
