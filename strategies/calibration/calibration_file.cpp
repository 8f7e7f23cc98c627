#include <algorithm>
#include <string_view>
#include <utility>

#include "sim/config/reader.hpp"
#include "strategies/calibration/calibration.hpp"

namespace lockstep {

namespace {

constexpr double kMostSlowdown = 100;

template <class Enum>
std::vector<std::string_view> names_of() {
  return {NcclNames<Enum>::all.begin(), NcclNames<Enum>::all.end()};
}

template <class Enum>
Enum read_word(ObjectReader& in, std::string_view key, std::string_view noun) {
  return parse_nccl_name<Enum>(in.one_of(key, noun, names_of<Enum>())).value();
}

Collective read_collective(ObjectReader& in) {
  const std::vector<std::string_view> names(kCollectiveNames.begin(), kCollectiveNames.end());
  return parse_collective(in.one_of("collective", "collective", names)).value();
}

NcclCost read_cost(ObjectReader& in) {
  NcclCost out;
  out.key.version = in.string("nccl");
  out.key.architecture = read_word<NcclArchitecture>(in, "architecture", "architecture");
  out.key.collective = read_collective(in);
  out.key.kind = read_word<NcclCostKind>(in, "algorithm", "algorithm");
  out.key.protocol = read_word<NcclProtocol>(in, "protocol", "protocol");
  out.key.several_nodes = in.one_of("nodes", "number of nodes", {"one", "several"}) == "several";
  out.launch = in.duration("launch");
  out.hop = in.duration("hop", Duration{});
  out.network_hop = in.duration("network_hop", Duration{});
  out.wire = in.optional_rate("wire");
  out.own = in.optional_rate("own");
  out.source = in.string("source");
  return out;
}

void read_costs(ObjectReader& in, std::vector<NcclCost>& costs) {
  in.optional_array("collectives", [&costs](const ValueReader& one) {
    NcclCost cost = one.object(read_cost);
    const auto same = [&cost](const NcclCost& other) { return other.key == cost.key; };
    if (std::any_of(costs.begin(), costs.end(), same))
      one.note("the costs of this are there already");
    costs.push_back(std::move(cost));
  });
}

/// A document of its own inside the file.
void read_kernels(const JsonDocument& document, const std::string& device, const ValueReader& value,
                  const std::filesystem::path& folder, Calibration& out) {
  if (!value.is_object()) return value.refuse("figures of kernels, as in configs/kernels");
  JsonDocument inner = document;
  inner.root = *value.value();
  try {
    out.kernels[device] = read_kernel_figures(inner, device, folder);
  } catch (const ConfigError& error) {
    for (const Problem& problem : error.problems())
      value.note(problem.pointer + ": " + problem.message);
  }
}

StackFit read_stack(ObjectReader& in) {
  StackFit out;
  out.host_time = in.optional_duration("host_time");
  out.slowdown_while_communicating =
      in.optional_number("slowdown_while_communicating", 1, kMostSlowdown);
  (void)in.string("source");
  return out;
}

template <class Each>
void for_members(ObjectReader& in, std::string_view key, Each each) {
  const auto found = in.optional(key);
  if (!found) return;
  found->object([&each](ObjectReader& members) {
    for (const auto& [name, value] : members.all()) each(name, value);
  });
}

}  // namespace

Calibration read_calibration(const JsonDocument& document, const std::filesystem::path& kernels) {
  return read_document(document, [&](ObjectReader& in) {
    Calibration out;
    out.name = in.string("name");
    out.summary = in.string("summary");
    read_costs(in, out.collectives);
    for_members(in, "kernels", [&](const std::string& device, const ValueReader& value) {
      read_kernels(document, device, value, kernels, out);
    });
    for_members(in, "stacks", [&](const std::string& stack, const ValueReader& value) {
      out.stacks[stack] = value.object(read_stack);
    });
    return out;
  });
}

Calibration load_calibration(const std::filesystem::path& path,
                             const std::filesystem::path& kernels) {
  return read_calibration(read_json(path), kernels);
}

std::vector<NcclCost> load_collective_costs(const std::filesystem::path& path) {
  return read_config(path, [](ObjectReader& in) {
    std::vector<NcclCost> out;
    for (const char* other : {"name", "summary", "kernels", "stacks"}) in.ignore(other);
    read_costs(in, out);
    return out;
  });
}

}  // namespace lockstep
