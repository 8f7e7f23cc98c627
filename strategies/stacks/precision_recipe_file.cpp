#include "strategies/stacks/precision_recipe_file.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "sim/config/extends.hpp"
#include "sim/config/reader.hpp"
#include "strategies/layout/scenario_names.hpp"
#include "topologies/devices/device.hpp"
#include "topologies/devices/device_figure.hpp"
#include "topologies/files/config_names.hpp"

namespace lockstep {

namespace {

constexpr double kMost = 1'000;
constexpr std::int64_t kMostLayers = 100'000;

const Names<Dtype> kProducts{
    {"fp8", Dtype::fp8}, {"fp8_block", Dtype::fp8_block}, {"nvfp4", Dtype::nvfp4}};

bool read_flag(const ValueReader& value) {
  return value.boolean();
}

int read_copies(const ValueReader& value) {
  return static_cast<int>(value.integer(0, 2));
}

std::optional<AnyLayout> read_any_layout(const ValueReader& value) {
  return value.object([](ObjectReader& in) {
    AnyLayout out;
    const std::string peak =
        in.required({"requires_peak", "Such devices have a peak in this precision"})
            .one_of("precision", {kPrecisionNames.begin(), kPrecisionNames.end()});
    const auto* const found = std::ranges::find(kPrecisionNames, peak);
    if (found != kPrecisionNames.end())
      out.peak = static_cast<Precision>(found - kPrecisionNames.begin());
    out.traffic = in.number({"traffic", "Bytes moved per element by a cast"}, 0, kMost);
    return std::optional{out};
  });
}

int read_layers(const ValueReader& value) {
  return static_cast<int>(value.integer(0, kMostLayers));
}

/// Reads one recipe; with `extends` every key is optional.
class RecipeReader {
 public:
  RecipeReader(PrecisionRecipeFile& file, bool extends)
      : file_{file}, recipe_{file.recipe}, needed_{!extends}, reader_{file.sources} {}

  void read(ObjectReader& in) {
    file_.name = in.string("name");
    take(in,
         {"products",
          "Type of the operands of linear layers: fp8 has a scale per tensor or row, fp8_block one "
          "per block (MXFP8; blocks of 128)"},
         needed_, recipe_.products, [](const ValueReader& value) {
           return named(kProducts, value.one_of("type", keys_of(kProducts))).value_or(Dtype::fp8);
         });
    take(in, {"casts", "Casts of an operand to this type"}, needed_, recipe_,
         [this](const ValueReader& value) { return with_casts(value); });
    read_operands(in);
    read_products(in);
  }

 private:
  PrecisionRecipe with_casts(const ValueReader& value) {
    return value.object([this](ObjectReader& in) {
      PrecisionRecipe out = recipe_;
      out.casts.kernels = in.number({"kernels", "Kernels per operand"}, 0, kMost);
      out.casts.traffic = in.number({"traffic", "Bytes moved per element"}, 0, kMost);
      out.inputs_once = once(in, {"inputs",
                                  "What a cast of an activation or gradient serves: one "
                                  "GEMM, or both of a microbatch (default: every_gemm)"});
      out.weights_once =
          once(in, {"weights",
                    "What a cast of a weight serves: one GEMM, or all of a step, with ZeRO-3 until "
                    "the weight is freed (default: every_gemm)"});
      return out;
    });
  }

  static bool once(ObjectReader& in, const Key& key) {
    return in.optional_one_of(key, "extent of a cast", {"every_gemm", "once"}) == "once";
  }

  void read_operands(ObjectReader& in) {
    take(in,
         {"stores_operands",
          "Casts of inputs and gradients are kept for the backward pass and gathered by tensor and "
          "sequence parallelism, instead of what they are casts of (default: false)"},
         false, recipe_.stores_operands, read_flag);
    take(in,
         {"casts_before_gather",
          "Under sequence parallelism as with stores_operands and reduces_maxima: what tensor "
          "parallelism gathers is cast before, with one scale for all ranks, and kept so (default: "
          "false)"},
         false, recipe_.casts_before_gather, read_flag);
    take(in,
         {"stores_dispatched",
          "Tokens are cast before they travel to their experts (default: false)"},
         false, recipe_.stores_dispatched, read_flag);
    take(in,
         {"stores_activation_inputs",
          "Inputs of activation functions in MLPs and experts are cast, and kept so for the "
          "backward pass (default: false)"},
         false, recipe_.stores_activation_inputs, read_flag);
    take(in,
         {"reduces_maxima",
          "Under sequence parallelism the largest absolute value of a gathered operand is "
          "all-reduced over the tp ranks before its cast (default: false)"},
         false, recipe_.reduces_maxima, read_flag);
    take(in,
         {"kept_weights",
          "Copies of weights that are cast once a step, by rows and by columns, which are held "
          "next to the weights from step to step, but with ZeRO-3, which gathers and casts again; "
          "1: "
          "GEMMs take it by rows and by columns, so that nothing is transposed (default: 0)"},
         false, recipe_.kept_weights, read_copies);
    take(in,
         {"gathers_weights",
          "Whether weights that are kept in at most 8 bits (state.weights) are gathered so; false: "
          "in 16 bits, so that state.weights may not be less (default: true)"},
         false, recipe_.gathers_weights, read_flag);
    take(in,
         {"any_layout",
          "With one scale per tensor, on devices whose GEMMs in 8 bits take an operand by rows or "
          "by "
          "columns: one copy of an operand, so that nothing is transposed (default: as on others)"},
         false, file_.any_layout, read_any_layout);
    if (recipe_.kept_weights > 0 && !recipe_.weights_once && !in.describes())
      in.note("kept_weights",
              "weights are cast for every GEMM: \"weights\" of casts is not \"once\"");
    if (recipe_.stores_operands && !recipe_.inputs_once && !in.describes())
      in.note("casts", "stored operands are cast once: \"inputs\" is \"once\"");
    if (recipe_.stores_dispatched && !recipe_.stores_operands && !in.describes())
      in.note("stores_dispatched",
              "tokens that travel as cast are kept so: stores_operands is false");
    if (recipe_.stores_activation_inputs && !recipe_.stores_operands && !in.describes())
      in.note("stores_activation_inputs",
              "what is kept for the backward pass is not cast: stores_operands is false");
    if (recipe_.reduces_maxima && !recipe_.stores_operands && !in.describes())
      in.note("reduces_maxima", "only stored operands are gathered: stores_operands is false");
  }

  void read_products(ObjectReader& in) {
    take(in,
         {"weight_gradients",
          "Whether GEMMs of weight gradients have this type; false: that of activations (default: "
          "true)"},
         false, recipe_.weight_gradients, read_flag);
    take(in,
         {"requires_peak",
          "Only devices with a peak in this precision have units that take such operands with "
          "their scales (default: all with products of this type)"},
         false, recipe_.requires_peak, [](const ValueReader& value) {
           return value.one_of("precision", {kPrecisionNames.begin(), kPrecisionNames.end()});
         });
    take(in, {"output_layer", "The same of the output layer (default: false)"}, false,
         recipe_.output_layer, read_flag);
    take(in,
         {"attention",
          "The same of attention; routers, norms and embeddings never have it (default: false)"},
         false, recipe_.attention, read_flag);
    take(in, {"first_layers", "Layers at the beginning with GEMMs as the activations (default: 0)"},
         false, recipe_.first_layers, read_layers);
    take(in, {"last_layers", "The same at the end (default: 0)"}, false, recipe_.last_layers,
         read_layers);
  }

  template <class T, class Value>
  void take(ObjectReader& in, const Key& key, bool needed, T& out, Value value_of) {
    reader_.take(in, key, needed, out, value_of);
  }

  PrecisionRecipeFile& file_;
  PrecisionRecipe& recipe_;
  bool needed_;
  FigureReader reader_;
};

PrecisionRecipeFile read_recipe(ObjectReader& in, const std::filesystem::path& file,
                                const std::filesystem::path& configs) {
  return read_extending<PrecisionRecipeFile>(
      in, file,
      [](ObjectReader& of, PrecisionRecipeFile& out, bool extends) {
        RecipeReader{out, extends}.read(of);
      },
      extended_or_shipped(configs, "precisions"));
}

}  // namespace

PrecisionRecipe PrecisionRecipeFile::on(const Device& device) const {
  PrecisionRecipe out = recipe;
  if (!any_layout || recipe.products != Dtype::fp8 || !device.peak(any_layout->peak)) return out;
  out.kept_weights = std::min(out.kept_weights, 1);
  out.casts.traffic = any_layout->traffic;
  return out;
}

PrecisionRecipeFile read_precision_recipe(const JsonDocument& document, std::string id,
                                          const std::filesystem::path& configs) {
  PrecisionRecipeFile out = read_document(document, [&](ObjectReader& in) {
    return read_recipe(in, std::filesystem::path{document.file}, configs);
  });
  out.recipe.id = std::move(id);
  return out;
}

PrecisionRecipeFile load_precision_recipe(const std::filesystem::path& path,
                                          const std::filesystem::path& configs) {
  return read_precision_recipe(read_json(path), path.stem().string(), configs);
}

JsonValue precision_schema() {
  return schema_of(
      "precision recipe",
      "GEMMs in at most 8 bits: which, and how their operands are made and kept. Every "
      "value has its own source.",
      [](ObjectReader& in) { return read_recipe(in, {}, {}); });
}

}  // namespace lockstep
