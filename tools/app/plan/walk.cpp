#include "tools/app/plan/walk.hpp"

#include <algorithm>
#include <set>

#include "strategies/layout/expert_problems.hpp"
#include "strategies/models/count/layers.hpp"
#include "strategies/pipeline/pipeline_order.hpp"
#include "strategies/sharding/device_mesh.hpp"

namespace lockstep::app {

namespace {

/// Layers times microbatches of a step that is still written out (strategies/scenario).
constexpr std::int64_t kMostCalls = 300'000;

struct RuleWords {
  std::string_view name;
  std::string_view words;
};

constexpr std::array<RuleWords, kPlanRules> kRules{{
    {"gpus", "tp * pp * cp does not divide the GPUs"},
    {"nvlink_domain",
     "tp exceeds the GPUs that NVLink or xGMI joins (--no-rule nvlink_domain tries them)"},
    {"heads", "tp does not divide heads or the MLP"},
    {"sequence", "cp does not divide the sequence, or the heads that all-to-alls exchange"},
    {"experts",
     "ep does not divide the experts, etp * ep not tp * cp * dp, or etp < tp without sequence "
     "parallelism"},
    {"batch", "micro_batch * dp does not divide the global batch"},
    {"layers", "pp * vpp does not divide the layers"},
    {"schedule", "the schedule has no such stages, chunks, batches or pairs"},
    {"shards", "shard_ranks does not divide dp * cp"},
    {"stack", "the software stack has no such layout"},
    {"duplicate", "the same step as another point"},
    {"size", "more than 300,000 layers times microbatches"},
}};

[[nodiscard]] std::vector<std::string> ordered(std::int64_t number) {
  static constexpr std::array<const char*, 4> kAxes{"tp", "cp", "dp", "pp"};
  std::vector<std::string> out;
  for (int place = 3; place >= 0; --place)
    out.emplace_back(kAxes[static_cast<std::size_t>(number >> (2 * place)) & 3U]);
  return out;
}

[[nodiscard]] std::set<Overlap> overlap_of(std::size_t mask) {
  std::set<Overlap> out;
  for (int bit = 0; bit <= static_cast<int>(Overlap::tp_backward); ++bit)
    if ((mask >> bit & 1U) != 0) out.insert(static_cast<Overlap>(bit));
  return out;
}

/// The rule of a problem of the shapes.
[[nodiscard]] PlanRule rule_of(const std::string& key) {
  if (key == "tp") return PlanRule::heads;
  if (key == "ep" || key == "etp" || key == "expert_skew") return PlanRule::experts;
  if (key == "shard_ranks") return PlanRule::shards;
  return PlanRule::sequence;
}

}  // namespace

std::string_view to_string(PlanRule rule) {
  return kRules[static_cast<std::size_t>(rule)].name;
}

std::string_view words_of(PlanRule rule) {
  return kRules[static_cast<std::size_t>(rule)].words;
}

LayoutWalk::LayoutWalk(const PlanSpace& space, const PlanSetting& setting, SettingBounds& bounds,
                       const WalkOptions& options)
    : space_{space},
      setting_{setting},
      bounds_{bounds},
      options_{options},
      base_{setting.index() * space.layout_count()},
      parallel_{setting.scenario().parallel} {
  below_[kLayoutKeys] = 1;
  for (std::size_t i = kLayoutKeys; i-- > 0;)
    below_[i] = below_[i + 1] * space.layout[i].values.size();
  // Copies of what is there take no memory of their own.
  for (const LayoutValue& each : space.axis(LayoutKey::order).values)
    orders_.push_back(ordered(each.number));
  for (std::size_t mask = 0; mask < std::size_t{2} << static_cast<int>(Overlap::tp_backward);
       ++mask)
    overlaps_.push_back(overlap_of(mask));
}

void LayoutWalk::run(std::size_t tp_digit, std::size_t pp_digit, PointRange range, const Take& take,
                     RuleCounts& dropped) {
  take_ = &take;
  dropped_ = &dropped;
  range_ = range;
  const std::uint64_t first = base_ + tp_digit * below_[1] + pp_digit * below_[2];
  const LayoutAxis& tp = space_.axis(LayoutKey::tp);
  const LayoutAxis& pp = space_.axis(LayoutKey::pp);
  if (range.overlap(first, below_[2]) == 0) return;
  auto rule = set(LayoutKey::tp, tp.values[tp_digit].number, tp_digit);
  if (!rule) rule = set(LayoutKey::pp, pp.values[pp_digit].number, pp_digit);
  if (rule) return drop(*rule, first, below_[2]);
  descend(2, first);
}

void LayoutWalk::drop(PlanRule rule, std::uint64_t first, std::uint64_t count) {
  (*dropped_)[static_cast<std::size_t>(rule)] += range_.overlap(first, count);
}

LayoutDigits first_look(const PlanSpace& space) {
  constexpr std::array kRefining{LayoutKey::etp,         LayoutKey::cp_kind,
                                 LayoutKey::short_edges, LayoutKey::shard_ranks,
                                 LayoutKey::recompute,   LayoutKey::sequence_parallel,
                                 LayoutKey::offload,     LayoutKey::order,
                                 LayoutKey::overlap,     LayoutKey::delay_wgrad_compute};
  const auto written = [&](const LayoutValue& value, LayoutKey key) {
    const std::string text = layout_override(key, value);
    const auto& now = space.current;
    return now && std::find(now->begin(), now->end(), text) != now->end();
  };
  LayoutDigits out;
  for (const LayoutKey key : kRefining) {
    const std::vector<LayoutValue>& values = space.axis(key).values;
    std::set<std::size_t> chosen;
    for (std::size_t i = 0; i < values.size(); ++i)
      if (written(values[i], key)) chosen.insert(i);
    // Usually what comes first, but traffic of data parallelism behind computation.
    if (chosen.empty())
      chosen.insert(key == LayoutKey::overlap ? std::min<std::size_t>(1, values.size() - 1) : 0);
    if (key == LayoutKey::recompute) chosen.insert(values.size() - 1);
    out[static_cast<std::size_t>(key)].assign(chosen.begin(), chosen.end());
  }
  return out;
}

void LayoutWalk::descend(std::size_t level, std::uint64_t index) {
  if (level == kLayoutKeys) return visit(index);
  const std::vector<LayoutValue>& values = space_.layout[level].values;
  const std::uint64_t count = below_[level + 1];
  for (std::size_t digit = 0; digit < values.size(); ++digit, index += count) {
    if (range_.overlap(index, count) == 0) continue;
    const std::vector<std::size_t>& only = options_.only[level];
    if (!only.empty() && std::find(only.begin(), only.end(), digit) == only.end()) continue;
    const auto rule = set(static_cast<LayoutKey>(level), values[digit].number, digit);
    if (rule) {
      drop(*rule, index, count);
    } else {
      descend(level + 1, index);
    }
  }
}

void LayoutWalk::visit(std::uint64_t index) {
  const std::string& problem = bounds_.shape_problem(parallel_);
  if (!problem.empty()) return drop(rule_of(problem), index, 1);
  (*take_)({index, &parallel_, &defaults_->stack});
}

std::variant<ParallelConfig, PlanRule> LayoutWalk::at(std::uint64_t index) {
  std::uint64_t rest = index % below_[0];
  for (std::size_t level = 0; level < kLayoutKeys; ++level) {
    const auto digit = static_cast<std::size_t>(rest / below_[level + 1]);
    rest %= below_[level + 1];
    const LayoutValue& value = space_.layout[level].values[digit];
    if (const auto rule = set(static_cast<LayoutKey>(level), value.number, digit)) return *rule;
  }
  const std::string& problem = bounds_.shape_problem(parallel_);
  if (!problem.empty()) return rule_of(problem);
  return parallel_;
}

std::optional<PlanRule> LayoutWalk::set(LayoutKey key, std::int64_t number, std::size_t digit) {
  switch (key) {
    case LayoutKey::tp:
      return set_tensor(number);
    case LayoutKey::pp:
      return set_stages(number);
    case LayoutKey::cp:
      return set_context(number);
    case LayoutKey::etp:
      return set_expert_tensor(number);
    case LayoutKey::ep:
      return set_experts(number);
    case LayoutKey::cp_kind:
      return set_context_kind(static_cast<ContextKind>(number), digit);
    case LayoutKey::micro_batch:
      return set_microbatch(number);
    case LayoutKey::vpp:
      return set_chunks(number);
    case LayoutKey::short_edges:
      return set_edges(number != 0, digit);
    case LayoutKey::schedule:
      return set_schedule(static_cast<PipelineOrder>(number), digit);
    case LayoutKey::zero:
      return set_zero(number, digit);
    case LayoutKey::shard_ranks:
      return set_shards(number, digit);
    case LayoutKey::recompute:
      return set_recomputation(static_cast<Recompute>(number), digit);
    case LayoutKey::sequence_parallel:
      parallel_.sequence_parallel = number != 0 && parallel_.tp > 1;
      if (parallel_.expert_tp() < parallel_.tp && !parallel_.sequence_parallel)
        return PlanRule::experts;
      return only_first(parallel_.tp > 1, digit);
    case LayoutKey::offload:
      parallel_.state.offload = number != 0;
      defaults_->take_gradients(parallel_);
      return std::nullopt;
    case LayoutKey::order:
      return set_order(number, digit);
    case LayoutKey::overlap:
      return set_overlap(number, digit);
    case LayoutKey::delay_wgrad_compute:
      return set_delay(number != 0, digit);
  }
  return std::nullopt;
}

std::optional<PlanRule> LayoutWalk::set_stages(std::int64_t pp) {
  parallel_.pp = static_cast<int>(pp);
  if (setting_.ranks() % (parallel_.tp * pp) != 0) return PlanRule::gpus;
  return pp > layers() + 2 ? std::optional{PlanRule::layers} : std::nullopt;
}

std::int64_t LayoutWalk::layers() const {
  const TransformerConfig* shape = setting_.scenario().model.transformer();
  return shape != nullptr ? layers_of(setting_.scenario().model) : 1'000'000;
}

std::optional<PlanRule> LayoutWalk::only_first(bool matters, std::size_t digit) const {
  return matters || digit == 0 ? std::nullopt : std::optional{PlanRule::duplicate};
}

std::optional<PlanRule> LayoutWalk::set_tensor(std::int64_t tp) {
  parallel_.tp = static_cast<int>(tp);
  if (tp > setting_.ranks() || setting_.ranks() % tp != 0) return PlanRule::gpus;
  if (options_.nvlink_domain && tp > setting_.gpus_per_node()) return PlanRule::nvlink_domain;
  const TransformerConfig* shape = setting_.scenario().model.transformer();
  if (shape != nullptr && (shape->heads % tp != 0 || shape->ffn % tp != 0)) return PlanRule::heads;
  return std::nullopt;
}

std::optional<PlanRule> LayoutWalk::set_context(std::int64_t cp) {
  parallel_.cp = static_cast<int>(cp);
  const std::int64_t others = std::int64_t{parallel_.tp} * parallel_.pp * cp;
  if (others > setting_.ranks() || setting_.ranks() % others != 0) return PlanRule::gpus;
  parallel_.dp = static_cast<int>(setting_.ranks() / others);
  const TransformerConfig* shape = setting_.scenario().model.transformer();
  if (cp > 1 && (shape == nullptr || shape->sequence % cp != 0)) return PlanRule::sequence;
  return std::nullopt;
}

/// A degree equal to tp is the duplicate of 0, which stands for it.
std::optional<PlanRule> LayoutWalk::set_expert_tensor(std::int64_t etp) {
  parallel_.etp = static_cast<int>(etp);
  const TransformerConfig* shape = setting_.scenario().model.transformer();
  const bool experts = shape != nullptr && shape->experts.has_value();
  if (etp > 0 && !experts) return PlanRule::experts;
  if (parallel_.tp % parallel_.expert_tp() != 0) return PlanRule::experts;
  if (experts && shape->experts->ffn % parallel_.expert_tp() != 0) return PlanRule::experts;
  const auto& values = space_.axis(LayoutKey::etp).values;
  const bool zero_is_there = std::any_of(values.begin(), values.end(),
                                         [](const LayoutValue& each) { return each.number == 0; });
  if (etp == parallel_.tp && zero_is_there) return PlanRule::duplicate;
  return std::nullopt;
}

std::optional<PlanRule> LayoutWalk::set_experts(std::int64_t ep) {
  parallel_.ep = static_cast<int>(ep);
  const TransformerConfig* shape = setting_.scenario().model.transformer();
  const std::int64_t experts = shape != nullptr && shape->experts ? shape->experts->experts : 1;
  const std::int64_t ranks =
      std::int64_t{parallel_.tp} / parallel_.expert_tp() * parallel_.dp * parallel_.cp;
  const bool fits = experts % ep == 0 && ranks % ep == 0;
  return fits ? std::nullopt : std::optional{PlanRule::experts};
}

/// A 2D group that is a ring or an all-to-all alone is that one's duplicate.
std::optional<PlanRule> LayoutWalk::set_context_kind(ContextKind kind, std::size_t digit) {
  parallel_.cp_kind = parallel_.cp > 1 ? kind : ContextKind::ring;
  parallel_.ulysses = 0;
  if (parallel_.cp == 1) return only_first(false, digit);
  if (kind != ContextKind::both) return std::nullopt;
  const int degree = ulysses_degree(parallel_, setting_.gpus_per_node());
  if (degree > 1 && degree < parallel_.cp) return std::nullopt;
  const auto alone =
      static_cast<std::int64_t>(degree == 1 ? ContextKind::ring : ContextKind::ulysses);
  const auto& values = space_.axis(LayoutKey::cp_kind).values;
  const bool is_there = std::any_of(values.begin(), values.end(), [alone](const LayoutValue& each) {
    return each.number == alone;
  });
  return is_there ? std::optional{PlanRule::duplicate} : std::nullopt;
}

std::optional<PlanRule> LayoutWalk::set_microbatch(std::int64_t sequences) {
  parallel_.micro_batch = sequences;
  parallel_.global_batch = setting_.global_batch();
  const std::int64_t together = sequences * parallel_.dp;
  if (together > parallel_.global_batch || parallel_.global_batch % together != 0)
    return PlanRule::batch;
  const bool fits = layers() > kMostCalls || layers() * parallel_.microbatches() <= kMostCalls;
  return fits ? std::nullopt : std::optional{PlanRule::size};
}

std::optional<PlanRule> LayoutWalk::set_chunks(std::int64_t vpp) {
  parallel_.vpp = static_cast<int>(vpp);
  if (vpp > 1 && parallel_.pp == 1) return PlanRule::schedule;
  return vpp * parallel_.pp > layers() + 2 ? std::optional{PlanRule::layers} : std::nullopt;
}

std::optional<PlanRule> LayoutWalk::set_edges(bool is_short, std::size_t digit) {
  const std::int64_t chunks = std::int64_t{parallel_.pp} * parallel_.vpp;
  parallel_.stages.clear();
  parallel_.short_edges = is_short && chunks > 2;
  if (chunks <= 2) {
    if (digit != 0) return PlanRule::duplicate;
    return layers() % chunks == 0 ? std::nullopt : std::optional{PlanRule::layers};
  }
  const std::int64_t sum = layers() + (is_short ? 2 : 0);
  if (sum % chunks != 0 || (is_short && sum / chunks < 2)) return PlanRule::layers;
  return std::nullopt;
}

std::optional<PlanRule> LayoutWalk::set_schedule(PipelineOrder order, std::size_t digit) {
  parallel_.schedule = parallel_.pp > 1 ? order : PipelineOrder::none;
  if (parallel_.pp == 1) return only_first(false, digit);
  if (order == PipelineOrder::none) return PlanRule::schedule;
  const bool fits = !pipeline_problem(pipeline_shape(parallel_));
  return fits ? std::nullopt : std::optional{PlanRule::schedule};
}

std::optional<PlanRule> LayoutWalk::set_zero(std::int64_t zero, std::size_t digit) {
  const bool replicas = std::int64_t{parallel_.dp} * parallel_.cp * parallel_.stage_copies() > 1;
  parallel_.zero = replicas ? static_cast<int>(zero) : 0;
  if (!replicas && digit != 0) return PlanRule::duplicate;
  defaults_ = setting_.defaults(parallel_.zero, parallel_.pp > 1);
  if (defaults_ == nullptr) return PlanRule::stack;
  defaults_->apply(parallel_);
  return std::nullopt;
}

std::optional<PlanRule> LayoutWalk::set_shards(std::int64_t shards, std::size_t digit) {
  const std::int64_t replicas =
      std::int64_t{parallel_.dp} * parallel_.cp * parallel_.stage_copies();
  const bool matters = parallel_.zero > 0 && shards > 0 && shards < replicas;
  parallel_.shard_ranks = matters ? static_cast<int>(shards) : 0;
  defaults_->take_gradients(parallel_);
  if (!matters) return only_first(parallel_.zero > 0 && shards == 0, digit);
  return replicas % shards == 0 ? std::nullopt : std::optional{PlanRule::shards};
}

/// With fused attention there is no core to recompute, which selective may be all that it names.
std::optional<PlanRule> LayoutWalk::set_recomputation(Recompute how, std::size_t digit) {
  const TransformerConfig* shape = setting_.scenario().model.transformer();
  const bool core = parallel_.recompute_modules == ParallelConfig{}.recompute_modules;
  const bool nothing = how == Recompute::selective && core &&
                       (shape == nullptr || shape->attention == AttentionKind::flash);
  parallel_.recompute = nothing ? Recompute::none : how;
  if (!nothing) return std::nullopt;
  const auto& values = space_.axis(LayoutKey::recompute).values;
  const bool none = std::any_of(values.begin(), values.end(), [](const LayoutValue& each) {
    return each.number == static_cast<std::int64_t>(Recompute::none);
  });
  return none ? std::optional{PlanRule::duplicate} : only_first(true, digit);
}

/// An order of the axes of more than one rank that an earlier value has too is a duplicate.
std::optional<PlanRule> LayoutWalk::set_order(std::int64_t number, std::size_t digit) {
  const auto several = [this](std::int64_t of) {
    const std::array<int, 4> degrees{parallel_.tp, parallel_.cp, parallel_.dp, parallel_.pp};
    std::int64_t out = 1;
    for (int place = 3; place >= 0; --place) {
      const auto axis = static_cast<std::size_t>(of >> (2 * place)) & 3U;
      if (degrees[axis] > 1) out = out * 4 + static_cast<std::int64_t>(axis);
    }
    return out;
  };
  const auto& values = space_.axis(LayoutKey::order).values;
  for (std::size_t i = 0; i < digit; ++i)
    if (several(values[i].number) == several(number)) return PlanRule::duplicate;
  parallel_.order = orders_[digit];
  return std::nullopt;
}

/// Of the kinds of traffic, those that the layout has.
std::int64_t LayoutWalk::useful_overlap(std::int64_t mask) const {
  const TransformerConfig* shape = setting_.scenario().model.transformer();
  const std::int64_t replicas = std::int64_t{parallel_.dp} * parallel_.cp *
                                parallel_.stage_copies() / parallel_.outer_degree();
  const bool hybrid = parallel_.shard_ranks > 0 && parallel_.shard_ranks < replicas &&
                      (parallel_.zero > 1 || (parallel_.zero == 1 && parallel_.scatter_gradients));
  const auto keep = [&](Overlap what, bool is_there) {
    if (!is_there) mask &= ~(std::int64_t{1} << static_cast<int>(what));
  };
  keep(Overlap::cp, parallel_.cp > 1);
  keep(Overlap::dp_gradients, replicas > 1);
  keep(Overlap::dp_parameters, replicas > 1 && parallel_.zero > 0);
  const bool exchanges = shape != nullptr && shape->experts && parallel_.ep > 1;
  keep(Overlap::ep_pairs, exchanges && parallel_.microbatches() > 1);
  const bool pairs = ((mask >> static_cast<int>(Overlap::ep_pairs)) & 1) != 0;
  keep(Overlap::ep, exchanges && !pairs);  // which hides that traffic, too
  keep(Overlap::hsdp, hybrid);
  keep(Overlap::outer, parallel_.outer_degree() > 1);
  keep(Overlap::pp, parallel_.pp > 1);
  keep(Overlap::tp, parallel_.tp > 1);
  const bool all_of_tp = ((mask >> static_cast<int>(Overlap::tp)) & 1) != 0;
  keep(Overlap::tp_backward, parallel_.tp > 1 && !all_of_tp);
  return mask;
}

std::optional<PlanRule> LayoutWalk::set_overlap(std::int64_t mask, std::size_t digit) {
  const std::int64_t useful = useful_overlap(mask);
  const auto& values = space_.axis(LayoutKey::overlap).values;
  for (std::size_t i = 0; i < digit; ++i)
    if (useful_overlap(values[i].number) == useful) return PlanRule::duplicate;
  parallel_.overlap = overlaps_[static_cast<std::size_t>(useful)];
  return pairs_problem(parallel_) ? std::optional{PlanRule::schedule} : std::nullopt;
}

std::optional<PlanRule> LayoutWalk::set_delay(bool delays, std::size_t digit) {
  const bool matters = parallel_.overlaps(Overlap::ep_pairs) && !parallel_.splits_backward();
  parallel_.delay_wgrad_compute = delays && matters;
  return only_first(matters, digit);
}

}  // namespace lockstep::app
