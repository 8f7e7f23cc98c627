#include "topologies/files/cluster_reader.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <string>
#include <vector>

#include "sim/config/json/json_schema.hpp"
#include "topologies/builders/build_cluster.hpp"
#include "topologies/devices/provenance_key.hpp"
#include "topologies/graph/least_bandwidth.hpp"

namespace lockstep {
namespace {

constexpr std::int64_t kMostCount = 65'536;                                  // of any one parameter
constexpr Duration kMostLatency = Duration::picoseconds(1'000'000'000'000);  // no path overflows

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
  if (value.describes()) {
    value.allow(text_schema("^[1-9][0-9]{0,3}:[1-9][0-9]{0,3}$", "Ratio, such as \"2:1\""));
    return {};
  }
  const std::string text = value.string();
  const auto ratio = parse_ratio(text);
  if (!ratio && value.is_string())
    value.note("expected a ratio such as \"2:1\", got " + in_quotes(text));
  return ratio.value_or(Ratio{});
}

std::vector<std::int64_t> read_shape(const ValueReader& value, int sides_described) {
  std::vector<std::int64_t> sides;
  value.array([&sides](const ValueReader& side) { sides.push_back(side.integer(1, kMostCount)); },
              1, 8);
  for (const char* keyword : {"minItems", "maxItems"})
    value.refine(keyword, std::to_string(sides_described));
  return sides;
}

Parameters::Value read_parameter(const Parameter& parameter, const ValueReader& value) {
  switch (parameter.type) {
    case ParameterType::link:
      return value.object([](ObjectReader& in) { return read_link(in); });
    case ParameterType::shape:
      return read_shape(value, parameter.sides);
    case ParameterType::ratio:
      return read_ratio(value);
    case ParameterType::count:
      break;
  }
  return value.integer(1, kMostCount);
}

std::string capitalized(std::string_view text) {
  std::string out{text};
  const auto first = static_cast<unsigned char>(out.front());
  const bool word = out.size() > 1 && std::isalpha(static_cast<unsigned char>(out[1])) != 0;
  if (word) out.front() = static_cast<char>(std::toupper(first));
  return out;
}

/// Its ranks follow from a parameter.
bool has_shape(const Builder& row) {
  return std::any_of(row.parameters.begin(), row.parameters.end(),
                     [](const Parameter& each) { return each.type == ParameterType::shape; });
}

}  // namespace

LinkFigures read_link(ObjectReader& in) {
  constexpr double kLeastEfficiency = 0.001;
  LinkFigures figures;
  figures.bandwidth = in.rate("bandwidth");
  figures.latency = in.duration("latency");
  if (figures.latency > kMostLatency)
    in.note("latency", "expected at most 1 s, got " + to_string(figures.latency));
  figures.efficiency = in.number({"efficiency", "Achieved over nominal bandwidth (default: 1)"},
                                 kLeastEfficiency, 1.0, 1.0);
  if (figures.bandwidth < kLeastLinkBandwidth)
    in.note("bandwidth", "expected at least 1 B/s, got " + to_string(figures.bandwidth));
  (void)in.optional_string("source");
  figures.provenance = optional_provenance(in, kProvenanceKey).value_or(Provenance::assumed);
  figures.latency_provenance =
      optional_provenance(
          in, {"latency_provenance", "The same of the latency (default: that of the bandwidth)"})
          .value_or(figures.provenance);
  return figures;
}

BuilderCall read_builder_call(ObjectReader& in, std::string_view noun,
                              const std::function<bool(const Builder&)>& allows) {
  std::vector<std::string_view> names;
  for (const Builder& row : topology_builders())
    if (allows(row)) names.push_back(row.name);
  BuilderCall call;
  const auto chosen = in.kind("builder", noun, names);
  if (!chosen) return call;
  call.builder = find_topology_builder(*chosen);
  for (const Parameter& parameter : call.builder->parameters) {
    const std::string help = in.describes() ? capitalized(parameter.description) : "";
    const Key key{parameter.name, help};
    const auto value = parameter.presence == Presence::required ? std::optional{in.required(key)}
                                                                : in.optional(key);
    if (value) call.parameters.set(parameter.name, read_parameter(parameter, *value));
  }
  return call;
}

BuilderCall read_fabric_call(ObjectReader& in) {
  BuilderCall call = read_builder_call(in, "fabric", &Builder::is_fabric);
  const auto added = in.optional_object(
      {"transport", "Transport of the NICs (default: InfiniBand, which adds nothing)"},
      [&call](ObjectReader& of) {
        call.transport =
            of.one_of("name", "transport", {kTransportNames.begin(), kTransportNames.end()});
        (void)optional_provenance(of, kProvenanceKey);
        const Duration latency = of.duration(
            {"latency", "Of a message between nodes beyond its links; messages overlap in it"});
        if (latency > kMostLatency)
          of.note("latency", "expected at most 1 s, got " + to_string(latency));
        (void)of.string("source");
        return latency;
      });
  call.transport_latency = added.value_or(Duration{});
  return call;
}

void describe_cluster_body(ObjectReader& in) {
  const auto call = [&in](const std::optional<ValueReader>& at,
                          const std::function<bool(const Builder&)>& allows) {
    (void)at->object([&](ObjectReader& of) { return read_builder_call(of, "topology", allows); });
  };
  const auto fabric = [&] { (void)in.optional("fabric")->object(read_fabric_call); };
  const auto nodes = [&in] {
    (void)in.integer({"nodes", "Number of nodes; --nodes overrides it"}, 1, kMostNodes);
  };
  const auto ranks = [&in](std::int64_t most) {
    (void)in.integer({"ranks", "Number of single GPUs or hosts; --ranks overrides it"}, 1, most);
  };
  switch (in.form(6)) {
    case 0:
      call(in.required("topology"),
           [](const Builder& row) { return row.is_direct() && !has_shape(row); });
      return ranks(kMostNodes);
    case 1:
      return call(in.required("topology"),
                  [](const Builder& row) { return row.is_direct() && has_shape(row); });
    case 2:
      call(in.required("topology"), &Builder::is_fabric);
      return ranks(kMostRanks);
    case 3:
      call(in.required("topology"), &Builder::is_node);
      nodes();
      return fabric();
    case 4:
      (void)in.object({"node", "Vertices and cables of one node; ranks are its GPUs in order"},
                      [](ObjectReader& parts) { return read_node(parts) == nullptr; });
      nodes();
      return fabric();
    default:
      (void)in.object({"graph", "Vertices and cables of the whole cluster"},
                      [](ObjectReader& graph) { return read_graph(graph).has_value(); });
  }
}

}  // namespace lockstep
