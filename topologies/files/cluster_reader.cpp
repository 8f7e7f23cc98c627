#include "topologies/files/cluster_reader.hpp"

#include <cmath>
#include <string>
#include <vector>

#include "topologies/builders/build_cluster.hpp"
#include "topologies/graph/least_bandwidth.hpp"

namespace lockstep {
namespace {

constexpr std::int64_t kMostCount = 65'536;  // of any one parameter

/// "2:1".
std::optional<Ratio> parse_ratio(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) return std::nullopt;
  const auto number = [](const std::string& digits) -> std::optional<std::int64_t> {
    const bool plain = !digits.empty() && digits.size() <= 4 && digits[0] != '0' &&
                       digits.find_first_not_of("0123456789") == std::string::npos;
    if (!plain) return std::nullopt;
    return std::stoll(digits);
  };
  const auto over = number(text.substr(0, colon));
  const auto under = number(text.substr(colon + 1));
  if (!over || !under) return std::nullopt;
  return Ratio{*over, *under};
}

Ratio read_ratio(const ValueReader& value) {
  const std::string text = value.string();
  const auto ratio = parse_ratio(text);
  if (!ratio && value.is_string())
    value.note("expected a ratio such as \"2:1\", got " + in_quotes(text));
  return ratio.value_or(Ratio{});
}

std::vector<std::int64_t> read_shape(const ValueReader& value) {
  std::vector<std::int64_t> sides;
  value.array([&sides](const ValueReader& side) { sides.push_back(side.integer(1, kMostCount)); },
              1, 8);
  return sides;
}

Parameters::Value read_parameter(ParameterType type, const ValueReader& value) {
  switch (type) {
    case ParameterType::link:
      return value.object([](ObjectReader& in) { return read_link(in); });
    case ParameterType::shape:
      return read_shape(value);
    case ParameterType::ratio:
      return read_ratio(value);
    case ParameterType::count:
      break;
  }
  return value.integer(1, kMostCount);
}

std::vector<std::string_view> builder_names(bool fabrics_only) {
  std::vector<std::string_view> names;
  for (const Builder& row : topology_builders()) {
    if (row.is_fabric() || !fabrics_only) names.push_back(row.name);
  }
  return names;
}

}  // namespace

LinkFigures read_link(ObjectReader& in) {
  constexpr double kLeastEfficiency = 0.001;
  constexpr Duration kMostLatency = Duration::picoseconds(1'000'000'000'000);  // no path overflows
  LinkFigures figures;
  figures.bandwidth = in.rate("bandwidth");
  figures.latency = in.duration("latency");
  if (figures.latency > kMostLatency)
    in.note("latency", "expected at most 1 s, got " + to_string(figures.latency));
  figures.efficiency = in.number("efficiency", kLeastEfficiency, 1.0, 1.0);
  if (figures.bandwidth < kLeastLinkBandwidth)
    in.note("bandwidth", "expected at least 1 B/s, got " + to_string(figures.bandwidth));
  (void)in.optional_string("source");
  return figures;
}

BuilderCall read_builder_call(ObjectReader& in, std::string_view noun, bool fabrics_only) {
  BuilderCall call;
  const auto chosen = in.kind("builder", noun, builder_names(fabrics_only));
  if (!chosen) return call;
  call.builder = find_topology_builder(*chosen);
  for (const Parameter& parameter : call.builder->parameters) {
    const auto value = parameter.presence == Presence::required
                           ? std::optional{in.required(parameter.name)}
                           : in.optional(parameter.name);
    if (value) call.parameters.set(parameter.name, read_parameter(parameter.type, *value));
  }
  return call;
}

}  // namespace lockstep
