#include "strategies/stacks/default_stack.hpp"

#include <algorithm>
#include <array>

namespace lockstep {

namespace {

struct Rule {
  const char* stack;
  const char* reason;
  bool (*matches)(const StackCriteria&);
};

bool starts_with(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

/// First match wins; the last one matches everything.
constexpr std::array kRules{
    Rule{"unfused", "Megatron-LM of 2021, the software of the validated V100 runs",
         [](const StackCriteria& of) { return starts_with(of.kernels, "volta"); }},
    Rule{"fsdp2", "PyTorch compiled, for AMD GPUs",
         [](const StackCriteria& of) { return starts_with(of.kernels, "cdna"); }},
    Rule{"fsdp2", "PyTorch compiled, for models other than transformers",
         [](const StackCriteria& of) { return !of.transformer; }},
    Rule{"fsdp2", "PyTorch compiled, for training in 32 or 64 bits",
         [](const StackCriteria& of) {
           return of.precision == Dtype::fp32 || of.precision == Dtype::fp64;
         }},
    Rule{"fsdp2", "PyTorch compiled with FSDP2, for sharded weights (ZeRO-3)",
         [](const StackCriteria& of) { return of.zero == 3; }},
    Rule{"transformer-engine",
         "Megatron-Core with Transformer Engine, for transformers in 16 or 8 bits",
         [](const StackCriteria&) { return true; }},
};

}  // namespace

DefaultStack default_stack(const StackCriteria& criteria) {
  const auto rule = std::find_if(kRules.begin(), kRules.end(),
                                 [&criteria](const Rule& each) { return each.matches(criteria); });
  return {rule->stack, rule->reason};
}

}  // namespace lockstep
