#include <fmt/format.h>

#include "strategies/models/hugging_face/parts.hpp"

namespace lockstep::hugging_face {

namespace {

/// Whether the layers with a window are those of the pattern.
[[nodiscard]] bool fits(const std::vector<bool>& windowed, const AttentionWindow& window) {
  TransformerConfig config;
  config.window = window;
  for (std::size_t i = 0; i < windowed.size(); ++i) {
    if (is_windowed(config, static_cast<std::int64_t>(i)) != windowed[i]) return false;
  }
  return true;
}

/// Finds first_layer and full_every; false if there are none.
[[nodiscard]] bool find_pattern(const std::vector<bool>& windowed, AttentionWindow& window) {
  std::int64_t first = 0;
  while (!windowed[static_cast<std::size_t>(first)]) ++first;
  for (const std::int64_t start : {std::int64_t{0}, first}) {
    window.first_layer = start;
    for (std::int64_t every = 0; every <= static_cast<std::int64_t>(windowed.size()); ++every) {
      window.full_every = every;
      if (every != 1 && fits(windowed, window)) return true;
    }
  }
  return false;
}

/// layer_types: which layers have a window, or are chunks; empty where the key is absent.
[[nodiscard]] std::vector<bool> read_layer_types(Keys& keys, const TransformerConfig& config,
                                                 bool& chunked) {
  std::vector<bool> out;
  const auto found = keys.find("layer_types");
  if (!found) return out;
  found->array([&](const ValueReader& each) {
    const std::string type =
        each.one_of("kind of layer", {"full_attention", "sliding_attention", "chunked_attention"});
    chunked = chunked || type == "chunked_attention";
    out.push_back(type != "full_attention");
  });
  if (static_cast<std::int64_t>(out.size()) == config.layers) return out;
  found->note(fmt::format("{} entries, but the model has {} layers", out.size(), config.layers));
  return {};
}

}  // namespace

void read_window(Keys& keys, TransformerConfig& config, const WindowPattern& pattern) {
  bool chunked = false;
  const bool has_types = keys.find("layer_types").has_value();
  const std::vector<bool> windowed = read_layer_types(keys, config, chunked);
  const bool given = keys.has("sliding_window");
  const auto found = keys.find("sliding_window");
  AttentionWindow window{.size = found   ? found->integer(1, kLongestSequence)
                                 : given ? 0
                                         : pattern.size,
                         .chunked = false,
                         .first_layer = pattern.first_layer,
                         .full_every = pattern.full_every,
                         .full_rotary = pattern.full_rotary};
  if (has_types) {
    bool any = false;
    for (const bool each : windowed) any = any || each;
    if (!any) return;
    if (chunked) return keys.refuse("layer_types", "this family has no attention in chunks");
    if (window.size == 0) {
      return keys.refuse("layer_types", "sliding_attention needs a sliding_window");
    }
    if (!find_pattern(windowed, window)) {
      return keys.refuse("layer_types",
                         "only patterns with every n-th layer of full_attention are modeled");
    }
  }
  if (window.size > 0 && window.first_layer < config.layers) config.window = window;
}

void read_qwen_window(Keys& keys, TransformerConfig& config) {
  const bool used = keys.flag("use_sliding_window", false);
  const std::int64_t first = keys.count("max_window_layers", kMostLayers, 28);
  if (used) return read_window(keys, config, {.size = 4096, .first_layer = first});
  (void)keys.has("sliding_window");
  bool chunked = false;
  for (const bool windowed : read_layer_types(keys, config, chunked)) {
    if (!windowed) continue;
    return keys.refuse("layer_types", "sliding_attention, but use_sliding_window is false");
  }
}

}  // namespace lockstep::hugging_face
