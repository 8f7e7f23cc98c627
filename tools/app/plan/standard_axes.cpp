#include "tools/app/plan/standard_axes.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>

#include "strategies/models/count/layers.hpp"
#include "strategies/stacks/software_stack.hpp"
#include "tools/app/inputs/config_folder.hpp"

namespace lockstep::app {

namespace {

[[nodiscard]] std::vector<LayoutValue> values_of(LayoutKey key,
                                                 const std::vector<std::string>& texts) {
  std::vector<LayoutValue> out;
  for (const std::string& text : texts) out.push_back(layout_value(key, text, text));
  return out;
}

[[nodiscard]] std::vector<LayoutValue> numbers(const std::set<std::int64_t>& values) {
  std::vector<LayoutValue> out;
  for (const std::int64_t value : values) out.push_back({value, std::to_string(value)});
  return out;
}

[[nodiscard]] std::set<std::int64_t> divisors(std::int64_t of, std::int64_t most) {
  std::set<std::int64_t> out;
  for (std::int64_t i = 1; i <= std::min(of, most); ++i)
    if (of % i == 0) out.insert(i);
  return out;
}

/// The axes of a search that nobody has narrowed.
class StandardAxes {
 public:
  explicit StandardAxes(const Scenario& scenario) : scenario_{scenario} {
    if (const auto* shape = scenario.model.transformer()) {
      layers_ = layers_of(scenario.model);
      sequence_ = shape->sequence;
      experts_ = shape->experts ? shape->experts->experts : 1;
    }
  }

  [[nodiscard]] std::vector<LayoutValue> of(LayoutKey key) const {
    const std::int64_t ranks = scenario_.cluster.cluster.ranks();
    const std::int64_t per_node = scenario_.cluster.cluster.gpus_per_node();
    switch (key) {
      case LayoutKey::tp:
        return numbers(divisors(per_node, 64));
      case LayoutKey::pp:
        return numbers(stages(ranks));
      case LayoutKey::cp:
        return numbers(contexts(ranks));
      case LayoutKey::etp:  // as tp, or experts whole
        return numbers(experts_ > 1 ? std::set<std::int64_t>{0, 1} : std::set<std::int64_t>{0});
      case LayoutKey::ep:
        return numbers(divisors(experts_, ranks));
      case LayoutKey::cp_kind:
        return values_of(key, {"ring", "ulysses", "2d"});
      case LayoutKey::micro_batch:
        return numbers(microbatches());
      case LayoutKey::vpp:
        return numbers(chunks());
      case LayoutKey::short_edges:
        return values_of(key, {"false", "true"});
      case LayoutKey::schedule:
        return values_of(key, {"1f1b", "interleaved", "zb-h1", "zb-h2"});
      case LayoutKey::zero:
        return numbers({0, 1, 2, 3});
      case LayoutKey::shard_ranks:
        return numbers({0, per_node});
      case LayoutKey::recompute:
        return values_of(
            key, {"none", "selective", "every-second-product", "every-second-layer", "full"});
      case LayoutKey::sequence_parallel:
        return values_of(key, {"true", "false"});
      case LayoutKey::offload:
        return values_of(key, {"false", "true"});
      case LayoutKey::order:
        return values_of(key, {"tp-cp-dp-pp", "tp-cp-pp-dp", "tp-dp-cp-pp"});
      case LayoutKey::overlap:
        return values_of(key, overlaps());
      case LayoutKey::delay_wgrad_compute:
        return values_of(key, experts_ > 1 ? std::vector<std::string>{"false", "true"}
                                           : std::vector<std::string>{"false"});
    }
    return {};
  }

 private:
  /// What the software hides without being asked, Transformer Engine the traffic of column-parallel
  /// layers in backward, is in every value.
  [[nodiscard]] std::vector<std::string> overlaps() const {
    const SoftwareStack stack =
        find_software_stack(std::filesystem::path{config_folder()} / "stacks", scenario_.stack);
    const bool hides = stack.overlap.always.contains(Overlap::tp_backward);
    std::vector<std::string> out{
        hides ? "tp_backward" : "none",
        hides ? "dp_gradients+dp_parameters+tp_backward" : "dp_gradients+dp_parameters",
        "cp+dp_gradients+dp_parameters+pp+tp", "all"};
    if (experts_ > 1) out.emplace_back("all+ep_pairs");
    return out;
  }

  [[nodiscard]] std::set<std::int64_t> stages(std::int64_t ranks) const {
    std::set<std::int64_t> out;
    for (const std::int64_t pp : divisors(ranks, 64))
      if (layers_ % pp == 0 || (layers_ + 2) % pp == 0) out.insert(pp);
    return out;
  }

  /// From 4,096 tokens a rank on.
  [[nodiscard]] std::set<std::int64_t> contexts(std::int64_t ranks) const {
    constexpr std::int64_t kLeastTokens = 4096;
    std::set<std::int64_t> out{1};
    for (std::int64_t cp = 2; cp <= 64 && cp <= ranks && sequence_ / cp >= kLeastTokens; cp *= 2)
      out.insert(cp);
    return out;
  }

  [[nodiscard]] std::set<std::int64_t> microbatches() const {
    std::set<std::int64_t> out{1};
    for (std::int64_t size = 2; size <= 8 && size <= scenario_.parallel.global_batch; size *= 2)
      out.insert(size);
    return out;
  }

  [[nodiscard]] std::set<std::int64_t> chunks() const {
    std::set<std::int64_t> out = divisors(layers_, 12);
    const std::set<std::int64_t> more = divisors(layers_ + 2, 12);
    out.insert(more.begin(), more.end());
    return out;
  }

  const Scenario& scenario_;
  std::int64_t layers_ = 1;
  std::int64_t sequence_ = 1;
  std::int64_t experts_ = 1;
};

}  // namespace

std::vector<LayoutValue> standard_values(LayoutKey key, const Scenario& scenario) {
  return StandardAxes{scenario}.of(key);
}

}  // namespace lockstep::app
