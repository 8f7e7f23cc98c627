#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lockstep {

/// What one rank held in one block of its data at the start.
struct Contribution {
  int rank = 0;
  std::int64_t block = 0;

  friend bool operator==(const Contribution&, const Contribution&) = default;
};

/// "rank 3's block 7".
[[nodiscard]] std::string to_string(const Contribution& contribution);

/// A set of contributions, which stands for their sum; or nothing at all, where nobody wrote.
/// Immutable and shared: a copy costs no more than a pointer. Block b of one rank and block c of
/// the same rank share one set, because members are counted from an origin; so it does not matter
/// how many blocks a message has.
class Contributions {
 public:
  /// A run of members [first, end), as (block - origin) * ranks + rank.
  struct Run {
    std::int64_t first = 0;
    std::int64_t end = 0;

    friend bool operator==(const Run&, const Run&) = default;
  };
  using Runs = std::vector<Run>;  // ascending, neither overlapping nor touching

  Contributions() = default;
  Contributions(std::shared_ptr<const Runs> runs, std::int64_t origin)
      : runs_{std::move(runs)}, origin_{origin} {}

  [[nodiscard]] bool written() const { return runs_ != nullptr; }
  [[nodiscard]] const std::shared_ptr<const Runs>& runs() const { return runs_; }
  [[nodiscard]] std::int64_t origin() const { return origin_; }

 private:
  std::shared_ptr<const Runs> runs_;
  std::int64_t origin_ = 0;  // a block
};

/// Makes and compares sets of contributions of `ranks` ranks.
class ContributionSets {
 public:
  explicit ContributionSets(int ranks);

  [[nodiscard]] Contributions zero() const { return {zero_, 0}; }
  [[nodiscard]] Contributions one(const Contribution& contribution) const;
  /// Every rank's `block`.
  [[nodiscard]] Contributions all(std::int64_t block) const { return {all_, block}; }

  struct Sum {
    Contributions sum;
    std::optional<Contribution> twice;  // in both; then there is no sum
  };
  /// Of two that are written. Remembers the last sum: the blocks of a message mostly agree.
  [[nodiscard]] Sum add(const Contributions& a, const Contributions& b);

  /// The first member; none of an empty set.
  [[nodiscard]] std::optional<Contribution> least(const Contributions& a) const;

  [[nodiscard]] bool equal(const Contributions& a, const Contributions& b) const;
  /// Members of `a` that are not in `b`, at most `most`, and how many there are in all.
  struct Difference {
    std::vector<Contribution> first;
    std::int64_t count = 0;
  };
  [[nodiscard]] Difference difference(const Contributions& a, const Contributions& b,
                                      std::size_t most) const;

 private:
  using Runs = Contributions::Runs;
  [[nodiscard]] std::int64_t shift_of(const Contributions& a, const Contributions& b) const {
    return (b.origin() - a.origin()) * ranks_;
  }
  [[nodiscard]] Contribution contribution(std::int64_t member, std::int64_t origin) const;

  std::int64_t ranks_;
  std::shared_ptr<const Runs> zero_;
  std::shared_ptr<const Runs> all_;
  std::vector<std::shared_ptr<const Runs>> ones_;  // by rank

  std::shared_ptr<const Runs> last_a_;
  std::shared_ptr<const Runs> last_b_;
  std::int64_t last_shift_ = 0;
  std::shared_ptr<const Runs> last_sum_;
};

}  // namespace lockstep
