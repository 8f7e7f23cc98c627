#include "tests/strategies/step/fold/random_features.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include "strategies/layout/scenario_names.hpp"
#include "tests/strategies/step/step_under_test.hpp"

namespace lockstep::test {
namespace {

using Random = std::mt19937_64;

/// One kind of what is drawn; `apply` changes nothing where it has no sense.
struct Feature {
  const char* name;
  int one_in;
  void (*apply)(RandomLayout&, Random&);
};

template <typename T>
[[nodiscard]] T one_of(Random& draw, std::initializer_list<T> choices) {
  return choices.begin()[draw() % choices.size()];
}

void change_model(RandomLayout& layout, const std::function<void(TransformerConfig&)>& change) {
  TransformerConfig shape = layout.shape();
  change(shape);
  layout.model = transformer(shape);
}

/// One layer more somewhere, one less elsewhere.
void draw_stages(RandomLayout& layout, Random& draw) {
  ParallelConfig& p = layout.parallel;
  const int chunks = p.pp * p.vpp;
  if (p.pp == 1) return;
  std::vector<int> stages(static_cast<std::size_t>(chunks), 1);
  for (int& stage : stages) stage += static_cast<int>(draw() % 2);
  p.stages = stages;
  change_model(layout, [&](TransformerConfig& shape) {
    shape.layers = std::accumulate(stages.begin(), stages.end(), 0);
  });
}

void draw_short_edges(RandomLayout& layout, Random&) {
  ParallelConfig& p = layout.parallel;
  if (p.pp == 1 || !p.stages.empty()) return;
  p.short_edges = true;
  change_model(layout, [&](TransformerConfig& shape) { shape.layers = 2 * p.pp * p.vpp - 2; });
}

void draw_pairs(RandomLayout& layout, Random& draw) {
  ParallelConfig& p = layout.parallel;
  if (p.ep == 1) return;
  p.overlap.erase(Overlap::ep);
  p.overlap.insert(Overlap::ep_pairs);
  if (p.zero == 3) p.zero = 2;
  p.delay_wgrad_compute = !p.splits_backward() && draw() % 2 == 0;
}

/// Data parallelism alone.
void draw_exchange(RandomLayout& layout, Random& draw) {
  ParallelConfig& p = layout.parallel;
  const ParallelConfig plain;
  p.dp = p.ranks();
  for (int* degree : {&p.tp, &p.pp, &p.cp, &p.ep, &p.vpp}) *degree = 1;
  p.etp = 0;
  p.zero = 0;
  p.shard_ranks = 0;
  p.schedule = PipelineOrder::none;
  p.microbatch_group = 0;
  p.sequence_parallel = false;
  p.stages.clear();
  p.short_edges = false;
  p.overlap.erase(Overlap::ep_pairs);
  p.delay_wgrad_compute = false;
  p.global_batch = p.micro_batch * p.dp * 2;
  p.state.offload = false;
  p.exchange = one_of(draw, {GradientExchange::parameter_server, GradientExchange::host_average,
                             GradientExchange::parameter_averaging});
  if (p.exchange == GradientExchange::parameter_averaging)
    p.average_every = one_of(draw, {1, 2, 4});
  if (p.exchange == GradientExchange::parameter_server) p.servers = one_of(draw, {1, 2, 3});
  p.update = plain.update;
}

void draw_diloco(RandomLayout& layout, Random& draw) {
  ParallelConfig& p = layout.parallel;
  if (p.dp == 1) return;
  p.exchange = GradientExchange::diloco;
  p.servers = 1;
  p.state.offload = false;
  p.outer_replicas = p.dp % 2 == 0 ? one_of(draw, {0, 2}) : 0;
  p.average_every = one_of(draw, {1, 2, 4});
  p.fragments = std::min(p.average_every, one_of(draw, {1, 2}));
  p.outer_gradients = one_of(draw, {Dtype::fp32, Dtype::bf16, Dtype::fp8_block});
  p.outer_on_host = draw() % 2 == 0;
}

void draw_optimizer(RandomLayout& layout, Random& draw) {
  ParallelConfig& p = layout.parallel;
  p.state.optimizer = one_of(
      draw, {Optimizer::sgd, Optimizer::adam, Optimizer::adam, Optimizer::muon, Optimizer::soap});
  p.state.moments = one_of(draw, {Dtype::fp32, Dtype::bf16, Dtype::fp8_block});
  if (p.state.takes_matrices()) p.state.offload = false;
  if (p.state.takes_matrices()) p.update = UpdateStart::after_all;
  if (p.state.optimizer == Optimizer::muon)
    p.state.muon_blocks =
        one_of(draw, {MuonBlocks::duplicated, MuonBlocks::distributed, MuonBlocks::blockwise});
  p.state.precondition_frequency = one_of(draw, {1, 10});
}

void draw_offload(RandomLayout& layout, Random&) {
  layout.parallel.state.offload = true;
}

void draw_capacity(RandomLayout& layout, Random& draw) {
  if (layout.shape().experts) layout.parallel.capacity_factor = one_of(draw, {1.0, 1.25});
}

void draw_skew(RandomLayout& layout, Random& draw) {
  if (layout.shape().experts) layout.parallel.expert_skew = one_of(draw, {1.25, 1.5, 2.0});
}

void draw_deepep(RandomLayout& layout, Random& draw) {
  ParallelConfig& p = layout.parallel;
  if (p.ep == 1) return;
  p.capacity_factor = 0;
  p.dispatcher = Dispatcher::deepep;
  p.dispatch_sms = one_of(draw, {0, 20, 24}) + 1;
}

void draw_window(RandomLayout& layout, Random& draw) {
  change_model(layout, [&](TransformerConfig& shape) {
    shape.window = AttentionWindow{};
    shape.window->size = shape.sequence / 4;
    shape.window->chunked = draw() % 3 == 0;
    shape.window->full_every = one_of(draw, {0, 2});
  });
}

void draw_documents(RandomLayout& layout, Random& draw) {
  change_model(layout, [&](TransformerConfig& shape) {
    shape.documents = {shape.sequence / 4, shape.sequence / one_of(draw, {2, 4})};
  });
}

void draw_own_documents(RandomLayout& layout, Random& draw) {
  change_model(layout, [&](TransformerConfig& shape) {
    shape.documents.clear();
    if (draw() % 2 == 0) {
      shape.packed.lists = {{shape.sequence / 4, shape.sequence / 2}, {shape.sequence}, {3, 5}};
      return;
    }
    const auto kind = one_of(draw, {DocumentDraw::Kind::uniform, DocumentDraw::Kind::lognormal});
    const auto mean = static_cast<double>(shape.sequence) / 4;
    shape.packed.drawn = DocumentDraw{kind, 1, shape.sequence, mean, 1, draw() % 100};
  });
}

void draw_mtp(RandomLayout& layout, Random& draw) {
  change_model(layout, [&](TransformerConfig& shape) {
    shape.mtp = TokenPrediction{one_of<std::int64_t>(draw, {1, 2}), 0.1};
  });
}

void draw_no_prefetch(RandomLayout& layout, Random&) {
  if (layout.parallel.zero == 3) layout.parallel.prefetch = false;
}

void draw_algorithms(RandomLayout& layout, Random& draw) {
  for (const char* group : {"dp", "tp", "hsdp"}) {
    if (draw() % 2 == 0) continue;
    layout.parallel.algorithms[group] = one_of<const char*>(
        draw, {"ring", "binary_tree", "double_binary_tree", "halving_doubling"});
  }
}

constexpr Feature kFeatures[] = {
    {"exchange", 8, draw_exchange},
    {"diloco", 6, draw_diloco},
    {"optimizer", 2, draw_optimizer},
    {"offload", 6, draw_offload},
    {"stages", 3, draw_stages},
    {"short_edges", 3, draw_short_edges},
    {"ep_pairs", 2, draw_pairs},
    {"capacity_factor", 3, draw_capacity},
    {"deepep", 2, draw_deepep},
    {"expert_skew", 3, draw_skew},
    {"prefetch off", 2, draw_no_prefetch},
    {"window", 4, draw_window},
    {"documents", 4, draw_documents},
    {"documents of sequences", 4, draw_own_documents},
    {"mtp", 5, draw_mtp},
    {"algorithms", 3, draw_algorithms},
};

[[nodiscard]] bool equal(const RandomLayout& a, const RandomLayout& b) {
  return a.shape() == b.shape() && to_string(a) == to_string(b) &&
         a.parallel.stages == b.parallel.stages &&
         a.parallel.short_edges == b.parallel.short_edges &&
         a.parallel.prefetch == b.parallel.prefetch && a.parallel.exchange == b.parallel.exchange &&
         a.parallel.capacity_factor == b.parallel.capacity_factor &&
         a.parallel.dispatcher == b.parallel.dispatcher &&
         a.parallel.expert_skew == b.parallel.expert_skew &&
         a.parallel.algorithms == b.parallel.algorithms &&
         a.parallel.state.optimizer == b.parallel.state.optimizer &&
         a.parallel.state.moments == b.parallel.state.moments;
}

}  // namespace

std::vector<std::string> feature_names() {
  std::vector<std::string> out;
  for (const Feature& feature : kFeatures) out.emplace_back(feature.name);
  return out;
}

RandomLayout with_more_replicas(RandomLayout layout, int most_ranks) {
  while (2 * layout.parallel.ranks() <= most_ranks) {
    RandomLayout with = layout;
    with.parallel.dp *= 2;
    with.parallel.global_batch *= 2;
    if (!possible(with)) break;
    layout = std::move(with);
  }
  return layout;
}

RandomLayout with_random_features(RandomLayout layout, std::mt19937_64& draw, int most_ranks,
                                  DrawnFeatures& drawn) {
  if (draw() % 3 == 0) layout = with_more_replicas(std::move(layout), most_ranks);
  for (const Feature& feature : kFeatures) {
    if (draw() % static_cast<std::uint64_t>(feature.one_in) != 0) continue;
    RandomLayout with = layout;
    feature.apply(with, draw);
    if (equal(with, layout) || !possible(with)) continue;
    layout = std::move(with);
    ++drawn[feature.name];
  }
  ++drawn["schedule " +
          std::string{name_of(pipeline_names(), layout.parallel.pp > 1 ? layout.parallel.schedule
                                                                       : PipelineOrder::none)}];
  return layout;
}

}  // namespace lockstep::test
