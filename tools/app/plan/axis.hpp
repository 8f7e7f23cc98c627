#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// The axes of a space of layouts: a key and the values that are tried.
namespace lockstep::app {

/// Keys of `parallel` whose values a search goes through without reading the scenario again, in
/// the order in which a point's index counts them, slowest first.
enum class LayoutKey : std::uint8_t {
  tp,
  pp,
  cp,
  ep,
  cp_kind,
  micro_batch,
  vpp,
  short_edges,
  schedule,
  zero,
  shard_ranks,
  recompute,
  sequence_parallel,
  offload,
  order,
  overlap,
};
inline constexpr std::size_t kLayoutKeys = static_cast<std::size_t>(LayoutKey::overlap) + 1;
[[nodiscard]] std::string_view to_string(LayoutKey key);

/// A value of a layout key: its number (a count, a truth, the place of a name, a set of kinds of
/// overlap as bits, an order of axes as four digits of 0 to 3) and how it is written.
struct LayoutValue {
  std::int64_t number = 0;
  std::string text;
};

struct LayoutAxis {
  LayoutKey key = LayoutKey::tp;
  std::vector<LayoutValue> values{};
};

/// Any other key of a scenario ("cluster.nodes"), with its values as `--set` takes them; or several
/// keys whose values go together ("cluster.nodes:parallel.global_batch" with "8:256", "16:512").
struct SettingAxis {
  std::string key;
  std::vector<std::string> values{};

  /// One of its values as `--set` takes it, of each key.
  [[nodiscard]] std::vector<std::string> overrides(std::size_t value) const;
};

/// `KEY=VALUES` in parts: a key ("parallel.tp" or short "tp", "nodes" for "cluster.nodes") and
/// values: a list with commas, ranges `A..B` (whole numbers), `A..B*F` (each F times the one
/// before) or `A..B+D`, or `divisors`. Values with commas inside stand in brackets or are joined by
/// "+" (overlap=none,tp+pp).
struct AxisText {
  std::string key;  // with its part: "parallel.tp"
  std::vector<std::string> values{};
  bool divisors = false;
  std::string written;  // for errors
};
/// Errors: RequestError with place "vary" and what is expected.
[[nodiscard]] AxisText parse_axis(const std::string& text);

/// The same of several keys whose values go together: `KEY:KEY=VALUES:VALUES`, as many of each. One
/// key alone is one axis. Errors: as parse_axis().
[[nodiscard]] std::vector<AxisText> parse_axes(const std::string& text);

/// Such axes as one. Errors: RequestError for keys of a layout, and as setting_axis().
[[nodiscard]] SettingAxis joint_axis(const std::vector<AxisText>& axes);

/// The key of a layout that this names; none for any other.
[[nodiscard]] const LayoutKey* layout_key(std::string_view key);

/// The axis of a layout key. `divisors_of`: what "divisors" are those of, 0: none for this key.
/// Errors: RequestError for values that the key has not, and for the same one twice.
[[nodiscard]] LayoutAxis layout_axis(LayoutKey key, const AxisText& text, std::int64_t divisors_of);

/// The axis of any other key. Errors: RequestError for "divisors", and for a value twice.
[[nodiscard]] SettingAxis setting_axis(const AxisText& text);

/// The value of a layout key as text: RequestError where it has none such.
[[nodiscard]] LayoutValue layout_value(LayoutKey key, const std::string& text,
                                       const std::string& written);

/// A value of a layout key as `--set` takes it: "parallel.overlap=[\"tp\",\"pp\"]".
[[nodiscard]] std::string layout_override(LayoutKey key, const LayoutValue& value);

}  // namespace lockstep::app
