#pragma once

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

/// What the random tests of folds have in common: how many cases they draw, from which seeds, and
/// the line that `tools/random_folds.sh` adds up.
namespace lockstep::test {

/// LOCKSTEP_FOLD_CASES=2000: that many cases of every random test of folds, in place of `usual`.
inline int fold_cases(int usual) {
  const char* text = std::getenv("LOCKSTEP_FOLD_CASES");
  return text != nullptr ? std::atoi(text) : usual;
}

/// The same for tests that draw `usual` times for each of `rows` rows of a table.
inline int fold_turns(int usual, std::size_t rows) {
  if (std::getenv("LOCKSTEP_FOLD_CASES") == nullptr) return usual;
  const auto many = static_cast<int>(rows);
  return (fold_cases(usual) + many - 1) / many;
}

/// LOCKSTEP_FOLD_SEED=7: seven more than the usual seed of every test, so other cases.
inline std::uint64_t fold_seed(std::uint64_t usual) {
  const char* text = std::getenv("LOCKSTEP_FOLD_SEED");
  return text != nullptr ? usual + std::strtoull(text, nullptr, 10) : usual;
}

/// Cases compared, those with fewer classes than ranks, and those that differed.
class FoldCount {
 public:
  explicit FoldCount(std::string kind) : kind_{std::move(kind)} {}
  FoldCount(const FoldCount&) = delete;
  FoldCount& operator=(const FoldCount&) = delete;
  ~FoldCount() {
    MESSAGE("folds: " << kind_ << ": " << cases_ << " cases, " << folded_ << " folded, " << differ_
                      << " differ");
  }

  void add(bool folded, bool same) {
    ++cases_;
    folded_ += folded ? 1 : 0;
    differ_ += same ? 0 : 1;
  }

 private:
  std::string kind_;
  int cases_ = 0;
  int folded_ = 0;
  int differ_ = 0;
};

}  // namespace lockstep::test
