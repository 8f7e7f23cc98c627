#include "strategies/verification/shrink/shrink_parts.hpp"

namespace lockstep::shrinking {

namespace {

/// Whether the key or a section that it is in is named, other than the model or the layout as a
/// whole.
[[nodiscard]] bool is_named(const std::set<std::string>& kept, std::string_view key) {
  for (;;) {
    const std::size_t dot = key.rfind('.');
    if (dot == std::string_view::npos) return false;
    if (kept.contains(std::string{key})) return true;
    key = key.substr(0, dot);
  }
}

/// Of the layers per stage and the batches, which follow from both.
[[nodiscard]] bool follows_both(std::string_view key) {
  return key == "parallel.stages" || key == "parallel.micro_batch" ||
         key == "parallel.global_batch";
}

[[nodiscard]] bool follows_model(std::string_view key) {
  return key.starts_with("model.") || key == "parallel.bucket";
}

}  // namespace

bool stays(const ShrinkLimits& limits, std::string_view key) {
  if (is_named(limits.kept, key)) return true;
  if (follows_both(key)) return !limits.model && !limits.degrees;
  return follows_model(key) ? !limits.model : !limits.degrees;
}

}  // namespace lockstep::shrinking
