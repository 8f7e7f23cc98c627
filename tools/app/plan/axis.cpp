#include "tools/app/plan/axis.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <set>

#include "sim/config/did_you_mean.hpp"
#include "strategies/layout/scenario_names.hpp"
#include "strategies/scenario/parallel/parallel_fields.hpp"
#include "tools/app/errors.hpp"

namespace lockstep::app {

namespace {

constexpr std::size_t kMostValues = 4096;
constexpr std::int64_t kLargest = 1'000'000'000;
constexpr std::array<std::string_view, kLayoutKeys> kNames{"tp",          "pp",
                                                           "cp",          "etp",
                                                           "ep",          "cp_kind",
                                                           "micro_batch", "vpp",
                                                           "short_edges", "schedule",
                                                           "zero",        "shard_ranks",
                                                           "recompute",   "sequence_parallel",
                                                           "offload",     "order",
                                                           "overlap",     "delay_wgrad_compute"};

constexpr std::array<std::string_view, 4> kOrderAxes{"tp", "cp", "dp", "pp"};

[[noreturn]] void refuse(const std::string& written, const std::string& message) {
  throw RequestError("vary", fmt::format("\"{}\": {}", written, message));
}

[[nodiscard]] std::optional<std::int64_t> whole(std::string_view text) {
  std::int64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return out;
}

/// At commas (or another letter) outside brackets, braces and quotes.
[[nodiscard]] std::vector<std::string> split(const std::string& text, char at = ',') {
  std::vector<std::string> out{""};
  int depth = 0;
  bool quoted = false;
  for (const char c : text) {
    if (c == '"') quoted = !quoted;
    if (!quoted && (c == '[' || c == '{')) ++depth;
    if (!quoted && (c == ']' || c == '}')) --depth;
    if (c == at && depth == 0 && !quoted) {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  return out;
}

/// `A..B`, `A..B*F`, `A..B+D`; empty if it is no range.
[[nodiscard]] std::vector<std::string> range(const std::string& text, const std::string& written) {
  const std::size_t dots = text.find("..");
  if (dots == std::string::npos) return {};
  const std::size_t step_at = text.find_first_of("*+", dots);
  const auto first = whole(std::string_view{text}.substr(0, dots));
  const auto last = whole(std::string_view{text}.substr(
      dots + 2, step_at == std::string::npos ? std::string::npos : step_at - dots - 2));
  std::optional<std::int64_t> step{1};
  if (step_at != std::string::npos) step = whole(std::string_view{text}.substr(step_at + 1));
  const bool times = step_at != std::string::npos && text[step_at] == '*';
  if (!first || !last || !step || *step < (times ? 2 : 1) || *first < (times ? 1 : 0) ||
      *last < *first || *last > kLargest)
    refuse(
        written,
        fmt::format("expected a range such as 1..8, 8..512*2 or 0..64+8 instead of \"{}\"", text));
  std::vector<std::string> out;
  for (std::int64_t value = *first; value <= *last; value = times ? value * *step : value + *step) {
    if (out.size() == kMostValues)
      refuse(written, fmt::format("more than {} values on one axis", kMostValues));
    out.push_back(std::to_string(value));
  }
  return out;
}

[[nodiscard]] std::string full_key(const std::string& key) {
  if (layout_key(key) != nullptr && key.find('.') == std::string::npos) return "parallel." + key;
  if (key == "nodes" || key == "gpu" || key == "gpus" || key == "nic_gbps") return "cluster." + key;
  if (key == "precision" || key == "global_batch" || key == "bucket") return "parallel." + key;
  if (key == "seq") return "model.seq";
  const std::string first = key.substr(0, key.find('.'));
  const std::vector<ParallelField>& fields = parallel_fields();
  const bool known = std::any_of(fields.begin(), fields.end(),
                                 [&](const ParallelField& field) { return field.key == first; });
  return known && first != "stages" ? "parallel." + key : key;
}

/// Refuses a key without its object that is near to one of the space.
void refuse_near_key(const std::string& key, const std::string& written) {
  if (key.find('.') != std::string::npos) return;
  std::vector<std::string_view> all{kNames.begin(), kNames.end()};
  for (const char* other :
       {"nodes", "gpu", "gpus", "nic_gbps", "precision", "global_batch", "bucket", "seq", "dp",
        "model", "cluster", "tokens", "samples", "sustained", "ignore_memory", "seed", "stack"})
    all.emplace_back(other);
  if (std::find(all.begin(), all.end(), key) != all.end()) return;
  if (const auto near = did_you_mean(key, all))
    refuse(written, fmt::format("unknown key \"{}\"; did you mean \"{}\"?", key, *near));
}

template <class T>
[[nodiscard]] LayoutValue named_value(const Names<T>& names, LayoutKey key, const std::string& text,
                                      const std::string& written) {
  if (const auto value = named(names, text)) return {static_cast<std::int64_t>(*value), text};
  std::vector<std::string_view> all = keys_of(names);
  const auto near = did_you_mean(text, all);
  refuse(written, near ? fmt::format("{} has no value \"{}\"; did you mean \"{}\"?", to_string(key),
                                     text, *near)
                       : fmt::format("{} has no value \"{}\"; there is {}", to_string(key), text,
                                     fmt::join(all, ", ")));
}

[[nodiscard]] LayoutValue truth(LayoutKey key, const std::string& text,
                                const std::string& written) {
  if (text == "true" || text == "false") return {text == "true" ? 1 : 0, text};
  refuse(written, fmt::format("{} is true or false, not \"{}\"", to_string(key), text));
}

[[nodiscard]] LayoutValue count(LayoutKey key, std::int64_t least, std::int64_t most,
                                const std::string& text, const std::string& written) {
  const auto value = whole(text);
  if (value && *value >= least && *value <= most) return {*value, text};
  refuse(written, fmt::format("{} is an integer from {} to {}, not \"{}\"", to_string(key), least,
                              most, text));
}

/// "none", or kinds joined by "+", of which "all" is all but ep_pairs, which takes other schedules.
[[nodiscard]] LayoutValue overlap(const std::string& text, const std::string& written) {
  LayoutValue out{0, text};
  if (text == "none" || text == "[]") return {0, "none"};
  const auto mask = [](Overlap what) { return 1LL << static_cast<int>(what); };
  std::string rest = text;
  while (true) {
    const std::size_t plus = rest.find('+');
    const std::string name = rest.substr(0, plus);
    if (name == "all") {
      for (const auto& [each, what] : overlap_names())
        if (what != Overlap::ep_pairs) out.number |= mask(what);
    } else {
      out.number |= 1LL << named_value(overlap_names(), LayoutKey::overlap, name, written).number;
    }
    if (plus == std::string::npos) return out;
    rest = rest.substr(plus + 1);
  }
}

/// "tp-cp-dp-pp", fastest first.
[[nodiscard]] LayoutValue order(const std::string& text, const std::string& written) {
  LayoutValue out{0, text};
  std::set<std::size_t> seen;
  for (std::size_t at = 0; at + 2 <= text.size(); at += 3) {
    const auto axis =
        std::find(kOrderAxes.begin(), kOrderAxes.end(), std::string_view{text}.substr(at, 2));
    if (axis == kOrderAxes.end() || (at + 2 < text.size() && text[at + 2] != '-')) break;
    const auto index = static_cast<std::size_t>(axis - kOrderAxes.begin());
    if (!seen.insert(index).second) break;
    out.number = out.number * 4 + static_cast<std::int64_t>(index);
  }
  if (seen.size() == 4 && text.size() == 11) return out;
  refuse(written, fmt::format("expected tp, cp, dp and pp, fastest first and joined by \"-\", such "
                              "as tp-cp-dp-pp, not \"{}\"",
                              text));
}

}  // namespace

std::string_view to_string(LayoutKey key) {
  return kNames[static_cast<std::size_t>(key)];
}

const LayoutKey* layout_key(std::string_view key) {
  static constexpr std::array<LayoutKey, kLayoutKeys> kKeys{
      LayoutKey::tp,          LayoutKey::pp,
      LayoutKey::cp,          LayoutKey::etp,
      LayoutKey::ep,          LayoutKey::cp_kind,
      LayoutKey::micro_batch, LayoutKey::vpp,
      LayoutKey::short_edges, LayoutKey::schedule,
      LayoutKey::zero,        LayoutKey::shard_ranks,
      LayoutKey::recompute,   LayoutKey::sequence_parallel,
      LayoutKey::offload,     LayoutKey::order,
      LayoutKey::overlap,     LayoutKey::delay_wgrad_compute};
  constexpr std::string_view kPart = "parallel.";
  if (key.substr(0, kPart.size()) == kPart) key.remove_prefix(kPart.size());
  if (key == "state.offload") key = "offload";
  const auto found = std::find(kNames.begin(), kNames.end(), key);
  return found == kNames.end() ? nullptr : &kKeys[static_cast<std::size_t>(found - kNames.begin())];
}

AxisText parse_axis(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    refuse(text, "expected KEY=VALUES such as tp=1,2,4,8, cluster.nodes=8..512*2 or tp=divisors");
  const std::string key = text.substr(0, equals);
  refuse_near_key(key, text);
  AxisText out{full_key(key), {}, false, text};
  const std::string values = text.substr(equals + 1);
  if (values == "divisors") {
    out.divisors = true;
    return out;
  }
  for (const std::string& part : split(values)) {
    if (part.empty()) refuse(text, "an empty value between commas");
    std::vector<std::string> several = range(part, text);
    if (several.empty()) several.push_back(part);
    out.values.insert(out.values.end(), several.begin(), several.end());
  }
  if (out.values.size() > kMostValues)
    refuse(text, fmt::format("more than {} values on one axis", kMostValues));
  return out;
}

std::vector<AxisText> parse_axes(const std::string& text) {
  const std::size_t equals = std::min(text.find('='), text.size());
  const std::vector<std::string> keys = split(text.substr(0, equals), ':');
  if (keys.size() == 1 || equals == text.size()) return {parse_axis(text)};
  const std::vector<std::string> lists = split(text.substr(equals + 1), ':');
  if (lists.size() != keys.size())
    refuse(text, fmt::format("{} keys that go together, and values for {}: expected such as "
                             "nodes:global_batch=8,16:256,512",
                             keys.size(), lists.size()));
  std::vector<AxisText> out;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    AxisText axis = parse_axis(fmt::format("{}={}", keys[i], lists[i]));
    axis.written = text;
    if (axis.divisors) refuse(text, "keys that go together have lists or ranges of values");
    if (axis.values.size() != (out.empty() ? axis : out.front()).values.size())
      refuse(text,
             fmt::format("{} has {} values and {} has {}: keys that go together have as many",
                         out.front().key, out.front().values.size(), axis.key, axis.values.size()));
    out.push_back(std::move(axis));
  }
  return out;
}

SettingAxis joint_axis(const std::vector<AxisText>& axes) {
  if (axes.size() == 1) return setting_axis(axes.front());
  std::vector<std::string> keys;
  AxisText joint = axes.front();
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (layout_key(axes[i].key) != nullptr)
      refuse(axes[i].written,
             fmt::format("{} is a key of layouts, which `plan` varies for itself; keys such as "
                         "cluster.nodes and parallel.global_batch go together",
                         axes[i].key));
    keys.push_back(axes[i].key);
    if (i == 0) continue;
    for (std::size_t k = 0; k < joint.values.size(); ++k)
      joint.values[k] += ":" + axes[i].values[k];
  }
  joint.key = fmt::format("{}", fmt::join(keys, ":"));
  return setting_axis(joint);
}

std::vector<std::string> SettingAxis::overrides(std::size_t value) const {
  const std::vector<std::string> keys = split(key, ':');
  if (keys.size() == 1) return {fmt::format("{}={}", key, values[value])};
  const std::vector<std::string> parts = split(values[value], ':');
  std::vector<std::string> out;
  for (std::size_t i = 0; i < keys.size(); ++i)
    out.push_back(fmt::format("{}={}", keys[i], parts[i]));
  return out;
}

LayoutValue layout_value(LayoutKey key, const std::string& text, const std::string& written) {
  switch (key) {
    case LayoutKey::cp_kind:
      return named_value(context_names(), key, text, written);
    case LayoutKey::schedule:
      return named_value(pipeline_names(), key, text, written);
    case LayoutKey::recompute:
      return named_value(recompute_names(), key, text, written);
    case LayoutKey::short_edges:
    case LayoutKey::sequence_parallel:
    case LayoutKey::offload:
    case LayoutKey::delay_wgrad_compute:
      return truth(key, text, written);
    case LayoutKey::zero:
      return count(key, 0, 3, text, written);
    case LayoutKey::etp:
    case LayoutKey::shard_ranks:
      return count(key, 0, 1 << 24, text, written);
    case LayoutKey::order:
      return order(text, written);
    case LayoutKey::overlap:
      return overlap(text, written);
    default:
      return count(key, 1, 1 << 24, text, written);
  }
}

LayoutAxis layout_axis(LayoutKey key, const AxisText& text, std::int64_t divisors_of) {
  LayoutAxis out{key, {}};
  if (text.divisors) {
    if (divisors_of < 1)
      refuse(text.written,
             fmt::format("{} has no divisors to try; give its values", to_string(key)));
    for (std::int64_t value = 1; value <= divisors_of && value <= 1 << 20; ++value)
      if (divisors_of % value == 0) out.values.push_back({value, std::to_string(value)});
    return out;
  }
  for (const std::string& value : text.values) {
    LayoutValue next = layout_value(key, value, text.written);
    const auto same = [&](const LayoutValue& each) { return each.number == next.number; };
    if (std::any_of(out.values.begin(), out.values.end(), same))
      refuse(text.written, fmt::format("the value {} is there twice", value));
    out.values.push_back(std::move(next));
  }
  return out;
}

SettingAxis setting_axis(const AxisText& text) {
  if (text.divisors) refuse(text.written, "only layout keys have divisors");
  std::set<std::string> seen;
  for (const std::string& value : text.values)
    if (!seen.insert(value).second)
      refuse(text.written, fmt::format("the value {} is there twice", value));
  return {text.key, text.values};
}

std::string layout_override(LayoutKey key, const LayoutValue& value) {
  std::vector<std::string_view> names;
  switch (key) {
    case LayoutKey::overlap:
      for (const auto& [name, what] : overlap_names())
        if ((value.number >> static_cast<int>(what) & 1) != 0) names.push_back(name);
      break;
    case LayoutKey::order:
      for (int shift = 6; shift >= 0; shift -= 2)
        names.push_back(kOrderAxes[static_cast<std::size_t>(value.number >> shift & 3)]);
      break;
    case LayoutKey::offload:
      return fmt::format("parallel.state.offload={}", value.text);
    default:
      return fmt::format("parallel.{}={}", to_string(key), value.text);
  }
  std::vector<std::string> quoted;
  for (const std::string_view name : names) quoted.push_back(fmt::format("\"{}\"", name));
  return fmt::format("parallel.{}=[{}]", to_string(key), fmt::join(quoted, ","));
}

}  // namespace lockstep::app
