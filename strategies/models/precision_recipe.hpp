#pragma once

#include <string>

#include "sim/program/program.hpp"

namespace lockstep {

/// How GEMMs run in at most 8 bits (configs/precisions/*.json): which, and what becomes of their
/// operands. Numerical results are those of the activations' precision.
struct PrecisionRecipe {
  std::string id;                // the file's name without .json; empty: no such GEMMs
  bool of_stack = false;         // `precision` says fp8, the software stack which recipe
  Dtype products = Dtype::fp8;   // of linear layers
  CastFigures casts{};           // of one operand
  bool inputs_once = false;      // inputs and gradients: for both GEMMs of a microbatch
  bool weights_once = false;     // for all GEMMs of a step
  bool stores_operands = false;  // cast inputs and gradients are kept and gathered, not the
                                 // tensors they are casts of; needs inputs_once
  /// Under sequence parallelism as with stores_operands and reduces_maxima, set in
  /// settled_recipe().
  bool casts_before_gather = false;
  bool reduces_maxima = false;     // of operands that tensor parallelism gathers, before a cast
  bool stores_dispatched = false;  // the same for the tokens of experts: cast before they travel
  bool stores_activation_inputs = false;  // the same for what activation functions of MLPs read
  bool weight_gradients = true;           // as `products`; false: as activations
  bool output_layer = false;              // the same
  bool attention = false;                 // the same
  bool gathers_weights = true;            // weights kept in at most 8 bits travel so
  /// Units take its operands and scales only in devices that have a peak in this precision; empty:
  /// in all that have products of its type.
  std::string requires_peak{};
  int kept_weights = 0;  // copies of weights that are cast once, held throughout
  int first_layers = 0;  // layers whose GEMMs run as activations
  int last_layers = 0;

  friend bool operator==(const PrecisionRecipe&, const PrecisionRecipe&) = default;
};

}  // namespace lockstep
