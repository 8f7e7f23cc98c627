#include "tests/sim/execute/kernels/gradient_case.hpp"

namespace lockstep {

GradientCases gradient_cases() {
  GradientCases out;
  for (const auto& some : {gemm_cases, attention_cases, unfused_attention_cases, elementwise_cases,
                           norm_cases, expert_cases, image_cases}) {
    for (GradientCase& test : some()) out.push_back(std::move(test));
  }
  return out;
}

Part upstream(const GradientCase& test, std::size_t result) {
  const Part& like = test.results[result];
  Shape shape;
  for (const PartAxis& axis : like.layout.axes) shape.emplace_back(axis.dim, axis.size);
  Part out = spread("gradient of " + like.tensor.name, shape);
  for (const PartAxis& axis : like.layout.axes) out = cut(out, axis.dim, axis.at);
  return out;
}

}  // namespace lockstep
