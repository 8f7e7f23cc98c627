#include "strategies/layout/expert_problems.hpp"

#include <fmt/format.h>

#include "strategies/layout/scenario_names.hpp"

namespace lockstep {

namespace {

[[nodiscard]] bool recomputes_experts(const ParallelConfig& of) {
  if (of.recompute != Recompute::selective) return of.recompute != Recompute::none;
  return of.recompute_modules.contains(RecomputeModule::moe);
}

}  // namespace

std::optional<std::string> pairs_problem(const ParallelConfig& of) {
  if (!of.overlaps(Overlap::ep_pairs) || of.ep == 1) return {};
  const bool ordered = of.pp == 1 || of.schedule == PipelineOrder::interleaved ||
                       of.schedule == PipelineOrder::dualpipe_v ||
                       of.schedule == PipelineOrder::dualpipe;
  if (!ordered)
    return fmt::format(
        "\"ep_pairs\" needs a schedule with forward and backward passes of different microbatches "
        "next to each other, interleaved, dualpipe-v or dualpipe, or one stage; schedule is {}",
        name_of(pipeline_names(), of.schedule));
  if (of.zero == 3)
    return "\"ep_pairs\" takes two layers in turn, and ZeRO-3 gathers one at a time";
  if (!of.pairs_recompute_experts && recomputes_experts(of))
    return fmt::format(
        "\"ep_pairs\" with recompute {}: the software stack cannot recompute experts then "
        "(pairs_recompute_experts is false); recompute may be none, or selective without moe",
        recompute_text(of));
  return {};
}

std::optional<std::string> delay_problem(const ParallelConfig& of) {
  if (!of.delay_wgrad_compute) return {};
  if (!of.overlaps(Overlap::ep_pairs))
    return "delay_wgrad_compute = true computes gradients of weights next to the all-to-alls of "
           "two microbatches in turn, and overlap does not name \"ep_pairs\"";
  if (of.splits_backward())
    return fmt::format(
        "delay_wgrad_compute = true is for schedules none and interleaved; {} splits all backward "
        "passes into halves",
        name_of(pipeline_names(), of.schedule));
  return {};
}

std::optional<std::string> idle_delay(const ParallelConfig& of) {
  if (!of.delay_wgrad_compute || of.ep > 1) return {};
  return "delay_wgrad_compute = true, but every rank has all experts: ep is 1";
}

std::optional<std::string> dispatcher_problem(const ParallelConfig& of) {
  if (of.dispatcher == Dispatcher::all_to_all) return {};
  if (of.expert_tp() > 1)
    return fmt::format("deepep takes tokens to whole experts: etp is {}", of.expert_tp());
  if (of.capacity_factor > 0)
    return fmt::format("deepep has no capacity of experts: capacity_factor is {:g}",
                       of.capacity_factor);
  const auto algorithm = of.algorithms.find("ep");
  if (algorithm == of.algorithms.end()) return {};
  return fmt::format("deepep is what carries tokens: algorithms.ep is {}", algorithm->second);
}

std::optional<std::string> idle_dispatcher(const ParallelConfig& of) {
  if (of.dispatcher == Dispatcher::all_to_all || of.ep > 1) return {};
  return "dispatcher = deepep, but every rank has all experts: ep is 1";
}

std::optional<std::string> idle_dispatch_sms(const ParallelConfig& of) {
  if (of.dispatch_sms == ParallelConfig{}.dispatch_sms) return {};
  if (of.dispatcher != Dispatcher::deepep)
    return fmt::format("dispatch_sms = {} requires dispatcher deepep", of.dispatch_sms);
  if (of.overlaps_experts()) return {};
  return fmt::format(
      "dispatch_sms = {} slows down what is computed meanwhile, and overlap names neither ep nor "
      "ep_pairs",
      of.dispatch_sms);
}

}  // namespace lockstep
