#include <fmt/format.h>

#include <algorithm>

#include "sim/program/several_documents.hpp"
#include "strategies/scenario/without_effect/without_effect.hpp"

namespace lockstep {

namespace {

class TransformerValues {
 public:
  explicit TransformerValues(const TransformerConfig& model) : model_{model} {}

  [[nodiscard]] std::vector<WithoutEffect> found() {
    check_biases();
    check_sizes();
    if (model_.experts) check_experts(*model_.experts);
    if (model_.window) check_window(*model_.window);
    const bool given = !model_.documents.empty() || model_.packed.any();
    const bool several = has_documents(model_) &&
                         (!model_.packed.any() || may_hold_several(model_.packed, model_.sequence));
    if (given && !several)
      report("documents", "the first one fills a sequence of {} tokens", model_.sequence);
    return std::move(out_);
  }

 private:
  template <class... Args>
  void report(std::string_view key, fmt::format_string<Args...> text, Args&&... args) {
    out_.push_back({fmt::format("model.{}", key), fmt::format(text, std::forward<Args>(args)...)});
  }

  void check_biases() {
    constexpr const char* kAll = "all projections have a bias: bias is true";
    if (model_.latent && model_.qkv_bias)
      report("qkv_bias", "latent attention has no biases of queries, keys and values");
    if (!model_.bias) return;
    if (model_.qkv_bias && !model_.latent) report("qkv_bias", "{}", kAll);
    if (model_.out_bias) report("out_bias", "{}", kAll);
    if (model_.mlp_bias) report("mlp_bias", "{}", kAll);
  }

  void check_sizes() {
    if (model_.latent)
      report("head_size", "heads of latent attention have key_size + rotary_size = {}",
             model_.head_size);
    const bool all_experts =
        layers_with([this](auto i) { return has_experts(model_, i); }) == model_.layers;
    if (all_experts && model_.experts->ffn != model_.ffn)
      report("ffn", "all layers have experts, whose ffn is {}", model_.experts->ffn);
  }

  void check_experts(const ExpertsConfig& experts) {
    if (layers_with([this](auto i) { return has_experts(model_, i); }) > 0) return;
    const bool dense = experts.dense_layers >= model_.layers;
    report("experts", "no layer has experts: {} = {} of {} layers",
           dense ? "dense_layers" : "every", dense ? experts.dense_layers : experts.every,
           model_.layers);
  }

  void check_window(const AttentionWindow& window) {
    const std::int64_t windowed = layers_with([this](auto i) { return is_windowed(model_, i); });
    const bool hides = window.size < model_.sequence;
    const bool turns_some = model_.positions == Positions::rotary && windowed < model_.layers;
    if (windowed == 0) {
      if (window.full_rotary || !turns_some) report("window", "no layer has the window");
      return;
    }
    if (!hides)
      report("window.size", "queries see all keys: sequences have {} tokens", model_.sequence);
    if (!window.full_rotary && !turns_some)
      report("window.full_rotary", "{}",
             windowed == model_.layers ? "all layers have the window" : "positions are not rotary");
    check_layers(window, windowed, hides || (turns_some && !window.full_rotary));
  }

  /// What says which layers have the window.
  void check_layers(const AttentionWindow& window, std::int64_t windowed, bool matters) {
    if (!matters) {
      constexpr const char* kNone = "the window hides no keys";
      if (window.chunked) report("window.chunked", "{}", kNone);
      if (window.first_layer > 0) report("window.first_layer", "{}", kNone);
      if (window.full_every > 0) report("window.full_every", "{}", kNone);
      return;
    }
    if (!(window.size < model_.sequence) && window.chunked)
      report("window.chunked", "the window hides no keys");
    if (window.full_every > 0 && windowed == model_.layers - window.first_layer)
      report("window.full_every", "none of the {} layers with the window is such a layer",
             windowed);
  }

  template <class Has>
  [[nodiscard]] std::int64_t layers_with(Has&& has) const {
    std::int64_t out = 0;
    for (std::int64_t i = 0; i < model_.layers; ++i) out += has(i) ? 1 : 0;
    return out;
  }

  const TransformerConfig& model_;
  std::vector<WithoutEffect> out_;
};

}  // namespace

std::vector<WithoutEffect> model_values_without_effect(const ModelConfig& model) {
  const auto* transformer = model.transformer();
  return transformer == nullptr ? std::vector<WithoutEffect>{}
                                : TransformerValues{*transformer}.found();
}

}  // namespace lockstep
