#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>

#include "sim/execute/schedule/chunk_text.hpp"
#include "sim/execute/schedule_checks/symbol_blocks.hpp"

namespace lockstep {

/// Follows one contribution from rank to rank while a schedule is executed on symbols.
class ContributionTrace final : public BlockMemory {
 public:
  /// All must outlive this. Writes after the first `until` are not followed; 0: for what was never
  /// written, where all are, but what overwrites the contribution explains nothing.
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

  /// What became of it, as the end of a sentence; `arrived`: some result has it.
  [[nodiscard]] std::string text(bool arrived) const {
    const std::string name = to_string(contribution_);
    if (overwritten_)
      return fmt::format("; {} was overwritten by {}", name, to_text(*overwritten_));
    if (arrived) return {};
    if (!reached_) return fmt::format("; {} was never passed on", name);
    return fmt::format("; {} came no further than {}", name, to_text(*reached_));
  }

 private:
  /// In how many of these blocks it is.
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
  std::optional<ScheduleStepIndex> reached_;      // where it came last
  std::optional<ScheduleStepIndex> overwritten_;  // where it was first
};

}  // namespace lockstep
