#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "sim/execute/host/program/execute_program.hpp"
#include "sim/execute/host/program/first_difference.hpp"
#include "strategies/collectives/registry.hpp"
#include "strategies/training/build_program.hpp"
#include "tests/strategies/training/random_plans.hpp"
#include "tests/strategies/training/step_under_test.hpp"

// Every strategy trains the same model as a single device: the program that is simulated is run on
// real numbers. A forgotten reduction, a scale that is off or a shard in the wrong place gives
// other weights.
namespace lockstep {
namespace {

constexpr double kSame = 1e-10;  // in float64, whatever the optimizer
constexpr int kSteps = 2;

TransformerConfig gpt() {
  TransformerConfig out;
  out.layers = 4;
  out.hidden = 16;
  out.heads = 4;
  out.sequence = 16;
  out.vocabulary = 32;
  return out;
}

TransformerConfig llama() {
  TransformerConfig out = gpt();
  out.kv_heads = 2;
  out.ffn = 24;
  out.gated = true;
  out.bias = false;
  out.norm = Normalisation::rms;
  out.function = ActivationFunction::swiglu;
  out.positions = Positions::rotary;
  return out;
}

ModelConfig model_of(const TransformerConfig& shape) {
  return test::transformer(shape);
}

/// One device with as many sequences per microbatch as all replicas have together.
ParallelConfig single_device(const ParallelConfig& of) {
  ParallelConfig out;
  out.micro_batch = of.micro_batch * of.dp;
  out.global_batch = of.global_batch;
  out.state = of.state;
  out.state.offload = false;
  return out;
}

/// What is wrong with a plan's step on real numbers; empty: nothing.
std::string trouble(const ModelConfig& model, const ParallelConfig& parallel,
                    const ParallelConfig& alone_as, const ExecutionOptions& options = {}) {
  const auto problems = plan_problems(model, parallel, parallel.ranks(), 8);
  if (!problems.empty()) return problems.front().message;
  try {
    const Program program = build_program(model, parallel, 8);
    const Program alone = build_program(model, alone_as, 8);
    ProgramExecution execution{program, options};
    ProgramExecution reference{alone};
    for (int step = 0; step < kSteps; ++step) {
      const double loss = execution.step();
      const double expected = reference.step();
      if (!(std::abs(loss - expected) < kSame)) {
        return fmt::format("step {}: loss {} where one device has {}", step, loss, expected);
      }
    }
    if (const auto wrong = first_difference(execution, reference, kSame)) return wrong->text();
    for (const WeightDifference& worst : {largest_difference(execution, reference),
                                          largest_state_difference(execution, reference)}) {
      if (!(worst.value < kSame) || !worst.missing.empty()) return worst.text();
    }
    return "";
  } catch (const std::exception& error) {
    return error.what();
  }
}

ParallelConfig plan(int dp = 1) {
  ParallelConfig out;
  out.dp = dp;
  out.micro_batch = 2;
  out.global_batch = 2 * dp * 2;
  out.state.optimizer = Optimizer::momentum;  // Adam hardly sees a gradient that is scaled
  return out;
}

void check(const ModelConfig& model, const ParallelConfig& parallel, std::uint64_t order_seed = 1) {
  ExecutionOptions options;
  options.order_seed = order_seed;
  CHECK(trouble(model, parallel, single_device(parallel), options) == "");
}

TEST_CASE("tensor parallelism computes what one device does") {
  ParallelConfig parallel = plan();
  parallel.tp = 2;
  check(model_of(gpt()), parallel);
  check(model_of(llama()), parallel);
  parallel.tp = 4;
  check(model_of(gpt()), parallel);
  check(model_of(llama()), parallel);  // more ranks than heads of keys and values
}

TEST_CASE("sequence parallelism computes what one device does") {
  ParallelConfig parallel = plan();
  parallel.sequence_parallel = true;
  for (const int tp : {2, 4}) {
    parallel.tp = tp;
    check(model_of(gpt()), parallel);
    check(model_of(llama()), parallel);
  }
}

TEST_CASE("data parallelism and ZeRO compute what one device does") {
  for (const int zero : {0, 1, 2, 3}) {
    ParallelConfig parallel = plan(4);
    parallel.zero = zero;
    CAPTURE(zero);
    check(model_of(gpt()), parallel);
    parallel.shard_ranks = 2;
    check(model_of(gpt()), parallel);
    parallel.overlap = {Overlap::dp_gradients, Overlap::dp_parameters};
    check(model_of(llama()), parallel);
  }
}

TEST_CASE("pipelines compute what one device does") {
  for (const PipelineOrder order :
       {PipelineOrder::naive, PipelineOrder::gpipe, PipelineOrder::one_f_one_b,
        PipelineOrder::interleaved, PipelineOrder::zb_h1, PipelineOrder::zb_h2,
        PipelineOrder::zb_1p, PipelineOrder::zb_2p}) {
    CAPTURE(static_cast<int>(order));
    ParallelConfig parallel = plan();
    parallel.pp = 2;
    parallel.schedule = order;
    parallel.vpp = order == PipelineOrder::interleaved ? 2 : 1;
    parallel.global_batch = 8;
    check(model_of(gpt()), parallel);
    parallel.tp = 2;
    check(model_of(llama()), parallel);
  }
}

// NCCL keeps few messages on a connection; the simulator keeps any number of them.
TEST_CASE("pipelines need room for one message on a connection") {
  TransformerConfig shape = gpt();
  shape.layers = 8;
  shape.hidden = 8;
  for (const PipelineOrder order :
       {PipelineOrder::naive, PipelineOrder::gpipe, PipelineOrder::one_f_one_b,
        PipelineOrder::interleaved, PipelineOrder::zb_h1, PipelineOrder::zb_h2,
        PipelineOrder::zb_1p, PipelineOrder::zb_2p}) {
    for (const bool overlap : {false, true}) {
      CAPTURE(static_cast<int>(order));
      CAPTURE(overlap);
      ParallelConfig parallel = plan();
      parallel.micro_batch = 1;
      parallel.pp = 4;
      parallel.schedule = order;
      parallel.vpp = order == PipelineOrder::interleaved ? 2 : 1;
      parallel.global_batch = 8;
      if (overlap) parallel.overlap = {Overlap::pp};
      check(model_of(shape), parallel, 7);
    }
  }
}

ParallelConfig context(ContextKind kind, int cp, bool zigzag) {
  ParallelConfig out = plan();
  out.cp = cp;
  out.cp_kind = kind;
  out.zigzag = zigzag;
  out.ulysses = kind == ContextKind::both ? 2 : 0;
  return out;
}

TEST_CASE("context parallelism computes what one device does") {
  for (const bool zigzag : {false, true}) {
    for (const ContextKind kind : {ContextKind::ring, ContextKind::ulysses, ContextKind::both}) {
      CAPTURE(zigzag);
      CAPTURE(static_cast<int>(kind));
      ParallelConfig parallel = context(kind, 4, zigzag);
      check(model_of(gpt()), parallel);
      check(model_of(llama()), parallel);  // two heads of keys and values for four ranks
      parallel.cp = 2;
      parallel.tp = 2;
      parallel.sequence_parallel = true;
      check(model_of(gpt()), parallel);
      check(model_of(llama()), parallel);
      parallel.overlap = {Overlap::cp};
      check(model_of(gpt()), parallel);
    }
  }
  TransformerConfig both_ways = gpt();
  both_ways.causal = false;
  check(model_of(both_ways), context(ContextKind::ring, 4, false));
  TransformerConfig unfused = llama();
  unfused.attention = AttentionKind::unfused;
  check(model_of(unfused), context(ContextKind::ulysses, 2, false));
}

TransformerConfig experts(TransformerConfig of) {
  of.experts = ExpertsConfig{.experts = 4,
                             .top_k = 2,
                             .ffn = 8,
                             .shared = 1,
                             .shared_ffn = 8,
                             .dense_layers = 1,
                             .every = 1};
  return of;
}

TEST_CASE("expert parallelism computes what one device does") {
  for (const TransformerConfig& base : {gpt(), llama()}) {
    const ModelConfig model = model_of(experts(base));
    check(model, plan(4));
    ParallelConfig parallel = plan(4);
    for (const int ep : {2, 4}) {
      CAPTURE(ep);
      parallel.ep = ep;
      check(model, parallel);
      for (const int zero : {1, 2, 3}) {
        CAPTURE(zero);
        ParallelConfig sharded = parallel;
        sharded.zero = zero;
        check(model, sharded);
      }
      ParallelConfig more = plan(2);
      more.ep = ep;
      more.tp = 2;
      more.cp = 2;
      check(model, more);
      more.sequence_parallel = true;
      check(model, more);
    }
  }
}

TEST_CASE("latent attention computes what one device does") {
  for (const std::int64_t query_rank : {0, 8}) {
    TransformerConfig shape = llama();
    shape.kv_heads = 4;
    shape.head_size = 6;
    shape.latent = LatentAttention{
        .query_rank = query_rank, .kv_rank = 8, .key_size = 4, .rotary_size = 2, .value_size = 4};
    const ModelConfig model = model_of(shape);
    ParallelConfig parallel = plan(2);
    parallel.tp = 2;
    check(model, parallel);
    parallel.sequence_parallel = true;
    check(model, parallel);
    parallel.zero = 3;
    check(model, parallel);
    check(model, context(ContextKind::ring, 4, true));
    check(model, context(ContextKind::ulysses, 2, false));
  }
}

ModelConfig mlp() {
  return {.name = "mlp",
          .shape = MlpConfig{.hidden = 12,
                             .ffn = 16,
                             .layers = 4,
                             .function = ActivationFunction::relu,
                             .bias = true},
          .source = {}};
}

TEST_CASE("an MLP computes what one device does") {
  ParallelConfig parallel = plan(2);
  check(mlp(), parallel);
  parallel.tp = 4;
  check(mlp(), parallel);
  parallel.zero = 2;
  check(mlp(), parallel);
  parallel.pp = 2;
  parallel.schedule = PipelineOrder::one_f_one_b;
  check(mlp(), parallel);
}

TEST_CASE("ResNets in a pipeline compute what one device does") {
  ResNetConfig shape{.stages = {1, 2}, .width = 2, .image = 12, .classes = 5};
  ParallelConfig parallel = plan();
  parallel.pp = 3;
  parallel.schedule = PipelineOrder::one_f_one_b;
  check({.name = "resnet", .shape = shape, .source = {}}, parallel);
  shape.frames = 2;
  shape.temporal_shift = true;
  parallel.recompute = Recompute::full;
  check({.name = "tsm", .shape = shape, .source = {}}, parallel);
}

// Every replica normalises its own batch, as frameworks do. So the reference takes the replicas'
// batches one after the other, as microbatches of their own: the same samples in the same groups.
TEST_CASE("replicas of a ResNet compute what one device does with their batches in turn") {
  const ResNetConfig shape{.stages = {1, 1}, .width = 2, .image = 12, .classes = 5};
  const ModelConfig model{.name = "resnet", .shape = shape, .source = {}};
  for (const int zero : {0, 1, 2, 3}) {
    CAPTURE(zero);
    ParallelConfig parallel = plan(4);
    parallel.zero = zero;
    ParallelConfig alone = single_device(parallel);
    alone.micro_batch = parallel.micro_batch;
    CHECK(trouble(model, parallel, alone) == "");
  }
}

// Experts are cut along the very ranks that all else is sharded over; their replicas lie beyond.
TEST_CASE("hybrid shards within expert parallelism compute what one device does") {
  for (const int zero : {1, 2, 3}) {
    for (const int shards : {2, 4}) {
      CAPTURE(zero);
      CAPTURE(shards);
      ParallelConfig parallel = plan(4);
      parallel.ep = 2;
      parallel.zero = zero;
      parallel.shard_ranks = shards;
      check(model_of(experts(llama())), parallel);
    }
  }
}

/// The mean of the same weight over executions, put back into all of them.
void average(std::vector<std::unique_ptr<ProgramExecution>>& replicas) {
  std::vector<std::vector<HeldWeight>> held;
  for (const auto& replica : replicas) held.push_back(replica->weights());
  for (std::size_t weight = 0; weight < held.front().size(); ++weight) {
    for (std::size_t i = 0; i < held.front()[weight].values->size(); ++i) {
      double sum = 0;
      for (const auto& of : held) sum += (*of[weight].values)[i];
      for (const auto& of : held) {
        (*of[weight].values)[i] = sum / static_cast<double>(held.size());
      }
    }
  }
}

// Not what one device computes: every replica steps by its own samples' gradient, with moments of
// its own. The reference does the same in one process, one replica after the other.
TEST_CASE("parameter averaging computes what averaging in one process does") {
  for (const Optimizer optimizer : {Optimizer::sgd, Optimizer::momentum, Optimizer::adam}) {
    for (const bool master : {false, true}) {
      CAPTURE(static_cast<int>(optimizer));
      CAPTURE(master);
      ParallelConfig parallel = plan(3);
      parallel.exchange = GradientExchange::parameter_averaging;
      parallel.state.optimizer = optimizer;
      parallel.state.master = master;
      ParallelConfig one = plan(1);
      one.state = parallel.state;
      const ModelConfig model = model_of(gpt());
      const Program program = build_program(model, parallel, 8);
      const Program alone = build_program(model, one, 8);
      ProgramExecution execution{program};
      std::vector<std::unique_ptr<ProgramExecution>> replicas;
      for (int replica = 0; replica < parallel.dp; ++replica) {
        ExecutionOptions options;
        options.sample_of = [replica, &parallel](int microbatch, std::int64_t index,
                                                 std::int64_t batch) {
          return (microbatch * parallel.dp + replica) * batch + index;
        };
        replicas.push_back(std::make_unique<ProgramExecution>(alone, options));
      }
      for (int step = 0; step < kSteps; ++step) {
        double expected = 0;
        for (const auto& replica : replicas) expected += replica->step() / parallel.dp;
        average(replicas);
        CHECK(std::abs(execution.step() - expected) < kSame);
      }
      const WeightDifference worst = largest_difference(execution, *replicas.front());
      CAPTURE(worst.text());
      CHECK(worst.value < kSame);
      CHECK(worst.missing.empty());
      // SGD and momentum are linear in the gradient: averaged every step, they do the same as an
      // all-reduce. Adam is not.
      ParallelConfig summed = parallel;
      summed.exchange = GradientExchange::all_reduce;
      const Program exact = build_program(model, single_device(summed), 8);
      ProgramExecution reference{exact};
      for (int step = 0; step < kSteps; ++step) (void)reference.step();
      const double apart = largest_difference(execution, reference).value;
      CHECK((apart > 1e-6) == (optimizer == Optimizer::adam));
    }
  }
}

TEST_CASE("tied embeddings compute what one device does") {
  TransformerConfig shape = gpt();
  shape.tied_embeddings = true;
  for (const int pp : {1, 2, 4}) {
    for (const int zero : {0, 1, 2, 3}) {
      CAPTURE(pp);
      CAPTURE(zero);
      ParallelConfig parallel = plan(2);
      parallel.pp = pp;
      parallel.schedule = pp > 1 ? PipelineOrder::one_f_one_b : PipelineOrder::none;
      parallel.zero = zero;
      check(model_of(shape), parallel);
      parallel.tp = 2;
      parallel.sequence_parallel = true;
      check(model_of(shape), parallel);
    }
  }
}

TEST_CASE("recomputation computes what one device does") {
  for (const AttentionKind kind : {AttentionKind::flash, AttentionKind::unfused}) {
    for (const Recompute how : {Recompute::none, Recompute::selective, Recompute::full}) {
      CAPTURE(static_cast<int>(kind));
      CAPTURE(static_cast<int>(how));
      TransformerConfig shape = gpt();
      shape.attention = kind;
      shape.dropout = 0.2;
      ParallelConfig parallel = plan(2);
      parallel.recompute = how;
      check(model_of(shape), parallel);
      parallel.tp = 2;
      parallel.sequence_parallel = true;
      parallel.zero = 3;
      check(model_of(shape), parallel);
      check(model_of(experts(shape)), parallel);
    }
  }
}

TEST_CASE("optimizers, with master copies, without and on the host, compute what one device does") {
  for (const Optimizer optimizer : {Optimizer::sgd, Optimizer::momentum, Optimizer::adam}) {
    for (const bool master : {false, true}) {
      for (const bool offload : {false, true}) {
        for (const int zero : {0, 1, 2, 3}) {
          CAPTURE(static_cast<int>(optimizer));
          CAPTURE(master);
          CAPTURE(offload);
          CAPTURE(zero);
          TransformerConfig shape = gpt();
          shape.layers = 1;
          ParallelConfig parallel = plan(2);
          parallel.zero = zero;
          parallel.state.optimizer = optimizer;
          parallel.state.master = master;
          parallel.state.offload = offload;
          check(model_of(shape), parallel);
        }
      }
    }
  }
}

TEST_CASE("parameter servers and an averaging host compute what one device does") {
  for (const int servers : {1, 3}) {
    CAPTURE(servers);
    ParallelConfig parallel = plan(4);
    parallel.exchange = GradientExchange::parameter_server;
    parallel.servers = servers;
    check(model_of(gpt()), parallel);
    check(mlp(), parallel);
    parallel.overlap = {Overlap::dp_gradients};
    check(model_of(llama()), parallel);
  }
  ParallelConfig parallel = plan(4);
  parallel.exchange = GradientExchange::host_average;
  check(model_of(gpt()), parallel);
}

/// The algorithm of that name wherever it does the collective and takes so many ranks; else the
/// first of its table that does.
ScheduleOf by(std::string_view name) {
  return [name](const Communication& how, int members, int root) -> SchedulePtr {
    AlgorithmInput input;
    input.n = members;
    input.root = root;
    const CollectiveAlgorithm* wanted = find_algorithm(how.collective, name);
    if (wanted != nullptr && validate(*wanted, input).empty()) return make_schedule(*wanted, input);
    for (const CollectiveAlgorithm& other : collective_algorithms()) {
      if (other.collective == how.collective && validate(other, input).empty()) {
        return make_schedule(other, input);
      }
    }
    return nullptr;
  };
}

std::vector<std::string_view> all_names() {
  std::vector<std::string_view> out;
  for (const CollectiveAlgorithm& algorithm : collective_algorithms()) {
    if (std::find(out.begin(), out.end(), algorithm.name) == out.end()) {
      out.push_back(algorithm.name);
    }
  }
  return out;
}

// The transfers of the algorithms do the work: no collective is taken for granted.
TEST_CASE("every collective algorithm trains as one device does") {
  ParallelConfig tensor = plan(4);
  tensor.tp = 2;
  tensor.sequence_parallel = true;
  ParallelConfig sharded = plan(3);
  sharded.zero = 3;
  ParallelConfig spread = plan(4);
  spread.ep = 4;
  ParallelConfig servers = plan(3);
  servers.exchange = GradientExchange::parameter_server;
  TransformerConfig shape = gpt();
  shape.layers = 1;
  TransformerConfig all_experts = experts(shape);
  all_experts.experts->dense_layers = 0;
  for (const std::string_view name : all_names()) {
    CAPTURE(name);
    ExecutionOptions options;
    int asked = 0;
    options.schedule_of = [&asked, of = by(name)](const Communication& how, int members, int root) {
      ++asked;
      return of(how, members, root);
    };
    for (const ParallelConfig& parallel :
         {tensor, sharded, servers, context(ContextKind::ring, 4, true),
          context(ContextKind::ulysses, 4, true)}) {
      CHECK(trouble(model_of(shape), parallel, single_device(parallel), options) == "");
    }
    CHECK(trouble(model_of(all_experts), spread, single_device(spread), options) == "");
    CHECK(asked > 0);
  }
}

TEST_CASE("random plans compute what one device does") {
  int done = 0;
  for (const test::RandomPlan& drawn : test::random_plans(20261122, 60)) {
    const test::RandomPlan plan = test::shrunk(drawn);
    if (!test::possible(plan)) continue;
    const std::string text = test::to_string(plan);
    CAPTURE(text);
    check(plan.model, plan.parallel, static_cast<std::uint64_t>(++done));
  }
  CHECK(done >= 40);
}

// Ranks that hold experts are numbered along other axes than tokens are cut: first cp, then dp.
TEST_CASE("tokens find their experts and come back, whatever the order of the axes") {
  TransformerConfig shape = experts(gpt());
  shape.layers = 2;
  shape.experts->dense_layers = 0;
  ParallelConfig parallel = plan(2);
  parallel.tp = 2;
  parallel.cp = 2;
  parallel.ep = 4;
  for (const auto& order : std::vector<std::vector<std::string>>{
           {"pp", "dp", "cp", "tp"}, {"dp", "tp", "cp", "pp"}, {"cp", "dp", "tp", "pp"}}) {
    CAPTURE(order.front());
    parallel.order = order;
    parallel.sequence_parallel = false;
    check(model_of(shape), parallel);
    parallel.sequence_parallel = true;
    check(model_of(shape), parallel);
  }
}

}  // namespace
}  // namespace lockstep
