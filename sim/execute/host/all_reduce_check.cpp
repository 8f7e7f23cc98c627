#include "sim/execute/host/all_reduce_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/check.hpp"

namespace lockstep {
namespace {

/// A 64-bit number for every (seed, rank, element): splitmix64's finalizer (Steele, Lea and Flood
/// 2014) over its own sequence.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

/// Elements in a block of a check that had to be cut down: more would show nothing new.
constexpr std::int64_t kReducedBlock = 4;

/// What the ranks contribute in one pass.
class Numbers {
 public:
  Numbers(std::uint64_t seed, int workers, bool whole) : seed_{mix(seed)}, whole_{whole} {
    // Single precision holds every whole number up to 2^24.
    range_ = std::clamp<std::uint64_t>((std::uint64_t{1} << 24U) / static_cast<unsigned>(workers),
                                       1, 1024);
  }

  [[nodiscard]] float at(int rank, std::int64_t element) const {
    const std::uint64_t bits =
        mix(mix(seed_ ^ static_cast<std::uint64_t>(rank)) + static_cast<std::uint64_t>(element));
    if (whole_) return static_cast<float>(1 + bits % range_);
    return static_cast<float>(static_cast<double>(bits >> 11U) * 0x1p-52 - 1);
  }

 private:
  std::uint64_t seed_;
  bool whole_;
  std::uint64_t range_ = 1;
};

struct Reference {
  std::vector<double> sum;
  std::vector<double> magnitude;  // sum of |x|
};

/// How many elements are really run, and in how long blocks.
struct Extent {
  std::int64_t count = 0;
  std::int64_t block = 0;
};

std::int64_t round_up_quotient(std::int64_t a, std::int64_t b) {
  return a / b + (a % b == 0 ? 0 : 1);
}

/// Nothing where not even one element per block fits.
std::optional<Extent> fit(const Schedule& schedule, std::int64_t count, std::int64_t most_floats) {
  const std::int64_t blocks = schedule.blocks();
  const Extent wanted{count, round_up_quotient(count, blocks)};
  // One and a half times the data: what is under way is copied.
  const std::int64_t longest = most_floats * 2 / 3 / schedule.ranks() / blocks;
  if (wanted.block <= longest) return wanted;
  if (longest == 0) return std::nullopt;
  const std::int64_t padding = count % blocks == 0 ? 0 : 1;
  const std::int64_t few = std::min(longest, kReducedBlock);
  return Extent{few * blocks - padding, few};
}

class Checker {
 public:
  Checker(const Schedule& schedule, int workers, const AllReduceCheckOptions& options)
      : schedule_{schedule}, workers_{workers}, options_{options} {
    LOCKSTEP_CHECK(0 < workers && workers <= schedule.ranks());
  }

  AllReduceCheck run(std::int64_t count) {
    const auto extent = fit(schedule_, count, options_.most_floats);
    result_.too_large = !extent.has_value();
    if (!extent) return result_;
    extent_ = *extent;
    result_.count = extent_.count;
    result_.reduced = extent_.count != count;
    pass(Numbers{options_.seed, workers_, true}, true);
    if (result_.outcome.finished()) pass(Numbers{options_.seed + 1, workers_, false}, false);
    return std::move(result_);
  }

 private:
  void pass(const Numbers& numbers, bool exact) {
    HostMemory memory = fill(numbers);
    result_.outcome = execute(schedule_, memory);
    if (result_.outcome.finished()) compare(memory, add_up(numbers), exact);
  }

  [[nodiscard]] HostMemory fill(const Numbers& numbers) const {
    HostMemory memory;
    memory.block_elements = extent_.block;
    memory.ranks.resize(static_cast<std::size_t>(schedule_.ranks()));
    for (int rank = 0; rank < schedule_.ranks(); ++rank) {
      std::vector<float>& data = memory.ranks[static_cast<std::size_t>(rank)].data;
      data.assign(static_cast<std::size_t>(schedule_.blocks() * extent_.block), 0.0F);
      if (rank >= workers_) continue;
      for (std::int64_t i = 0; i < extent_.count; ++i)
        data[static_cast<std::size_t>(i)] = numbers.at(rank, i);
    }
    return memory;
  }

  [[nodiscard]] Reference add_up(const Numbers& numbers) const {
    const auto count = static_cast<std::size_t>(extent_.count);
    Reference reference{std::vector<double>(count), std::vector<double>(count)};
    for (int rank = 0; rank < workers_; ++rank) {
      for (std::size_t i = 0; i < count; ++i) {
        const double x = numbers.at(rank, static_cast<std::int64_t>(i));
        reference.sum[i] += x;
        reference.magnitude[i] += std::abs(x);
      }
    }
    return reference;
  }

  void compare(HostMemory& memory, const Reference& reference, bool exact) {
    const double eps = workers_ * double{std::numeric_limits<float>::epsilon()};
    for (int rank = 0; rank < workers_; ++rank) {
      const auto got = chunk_of(memory, schedule_, rank, {options_.result, 0, schedule_.blocks()});
      for (std::size_t i = 0; i < reference.sum.size(); ++i) {
        const double bound = exact ? 0 : eps * reference.magnitude[i];
        judge({rank, static_cast<std::int64_t>(i), double{got[i]}, reference.sum[i]}, bound);
      }
    }
  }

  /// A bound of zero asks for the very number. NaN is never within a bound.
  void judge(const WrongElement& element, double bound) {
    const double error = std::abs(element.got - element.expected);
    if (bound > 0 && error / bound > result_.worst) result_.worst = error / bound;
    if (error <= bound) return;
    ++(bound > 0 ? result_.out_of_bound : result_.wrong);
    if (!result_.first_wrong) result_.first_wrong = element;
  }

  const Schedule& schedule_;
  int workers_;
  const AllReduceCheckOptions& options_;
  Extent extent_;
  AllReduceCheck result_;
};

}  // namespace

std::string AllReduceCheck::problem() const {
  if (too_large) return "too large to check: not even one element per block fits";
  if (!outcome.finished()) return outcome.problem;
  if (!first_wrong) return {};
  return fmt::format("rank {}, element {} is {}, not {} ({} wrong, {} out of bound)",
                     first_wrong->rank, first_wrong->element, first_wrong->got,
                     first_wrong->expected, wrong, out_of_bound);
}

AllReduceCheck check_all_reduce(const Schedule& schedule, int workers, std::int64_t count,
                                const AllReduceCheckOptions& options) {
  return Checker{schedule, workers, options}.run(count);
}

}  // namespace lockstep
