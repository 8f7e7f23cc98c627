#include "strategies/collectives/placement/chunk_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/symmetry/fold.hpp"
#include "strategies/collectives/chunk_count.hpp"
#include "strategies/collectives/placement/pipelines.hpp"
#include "strategies/collectives/registry/registry.hpp"
#include "strategies/collectives/sizing.hpp"

namespace lockstep {
namespace {

/// Up to here all numbers are tried.
constexpr std::int64_t kFew = 16;

class Minimum {
 public:
  Minimum(std::int64_t most, const std::function<Duration(std::int64_t)>& time)
      : most_{most}, time_{time} {}

  /// Whether it is less than all before.
  bool tries(std::int64_t k) {
    if (k < 1 || k > most_ || !tried_.try_emplace(k).second) return false;
    const Duration time = time_(k);
    if (best_ != 0 && time >= least_) return false;
    best_ = k;
    least_ = time;
    return true;
  }
  [[nodiscard]] std::int64_t best() const { return best_; }

  /// Away from the start as long as it pays, once more after the first that does not.
  void walk(std::int64_t start, const std::function<std::int64_t(std::int64_t)>& next) {
    int worse = 0;
    for (std::int64_t k = next(start); worse < 2 && 1 <= k && k <= most_; k = next(k)) {
      worse = tries(k) ? 0 : worse + 1;
      if (next(k) == k) break;
    }
  }

 private:
  std::int64_t most_;
  const std::function<Duration(std::int64_t)>& time_;
  std::map<std::int64_t, bool> tried_;
  std::int64_t best_ = 0;
  Duration least_;
};

std::string key_of(const CollectiveAlgorithm& algorithm, const AlgorithmInput& input) {
  std::string key = fmt::format("{} {} {} {} {}", to_string(algorithm.collective), algorithm.name,
                                input.root, input.layout.per_node, input.size->count());
  for (const auto& [name, value] : input.arguments)
    key += fmt::format(" {}={}", name, to_string(value));
  return key;
}

}  // namespace

std::optional<Duration> replayed_alone(const CollectiveAlgorithm& algorithm,
                                       const AlgorithmInput& input,
                                       const PlacedCommunicator& placed, NetworkModel model,
                                       const ElementType& type) {
  const SchedulePtr schedule = make_schedule(algorithm, input);
  CollectiveCall call;
  call.name = algorithm.name;
  call.schedule = schedule;
  call.members = placed.members(algorithm.auxiliary_ranks, schedule->ranks() - input.n);
  LOCKSTEP_CHECK(!call.members.empty());
  call.block = divide_message(input.size.value(), type, schedule->blocks()).block;
  Workload workload;
  workload.calls.push_back(std::move(call));
  const ReplayResult result = replay_folded(placed.network(), workload, model).result;
  if (!result.unfinished.empty()) return std::nullopt;
  return result.end.since_start();
}

std::int64_t least_near(std::int64_t start, std::int64_t most,
                        const std::function<Duration(std::int64_t)>& time) {
  Minimum minimum{most, time};
  minimum.tries(start);
  if (start <= kFew) {
    for (std::int64_t k = 1; k <= 3 * start; ++k) minimum.tries(k);
    return minimum.best();
  }
  minimum.walk(start, [](std::int64_t k) { return k / 2; });
  minimum.walk(start, [](std::int64_t k) { return 2 * k; });
  for (std::int64_t part = 4; part <= 16; part *= 2) {
    const std::int64_t at = minimum.best();
    for (const std::int64_t sign : {-1, 1})
      minimum.walk(at,
                   [=](std::int64_t k) { return k + sign * std::max<std::int64_t>(at / part, 1); });
  }
  return minimum.best();
}

AlgorithmInput ChunkSearch::with_best_chunks(const CollectiveAlgorithm& algorithm,
                                             AlgorithmInput input,
                                             const PlacedCommunicator& placed) {
  if (input.n < 2 || !input.size || !input.hop || input.number("chunks")) return input;
  const auto rounds = pipeline_rounds(algorithm, input);
  if (!rounds) return input;
  const std::int64_t start = best_chunks(*rounds, *input.size, *input.hop);
  if (start * input.n > kMostSearched) return input;
  const std::string key = key_of(algorithm, input);
  std::unique_lock lock(mutex_);
  auto found = found_.find(key);
  if (found == found_.end()) {
    lock.unlock();
    const std::int64_t most = std::clamp<std::int64_t>(input.size->count(), 1, kMostChunks);
    const std::int64_t best = least_near(start, most, [&](std::int64_t k) {
      AlgorithmInput tried = input;
      tried.arguments.insert_or_assign("chunks", ArgumentValue{k});
      const auto time =
          replayed_alone(algorithm, tried, placed, model_, *find_element_type("float"));
      LOCKSTEP_CHECK(time.has_value());
      return *time;
    });
    lock.lock();
    found = found_.try_emplace(key, best).first;
  }
  input.arguments.insert_or_assign("chunks", ArgumentValue{found->second});
  return input;
}

}  // namespace lockstep
