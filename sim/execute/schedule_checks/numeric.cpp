#include "sim/execute/schedule_checks/numeric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "sim/base/check.hpp"
#include "sim/base/math.hpp"
#include "sim/execute/schedule/chunk_text.hpp"
#include "sim/execute/schedule/float_blocks.hpp"
#include "sim/execute/schedule/write_log.hpp"
#include "sim/execute/schedule_checks/test_numbers.hpp"

namespace lockstep {
namespace {

/// Elements in a block of a check that had to be cut down: more would show nothing new.
constexpr std::int64_t kReducedBlock = 4;

struct Reference {
  std::vector<double> sum;
  std::vector<double> magnitude;  // sum of |x|
};

/// How many elements are really run, and in how long blocks.
struct ElementCount {
  std::int64_t count = 0;
  std::int64_t block = 0;
};

/// Of all ranks' buffers.
std::int64_t blocks_in_memory(const Schedule& schedule) {
  const int buffers = schedule.result() == Buffer::output ? 2 : 1;
  std::int64_t blocks = buffers * schedule.ranks() * schedule.blocks();
  for (int rank = 0; rank < schedule.ranks(); ++rank) blocks += schedule.scratch_blocks(rank);
  return blocks;
}

/// Elements of a block, of a schedule that has some: one and a half times the data, since what is
/// in flight is copied.
std::int64_t longest_block(const Schedule& schedule, std::int64_t most_floats) {
  const std::int64_t blocks = blocks_in_memory(schedule);
  return blocks == 0 ? 0 : most_floats * 2 / 3 / blocks;
}

/// Nothing where not even one element per chunk fits.
std::optional<ElementCount> fit(const Schedule& schedule, std::int64_t count,
                                std::int64_t most_floats) {
  const std::int64_t blocks = schedule.blocks();
  if (blocks == 0) return ElementCount{};
  const ElementCount wanted{count, ceil_div(count, blocks)};
  const std::int64_t longest = longest_block(schedule, most_floats);
  if (wanted.block <= longest) return wanted;
  if (longest == 0) return std::nullopt;
  const std::int64_t padding = count % blocks == 0 ? 0 : 1;
  const std::int64_t few = std::min(longest, kReducedBlock);
  return ElementCount{few * blocks - padding, few};
}

class NumericChecker {
 public:
  NumericChecker(const Schedule& schedule, const Contract& contract, const NumericOptions& options)
      : schedule_{schedule}, contract_{contract}, options_{options} {}

  NumericVerdict run(std::int64_t count) {
    if (!measure(count)) return verdict_;
    if (may_pair()) {
      pass(both());
      return std::move(verdict_);
    }
    pass(std::array{both().front()});
    if (verdict_.outcome.finished()) pass(std::array{both().back()});
    return std::move(verdict_);
  }

  /// The buffers before both passes as one, for judge(); none where they are not one.
  [[nodiscard]] std::optional<HostMemory> begin(std::int64_t count) {
    if (!measure(count) || !may_pair()) return std::nullopt;
    return fill(both());
  }
  NumericVerdict judge(HostMemory& memory, const ExecuteOutcome& outcome) {
    verdict_.outcome = outcome;
    compare_all(memory, both());
    return std::move(verdict_);
  }

 private:
  /// Whether any number of elements fits.
  bool measure(std::int64_t count) {
    const auto extent = fit(schedule_, count, options_.most_floats);
    verdict_.too_large = !extent.has_value();
    if (!extent) return false;
    extent_ = *extent;
    verdict_.count = extent_.count;
    verdict_.reduced = extent_.count != count;
    return true;
  }

  /// Whole numbers, then any.
  [[nodiscard]] std::array<TestNumbers, 2> both() const {
    const int bits = options_.significand;
    return {TestNumbers{options_.seed, contract_.ranks, true, bits},
            TestNumbers{options_.seed + 1, contract_.ranks, false, bits}};
  }

  /// Both passes as one, of blocks that hold the numbers of either, half and half: the schedule
  /// moves a block as a whole.
  [[nodiscard]] bool may_pair() const {
    return !options_.run && extent_.block <= longest_block(schedule_, options_.most_floats) / 2;
  }

  /// Each of `numbers` has its part of every block.
  void pass(std::span<const TestNumbers> numbers) {
    HostMemory memory = fill(numbers);
    verdict_.outcome = moved(memory);
    if (verdict_.outcome.finished()) compare_all(memory, numbers);
  }

  void compare_all(HostMemory& memory, std::span<const TestNumbers> numbers) {
    for (std::size_t part = 0; part < numbers.size(); ++part) {
      const bool was_right = !verdict_.first_wrong;
      compare(memory, numbers[part], part);
      if (was_right && verdict_.first_wrong) find_writer(numbers, *verdict_.first_wrong);
    }
  }

  [[nodiscard]] ExecuteOutcome moved(HostMemory& memory) const {
    if (!options_.run) return execute(schedule_, memory, execute_options());
    ExecuteOutcome out;
    const auto problem = options_.run(schedule_, memory);
    if (!problem) return out;
    out.kind = ExecuteOutcome::Kind::wrong;
    out.problem = *problem;
    return out;
  }

  [[nodiscard]] ExecuteOptions execute_options() const { return {.slots = options_.slots}; }

  [[nodiscard]] HostMemory fill(std::span<const TestNumbers> numbers) const {
    HostMemory memory;
    memory.block_elements = extent_.block * std::ssize(numbers);
    memory.ranks.resize(static_cast<std::size_t>(schedule_.ranks()));
    for (int rank = 0; rank < schedule_.ranks(); ++rank) {
      std::vector<float>& data = memory.ranks[static_cast<std::size_t>(rank)].data;
      data.assign(static_cast<std::size_t>(schedule_.blocks() * memory.block_elements), 0.0F);
      if (rank >= contract_.ranks) continue;
      auto at = data.begin();
      for (std::int64_t block = 0; block < schedule_.blocks(); ++block)
        for (const TestNumbers& each : numbers) at = fill_block(each, rank, block, at);
    }
    return memory;
  }

  std::vector<float>::iterator fill_block(const TestNumbers& numbers, int rank, std::int64_t block,
                                          std::vector<float>::iterator at) const {
    const bool holds = contract_.holds(rank, block);
    for (std::int64_t i = block * extent_.block; i < (block + 1) * extent_.block; ++i)
      *at++ = holds ? number(numbers, rank, i) : std::numeric_limits<float>::quiet_NaN();
    return at;
  }

  /// Beyond the message's end there are zeros.
  [[nodiscard]] float number(const TestNumbers& numbers, int rank, std::int64_t element) const {
    return element < extent_.count ? numbers.at(rank, element) : 0;
  }

  [[nodiscard]] Reference add_up(const TestNumbers& numbers) const {
    const auto count = static_cast<std::size_t>(schedule_.blocks() * extent_.block);
    Reference reference{std::vector<double>(count), std::vector<double>(count)};
    for (int rank = 0; rank < contract_.ranks; ++rank) {
      for (std::size_t i = 0; i < count; ++i) {
        const double x = number(numbers, rank, static_cast<std::int64_t>(i));
        reference.sum[i] += x;
        reference.magnitude[i] += std::abs(x);
      }
    }
    return reference;
  }

  void compare(HostMemory& memory, const TestNumbers& numbers, std::size_t part) {
    const Reference reference = reduces(contract_.collective) ? add_up(numbers) : Reference{};
    for (int rank = 0; rank < contract_.ranks; ++rank) {
      for (std::int64_t block = 0; block < schedule_.blocks(); ++block) {
        const Expected expected = contract_.expected(rank, block);
        if (expected.anything) continue;
        const Chunk chunk{contract_.result, block, 1};
        const auto length = static_cast<std::size_t>(extent_.block);
        const auto got = chunk_of(memory, schedule_, rank, chunk).subspan(part * length, length);
        if (expected.all_ranks) {
          compare_sum(rank, chunk, got, expected, numbers, reference);
        } else {
          compare_moved(rank, chunk, got, expected, numbers);
        }
      }
    }
  }

  void compare_sum(int rank, const Chunk& chunk, std::span<const float> got,
                   const Expected& expected, const TestNumbers& numbers,
                   const Reference& reference) {
    const double eps =
        numbers.whole() ? 0 : contract_.ranks * std::ldexp(1.0, 1 - options_.significand);
    for (std::size_t i = 0; i < got.size(); ++i) {
      const std::size_t there = static_cast<std::size_t>(expected.block * extent_.block) + i;
      judge(rank, chunk, i, double{got[i]}, reference.sum[there], eps * reference.magnitude[there]);
    }
  }

  void compare_moved(int rank, const Chunk& chunk, std::span<const float> got,
                     const Expected& expected, const TestNumbers& numbers) {
    for (std::size_t i = 0; i < got.size(); ++i) {
      const std::int64_t there = expected.block * extent_.block + static_cast<std::int64_t>(i);
      judge(rank, chunk, i, double{got[i]}, double{number(numbers, expected.rank, there)}, 0);
    }
  }

  /// A bound of zero asks for the very number. NaN is never within a bound.
  void judge(int rank, const Chunk& chunk, std::size_t i, double got, double wanted, double bound) {
    const double error = std::abs(got - wanted);
    if (bound > 0 && error / bound > verdict_.worst) verdict_.worst = error / bound;
    if (error <= bound) return;
    ++(bound > 0 ? verdict_.out_of_bound : verdict_.wrong);
    if (verdict_.first_wrong) return;
    const std::int64_t element = chunk.first * extent_.block + static_cast<std::int64_t>(i);
    verdict_.first_wrong = {rank, element, got, wanted, chunk, {}};
  }

  /// Executes once more, as before, and takes note of who writes.
  void find_writer(std::span<const TestNumbers> numbers, WrongElement& element) const {
    HostMemory memory = fill(numbers);
    FloatBlocks blocks{schedule_, memory};
    WriteLog log{schedule_, blocks};
    LOCKSTEP_CHECK(execute(schedule_, log, execute_options()).finished());
    element.written = log.last_write(element.rank, element.chunk.buffer, element.chunk.first);
  }

  const Schedule& schedule_;
  const Contract& contract_;
  const NumericOptions& options_;
  ElementCount extent_;
  NumericVerdict verdict_;
};

}  // namespace

struct NumericRun::State {
  State(const Schedule& schedule, const Contract& contract, std::int64_t count,
        const NumericOptions& given)
      : options{given}, checker{schedule, contract, options}, memory{checker.begin(count)} {
    if (memory) blocks.emplace(schedule, *memory);
  }

  NumericOptions options;
  NumericChecker checker;
  std::optional<HostMemory> memory;
  std::optional<FloatBlocks> blocks;
};

NumericRun::NumericRun(const Schedule& schedule, const Contract& contract, std::int64_t count,
                       const NumericOptions& options)
    : state_{std::make_unique<State>(schedule, contract, count, options)} {}

NumericRun::~NumericRun() = default;

BlockMemory* NumericRun::blocks() {
  return state_->blocks ? &*state_->blocks : nullptr;
}

NumericVerdict NumericRun::judge(const ExecuteOutcome& outcome) {
  LOCKSTEP_CHECK(state_->memory && outcome.finished());
  return state_->checker.judge(*state_->memory, outcome);
}

std::string NumericVerdict::problem() const {
  if (too_large) return "too large to check: not even one element per chunk fits";
  if (!outcome.finished()) return outcome.problem;
  if (!first_wrong) return {};
  return fmt::format("rank {}, element {} is {}, not {} ({} wrong, {} out of bound); {}, {}",
                     first_wrong->rank, first_wrong->element, first_wrong->got,
                     first_wrong->expected, wrong, out_of_bound, to_text(first_wrong->chunk),
                     last_written(first_wrong->written));
}

NumericVerdict check_numbers(const Schedule& schedule, const Contract& contract, std::int64_t count,
                             const NumericOptions& options) {
  LOCKSTEP_CHECK(0 < contract.ranks && contract.ranks <= schedule.ranks());
  return NumericChecker{schedule, contract, options}.run(count);
}

}  // namespace lockstep
