#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "strategies/verification/verify_strategy.hpp"
#include "tests/strategies/step/step_under_test.hpp"

// Programs with one mistake each: verification fails and names the place, that is the operation or
// the tensor where the mistake is, or the first one that meets what it left behind.
namespace lockstep {
namespace {

struct MutatedLayout {
  ModelConfig model;
  ParallelConfig parallel;
};

/// Two layers; two microbatches of one sequence for each replica.
MutatedLayout layout_of(const std::function<void(TransformerConfig&, ParallelConfig&)>& set) {
  TransformerConfig shape;
  shape.layers = 2;
  shape.hidden = 8;
  shape.heads = 4;
  shape.sequence = 8;
  shape.vocabulary = 12;
  ParallelConfig parallel;
  parallel.micro_batch = 1;
  parallel.state.optimizer = Optimizer::momentum;
  set(shape, parallel);
  parallel.global_batch = 2L * parallel.dp;
  return {test::transformer(shape), parallel};
}

MutatedLayout tensor(bool sequence) {
  return layout_of([&](TransformerConfig&, ParallelConfig& parallel) {
    parallel.tp = 2;
    parallel.sequence_parallel = sequence;
  });
}

MutatedLayout replicas(int zero, GradientExchange exchange = GradientExchange::all_reduce) {
  return layout_of([&](TransformerConfig&, ParallelConfig& parallel) {
    parallel.dp = 2;
    parallel.zero = zero;
    parallel.exchange = exchange;
  });
}

MutatedLayout context(ContextKind kind) {
  return layout_of([&](TransformerConfig&, ParallelConfig& parallel) {
    parallel.cp = 2;
    parallel.cp_kind = kind;
    parallel.overlap = {Overlap::cp};
  });
}

MutatedLayout pipeline(PipelineOrder order) {
  return layout_of([&](TransformerConfig&, ParallelConfig& parallel) {
    parallel.pp = 2;
    parallel.schedule = order;
  });
}

MutatedLayout experts() {
  return layout_of([](TransformerConfig& shape, ParallelConfig& parallel) {
    shape.experts = ExpertsConfig{.experts = 4, .top_k = 2, .ffn = 8};
    parallel.dp = 2;
    parallel.ep = 2;
  });
}

MutatedLayout recomputed() {
  return layout_of([](TransformerConfig& shape, ParallelConfig& parallel) {
    shape.dropout = 0.2;
    parallel.tp = 2;
    parallel.recompute = Recompute::full;
  });
}

MutatedLayout tied() {
  return layout_of([](TransformerConfig& shape, ParallelConfig& parallel) {
    shape.tied_embeddings = true;
    parallel.pp = 2;
    parallel.schedule = PipelineOrder::one_f_one_b;
  });
}

using Mutation = std::function<void(Operation&)>;

/// Changes the first operation of that name in the first routine of that name. Errors: a failed
/// check where there is none.
std::function<void(Program&)> in(const std::string& routine, const std::string& operation,
                                 const Mutation& change) {
  return [=](Program& program) {
    for (Routine& one : program.routines) {
      if (one.name != routine) continue;
      for (Operation& each : one.operations) {
        if (each.name != operation) continue;
        change(each);
        return;
      }
    }
    FAIL("no ", operation, " in ", routine);
  };
}

/// Changes every operation of that name.
std::function<void(Program&)> in_all(const std::string& operation, const Mutation& change) {
  return [=](Program& program) {
    for (Routine& one : program.routines) {
      for (Operation& each : one.operations) {
        if (each.name == operation) change(each);
      }
    }
  };
}

/// Takes it out.
std::function<void(Program&)> without(const std::string& routine, const std::string& operation) {
  return [=](Program& program) {
    for (Routine& one : program.routines) {
      if (one.name != routine) continue;
      const auto found =
          std::find_if(one.operations.begin(), one.operations.end(),
                       [&](const Operation& each) { return each.name == operation; });
      if (found == one.operations.end()) continue;
      one.operations.erase(found);
      return;
    }
    FAIL("no ", operation, " in ", routine);
  };
}

std::function<void(Program&)> in_tensor(const std::string& name,
                                        const std::function<void(Program&, Tensor&)>& change) {
  return [=](Program& program) {
    for (Tensor& tensor : program.tensors) {
      if (tensor.name != name) continue;
      change(program, tensor);
      return;
    }
    FAIL("no tensor ", name);
  };
}

/// Everybody does it alone.
void alone(Operation& operation) {
  operation.communication->over.clear();
}

void off_by_a_tenth_of_a_percent(Operation& operation) {
  operation.factor *= 1.001;
}

struct Mutant {
  std::string name;
  MutatedLayout layout;
  std::function<void(Program&)> change;
  /// One of these must be named: where the mistake is, or what reads what it wrote.
  std::vector<std::string> places;
};

std::vector<Mutant> mutants() {
  return {
      // Collectives that are missing.
      {"tp: no all-reduce behind the row product of the MLP",
       tensor(false),
       in("layer.forward", "mlp.down.tp.all_reduce", alone),
       {"mlp.down.tp.all_reduce"}},
      {"tp: no all-reduce of the gradient of the column products' input",
       tensor(false),
       in("layer.backward", "attention.q.input_gradient.tp.all_reduce", alone),
       {"attention.q.input_gradient.tp.all_reduce"}},
      {"tp: the parts of the vocabulary do not know each other's sum",
       tensor(false),
       in("head.forward", "loss.sum.tp.all_reduce", alone),
       {"loss.sum.tp.all_reduce"}},
      {"sp: norms' gradients are not summed over tp",
       tensor(true),
       in("reduce_within_tp", "reduce_within_tp", alone),
       {"reduce_within_tp", "norm"}},
      {"sp: tokens are not gathered",
       tensor(true),
       in("layer.forward", "mlp.up.tp.all_gather", alone),
       {"mlp.up.tp.all_gather"}},
      {"dp: gradients are not reduced",
       replicas(0),
       in("reduce_gradients", "reduce_gradients", alone),
       {"reduce_gradients"}},
      {"ZeRO-1: updated weights are not gathered",
       replicas(1),
       in("gather_weights", "gather_weights", alone),
       {"gather_weights"}},
      {"ZeRO-2: gradients are not scattered",
       replicas(2),
       in("scatter_gradients", "scatter_gradients", alone),
       {"scatter_gradients"}},
      {"ZeRO-3: weights are not gathered for the layer",
       replicas(3),
       in("layer.gather", "gather_weights", alone),
       {"gather_weights"}},
      {"Ulysses: heads are not exchanged back",
       context(ContextKind::ulysses),
       in("layer.backward", "attention.backward.cp.all_to_all", alone),
       {"attention.backward.cp.all_to_all"}},
      {"ep: tokens do not reach their experts",
       experts(),
       in("expert_layer.forward", "experts.dispatch.ep.all_to_all", alone),
       {"all_to_all"}},
      {"tied embeddings: the two stages do not add up",
       tied(),
       in("reduce_tied_gradients", "reduce_tied_gradients", alone),
       {"reduce_tied_gradients", "embedding.weight"}},
      {"parameter averaging without the exchange",
       replicas(0, GradientExchange::parameter_averaging),
       in("average_weights", "average_weights", alone),
       {"after step 1"}},
      // Reductions.
      {"a maximum where a sum belongs",
       tensor(false),
       in("layer.forward", "attention.out.tp.all_reduce",
          [](Operation& it) { it.communication->reduction = Reduction::maximum; }),
       {"attention.out.tp.all_reduce"}},
      {"gradients of microbatches replace each other",
       replicas(2),
       in_all("scatter_gradients", [](Operation& it) { it.accumulate = false; }),
       {"scatter_gradients", "nobody has written"}},
      {"a gradient that is not added up",
       tensor(false),
       without("layer.backward", "residual.middle.gradient_sum"),
       {"residual.middle.gradient"}},
      // Shards and offsets.
      {"the ring turns by another number of parts",
       context(ContextKind::ring),
       in("layer.forward", "attention.part1", [](Operation& it) { it.ring_offset = 0; }),
       {"attention"}},
      {"zigzag forgotten for the tokens",
       context(ContextKind::ring),
       in_tensor("tokens",
                 [](Program&, Tensor& tensor) {
                   for (Extent& extent : tensor.extents) extent.zigzag = false;
                 }),
       {"tokens", "embedding"}},
      {"shards of a weight in another order than those of its gradient",
       replicas(1),
       in_tensor("mlp.up.weight.shard", [](Program&, Tensor& tensor) { tensor.flat.clear(); }),
       {"mlp.up.weight"}},
      {"the vocabulary is not cut where its logits are",
       tensor(false),
       in_tensor("logits", [](Program&, Tensor& tensor) { tensor.extents.back().shards.clear(); }),
       {"logits"}},
      // Factors.
      {"the loss' gradient is scaled wrongly",
       replicas(0),
       in("head.backward", "loss.sum.backward", off_by_a_tenth_of_a_percent),
       {"loss.sum.backward"}},
      {"the loss is scaled wrongly",
       tensor(false),
       in("head.forward", "loss", off_by_a_tenth_of_a_percent),
       {"loss"}},
      {"the average of parameters is scaled wrongly",
       replicas(0, GradientExchange::parameter_averaging),
       in("average_weights", "average_weight", off_by_a_tenth_of_a_percent),
       {"after step 1"}},
      // Messages.
      {"a stage sends the gradient of the next microbatch",
       pipeline(PipelineOrder::one_f_one_b),
       in("send.backward", "send.backward", [](Operation& it) { it.reads.front().microbatch = 0; }),
       {"send.backward", "receive.backward"}},
      {"a stage does not send",
       pipeline(PipelineOrder::gpipe),
       without("send.forward", "send.forward"),
       {"receive.forward"}},
      {"a stage does not receive",
       pipeline(PipelineOrder::gpipe),
       without("receive.backward", "receive.backward"),
       {"residual.gradient", "send.backward"}},
      {"a worker does not push its gradients",
       replicas(0, GradientExchange::parameter_server),
       without("push_gradients", "push_gradients"),
       {"push_gradients", "sum_gradients"}},
      {"the server does not send its weights",
       replicas(0, GradientExchange::parameter_server),
       without("send_weights", "send_weights"),
       {"pull_weights", "send_weights"}},
      // Work.
      {"a weight's gradient is left out of the split backward pass",
       pipeline(PipelineOrder::zb_h1),
       without("layer.weight_gradients", "mlp.up.weight_gradient"),
       {"mlp.up.weight"}},
      {"dropout drawn anew when it is recomputed",
       recomputed(),
       in("layer.backward", "mlp.dropout.again",
          [](Operation& it) { it.name = "mlp.dropout.anew"; }),
       {"mlp.dropout", "mlp.down", "dropout"}},
  };
}

VerificationReport verified(const Mutant& mutant, bool changed) {
  VerificationOptions options;
  options.steps = 2;
  if (changed) options.change = mutant.change;
  return verify_strategy(mutant.layout.model, mutant.layout.parallel, 8, options);
}

TEST_CASE("every mutant is caught, and the place is named") {
  const std::vector<Mutant> all = mutants();
  REQUIRE(all.size() >= 20);
  for (const Mutant& mutant : all) {
    CAPTURE(mutant.name);
    CHECK(verified(mutant, false).problem() == "");
    const std::string problem = verified(mutant, true).problem();
    CAPTURE(problem);
    CHECK(std::any_of(mutant.places.begin(), mutant.places.end(), [&](const std::string& place) {
      return problem.find(place) != std::string::npos;
    }));
  }
}

// A dependency across streams that is forgotten shows in some order of execution only.
TEST_CASE("a mutant without a dependency is caught in some order, and the place is named") {
  const MutatedLayout layout = layout_of([](TransformerConfig&, ParallelConfig& parallel) {
    parallel.dp = 2;
    parallel.zero = 3;
    parallel.overlap = {Overlap::dp_parameters, Overlap::dp_gradients};
  });
  std::set<std::string> named;
  for (std::uint64_t order = 1; order <= 20; ++order) {
    VerificationOptions options;
    options.steps = 1;
    options.order_seed = order;
    CHECK(verify_strategy(layout.model, layout.parallel, 8, options).problem() == "");
    options.revise = [](RoleProgram& role) {
      for (RoleOperation& operation : role.operations) {
        if (operation.operation->name == "attention.norm") operation.after.clear();
      }
    };
    const std::string problem =
        verify_strategy(layout.model, layout.parallel, 8, options).problem();
    if (problem.find("attention") != std::string::npos) named.insert(problem);
  }
  CHECK_FALSE(named.empty());
}

}  // namespace
}  // namespace lockstep
