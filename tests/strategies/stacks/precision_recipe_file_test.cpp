#include "strategies/stacks/precision_recipe_file.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "strategies/layout/settled_recipe.hpp"
#include "strategies/scenario/scenario.hpp"
#include "tests/topologies/files/schema_agreement.hpp"

using namespace lockstep;

namespace {

const std::filesystem::path kConfigs = LOCKSTEP_SOURCE_DIR "/configs";
const std::filesystem::path kPrecisions = kConfigs / "precisions";

PrecisionRecipeFile recipe_from(std::string_view text) {
  return read_precision_recipe(parse_json(text, (kPrecisions / "p.json").string()), "p");
}

PrecisionRecipe shipped(const std::string& id) {
  return load_precision_recipe(kPrecisions / (id + ".json")).recipe;
}

}  // namespace

TEST_CASE("every figure of a precision recipe names its source") {
  for (const std::string& id : device_ids(kPrecisions)) {
    CAPTURE(id);
    const PrecisionRecipeFile file = load_precision_recipe(kPrecisions / (id + ".json"));
    CHECK(file.recipe.id == id);
    CHECK_FALSE(file.name.empty());
    CHECK(file.sources.size() >= 2);
    for (const FigureSource& figure : file.sources) {
      CHECK(figure.source.size() >= 8);
      CHECK(figure.provenance.has_value());
    }
  }
}

// TransformerEngine, pytorch/module/linear.py: an input is cast forward, a gradient backward, a
// weight where is_first_microbatch; DeepSeek-AI 2024 (arXiv 2412.19437), section 3.3.
// pytorch/ao, float8_linear.py: both operands of all three GEMMs, of which the compiler merges what
// is equal for all that read a tensor; bf16 is kept.
TEST_CASE("a cast serves what the software has it serve, and is kept where it keeps it") {
  for (const char* id : {"fp8-delayed", "fp8-current", "fp8-blockwise", "mxfp8", "nvfp4"}) {
    CAPTURE(id);
    const PrecisionRecipe engine = shipped(id);
    CHECK((engine.inputs_once && engine.weights_once && engine.stores_operands));
    CHECK_FALSE((engine.output_layer || engine.attention || engine.stores_dispatched ||
                 engine.stores_activation_inputs));
    CHECK(engine.reduces_maxima == (engine.id == "fp8-current"));
  }
  CHECK((shipped("fp8-deepseek").stores_dispatched &&
         shipped("fp8-deepseek").stores_activation_inputs));
  for (const char* id : {"fp8-tensorwise", "fp8-rowwise"}) {
    CAPTURE(id);
    const PrecisionRecipe torch = shipped(id);
    CHECK(torch.inputs_once);
    CHECK_FALSE((torch.weights_once || torch.stores_operands));
    CHECK(torch.output_layer);
  }
}

// pytorch/ao float8/float8_tensor_parallel.py casts shards, with the maximum of all ranks.
TEST_CASE("what casts before it gathers stores casts where tensor parallelism gathers") {
  const auto file = std::filesystem::temp_directory_path() / "casts-before-gather.json";
  std::ofstream{file} << R"({"name": "own", "extends": "fp8-tensorwise",
    "casts_before_gather": {"value": true, "source": "a test of it", "provenance": "assumed"}})";
  const auto recipe = [&](const std::string& parallel) {
    const std::string text = R"({"name": "own", "cluster": "dgx-h100", "model": "llama3-8b",
      "ignore_memory": true, "parallel": {"precision": ")" +
                             file.string() + R"(", "micro_batch": 1, )" + parallel + "}}";
    return settled_recipe(
        read_scenario(parse_json(text, "own.json"), "own", {}, kConfigs).parallel);
  };
  const auto stores = [&](const std::string& parallel) {
    const PrecisionRecipe of = recipe(parallel);
    CHECK(of.stores_operands == of.reduces_maxima);
    return of.stores_operands;
  };
  CHECK(stores(R"("global_batch": 1, "tp": 8, "sequence_parallel": true)"));
  CHECK_FALSE(stores(R"("global_batch": 1, "tp": 8)"));
  CHECK_FALSE(stores(R"("global_batch": 8, "dp": 8)"));
  std::filesystem::remove(file);
}

// TransformerEngine, pytorch/module/base.py, get_weight_workspace; Megatron-LM,
// core/distributed/param_and_grad_buffer.py, of MXFP8.
// pytorch/ao, float8/config.py: enable_fsdp_float8_all_gather is for one scale per tensor.
TEST_CASE("casts of weights are held where the software holds them, and gathered if it does so") {
  for (const std::string& id : device_ids(kPrecisions)) {
    CAPTURE(id);
    const PrecisionRecipe recipe = shipped(id);
    const bool engine = recipe.weights_once && id != "fp8-deepseek";
    CHECK(recipe.kept_weights == (engine ? 2 : 0));
    CHECK(recipe.gathers_weights == (id != "mxfp8" && id != "fp8-rowwise"));
  }
  CHECK_THROWS_WITH(recipe_from(R"({"name": "p", "extends": "fp8-rowwise",
                      "kept_weights": {"value": 1, "source": "a test of it"}})"),
                    doctest::Contains("kept_weights: weights are cast for every GEMM"));
}

// configs/precisions/fp8-current.json keeps one layer at either end. T5: 2 and 3 layers.
TEST_CASE(
    "a recipe under which no layer runs in its type is refused, unless the output layer does") {
  const auto refused = [](const std::string& model, const std::string& recipe) {
    const std::string text = R"({"cluster": "dgx-h100", "model": )" + model +
                             R"(, "ignore_memory": true, "parallel": {"dp": 8, "micro_batch": 1,
                             "global_batch": 8, "precision": ")" +
                             recipe + "\"}}";
    try {
      (void)read_scenario(parse_json(text, "own.json"), "own", {}, kConfigs);
    } catch (const ConfigError& error) {
      return std::string{error.what()};
    }
    return std::string{};
  };
  const auto of_layers = [](int layers) {
    return R"({"file": "llama3-8b", "layers": )" + std::to_string(layers) + "}";
  };
  const std::string why = refused(of_layers(2), "fp8-current");
  CHECK(why.find("/parallel/precision: GEMMs of first_layers = 1 and last_layers = 1 of "
                 "fp8-current run as activations, and the model has 2 layers: nothing would run "
                 "in fp8") != std::string::npos);
  CHECK(refused(of_layers(3), "fp8-current").empty());
  CHECK(refused(of_layers(2), "fp8-delayed").empty());  // no such layers
  const auto of_two_stacks = [](int encoder) {
    return R"({"file": "t5-3b", "layers": 2, "encoder_layers": )" + std::to_string(encoder) + "}";
  };
  CHECK(refused(of_two_stacks(2), "fp8-current").find("2 and 2 layers") != std::string::npos);
  CHECK(refused(of_two_stacks(3), "fp8-current").empty());
  const auto file = std::filesystem::temp_directory_path() / "ends-only.json";
  std::ofstream{file} << R"({"name": "own", "extends": "fp8-tensorwise",
    "first_layers": {"value": 2, "source": "a test of it"}})";
  CHECK(refused(of_layers(2), file.string()).empty());
  std::filesystem::remove(file);
}

// Bytes per number: 2 read and 1 written per copy, with 1 of scale per 32 (mxfp8), 4 per 128
// (blockwise); 2 more read where a maximum is taken first.
TEST_CASE("casts move what their scales need") {
  CHECK(shipped("fp8-delayed").casts == CastFigures{1, 4});
  CHECK(shipped("fp8-current").casts == CastFigures{2, 6});
  CHECK(shipped("mxfp8").casts.traffic == doctest::Approx(2 + 2 * (1 + 1.0 / 32)).epsilon(1e-3));
  CHECK(shipped("fp8-blockwise").casts.traffic ==
        doctest::Approx(2 + 2 * (1 + 4.0 / 128)).epsilon(1e-3));
  CHECK(shipped("nvfp4").casts.traffic ==
        doctest::Approx(2 + 2 + 2 * (0.5 + 1.0 / 16)).epsilon(1e-3));
}

// Without the copy by columns, a byte less; devices of any_layout's peak, with one scale per
// tensor.
TEST_CASE("a recipe runs on devices whose GEMMs take any layout with one copy of each operand") {
  const auto on = [](const char* id, const char* device) {
    return load_precision_recipe(kPrecisions / (std::string{id} + ".json"))
        .on(load_device(kConfigs / "devices" / (std::string{device} + ".json")));
  };
  for (const char* id : {"fp8-delayed", "fp8-current"}) {
    CAPTURE(id);
    CHECK(on(id, "h100-sxm5-80gb") == shipped(id));
    CHECK(on(id, "b200-sxm-180gb").kept_weights == 1);
    CHECK(on(id, "gb300-nvl72").casts.traffic == shipped(id).casts.traffic - 1);
  }
  for (const char* id : {"fp8-blockwise", "mxfp8", "nvfp4", "fp8-tensorwise", "fp8-rowwise"}) {
    CAPTURE(id);
    CHECK(on(id, "b200-sxm-180gb") == shipped(id));
  }
  CHECK_THROWS_WITH(recipe_from(R"({"name": "p", "extends": "fp8-delayed", "any_layout":
                      {"value": {"requires_peak": "fp5", "traffic": 3}, "source": "a test"}})"),
                    doctest::Contains("any_layout"));
}

TEST_CASE("schema and reader accept all shipped recipes and refuse the same changes") {
  const SchemaAgreement both{kConfigs / "schema/precision.schema.json",
                             [](std::string_view text) { (void)recipe_from(text); }};
  for (const std::string& id : device_ids(kPrecisions)) {
    CAPTURE(id);
    CHECK(both.verdict(text_of_file(kPrecisions / (id + ".json"))) == "both accept");
  }
  for (const Mutation& m : std::vector<Mutation>{
           {"unknown key", "/scale", "1"},
           {"missing name", "/name", ""},
           {"missing products", "/products", ""},
           {"unknown type", "/products/value", "\"int8\""},
           {"missing source", "/products/source", ""},
           {"missing casts", "/casts", ""},
           {"missing kernels of a cast", "/casts/value/kernels", ""},
           {"unknown extent of a cast", "/casts/value/inputs", "\"always\""},
           {"extent of a cast as flag", "/casts/value/weights", "true"},
           {"output layer without source", "/output_layer", R"({"value": true})"},
           {"output layer as number", "/output_layer/value", "1"},
           {"fewer than no layers", "/first_layers", R"({"value": -1, "source": "x"})"}}) {
    CAPTURE(m.name);
    CHECK(both.verdict(mutated(text_of_file(kPrecisions / "fp8-delayed.json"), m)) ==
          "both refuse");
  }
}

TEST_CASE("operands are kept as cast only if a cast serves both GEMMs") {
  const auto refused = [](const std::string& members) {
    try {
      (void)recipe_from(R"({"extends": "fp8-tensorwise", "name": "n", )" + members + "}");
    } catch (const ConfigError& error) {
      return std::string{error.what()};
    }
    return std::string{};
  };
  CHECK(refused(R"("casts": {"value": {"kernels": 1, "traffic": 5}, "source": "mine"},
                   "stores_operands": {"value": true, "source": "mine"})")
            .find("stored operands are cast once") != std::string::npos);
  CHECK(refused(R"("reduces_maxima": {"value": true, "source": "mine"})")
            .find("only stored operands are gathered") != std::string::npos);
}
