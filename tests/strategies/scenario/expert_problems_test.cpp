#include "strategies/layout/expert_problems.hpp"

#include <doctest/doctest.h>

#include <string>

namespace lockstep {
namespace {

ParallelConfig experts_on_ranks() {
  ParallelConfig out;
  out.dp = out.ep = 8;
  return out;
}

[[nodiscard]] bool says(const std::optional<std::string>& problem, const std::string& what) {
  return problem && problem->find(what) != std::string::npos;
}

TEST_CASE("pairs of microbatches need a schedule that has them") {
  ParallelConfig of = experts_on_ranks();
  of.overlap = {Overlap::ep_pairs};
  CHECK(!pairs_problem(of));
  of.pp = 4;
  of.schedule = PipelineOrder::one_f_one_b;
  CHECK(says(pairs_problem(of), "schedule is 1f1b"));
  of.schedule = PipelineOrder::zb_v;
  CHECK(says(pairs_problem(of), "schedule is zb-v"));
  for (const PipelineOrder fits :
       {PipelineOrder::interleaved, PipelineOrder::dualpipe_v, PipelineOrder::dualpipe}) {
    of.schedule = fits;
    CHECK(!pairs_problem(of));
  }
  of.zero = 3;
  CHECK(says(pairs_problem(of), "ZeRO-3"));
  of.overlap = {Overlap::ep};
  CHECK(!pairs_problem(of));
}

// Megatron-LM, core/pipeline_parallel/combined_1f1b.py: overlap_moe_expert_parallel_comm forbids
// recompute_granularity full and recompute_modules moe. torchtitan's every second GEMM has experts
// among them.
TEST_CASE("pairs of microbatches recompute experts only where the software stack can") {
  ParallelConfig of = experts_on_ranks();
  of.overlap = {Overlap::ep_pairs};
  const auto impossible = [&of](Recompute how, std::set<RecomputeModule> modules) {
    of.recompute = how;
    of.recompute_modules = std::move(modules);
    of.pairs_recompute_experts = true;
    CHECK(!pairs_problem(of));
    of.pairs_recompute_experts = false;
    return says(pairs_problem(of), "pairs_recompute_experts is false");
  };
  using enum RecomputeModule;
  for (const Recompute how :
       {Recompute::full, Recompute::every_second_layer, Recompute::every_second_gemm})
    CHECK(impossible(how, {core_attn}));
  CHECK(impossible(Recompute::selective, {layernorm, moe}));
  CHECK_FALSE(impossible(Recompute::selective, {layernorm, moe_act}));
  CHECK_FALSE(impossible(Recompute::none, {core_attn}));
  of.recompute = Recompute::full;
  of.overlap = {Overlap::ep};
  CHECK(!pairs_problem(of));
}

TEST_CASE("gradients of weights are put off where another microbatch's tokens travel") {
  ParallelConfig of = experts_on_ranks();
  CHECK(!delay_problem(of));
  of.delay_wgrad_compute = true;
  CHECK(says(delay_problem(of), "overlap does not name \"ep_pairs\""));
  of.overlap = {Overlap::ep};
  CHECK(says(delay_problem(of), "overlap does not name"));
  of.overlap = {Overlap::ep_pairs};
  CHECK(!delay_problem(of));
  CHECK(!idle_delay(of));
  of.pp = 4;
  of.schedule = PipelineOrder::interleaved;
  CHECK(!delay_problem(of));
  for (const PipelineOrder splits : {PipelineOrder::dualpipe_v, PipelineOrder::dualpipe}) {
    of.schedule = splits;
    CHECK(says(delay_problem(of), "splits all backward passes"));
  }
  of.ep = 1;
  CHECK(says(idle_delay(of), "ep is 1"));
}

TEST_CASE("deepep is for whole experts without a capacity, and nothing else carries tokens") {
  ParallelConfig of = experts_on_ranks();
  of.dispatcher = Dispatcher::deepep;
  CHECK(!dispatcher_problem(of));
  CHECK(!idle_dispatcher(of));
  of.tp = 2;
  CHECK(says(dispatcher_problem(of), "etp is 2"));
  of.etp = 1;
  CHECK(!dispatcher_problem(of));
  of.capacity_factor = 1.25;
  CHECK(says(dispatcher_problem(of), "capacity_factor is 1.25"));
  of.capacity_factor = 0;
  of.algorithms["ep"] = "bruck";
  CHECK(says(dispatcher_problem(of), "algorithms.ep is bruck"));
  of.dispatcher = Dispatcher::all_to_all;
  CHECK(!dispatcher_problem(of));
  of.dispatcher = Dispatcher::deepep;
  of.ep = 1;
  CHECK(says(idle_dispatcher(of), "ep is 1"));
}

TEST_CASE("multiprocessors of kernels count where something is computed meanwhile") {
  ParallelConfig of = experts_on_ranks();
  CHECK(!idle_dispatch_sms(of));
  of.dispatch_sms = 24;
  CHECK(says(idle_dispatch_sms(of), "requires dispatcher deepep"));
  of.dispatcher = Dispatcher::deepep;
  CHECK(says(idle_dispatch_sms(of), "overlap names neither"));
  for (const Overlap hides : {Overlap::ep, Overlap::ep_pairs}) {
    of.overlap = {hides};
    CHECK(!idle_dispatch_sms(of));
  }
}

}  // namespace
}  // namespace lockstep
