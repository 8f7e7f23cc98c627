#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <random>

#include "sim/engine/replay.hpp"
#include "sim/execute/schedule/execute.hpp"
#include "sim/execute/schedule_checks/races.hpp"
#include "strategies/interop/msccl/msccl.hpp"
#include "strategies/interop/msccl/msccl_export.hpp"
#include "tests/sim/engine/star.hpp"
#include "tests/sim/execute/schedule/table_schedule.hpp"

/// Schedules that make no sense, written as MSCCL algorithms and read again: every block ends with
/// the same number, at the same time.
using namespace lockstep;
using namespace lockstep::test;

namespace {

constexpr int kRanks = 3;
constexpr int kLanes = 2;
constexpr std::int64_t kBlocks = 6;  // of data, of output and of scratch

/// Messages one after another, each in the last step of its lanes or in new ones. A new step waits
/// for what all other lanes of its rank have done, so that what ends where is sure.
class RandomSchedule {
 public:
  explicit RandomSchedule(std::uint32_t seed) : random_{seed} {
    for (auto& rank : table_) rank.resize(kLanes);
  }

  std::shared_ptr<const TableSchedule> make(int messages) {
    for (int i = 0; i < messages; ++i) add_message();
    return std::make_shared<const TableSchedule>(
        std::vector<TableSchedule::Rank>(table_.begin(), table_.end()), kBlocks, 0, kBlocks,
        Buffer::output);
  }

 private:
  int below(int bound) { return static_cast<int>(random_() % static_cast<std::uint32_t>(bound)); }

  void add_message() {
    const int from = below(kRanks);
    const int to = (from + 1 + below(kRanks - 1)) % kRanks;
    const int from_lane = below(kLanes);
    const int to_lane = below(kLanes);
    const int channel = from_lane * kLanes + to_lane;
    const int blocks = 1 + below(4);
    const Combine combine = below(2) == 0 ? Combine::copy : Combine::reduce;
    const std::vector<Chunk> received = runs(blocks);
    step_of(from, from_lane, true).send(to, runs(blocks), channel);
    const bool fits = fits_in(to, to_lane, received, combine);
    step_of(to, to_lane, fits).receive(from, received, combine, channel);
    if (below(3) == 0) add_local(to, to_lane);
  }

  /// Of two messages that one step receives into a block, both are added, or their order would
  /// matter.
  [[nodiscard]] bool fits_in(int rank, int lane, const std::vector<Chunk>& chunks,
                             Combine combine) const {
    const auto& steps = table_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(lane)];
    if (steps.empty()) return true;
    const ScheduleStep& step = steps.back();
    const auto touches = [&](const Chunk& other) {
      return std::any_of(chunks.begin(), chunks.end(), [&](const Chunk& chunk) {
        return chunk.buffer == other.buffer && chunk.first < other.first + other.count &&
               other.first < chunk.first + chunk.count;
      });
    };
    return std::none_of(step.receives.begin(), step.receives.end(), [&](const Receive& receive) {
      const auto more = step.more(receive.more);
      return (combine == Combine::copy || receive.combine == Combine::copy) &&
             (touches(receive.chunk) || std::any_of(more.begin(), more.end(), touches));
    });
  }

  void add_local(int rank, int lane) {
    const std::int64_t blocks = 1 + below(2);
    ScheduleStep& step = step_of(rank, lane, true);
    const Chunk from{Buffer::scratch, below(2) * 2, blocks};
    const Chunk to{below(2) == 0 ? Buffer::data : Buffer::output, below(4), blocks};
    step.locals.push_back({from, to, below(2) == 0 ? Combine::copy : Combine::reduce});
  }

  /// The lane's last step, where it is the rank's last too, or a new one.
  ScheduleStep& step_of(int rank, int lane, bool may_mix) {
    TableSchedule::Rank& lanes = table_[static_cast<std::size_t>(rank)];
    TableSchedule::Lane& steps = lanes[static_cast<std::size_t>(lane)];
    int& last = last_lane_[static_cast<std::size_t>(rank)];
    const bool mixes = may_mix && !steps.empty() && last == lane && below(3) != 0;
    last = lane;
    if (mixes) return steps.back();
    if (below(8) == 0) steps.emplace_back();  // an empty one
    ScheduleStep& step = steps.emplace_back();
    for (int other = 0; other < kLanes; ++other) {
      const std::int64_t done = std::ssize(lanes[static_cast<std::size_t>(other)]);
      if (other != lane && done > 0) step.after.push_back({other, done - 1});
    }
    return step;
  }

  /// Different blocks, in runs.
  std::vector<Chunk> runs(int blocks) {
    std::vector<Chunk> out;
    const auto buffer = static_cast<Buffer>(below(3));
    std::int64_t next = below(static_cast<int>(kBlocks) - blocks + 1);
    while (blocks > 0) {
      const int count = 1 + below(blocks);
      out.push_back({buffer, next, count});
      next += count;
      blocks -= count;
      if (next + blocks < kBlocks && below(2) == 0) ++next;
    }
    if (below(2) == 0) std::reverse(out.begin(), out.end());
    return out;
  }

  std::mt19937 random_;
  std::array<TableSchedule::Rank, kRanks> table_;
  std::array<int, kRanks> last_lane_{-1, -1, -1};
};

HostMemory filled(const Schedule& schedule) {
  HostMemory memory;
  memory.block_elements = 1;
  for (int rank = 0; rank < kRanks; ++rank) {
    RankMemory& mine = memory.ranks.emplace_back();
    mine.scratch.resize(static_cast<std::size_t>(schedule.scratch_blocks(rank)), -1e6F);
    for (std::size_t i = 0; i < kBlocks; ++i) {
      const auto number = static_cast<float>(100 * rank) + static_cast<float>(i);
      mine.data.push_back(number + 1);
      mine.output.push_back(number + 11);
      mine.scratch[i] = number + 21;
    }
  }
  return memory;
}

/// The numbers that a schedule leaves, in any order of lanes.
std::vector<float> left_by(const Schedule& schedule, ExecuteOrder order) {
  HostMemory memory = filled(schedule);
  const ExecuteOutcome outcome = execute(schedule, memory, {.order = order});
  CHECK_MESSAGE(outcome.finished(), outcome.problem);
  std::vector<float> all;
  for (RankMemory& rank : memory.ranks) {
    rank.scratch.resize(kBlocks);
    for (const auto* part : {&rank.data, &rank.output, &rank.scratch})
      all.insert(all.end(), part->begin(), part->end());
  }
  return all;
}

ReplayResult played(const std::shared_ptr<const Schedule>& schedule) {
  CollectiveCall call{"random", schedule, {0, 1, 2}, 1000_B, {}};
  return replay(star(kRanks, 1_GBps, 2_us), {{call}, {}}, NetworkModel::fluid);
}

}  // namespace

TEST_CASE("msccl: schedules drawn at random leave the same numbers at the same times") {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    const auto schedule = RandomSchedule{seed}.make(4 + static_cast<int>(seed % 30));
    const MscclExport written = write_msccl(*schedule, {.ranks = kRanks});
    REQUIRE(written.problem == "");
    const MscclImport read = parse_msccl(written.text, "random.xml");
    CHECK(check_races(*read.schedule, 1 << 16).right());
    const std::vector<float> expected = left_by(*schedule, ExecuteOrder::first_ready_first);
    for (const ExecuteOrder order :
         {ExecuteOrder::first_ready_first, ExecuteOrder::last_ready_first, ExecuteOrder::shuffled})
      CHECK(left_by(*read.schedule, order) == expected);
    const ReplayResult before = played(schedule);
    const ReplayResult after = played(read.schedule);
    CHECK(before.unfinished.empty());
    CHECK(after.call_ends == before.call_ends);
    CHECK(after.transfers == before.transfers);
  }
}
