#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "sim/program/kernel/kernel.hpp"
#include "strategies/models/count/count.hpp"
#include "strategies/step/lowering/lowering.hpp"
#include "tests/strategies/step/random_layouts.hpp"
#include "tests/strategies/step/step_under_test.hpp"

/// What holds for every training step, whatever the layout.

namespace lockstep::test {
namespace {

/// A collective as all its members have to agree on it.
using Agreed = std::tuple<Collective, std::int64_t, std::string>;
/// By members: what each of them calls, in its order.
using Calls = std::map<std::vector<int>, std::map<int, std::vector<Agreed>>>;

[[nodiscard]] std::vector<int> players(const TrainingStepUnderTest& step, std::size_t role) {
  const Program& program = step.program();
  std::vector<int> out;
  const int hosts = static_cast<int>(std::count_if(program.roles.begin(), program.roles.end(),
                                                   [](const Role& one) { return one.host; }));
  for (int rank = 0; rank < program.mesh.ranks() + hosts; ++rank) {
    if (role_played(program, rank) == role) out.push_back(rank);
  }
  return out;
}

[[nodiscard]] Calls collectives(const TrainingStepUnderTest& step) {
  Calls out;
  for (std::size_t role = 0; role < step.roles().size(); ++role) {
    for (const int rank : players(step, role)) {
      for (const Message& message : step.messages(role)) {
        if (message.operation->kind != OperationKind::collective) continue;
        const auto who = communicator_of(step.program(), rank, *message.operation->communication);
        out[who.members][rank].emplace_back(message.collective(), message.bytes, message.group());
      }
    }
  }
  return out;
}

/// From, to, what, bytes: how often sent less how often received.
using Letters = std::map<std::tuple<int, int, TensorInstance, std::int64_t>, int>;

[[nodiscard]] Letters letters(const TrainingStepUnderTest& step) {
  Letters out;
  const Mesh& mesh = step.mesh();
  for (std::size_t role = 0; role < step.roles().size(); ++role) {
    for (const int rank : players(step, role)) {
      for (const Message& message : step.messages(role)) {
        const OperationKind kind = message.operation->kind;
        if (kind == OperationKind::collective) continue;
        const Communication& how = *message.operation->communication;
        const int size = mesh.size(how.over);
        const int peer = mesh.moved(rank, how.over,
                                    (mesh.coordinate(rank, how.over) + how.offset + size) % size);
        const bool sends = kind == OperationKind::send;
        const std::uint32_t what = sends ? message.in_role->reads[0] : message.in_role->writes[0];
        const std::tuple key{sends ? rank : peer, sends ? peer : rank,
                             step.role(role).instances[what], message.bytes};
        out[key] += sends ? 1 : -1;
      }
    }
  }
  return out;
}

/// Floating-point operations of a role.
[[nodiscard]] double flops_of(const TrainingStepUnderTest& step, std::size_t role) {
  std::map<RoutineId, double> of_routine;
  double sum = 0;
  for (const Call& call : step.program().roles[role].calls) {
    const auto [found, is_new] = of_routine.try_emplace(call.routine, 0.0);
    const Routine& routine = step.program().routines[call.routine];
    for (std::size_t i = 0; is_new && i < routine.operations.size(); ++i) {
      found->second += kernel_of(step.program(), routine, i).flops;
    }
    sum += found->second;
  }
  return sum;
}

[[nodiscard]] double flops_of_all(const TrainingStepUnderTest& step) {
  double sum = 0;
  for (std::size_t role = 0; role < step.roles().size(); ++role) {
    sum += flops_of(step, role) * step.players(role);
  }
  return sum;
}

[[nodiscard]] double flops_of_one_device(const RandomLayout& layout) {
  ParallelConfig alone;
  alone.micro_batch = layout.parallel.micro_batch * layout.parallel.dp;
  alone.global_batch = layout.parallel.global_batch;
  return flops_of_all(TrainingStepUnderTest{layout.model, alone});
}

/// Elements of all weights that some rank reads, over all ranks.
[[nodiscard]] std::int64_t elements_over_ranks(const TrainingStepUnderTest& step,
                                               const std::vector<std::string>& names) {
  std::int64_t sum = 0;
  for (std::size_t role = 0; role < step.roles().size(); ++role) {
    for (std::uint32_t i = 0; i < step.role(role).instances.size(); ++i) {
      const Tensor& tensor = step.role(role).tensor(i);
      if (std::find(names.begin(), names.end(), tensor.name) == names.end()) continue;
      sum += local_elements(step.mesh(), tensor) * step.players(role);
    }
  }
  return sum;
}

[[nodiscard]] TransformerConfig small() {
  TransformerConfig out;
  out.layers = 2;
  out.hidden = 64;
  out.heads = 8;
  out.kv_heads = 4;
  out.sequence = 32;
  out.vocabulary = 128;
  return out;
}

/// The kernel of a GEMM.
[[nodiscard]] Kernel kernel(const TrainingStepUnderTest& step, std::string_view routine,
                            std::string_view operation) {
  const Routine& in = step.program().routines[step.routine(routine)];
  for (std::size_t i = 0; i < in.operations.size(); ++i) {
    if (in.operations[i].name == operation) return kernel_of(step.program(), in, i);
  }
  FAIL("no operation ", std::string{operation});
  return {};
}

void check_gemm(const Kernel& kernel, std::int64_t batches, std::int64_t m, std::int64_t n,
                std::int64_t k) {
  CHECK(kernel.batches == batches);
  CHECK(kernel.m == m);
  CHECK(kernel.n == n);
  CHECK(kernel.k == k);
}

}  // namespace

TEST_CASE("local shapes: tensor parallelism cuts heads and inner dimensions, context the tokens") {
  // h 64, a 8, g 4, d 8, s 32, b 3, V 128, F 256.
  for (const int tp : {1, 2, 4}) {
    for (const int cp : {1, 2}) {
      CAPTURE(tp);
      CAPTURE(cp);
      ParallelConfig with;
      with.tp = tp;
      with.cp = cp;
      with.micro_batch = 3;
      with.global_batch = 3;
      const TrainingStepUnderTest step{transformer(small()), with};
      const std::int64_t tokens = 3 * 32 / cp;
      // Queries, keys and values in one GEMM: (8 + 2 * 4) heads of 8.
      check_gemm(kernel(step, "layer.forward", "attention.q"), 1, tokens, 16 * 8 / tp, 64);
      check_gemm(kernel(step, "layer.forward", "attention.out"), 1, tokens, 64, 64 / tp);
      check_gemm(kernel(step, "layer.forward", "mlp.up"), 1, tokens, 256 / tp, 64);
      check_gemm(kernel(step, "layer.forward", "mlp.down"), 1, tokens, 64, 256 / tp);
      check_gemm(kernel(step, "head.forward", "logits"), 1, tokens, 128 / tp, 64);
      // Backward: gradients of the input have the input's shape, those of weights the weight's.
      check_gemm(kernel(step, "layer.backward", "mlp.up.input_gradient"), 1, tokens, 64, 256 / tp);
      check_gemm(kernel(step, "layer.backward", "mlp.up.weight_gradient"), 1, 64, 256 / tp, tokens);
      check_gemm(kernel(step, "layer.backward", "mlp.down.weight_gradient"), 1, 256 / tp, 64,
                 tokens);
    }
  }
}

TEST_CASE("local shapes: attention has all tokens and some heads, or the ring's tokens") {
  ParallelConfig with;
  with.tp = 2;
  with.cp = 2;
  SUBCASE("ulysses: 8 / (2 * 2) heads, all 32 tokens") {
    with.cp_kind = ContextKind::ulysses;
    const TrainingStepUnderTest step{transformer(small()), with};
    check_gemm(kernel(step, "layer.forward", "attention"), 2, 32, 32, 8);
  }
  SUBCASE("ring: 8 / 2 heads, 16 tokens against 16") {
    with.zigzag = false;
    const TrainingStepUnderTest step{transformer(small()), with};
    check_gemm(kernel(step, "layer.forward", "attention.part0"), 4, 16, 16, 8);
    check_gemm(kernel(step, "layer.forward", "attention.part1"), 4, 16, 16, 8);
  }
}

TEST_CASE("local shapes: a rank has its experts and the tokens that come to them") {
  // 4 sequences of 32 tokens, 2 visits each, 8 experts: 32 tokens an expert.
  TransformerConfig experts = small();
  experts.experts = ExpertsConfig{};
  experts.experts->experts = 8;
  experts.experts->ffn = 96;
  ParallelConfig with;
  with.dp = 4;
  with.global_batch = 4;
  SUBCASE("every rank has all experts, with its own tokens: a quarter") {
    const TrainingStepUnderTest step{transformer(experts), with};
    check_gemm(kernel(step, "expert_layer.forward", "experts.up"), 8, 8, 96, 64);
  }
  SUBCASE("two experts each, with the tokens of all ranks") {
    with.ep = 4;
    const TrainingStepUnderTest step{transformer(experts), with};
    check_gemm(kernel(step, "expert_layer.forward", "experts.up"), 2, 32, 96, 64);
    check_gemm(kernel(step, "expert_layer.forward", "experts.down"), 2, 32, 64, 96);
  }
  SUBCASE("four experts each, with the tokens of half of the ranks") {
    with.ep = 2;
    const TrainingStepUnderTest step{transformer(experts), with};
    check_gemm(kernel(step, "expert_layer.forward", "experts.up"), 4, 16, 96, 64);
  }
  SUBCASE("their inner dimension is cut by tensor parallelism too") {
    with.ep = 4;
    with.tp = 2;
    const TrainingStepUnderTest step{transformer(experts), with};
    check_gemm(kernel(step, "expert_layer.forward", "experts.up"), 2, 32, 48, 64);
  }
}

TEST_CASE("weights: all ranks together have each as often as it is replicated") {
  ParallelConfig with;
  with.tp = 4;
  with.cp = 2;
  with.pp = 2;
  with.dp = 2;
  with.global_batch = 4;
  with.schedule = PipelineOrder::gpipe;
  const TrainingStepUnderTest step{transformer(small()), with};
  constexpr std::int64_t kReplicas = 2 * 2;  // dp * cp
  constexpr std::int64_t kH = 64;
  // Cut by tensor parallelism: 2h^2(1 + g/a) of attention and 8h^2 of the MLP a layer, and both
  // tables (PLANNERS, section 1).
  const std::int64_t cut = 2 * (2 * kH * kH * 3 / 2 + 8 * kH * kH) + 2 * 128 * kH;
  CHECK(elements_over_ranks(step, {"attention.q.weight", "attention.k.weight", "attention.v.weight",
                                   "attention.out.weight", "mlp.up.weight", "mlp.down.weight",
                                   "embedding.weight", "head.weight"}) == kReplicas * cut);
  // On every rank of tensor parallelism: norms and biases of row GEMMs.
  CHECK(elements_over_ranks(step, {"attention.norm.gain", "attention.norm.bias", "mlp.norm.gain",
                                   "mlp.norm.bias", "attention.out.bias", "mlp.down.bias"}) ==
        kReplicas * 4 * 2 * 6 * kH);
}

TEST_CASE("weights: heads of keys that are fewer than the ranks are replicated") {
  TransformerConfig grouped = small();
  grouped.kv_heads = 2;
  ParallelConfig with;
  with.tp = 8;
  const TrainingStepUnderTest step{transformer(grouped), with};
  // 2 heads over 8 ranks: one each, four times.
  CHECK(elements_over_ranks(step, {"attention.k.weight"}) == 4 * 2 * (64 * 2 * 8));
  CHECK(elements_over_ranks(step, {"attention.q.weight"}) == 2 * (64 * 8 * 8));
}

TEST_CASE("weights: an expert is on dp * cp / ep ranks") {
  TransformerConfig experts = small();
  experts.experts = ExpertsConfig{};
  experts.experts->experts = 8;
  experts.experts->ffn = 128;
  ParallelConfig with;
  with.dp = 4;
  with.cp = 2;
  with.ep = 4;
  with.global_batch = 4;
  const TrainingStepUnderTest step{transformer(experts), with};
  CHECK(elements_over_ranks(step, {"experts.up.weight"}) == 2 * (2 * 8 * 64 * 128));
  CHECK(elements_over_ranks(step, {"router.weight"}) == 8 * (2 * 64 * 8));
}

TEST_CASE("parameters: the weights of one device are the model's parameters") {
  for (const RandomLayout& layout : random_layouts(11, 20)) {
    ParallelConfig alone;
    alone.global_batch = layout.parallel.global_batch;
    const TrainingStepUnderTest step{layout.model, alone};
    std::int64_t sum = 0;
    for (std::uint32_t i = 0; i < step.role().instances.size(); ++i) {
      const Tensor& tensor = step.role().tensor(i);
      if (tensor.category == Category::weight) sum += local_elements(step.mesh(), tensor);
    }
    CHECK(sum == count_parameters(layout.model).total());
  }
}

TEST_CASE("every layout: members of a communicator call the same collectives in the same order") {
  for (const RandomLayout& layout : random_layouts(1, 60)) {
    CAPTURE(to_string(layout));
    const TrainingStepUnderTest step{layout.model, layout.parallel};
    for (const auto& [members, by_rank] : collectives(step)) {
      CHECK(by_rank.size() == members.size());
      for (const auto& [rank, calls] : by_rank) {
        CHECK(calls == by_rank.begin()->second);
      }
    }
  }
}

TEST_CASE("hosts and workers call the same collectives in the same order") {
  for (const GradientExchange exchange :
       {GradientExchange::parameter_server, GradientExchange::host_average}) {
    for (const int servers : {1, 3}) {
      for (const bool overlap : {false, true}) {
        CAPTURE(servers);
        CAPTURE(overlap);
        ParallelConfig with;
        with.dp = 4;
        with.global_batch = 8;
        with.exchange = exchange;
        with.servers = servers;
        if (overlap) with.overlap = {Overlap::dp_gradients};
        const TrainingStepUnderTest step{transformer(small()), with};
        for (const auto& [members, by_rank] : collectives(step)) {
          CHECK(by_rank.size() == members.size());
          for (const auto& [rank, calls] : by_rank) CHECK(calls == by_rank.begin()->second);
        }
      }
    }
  }
}

TEST_CASE("every layout: what is sent is received, of the same size") {
  int piped = 0;
  for (const RandomLayout& layout : random_layouts(2, 60)) {
    CAPTURE(to_string(layout));
    const TrainingStepUnderTest step{layout.model, layout.parallel};
    const Letters all = letters(step);
    CHECK(std::all_of(all.begin(), all.end(), [](const auto& one) { return one.second == 0; }));
    if (layout.parallel.pp > 1) {
      ++piped;
      CHECK(!all.empty());
    }
  }
  CHECK(piped > 10);
}

TEST_CASE("every layout: operations wait for earlier ones of other streams alone") {
  for (const RandomLayout& layout : random_layouts(3, 30)) {
    CAPTURE(to_string(layout));
    const TrainingStepUnderTest step{layout.model, layout.parallel};
    for (const RoleProgram& role : step.roles()) {
      for (std::uint32_t i = 0; i < role.operations.size(); ++i) {
        for (const std::uint32_t before : role.operations[i].after) {
          REQUIRE(before < i);
          REQUIRE(role.operations[before].operation->stream !=
                  role.operations[i].operation->stream);
        }
      }
    }
  }
}

/// Whether experts of their own tensor-parallel degree get a part of a token: slots of a rank are
/// whole.
bool rounds_slots(const RandomLayout& layout) {
  const ParallelConfig& parallel = layout.parallel;
  const TransformerConfig& shape = layout.shape();
  if (!shape.experts || parallel.expert_tp() == parallel.tp) return false;
  const std::int64_t visits =
      parallel.micro_batch * parallel.dp * shape.sequence * shape.experts->top_k;
  const std::int64_t parts = std::int64_t{parallel.dp} * parallel.cp * parallel.tp;
  return visits % (parts * shape.experts->experts) != 0;
}

TEST_CASE("every layout: all ranks together compute what one device would") {
  // Exactly: the operations are integers. What several ranks compute alike counts more often:
  // projections to replicated keys (kv_heads < tp), the router and the compression of latent
  // attention (not cut by tp), and a ring without zigzag, whose last rank has the most and is what
  // a kernel says. Those layouts do no less.
  int equal = 0;
  for (RandomLayout layout : random_layouts(4, 60)) {
    layout.parallel.recompute = Recompute::none;
    CAPTURE(to_string(layout));
    const ParallelConfig& parallel = layout.parallel;
    const bool ring = parallel.cp > 1 && parallel.cp_kind != ContextKind::ulysses &&
                      !(parallel.cp_kind == ContextKind::both &&
                        (parallel.cp == 2 || parallel.cp == parallel.ulysses));
    const bool more = layout.shape().kv_heads % parallel.tp != 0 ||
                      ((layout.shape().experts || layout.shape().latent) && parallel.tp > 1 &&
                       !parallel.sequence_parallel) ||
                      (ring && !parallel.zigzag) || rounds_slots(layout);
    const double together = flops_of_all(TrainingStepUnderTest{layout.model, parallel});
    const double alone = flops_of_one_device(layout);
    if (more) {
      CHECK(together > alone);
    } else {
      CHECK(together == alone);
      ++equal;
    }
  }
  CHECK(equal > 30);
}

TEST_CASE("a ring without zigzag: the last rank attends to all parts before its own") {
  // n parts of (s/n)^2, the own one half: n - 1/2 on the last rank, and a kernel says it of all n.
  // One device has s^2 / 2: of attention 2(n - 1/2)/n as much.
  TransformerConfig shape = small();
  const auto attention = [&](const ParallelConfig& with) {
    const TrainingStepUnderTest step{transformer(shape), with};
    double sum = 0;
    const Routine& forward = step.program().routines[step.routine("layer.forward")];
    for (std::size_t i = 0; i < forward.operations.size(); ++i) {
      const Kernel one = kernel_of(step.program(), forward, i);
      if (one.of == OperationClass::attention) sum += one.flops;
    }
    return sum * with.cp;
  };
  const double alone = attention(ParallelConfig{});
  for (const int n : {2, 4, 8}) {
    ParallelConfig with;
    with.cp = n;
    CHECK(attention(with) == alone);  // zigzag
    with.zigzag = false;
    CHECK(attention(with) * n == alone * (2 * n - 1));
  }
}

TEST_CASE("recomputation: the forward GEMMs of the layers once more") {
  ParallelConfig with;
  const TrainingStepUnderTest none{transformer(small()), with};
  with.recompute = Recompute::full;
  const TrainingStepUnderTest full{transformer(small()), with};
  const double layers = count_flops(transformer(small()), {true, false}).forward;
  CHECK(flops_of_all(full) - flops_of_all(none) == layers);
}

}  // namespace lockstep::test
