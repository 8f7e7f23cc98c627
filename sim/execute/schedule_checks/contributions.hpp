#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lockstep {

/// Initial contents of one block of a rank.
struct Contribution {
  int rank = 0;
  std::int64_t block = 0;

  friend bool operator==(const Contribution&, const Contribution&) = default;
};

/// "rank 3's block 7".
[[nodiscard]] std::string to_string(const Contribution& contribution);

class ContributionSets;

/// A set of contributions to one block, representing their sum; or uninitialized. Shared: copying
/// costs a pointer, and equal sets of ranks share one object. Not thread-safe; must not outlive the
/// ContributionSets.
class Contributions {
 public:
  Contributions() = default;
  Contributions(const Contributions& other) : set_{other.set_}, block_{other.block_} {
    if (set_ != nullptr) ++set_->users;
  }
  Contributions(Contributions&& other) noexcept
      : set_{std::exchange(other.set_, nullptr)}, block_{other.block_} {}
  Contributions& operator=(const Contributions& other) { return *this = Contributions{other}; }
  Contributions& operator=(Contributions&& other) noexcept {
    std::swap(set_, other.set_);
    std::swap(block_, other.block_);
    return *this;
  }
  ~Contributions() { leave(); }

  [[nodiscard]] bool written() const { return set_ != nullptr; }
  [[nodiscard]] std::int64_t block() const { return block_; }
  /// The contributing ranks, ascending; empty if uninitialized.
  [[nodiscard]] std::vector<int> ranks() const;
  /// The same ranks' contributions to the block `distance` further. Requires an initialized block.
  [[nodiscard]] Contributions moved(std::int64_t distance) const {
    return {set_, block_ + distance};
  }
  [[nodiscard]] bool shares_set_with(const Contributions& other) const {
    return set_ == other.set_;
  }

 private:
  friend class ContributionSets;
  struct Run {  // ranks [first, end)
    int first = 0;
    int end = 0;

    friend bool operator==(const Run&, const Run&) = default;
  };
  /// A set of ranks: runs if there are few, else a bitmap.
  struct Set {
    ContributionSets* owner = nullptr;
    std::uint32_t users = 0;
    int count = 0;                      // number of ranks
    std::vector<Run> runs{};            // ascending, disjoint, not adjacent
    std::vector<std::uint64_t> bits{};  // empty: represented by runs
  };
  Contributions(Set* set, std::int64_t block) : set_{set}, block_{block} { ++set_->users; }
  inline void leave();

  Set* set_ = nullptr;
  std::int64_t block_ = 0;
};

/// Creates and compares sets of contributions of `ranks` ranks.
class ContributionSets {
 public:
  explicit ContributionSets(int ranks);
  ContributionSets(const ContributionSets&) = delete;
  ContributionSets& operator=(const ContributionSets&) = delete;
  ~ContributionSets() = default;

  [[nodiscard]] Contributions zero() const { return zero_; }
  [[nodiscard]] Contributions one(const Contribution& contribution) const;
  /// The sum over all ranks.
  [[nodiscard]] Contributions all(std::int64_t block) const { return {all_.set_, block}; }

  /// Whether both are initialized with different blocks, which cannot be summed.
  [[nodiscard]] static bool differ_in_block(const Contributions& a, const Contributions& b) {
    return a.set_->count > 0 && b.set_->count > 0 && a.block_ != b.block_;
  }
  /// Adds `more` to `into`. Requires initialized sets of the same block. If they overlap, returns
  /// the first common contribution and leaves `into` unchanged.
  [[nodiscard]] std::optional<Contribution> add(Contributions& into, const Contributions& more);

  /// The first contribution; none for an empty set.
  [[nodiscard]] static std::optional<Contribution> least(const Contributions& a);

  [[nodiscard]] static bool equal(const Contributions& a, const Contributions& b);
  /// Contributions in `a` but not in `b`: at most `most` of them, and their number.
  struct Difference {
    std::vector<Contribution> first;
    std::int64_t count = 0;
  };
  [[nodiscard]] static Difference difference(const Contributions& a, const Contributions& b,
                                             std::size_t most);

 private:
  friend class Contributions;
  using Run = Contributions::Run;
  using Set = Contributions::Set;

  [[nodiscard]] Set& take();
  void give_back(Set& set) { spare_.push_back(&set); }
  [[nodiscard]] Contributions of_run(Run run);
  [[nodiscard]] std::optional<int> unite(const Set& a, const Set& b, Set& sum) const;
  void become_bits(Set& set) const;

  int ranks_;
  std::size_t most_runs_;  // above this a set is a bitmap
  std::deque<Set> sets_;
  std::vector<Set*> spare_;
  Contributions zero_;
  Contributions all_;
  std::vector<Contributions> ones_;  // by rank

  // The last sum, since the blocks of a message mostly agree.
  Contributions last_a_;
  Contributions last_b_;
  Contributions last_sum_;
};

inline void Contributions::leave() {
  if (set_ != nullptr && --set_->users == 0) set_->owner->give_back(*set_);
}

}  // namespace lockstep
