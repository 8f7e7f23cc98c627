#include "strategies/calibration/machine_file.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include "sim/config/reader.hpp"
#include "topologies/devices/kernel_values.hpp"

namespace lockstep {

namespace {

using Kind = MachineMeasurement::Kind;

constexpr std::array<std::string_view, 12> kKindNames{
    "kernel",   "copy",   "add",       "launch",  "graph_node", "empty_copy",
    "together", "beside", "from_host", "to_host", "peer",       "peers"};
constexpr std::string_view kLibrary = "library";  // the last

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr double kHuge = 1e30;
constexpr std::array kDtypeList{Dtype::fp64, Dtype::fp32, Dtype::bf16,
                                Dtype::fp16, Dtype::fp8,  Dtype::int32};
constexpr std::array kNumberTypes{NumberType::fp64, NumberType::fp32, NumberType::bf16,
                                  NumberType::fp16};

[[nodiscard]] std::vector<std::string_view> kind_names() {
  std::vector<std::string_view> out(kKindNames.begin(), kKindNames.end());
  out.push_back(kLibrary);
  return out;
}

[[nodiscard]] std::vector<std::string_view> operation_names() {
  std::vector<std::string_view> out;
  for (std::size_t i = 0; i < kOperationKinds; ++i) {
    out.push_back(to_string(static_cast<OperationKind>(i)));
  }
  return out;
}

[[nodiscard]] OperationKind operation_of(std::string_view name) {
  const auto names = operation_names();
  const auto found = std::find(names.begin(), names.end(), name);
  return static_cast<OperationKind>(found == names.end() ? 0 : found - names.begin());
}

[[nodiscard]] Dtype read_dtype(ObjectReader& in) {
  std::vector<std::string_view> names;
  for (const Dtype dtype : kDtypeList) names.push_back(to_string(dtype));
  const std::string name = in.one_of("precision", "precision", names);
  const auto found = std::find(names.begin(), names.end(), name);
  return kDtypeList[static_cast<std::size_t>(found - names.begin()) % kDtypeList.size()];
}

[[nodiscard]] Kernel read_kernel(ObjectReader& in) {
  Kernel out;
  out.kind = operation_of(in.one_of("operation", "operation", operation_names()));
  out.of = class_of(out.kind);
  out.math = read_dtype(in);
  out.flops = in.number("flops", 0, kHuge);
  out.moved_bytes = in.number("moved_bytes", 0, kHuge);
  out.m = in.integer("m", 0, kMost);
  out.n = in.integer("n", 0, kMost);
  out.k = in.integer("k", 0, kMost);
  out.batches = in.integer("batches", 1, kMost);
  out.causal = in.boolean("causal", false);
  out.backward = in.boolean("backward", false);
  out.bias = in.boolean("bias", false);
  return out;
}

[[nodiscard]] MachineMeasurement read_measurement(ObjectReader& in) {
  MachineMeasurement out;
  const auto kind = in.kind("kind", "kind of measurement", kind_names());
  out.kind = parse_box_measurement(kind.value_or("")).value_or(Kind::kernel);
  out.what = in.string("what", "");
  out.seconds = in.duration("time").seconds();
  out.shared =
      in.boolean({"shared", "Logical ranks that share a GPU: memory and launches, no links"});
  if (out.kind == Kind::kernel) {
    out.kernel = in.object("kernel", read_kernel);
    out.kernels = static_cast<int>(in.integer("kernels", 1, 1000));
  }
  if (const auto size = in.optional_bytes("size")) out.bytes = size->count();
  out.from = static_cast<int>(in.integer("from", 0, 1 << 20, 0));
  out.to = static_cast<int>(in.integer("to", 0, 1 << 20, 0));
  out.ratio = in.number("ratio", 0, kHuge, 0);
  return out;
}

[[nodiscard]] KindFigures read_figures(ObjectReader& in) {
  KindFigures out;
  out.kernels = in.number({"kernels", "Launched"}, 0, 1e6);
  out.traffic = in.number(
      {"traffic", "Memory traffic as a ratio to reading and writing each operand once"}, 0, kHuge);
  return out;
}

[[nodiscard]] MemoryCurve read_curve(const ValueReader& at) {
  MemoryCurve out;
  at.array(
      [&out](const ValueReader& one) {
        const auto point = one.object([](ObjectReader& in) {
          return std::pair{in.positive_bytes("size").count(), in.duration("time").seconds()};
        });
        if (!out.points.empty() && point.first <= out.points.back().first) {
          one.note("sizes stand in ascending order, each once");
        }
        out.points.push_back(point);
      },
      1);
  return out;
}

[[nodiscard]] MachineLinks read_links(ObjectReader& in) {
  MachineLinks out;
  out.port =
      in.optional_rate({"port", "Total bandwidth of all that a GPU sends or receives at once"});
  out.both_ways = in.number(
      {"both_ways", "Time of a copy during a copy in the other direction, relative to alone"}, 1,
      100);
  in.array("pairs", [&out](const ValueReader& one) {
    out.pairs.push_back(one.object([](ObjectReader& pair) {
      MachineLink link;
      link.from = static_cast<int>(pair.integer("from", 0, 1023));
      link.to = static_cast<int>(pair.integer("to", 0, 1023));
      link.latency = pair.duration("latency");
      link.bandwidth = pair.rate("bandwidth");
      if (link.latency > 1000_ms) {
        pair.note("latency", "expected at most 1 s, got " + to_string(link.latency));
      }
      if (link.from == link.to) pair.note("a link between two GPUs");
      return link;
    }));
  });
  return out;
}

/// The values of one precision, or of attention, without sources.
template <class Of>
[[nodiscard]] Of read_plain(ObjectReader& in) {
  Of out;
  FigureReader plain;
  read_parameters(in, plain, out);
  return out;
}

[[nodiscard]] MachineFit read_fit(ObjectReader& in) {
  MachineFit out;
  out.serial =
      in.one_of({"sharing", "Streams in sequence (a host), or concurrent on the memory bandwidth"},
                "way to share a device", {"serial", "bandwidth"}) == "serial";
  out.model.multiprocessors = in.integer("multiprocessors", 1, 1 << 20);
  out.model.memory_bandwidth = in.rate("memory_bandwidth");
  out.model.launch = in.duration("launch");
  out.model.host_time = in.duration({"host_time", "Host time per kernel launched"});
  out.empty_copy = in.duration("empty_copy");
  out.model.slowdown_while_communicating = in.number("slowdown_while_communicating", 1, 100);
  out.model.memory_efficiency.fill(1);
  out.model.kinds.fill({1, 1});
  out.model.bias = in.object("bias", read_figures);
  out.model.convolution_efficiency = in.number(
      {"convolution_efficiency", "Dimensions of the GEMM equivalent to a convolution"}, 0.0001, 1);
  in.object("peaks", [&out](ObjectReader& peaks) {
    for (const Dtype dtype : kDtypeList) {
      out.model.peaks[static_cast<std::size_t>(dtype)] = peaks.optional_flop_rate(to_string(dtype));
    }
    return true;
  });
  in.object("products", [&out](ObjectReader& gemms) {
    for (const Dtype dtype : kDtypeList) {
      out.model.gemms[static_cast<std::size_t>(dtype)] =
          gemms.optional_object(to_string(dtype), read_plain<GemmParameters>);
    }
    return true;
  });
  out.model.attention = in.object("attention", read_plain<AttentionFigures>);
  in.object("operations", [&out](ObjectReader& kinds) {
    for (std::size_t i = 0; i < kOperationKinds; ++i) {
      const auto own =
          kinds.optional_object(to_string(static_cast<OperationKind>(i)), read_figures);
      if (own) out.model.kinds[i] = *own;
    }
    return true;
  });
  out.copy = read_curve(in.required("copy"));
  if (const auto together = in.optional(
          {"together",
           "Time to read or write so many bytes once while eight streams copy within as many"}))
    out.together = read_curve(*together);
  out.issue = in.duration(
      {"issue", "Of a graph's commands on different streams, from one start to the next"},
      Duration{});
  out.links =
      in.object({"links", "Links between GPUs; empty if logical ranks shared one"}, read_links);
  in.object("add", [&out](ObjectReader& types) {
    for (const NumberType type : kNumberTypes) {
      const auto own = types.optional(to_string(type));
      if (own) out.add[static_cast<std::size_t>(type)] = read_curve(*own);
    }
    return true;
  });
  return out;
}

/// At least one precision has a peak and GEMMs. Others are computed in the next wider one, the
/// widest in fp32: if that was not measured, it goes by the first that was.
void complete(ObjectReader& in, DeviceModel& model) {
  const auto first = std::find_if(model.gemms.begin(), model.gemms.end(),
                                  [](const auto& one) { return one.has_value(); });
  const auto peak = std::find_if(model.peaks.begin(), model.peaks.end(),
                                 [](const auto& one) { return one.has_value(); });
  if (first == model.gemms.end() || peak == model.peaks.end()) {
    return in.note("expected a peak and products of one precision at least");
  }
  constexpr auto kWidest = static_cast<std::size_t>(Dtype::fp32);
  if (!model.gemms[kWidest]) model.gemms[kWidest] = *first;
  if (!model.peaks[kWidest]) model.peaks[kWidest] = *peak;
}

}  // namespace

std::string to_string(MachineMeasurement::Kind kind) {
  return std::string{kind_names()[static_cast<std::size_t>(kind)]};
}

std::optional<MachineMeasurement::Kind> parse_box_measurement(const std::string& text) {
  const auto names = kind_names();
  const auto found = std::find(names.begin(), names.end(), text);
  if (found == names.end()) return std::nullopt;
  return static_cast<Kind>(found - names.begin());
}

void refuse_earlier_machine(const JsonDocument& document) {
  const JsonValue* at = &document.root;
  for (const char* key : {"fit", "attention", "forward_overhead"}) {
    const auto* object = at->get_if<JsonObject>();
    at = object == nullptr ? nullptr : find_member(*object, key);
    if (at == nullptr) return;
  }
  throw ConfigError{Problem{
      document.file, at->at, "/fit/attention/forward_overhead",
      "written by an earlier version, whose keys of kernels differ from those of configs/kernels; "
      "run `lockstep calibrate --backend` again, or rename them as configs/calibration/README.md "
      "says"}};
}

bool is_machine(const JsonDocument& document) {
  const auto* object = document.root.get_if<JsonObject>();
  return object != nullptr && find_member(*object, kMachineKey.name) != nullptr;
}

MeasuredMachine read_machine(ObjectReader& in) {
  MeasuredMachine out;
  out.name = in.string("name");
  out.backend = in.one_of(kMachineKey, "backend", {"host", "cuda"});
  out.device = in.string("device");
  out.gpus = static_cast<int>(in.integer("gpus", 1, 1024));
  out.date = in.string("date");
  in.array({"machine", "Driver, clocks, power and versions, as reported by the machine"},
           [&out](const ValueReader& one) {
             out.facts.push_back(one.object([](ObjectReader& fact) {
               return std::pair{fact.string("name"), fact.string("value")};
             }));
           });
  in.array("measurements", [&out](const ValueReader& one) {
    out.measurements.push_back(one.object(read_measurement));
  });
  out.fit = in.object("fit", read_fit);
  complete(in, out.fit.model);
  in.array("residuals", [&out](const ValueReader& one) {
    out.residuals.push_back(one.object([](ObjectReader& row) {
      MachineResidual of;
      of.of = row.string("of");
      of.rows = row.integer("rows", 1, kMost);
      of.median = row.number("median", 0, kHuge);
      of.p90 = row.number("p90", 0, kHuge);
      of.bias = row.number("bias", -1, kHuge);
      return of;
    }));
  });
  return out;
}

MeasuredMachine read_machine(const JsonDocument& document) {
  if (!is_machine(document)) {
    throw ConfigError{Problem{
        document.file, {}, "", "expected a device that `lockstep calibrate --backend` measured"}};
  }
  refuse_earlier_machine(document);
  return read_document(document, [](ObjectReader& in) { return read_machine(in); });
}

MeasuredMachine load_machine(const std::filesystem::path& path) {
  return read_machine(read_json(path));
}

}  // namespace lockstep
