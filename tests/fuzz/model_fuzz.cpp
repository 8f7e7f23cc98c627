#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sim/config/json/json.hpp"
#include "strategies/models/build_model.hpp"
#include "strategies/models/count/count.hpp"
#include "strategies/models/files/model_file.hpp"

using namespace lockstep;

namespace {

void demand(bool condition) {
  if (!condition) __builtin_trap();
}

/// Every model that is accepted can be counted, and laid down where that is quick.
void use(const ModelConfig& model) {
  const ParameterCount parameters = count_parameters(model);
  demand(parameters.total() > 0 && parameters.active() <= parameters.total());
  demand(std::isfinite(count_flops(model).training()));
  const auto* transformer = model.transformer();
  const auto* mlp = std::get_if<MlpConfig>(&model.shape);
  if (transformer != nullptr && transformer->layers > 1000) return;
  if (mlp != nullptr && mlp->layers > 1000) return;
  std::int64_t sum = 0;
  const ModelGraph graph = build_model(model, {});
  for (const int kind : graph.chain) {
    for (const TensorId weight : graph.blocks.at(static_cast<std::size_t>(kind)).weights) {
      sum += global_elements(graph.tensors.at(weight));
    }
  }
  demand(sum == parameters.trained());
}

}  // namespace

/// Any text is either read as a model that can be used, or refused with a ConfigError.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  ModelConfig model;
  try {
    model = read_model(parse_json(text, "m.json"));
  } catch (const ConfigError&) {
    return 0;
  }
  use(model);
  return 0;
}
