#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Axes of a search space: a key and its candidate values.
namespace lockstep::app {

/// Keys of `parallel` that a search varies without re-reading the scenario. Their order is that of
/// the digits of a point's index, most significant first.
enum class LayoutKey : std::uint8_t {
  tp,
  pp,
  cp,
  etp,
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
  delay_wgrad_compute,
};
inline constexpr std::size_t kLayoutKeys =
    static_cast<std::size_t>(LayoutKey::delay_wgrad_compute) + 1;
[[nodiscard]] std::string_view to_string(LayoutKey key);

/// A value of a layout key: its encoding as a number (count, 0/1, enumerator, bit mask of overlaps,
/// order of mesh axes as four base-4 digits) and its text.
struct LayoutValue {
  std::int64_t number = 0;
  std::string text;
};

struct LayoutAxis {
  LayoutKey key = LayoutKey::tp;
  std::vector<LayoutValue> values{};
};

/// Any other scenario key ("cluster.nodes") with its values in `--set` syntax, or several keys that
/// vary jointly ("cluster.nodes:parallel.global_batch" with "8:256", "16:512").
struct SettingAxis {
  std::string key;
  std::vector<std::string> values{};

  /// One value in `--set` syntax, for each key.
  [[nodiscard]] std::vector<std::string> overrides(std::size_t value) const;
};

/// Parsed `KEY=VALUES`: a key ("parallel.tp" or short "tp", "nodes" for "cluster.nodes") and
/// values: a comma list, a range `A..B` (integers), `A..B*F` (geometric) or `A..B+D` (arithmetic),
/// or `divisors`. Values that contain commas are bracketed or joined by "+" (overlap=none,tp+pp).
struct AxisText {
  std::string key;  // in full: "parallel.tp"
  std::vector<std::string> values{};
  bool divisors = false;
  std::string written;  // for errors
};
/// Errors: RequestError at "vary" with the expected syntax.
[[nodiscard]] AxisText parse_axis(const std::string& text);

/// Parses keys that vary jointly: `KEY:KEY=VALUES:VALUES`, value lists of equal length. A single
/// key gives one axis. Errors: as parse_axis().
[[nodiscard]] std::vector<AxisText> parse_axes(const std::string& text);

/// Joins such axes into one. Errors: RequestError for keys of a layout, and as setting_axis().
[[nodiscard]] SettingAxis joint_axis(const std::vector<AxisText>& axes);

/// The layout key of this name; none for other keys.
[[nodiscard]] const LayoutKey* layout_key(std::string_view key);

/// The axis of a layout key. `divisors_of`: the number whose divisors "divisors" stands for; 0: not
/// available for this key. Errors: RequestError for invalid and for repeated values.
[[nodiscard]] LayoutAxis layout_axis(LayoutKey key, const AxisText& text, std::int64_t divisors_of);

/// The axis of any other key. Errors: RequestError for "divisors" and for repeated values.
[[nodiscard]] SettingAxis setting_axis(const AxisText& text);

/// Parses a value of a layout key. Errors: RequestError for an invalid value.
[[nodiscard]] LayoutValue layout_value(LayoutKey key, const std::string& text,
                                       const std::string& written);

/// A value of a layout key in `--set` syntax: "parallel.overlap=[\"tp\",\"pp\"]".
[[nodiscard]] std::string layout_override(LayoutKey key, const LayoutValue& value);

}  // namespace lockstep::app
