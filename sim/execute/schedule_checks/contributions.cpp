#include "sim/execute/schedule_checks/contributions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "sim/base/check.hpp"

namespace lockstep {
namespace {

constexpr int kBits = 64;

std::size_t word_of(int rank) {
  return static_cast<std::size_t>(rank) / kBits;
}
std::uint64_t bit_of(int rank) {
  return std::uint64_t{1} << (static_cast<std::size_t>(rank) % kBits);
}

/// Calls visit(word, bits of it) for the words that hold ranks [first, end).
template <typename Visit>
void each_word(int first, int end, Visit&& visit) {
  while (first < end) {
    const int until = std::min(end, (first / kBits + 1) * kBits);
    const int count = until - first;
    const std::uint64_t low = count == kBits ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
    visit(word_of(first), low << (first % kBits));
    first = until;
  }
}

/// Calls visit(word, bits of it) for all words that hold members.
template <typename Set, typename Visit>
void each_word(const Set& set, Visit&& visit) {
  for (std::size_t i = 0; i < set.bits.size(); ++i) visit(i, set.bits[i]);
  if (!set.bits.empty()) return;
  for (const auto& run : set.runs) each_word(run.first, run.end, visit);
}

int rank_in(std::size_t word, std::uint64_t bits) {
  return static_cast<int>(word) * kBits + std::countr_zero(bits);
}

template <typename Set>
bool has(const Set& set, int rank) {
  if (!set.bits.empty()) return (set.bits[word_of(rank)] & bit_of(rank)) != 0;
  const auto after =
      std::ranges::upper_bound(set.runs, rank, {}, [](const auto& run) { return run.first; });
  return after != set.runs.begin() && std::prev(after)->end > rank;
}

/// Adds a run that begins where the last one does, or later. A rank that is in both.
template <typename Run>
std::optional<int> append(std::vector<Run>& runs, const Run& run) {
  if (runs.empty() || runs.back().end < run.first) {
    runs.push_back(run);
    return std::nullopt;
  }
  if (runs.back().end > run.first) return run.first;
  runs.back().end = run.end;
  return std::nullopt;
}

/// The first that is in both, else nothing.
template <typename Run>
std::optional<int> merge(const std::vector<Run>& a, const std::vector<Run>& b,
                         std::vector<Run>& out) {
  auto left = a.begin();
  auto right = b.begin();
  while (left != a.end() || right != b.end()) {
    const bool from_left = right == b.end() || (left != a.end() && left->first <= right->first);
    if (const auto twice = append(out, from_left ? *left++ : *right++)) return twice;
  }
  return std::nullopt;
}

}  // namespace

std::string to_string(const Contribution& contribution) {
  return fmt::format("rank {}'s chunk {}", contribution.rank, contribution.block);
}

std::vector<int> Contributions::ranks() const {
  std::vector<int> out;
  if (set_ == nullptr) return out;
  each_word(*set_, [&](std::size_t word, std::uint64_t bits) {
    for (; bits != 0; bits &= bits - 1) out.push_back(rank_in(word, bits));
  });
  return out;
}

ContributionSets::ContributionSets(int ranks)
    : ranks_{ranks},
      // No longer than the bits, but for the shortest.
      most_runs_{std::max<std::size_t>(2, static_cast<std::size_t>(ranks) / (8 * sizeof(Run)))},
      zero_{of_run({})},
      all_{of_run({0, ranks})} {
  for (int rank = 0; rank < ranks; ++rank) ones_.push_back(of_run({rank, rank + 1}));
}

Contributions ContributionSets::of_run(Run run) {
  Set& set = take();
  set.count = run.end - run.first;
  if (set.count > 0) set.runs.push_back(run);
  return {&set, 0};
}

Contributions ContributionSets::one(const Contribution& contribution) const {
  return {ones_.at(static_cast<std::size_t>(contribution.rank)).set_, contribution.block};
}

/// An empty one.
ContributionSets::Set& ContributionSets::take() {
  if (spare_.empty()) {
    sets_.emplace_back();
    sets_.back().owner = this;
    return sets_.back();
  }
  Set& out = *spare_.back();
  spare_.pop_back();
  out.runs.clear();
  out.bits.clear();
  return out;
}

void ContributionSets::become_bits(Set& set) const {
  set.bits.assign(static_cast<std::size_t>(ranks_ + kBits - 1) / kBits, 0);
  for (const Run& run : set.runs)
    each_word(run.first, run.end,
              [&](std::size_t word, std::uint64_t bits) { set.bits[word] |= bits; });
}

/// Into `sum`, which is empty, or `a` where that is bits. The first rank that is in both; then
/// there is no sum, and `a` is as it was.
std::optional<int> ContributionSets::unite(const Set& a, const Set& b, Set& sum) const {
  std::optional<int> twice;
  if (a.bits.empty() && b.bits.empty()) {
    twice = merge(a.runs, b.runs, sum.runs);
    if (twice) return twice;
    if (sum.runs.size() > most_runs_) become_bits(sum);
  } else {
    const Set& base = a.bits.empty() ? b : a;
    const Set& other = a.bits.empty() ? a : b;
    each_word(other, [&](std::size_t word, std::uint64_t bits) {
      const std::uint64_t both = base.bits[word] & bits;
      if (both != 0 && !twice) twice = rank_in(word, both);
    });
    if (twice) return twice;
    if (&sum != &base) sum.bits = base.bits;
    each_word(other, [&](std::size_t word, std::uint64_t bits) { sum.bits[word] |= bits; });
  }
  sum.count = a.count + b.count;
  return std::nullopt;
}

std::optional<Contribution> ContributionSets::add(Contributions& into, const Contributions& more) {
  LOCKSTEP_CHECK(into.written() && more.written() && !differ_in_block(into, more));
  if (more.set_->count == 0) return std::nullopt;
  if (into.set_->count == 0) {
    into = more;
    return std::nullopt;
  }
  if (into.set_ == last_a_.set_ && more.set_ == last_b_.set_) {
    into = {last_sum_.set_, into.block_};
    return std::nullopt;
  }
  const bool in_place = into.set_->users == 1 && !into.set_->bits.empty();
  Contributions sum = in_place ? Contributions{} : Contributions{&take(), into.block_};
  const auto twice = unite(*into.set_, *more.set_, in_place ? *into.set_ : *sum.set_);
  if (twice) return Contribution{*twice, into.block_};
  // Few whole sets for many blocks: what is used often stays in caches.
  if (into.set_->count == ranks_ || (!in_place && sum.set_->count == ranks_)) {
    into = all(into.block_);
    return std::nullopt;
  }
  if (in_place) return std::nullopt;
  last_a_ = into;
  last_b_ = more;
  last_sum_ = sum;
  into = std::move(sum);
  return std::nullopt;
}

std::optional<Contribution> ContributionSets::least(const Contributions& a) {
  if (!a.written() || a.set_->count == 0) return std::nullopt;
  return difference(a, {}, 1).first.front();
}

bool ContributionSets::equal(const Contributions& a, const Contributions& b) {
  if (!a.written() || !b.written()) return a.written() == b.written();
  if (a.set_->count != b.set_->count) return false;
  if (a.set_->count == 0) return true;
  if (a.block_ != b.block_) return false;
  if (a.set_ == b.set_) return true;
  if (a.set_->bits.empty() && b.set_->bits.empty()) return a.set_->runs == b.set_->runs;
  const Set& base = a.set_->bits.empty() ? *b.set_ : *a.set_;
  const Set& other = a.set_->bits.empty() ? *a.set_ : *b.set_;
  bool is_within = true;
  each_word(other, [&](std::size_t word, std::uint64_t bits) {
    is_within = is_within && (base.bits[word] & bits) == bits;
  });
  return is_within;
}

ContributionSets::Difference ContributionSets::difference(const Contributions& a,
                                                          const Contributions& b,
                                                          std::size_t most) {
  Difference out;
  if (!a.written()) return out;
  const bool may_share = b.written() && a.block_ == b.block_;
  each_word(*a.set_, [&](std::size_t word, std::uint64_t bits) {
    for (; bits != 0; bits &= bits - 1) {
      const int rank = rank_in(word, bits);
      if (may_share && has(*b.set_, rank)) continue;
      ++out.count;
      if (out.first.size() < most) out.first.push_back({rank, a.block_});
    }
  });
  return out;
}

}  // namespace lockstep
