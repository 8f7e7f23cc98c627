#include "strategies/scenario/parallel/state_field.hpp"

#include <utility>

#include "sim/config/json/json_values.hpp"
#include "strategies/layout/scenario_names.hpp"

namespace lockstep {
namespace {

constexpr std::int64_t kMostIterations = 100;
constexpr std::int64_t kMostSteps = 1'000'000;

Dtype stored_precision(Dtype precision) {
  return is_narrow(precision) ? Dtype::bf16 : precision;
}

template <class T>
T state_choice(ObjectReader& in, const Key& key, std::string_view noun, const Names<T>& names,
               T fallback) {
  const auto name = in.optional_one_of(key, noun, keys_of(names));
  return name ? named(names, *name).value_or(fallback) : fallback;
}

StateConfig read_state(ObjectReader& in, Dtype precision) {
  StateConfig state;
  const Names<Dtype>& precisions = precision_names();
  state.weights = state_choice(
      in,
      {"weights",
       "Precision of the weights (default: that of matrix multiplications, bf16 below 16 bits); "
       "below 16 bits with GEMMs below 16 bits that of their weights, and others stay in bf16"},
      "precision", stored_names(), stored_precision(precision));
  state.gradients = state_choice(
      in,
      {"gradients",
       "Precision of the gradients (default: the software stack's, else that of the weights, bf16 "
       "below 16 bits)"},
      "precision", precisions, stored_precision(state.weights));
  state.master = in.boolean(
      {"master", "Keep an fp32 master copy of weights that are not fp32 (default: true)"},
      state.weights != Dtype::fp32);
  if (state.master && state.weights == Dtype::fp32) {
    in.note("master", "weights in fp32 are their own master copy: say false");
  }
  state.optimizer = state_choice(
      in,
      {"optimizer",
       "Optimizer; muon and soap are for the matrices of layers, each whole on one rank or on as "
       "many as tensor parallelism cuts it over, and adam for all other weights (default: adam)"},
      "optimizer", optimizer_names(), state.optimizer);
  state.moments = state_choice(
      in,
      {"moments",
       "Precision of the optimizer moments; fp8_block: 8 bits and a scale of a byte per "
       "32 numbers (default: fp32)"},
      "precision", stored_names(), state.moments);
  state.offload = in.boolean(
      {"offload", "Keep optimizer states and update on the host (default: false)"}, state.offload);
  state.newton_schulz_steps = static_cast<int>(
      in.integer({"newton_schulz_steps", "muon: Newton-Schulz iterations a step (default: 5)"}, 1,
                 kMostIterations, state.newton_schulz_steps));
  state.muon_blocks = state_choice(
      in,
      {"muon_tp_mode",
       "muon: duplicated, every tensor-parallel rank orthogonalizes all of each matrix; "
       "distributed, each its block, with Gram matrices all-reduced; or blockwise, each its block "
       "as a matrix of its own (default: duplicated)"},
      "mode", muon_blocks_names(), state.muon_blocks);
  state.muon_syrk =
      in.boolean({"muon_use_syrk", "muon: compute symmetric products by half (default: false)"},
                 state.muon_syrk);
  state.precondition_frequency =
      static_cast<int>(in.integer({"precondition_frequency",
                                   "soap: steps between two bases of its preconditioners (default: "
                                   "10)"},
                                  1, kMostSteps, state.precondition_frequency));
  state.max_preconditioner_dim =
      in.integer({"max_preconditioner_dim",
                  "soap: longest side of a matrix that has a preconditioner (default: 10000)"},
                 1, kMostSteps, state.max_preconditioner_dim);
  return state;
}

JsonValue state_json(const StateConfig& state) {
  JsonObject out{{"weights", {}, json_of(name_of(stored_names(), state.weights))},
                 {"gradients", {}, json_of(name_of(precision_names(), state.gradients))},
                 {"master", {}, json_of(state.master)},
                 {"optimizer", {}, json_of(name_of(optimizer_names(), state.optimizer))},
                 {"moments", {}, json_of(name_of(stored_names(), state.moments))},
                 {"offload", {}, json_of(state.offload)}};
  if (state.optimizer == Optimizer::muon) {
    out.push_back({"newton_schulz_steps", {}, json_of(std::int64_t{state.newton_schulz_steps})});
    out.push_back({"muon_tp_mode", {}, json_of(name_of(muon_blocks_names(), state.muon_blocks))});
    out.push_back({"muon_use_syrk", {}, json_of(state.muon_syrk)});
  }
  if (state.optimizer == Optimizer::soap) {
    out.push_back(
        {"precondition_frequency", {}, json_of(std::int64_t{state.precondition_frequency})});
    out.push_back({"max_preconditioner_dim", {}, json_of(state.max_preconditioner_dim)});
  }
  return JsonValue{{}, std::move(out)};
}

}  // namespace

ParallelField state_field() {
  return ParallelField{
      "state", "Model states per parameter (default: 2 + 2 + 12 bytes)",
      [](const ValueReader& given, ParallelConfig& out) {
        out.state = given.object([&](ObjectReader& in) { return read_state(in, out.precision); });
      },
      [](const ParallelConfig& of) { return state_json(of.state); }}
      .completed([](ParallelConfig& of) {
        of.state.weights = of.state.gradients = stored_precision(of.precision);
        of.state.master = of.state.weights != Dtype::fp32;
      });
}

}  // namespace lockstep
