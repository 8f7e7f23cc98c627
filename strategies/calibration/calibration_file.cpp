#include <algorithm>
#include <string_view>
#include <utility>

#include "sim/config/json/json_schema.hpp"
#include "sim/config/reader.hpp"
#include "strategies/calibration/calibration.hpp"
#include "strategies/calibration/machine_file.hpp"
#include "topologies/devices/provenance_key.hpp"

namespace lockstep {

namespace {

constexpr double kMostSlowdown = 100;

template <class Enum>
std::vector<std::string_view> names_of() {
  return {NcclNames<Enum>::all.begin(), NcclNames<Enum>::all.end()};
}

template <class Enum>
Enum read_word(ObjectReader& in, const Key& key, std::string_view noun) {
  return parse_nccl_name<Enum>(in.one_of(key, noun, names_of<Enum>())).value();
}

Collective read_collective(ObjectReader& in) {
  const std::vector<std::string_view> names(kCollectiveNames.begin(), kCollectiveNames.end());
  return parse_collective(in.one_of("collective", "collective", names)).value();
}

/// Calibrations are fits unless they say otherwise.
Provenance read_provenance(ObjectReader& in) {
  return optional_provenance(in,
                             {kProvenanceKey.name, "How the values are known (default: fitted)"})
      .value_or(Provenance::fitted);
}

NcclCost read_cost(ObjectReader& in) {
  NcclCost out;
  out.key.version = in.string({"nccl", "NCCL version of the tuning: a file of configs/nccl"});
  out.key.architecture = read_word<NcclArchitecture>(in, "architecture", "architecture");
  out.key.collective = read_collective(in);
  out.key.kind = read_word<NcclCostKind>(
      in, {"algorithm", "Protocol; grouped: sends and receives in one group"}, "algorithm");
  out.key.protocol = read_word<NcclProtocol>(in, "protocol", "protocol");
  out.key.several_nodes = in.one_of("nodes", "number of nodes", {"one", "several"}) == "several";
  out.launch = in.duration("launch");
  out.hop = in.duration({"hop", "Latency per hop inside a node"}, Duration{});
  if (const auto hidden =
          in.optional({"hop_hidden_by",
                       "Own part whose transfer hides the hops; smaller parts hide a "
                       "proportional share (omitted: hops are not hidden)"}))
    out.hop_hidden_by = hidden->positive_bytes();
  out.network_hop = in.duration({"network_hop", "Latency per hop between nodes"}, Duration{});
  out.loop = in.duration({"loop", "Latency per loop of NVLS over the buffers of its channels"},
                         Duration{});
  out.wire = in.optional_rate("wire");
  out.own = in.optional_rate("own");
  out.source = in.string("source");
  out.provenance = read_provenance(in);
  return out;
}

void read_costs(ObjectReader& in, std::vector<NcclCost>& costs) {
  in.optional_array({"collectives",
                     "Costs of collectives in addition to their links: launch + hops * hop + "
                     "network hops * network_hop + loops * loop + bytes sent per rank / wire + "
                     "own part / own"},
                    [&costs](const ValueReader& one) {
                      NcclCost cost = one.object(read_cost);
                      const auto same = [&cost](const NcclCost& other) {
                        return other.key == cost.key;
                      };
                      if (std::any_of(costs.begin(), costs.end(), same))
                        one.note("the costs of this are there already");
                      costs.push_back(std::move(cost));
                    });
}

/// A document of its own inside the file.
void read_kernels(const JsonDocument& document, const std::string& device, const ValueReader& value,
                  const std::filesystem::path& folder, Calibration& out) {
  if (value.describes()) return value.allow(any_object_schema());
  if (!value.is_object()) return value.refuse("figures of kernels, as in configs/kernels");
  JsonDocument inner = document;
  inner.root = *value.value();
  try {
    KernelFigures& figures = out.kernels[device] = read_kernel_figures(inner, device, folder);
    for (FigureSource& each : figures.sources)
      if (!each.provenance) each.provenance = Provenance::fitted;
  } catch (const ConfigError& error) {
    for (const Problem& problem : error.problems())
      value.note(problem.pointer + ": " + problem.message);
  }
}

StackFit read_stack(ObjectReader& in) {
  StackFit out;
  out.host_time = in.optional_duration({"host_time", "Of the host, per kernel that it issues"});
  out.slowdown_while_communicating = in.optional_number(
      {"slowdown_while_communicating", "Slowdown of computation during communication"}, 1,
      kMostSlowdown);
  (void)in.string("source");
  out.provenance = read_provenance(in);
  return out;
}

template <class Each>
void for_members(ObjectReader& in, const Key& key, Each each) {
  const auto found = in.optional(key);
  if (!found) return;
  found->object([&each](ObjectReader& members) {
    for (const auto& [name, value] : members.all()) each(name, value);
  });
}

Calibration read_calibration_file(ObjectReader& in, const JsonDocument& document,
                                  const std::filesystem::path& kernels) {
  Calibration out;
  if (in.decisive(kMachineKey)) {
    out.machine = read_machine(in);
    out.name = out.machine->name;
    out.summary = in.string("summary", "");
  } else {
    out.name = in.string("name");
    out.summary = in.string("summary");
  }
  read_costs(in, out.collectives);
  for_members(
      in, {"kernels", "Kernel efficiencies by device, as in configs/schema/kernels.schema.json"},
      [&](const std::string& device, const ValueReader& value) {
        read_kernels(document, device, value, kernels, out);
      });
  for_members(in, {"stacks", "Parameters by software stack"},
              [&](const std::string& stack, const ValueReader& value) {
                out.stacks[stack] = value.object(read_stack);
              });
  return out;
}

}  // namespace

Calibration read_calibration(const JsonDocument& document, const std::filesystem::path& kernels) {
  refuse_earlier_machine(document);
  return read_document(
      document, [&](ObjectReader& in) { return read_calibration_file(in, document, kernels); });
}

JsonValue calibration_schema() {
  return schema_of("calibration",
                   "Parameters fitted to measurements, as written by `lockstep calibrate`.",
                   [](ObjectReader& in) { return read_calibration_file(in, {}, {}); });
}

Calibration load_calibration(const std::filesystem::path& path,
                             const std::filesystem::path& kernels) {
  return read_calibration(read_json(path), kernels);
}

}  // namespace lockstep
