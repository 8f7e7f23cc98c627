#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>

#include "sim/execute/schedule/chunk_text.hpp"
#include "sim/execute/schedule_checks/symbol_blocks.hpp"

namespace lockstep {

/// Follows one contribution from rank to rank during a symbolic execution.
class ContributionTrace final : public BlockMemory {
 public:
  /// All arguments must outlive this object. Only the first `until` writes are followed; 0: all,
  /// for blocks that were never written, where overwriting is no explanation.
  ContributionTrace(SymbolBlocks& inner, const ContributionSets& sets,
                    const Contribution& contribution, std::int64_t until)
      : inner_{inner},
        sets_{sets},
        contribution_{contribution},
        wanted_{sets.one(contribution)},
        until_{until} {}

  [[nodiscard]] Payload read(int rank, std::span<const Chunk> runs) override {
    return inner_.read(rank, runs);
  }
  [[nodiscard]] std::optional<std::string> write(const ScheduleStepIndex& place,
                                                 std::span<const Chunk> runs,
                                                 const Payload& payload, Combine combine) override {
    const std::int64_t before = held(place.rank, runs);
    auto problem = inner_.write(place, runs, payload, combine);
    const std::int64_t after = held(place.rank, runs);
    if (until_ == 0 || writes_++ < until_) note(place, after - before);
    return problem;
  }

  /// What happened to the contribution, as the end of a sentence; `arrived`: a result contains it.
  [[nodiscard]] std::string text(bool arrived) const {
    const std::string name = to_string(contribution_);
    if (overwritten_)
      return fmt::format("; {} was overwritten by {}", name, to_text(*overwritten_));
    if (arrived) return {};
    if (!reached_) return fmt::format("; {} was never passed on", name);
    return fmt::format("; {} came no further than {}", name, to_text(*reached_));
  }

 private:
  /// Number of these blocks that contain it.
  [[nodiscard]] std::int64_t held(int rank, std::span<const Chunk> runs) const {
    std::int64_t count = 0;
    for (const Chunk& run : runs)
      for (std::int64_t block = run.first; block < run.first + run.count; ++block)
        count += is_in(inner_.at(rank, run.buffer, block)) ? 1 : 0;
    return count;
  }
  [[nodiscard]] bool is_in(const Contributions& set) const {
    return set.written() && sets_.difference(wanted_, set, 0).count == 0;
  }

  void note(const ScheduleStepIndex& place, std::int64_t more) {
    if (more > 0) reached_ = place;
    if (more < 0 && until_ > 0 && !overwritten_) overwritten_ = place;
  }

  SymbolBlocks& inner_;
  const ContributionSets& sets_;
  Contribution contribution_;
  Contributions wanted_;
  std::int64_t until_;
  std::int64_t writes_ = 0;
  std::optional<ScheduleStepIndex> reached_;      // where it arrived last
  std::optional<ScheduleStepIndex> overwritten_;  // where it was overwritten first
};

}  // namespace lockstep
