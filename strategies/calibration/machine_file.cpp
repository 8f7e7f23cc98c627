#include "strategies/calibration/machine_file.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include "strategies/calibration/fields.hpp"
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
constexpr std::size_t kLineWidth = 400;  // a measurement on one line
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

/// An enumerator as the index of its name.
template <class Enum>
void name(Fields& io, const Key& key, std::string_view noun,
          const std::vector<std::string_view>& names, Enum& value) {
  auto index = static_cast<std::size_t>(value);
  io.name(key, noun, names, index);
  value = static_cast<Enum>(index);
}

void precision(Fields& io, Dtype& value) {
  std::vector<std::string_view> names;
  for (const Dtype dtype : kDtypeList) names.push_back(to_string(dtype));
  auto index = static_cast<std::size_t>(std::find(kDtypeList.begin(), kDtypeList.end(), value) -
                                        kDtypeList.begin());
  io.name("precision", "precision", names, index);
  value = kDtypeList[index];
}

void kernel_fields(Fields& io, Kernel& of) {
  name(io, "operation", "operation", operation_names(), of.kind);
  of.of = class_of(of.kind);
  precision(io, of.math);
  io.number("flops", 0, kHuge, of.flops, true);
  io.number("moved_bytes", 0, kHuge, of.moved_bytes, true);
  io.integer("m", 0, kMost, of.m);
  io.integer("n", 0, kMost, of.n);
  io.integer("k", 0, kMost, of.k);
  io.integer("batches", 1, kMost, of.batches);
  io.flag("causal", of.causal, false);
  io.flag("backward", of.backward, false);
  io.flag("bias", of.bias, false);
}

void measurement_fields(Fields& io, MachineMeasurement& of) {
  if (ObjectReader* in = io.reader()) {
    const auto kind = in->kind("kind", "kind of measurement", kind_names());
    of.kind = parse_box_measurement(kind.value_or("")).value_or(Kind::kernel);
    of.what = in->string("what", "");
  } else {
    io.set("kind", json_of(to_string(of.kind)));
    io.text("what", of.what);
  }
  io.seconds("time", of.seconds);
  io.flag({"shared", "Logical ranks that share a GPU: memory and launches, no links"}, of.shared);
  if (of.kind == Kind::kernel) {
    io.integer("kernels", 1, 1000, of.kernels);
    io.object("kernel", of.kernel, kernel_fields);
  }
  io.bytes("size", of.bytes, 0);
  io.integer("from", 0, 1 << 20, of.from, 0);
  io.integer("to", 0, 1 << 20, of.to, 0);
  io.number("ratio", 0, kHuge, of.ratio, 0.0);
}

void figures_fields(Fields& io, KindFigures& of) {
  io.number({"kernels", "Launched"}, 0, 1e6, of.kernels);
  io.number({"traffic", "Memory traffic as a ratio to reading and writing each operand once"}, 0,
            kHuge, of.traffic);
}

using CurvePoint = std::pair<std::int64_t, double>;

void point_fields(Fields& io, CurvePoint& of) {
  io.positive_bytes("size", of.first);
  io.seconds("time", of.second);
}

void check_ascending(const ValueReader& one, const std::vector<CurvePoint>& points) {
  if (points.size() > 1 && points.back().first <= points[points.size() - 2].first)
    one.note("sizes stand in ascending order, each once");
}

void link_fields(Fields& io, MachineLink& of) {
  io.integer("from", 0, 1023, of.from);
  io.integer("to", 0, 1023, of.to);
  io.duration("latency", of.latency);
  io.rate("bandwidth", of.bandwidth);
  ObjectReader* in = io.reader();
  if (in != nullptr && of.latency > 1000_ms)
    in->note("latency", "expected at most 1 s, got " + to_string(of.latency));
  if (in != nullptr && of.from == of.to) in->note("a link between two GPUs");
}

void links_fields(Fields& io, MachineLinks& of) {
  io.rate({"port", "Total bandwidth of all that a GPU sends or receives at once"}, of.port);
  io.number({"both_ways", "Time of a copy during a copy in the other direction, relative to alone"},
            1, 100, of.both_ways);
  io.array("pairs", of.pairs, link_fields);
}

/// The values of one precision, or of attention, without sources.
template <class Of>
[[nodiscard]] Of read_plain(ObjectReader& in) {
  Of out;
  FigureReader plain;
  read_parameters(in, plain, out);
  return out;
}
template <class Of>
[[nodiscard]] JsonValue plain_json(const Of& of) {
  return {{}, parameters_json(of, {microseconds_text, number_text})};
}

void peaks_fields(Fields& io, DeviceModel& of) {
  for (const Dtype dtype : kDtypeList)
    io.flop_rate(to_string(dtype), of.peaks[static_cast<std::size_t>(dtype)]);
}

void products_fields(Fields& io, DeviceModel& of) {
  for (const Dtype dtype : kDtypeList) {
    std::optional<GemmParameters>& gemms = of.gemms[static_cast<std::size_t>(dtype)];
    if (ObjectReader* in = io.reader()) {
      gemms = in->optional_object(to_string(dtype), read_plain<GemmParameters>);
    } else if (gemms) {
      io.set(to_string(dtype), plain_json(*gemms));
    }
  }
}

/// Kinds with other figures than one kernel that touches every operand once.
void operations_fields(Fields& io, DeviceModel& of) {
  for (std::size_t i = 0; i < kOperationKinds; ++i) {
    KindFigures& own = of.kinds[i];
    std::optional<KindFigures> other;
    if (own.kernels != 1 || own.traffic != 1) other = own;
    io.object(to_string(static_cast<OperationKind>(i)), other, figures_fields);
    if (other) own = *other;
  }
}

void add_fields(Fields& io, std::array<MemoryCurve, 4>& of) {
  for (const NumberType type : kNumberTypes)
    io.optional_array(to_string(type), of[static_cast<std::size_t>(type)].points, point_fields,
                      check_ascending);
}

void sharing(Fields& io, bool& serial) {
  std::size_t index = serial ? 0 : 1;
  io.name({"sharing", "Streams in sequence (a host), or concurrent on the memory bandwidth"},
          "way to share a device", {"serial", "bandwidth"}, index);
  serial = index == 0;
}

void fit_fields(Fields& io, MachineFit& of) {
  DeviceModel& model = of.model;
  sharing(io, of.serial);
  io.integer("multiprocessors", 1, 1 << 20, model.multiprocessors);
  io.rate("memory_bandwidth", model.memory_bandwidth);
  io.duration("launch", model.launch);
  io.duration({"host_time", "Host time per kernel launched"}, model.host_time);
  io.duration("empty_copy", of.empty_copy);
  io.number("slowdown_while_communicating", 1, 100, model.slowdown_while_communicating);
  io.object("bias", model.bias, figures_fields);
  io.number({"convolution_efficiency", "Dimensions of the GEMM equivalent to a convolution"},
            0.0001, 1, model.convolution_efficiency);
  io.object("peaks", model, peaks_fields);
  io.object("products", model, products_fields);
  if (ObjectReader* in = io.reader()) {
    model.attention = in->object("attention", read_plain<AttentionFigures>);
  } else {
    io.set("attention", plain_json(model.attention));
  }
  io.object("operations", model, operations_fields);
  io.array("copy", of.copy.points, point_fields, check_ascending, 1);
  io.object("add", of.add, add_fields);
  io.object({"links", "Links between GPUs; empty if logical ranks shared one"}, of.links,
            links_fields);
  io.optional_array(
      {"together",
       "Time to read or write so many bytes once while eight streams copy within as many"},
      of.together.points, point_fields, check_ascending);
  io.duration({"issue", "Of a graph's commands on different streams, from one start to the next"},
              of.issue, Duration{});
}

using Fact = std::pair<std::string, std::string>;

void fact_fields(Fields& io, Fact& of) {
  io.text("name", of.first);
  io.text("value", of.second);
}

void residual_fields(Fields& io, MachineResidual& of) {
  io.text("of", of.of);
  io.integer("rows", 1, kMost, of.rows);
  io.number("median", 0, kHuge, of.median);
  io.number("p90", 0, kHuge, of.p90);
  io.number("bias", -1, kHuge, of.bias);
}

/// The format of a measured machine. It reads kinds of operations that are not named as one kernel
/// that touches every operand once.
void machine_fields(Fields& io, MeasuredMachine& of) {
  io.text("name", of.name);
  constexpr std::array<std::string_view, 2> kBackends{"host", "cuda"};
  auto backend = static_cast<std::size_t>(of.backend == kBackends[1] ? 1 : 0);
  io.name(kMachineKey, "backend", {kBackends.begin(), kBackends.end()}, backend);
  of.backend = kBackends[backend];
  io.text("device", of.device);
  io.integer("gpus", 1, 1024, of.gpus);
  io.text("date", of.date);
  io.array({"machine", "Driver, clocks, power and versions, as reported by the machine"}, of.facts,
           fact_fields);
  io.array("measurements", of.measurements, measurement_fields);
  io.object("fit", of.fit, fit_fields);
  io.array("residuals", of.residuals, residual_fields);
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
  out.fit.model.memory_efficiency.fill(1);
  out.fit.model.kinds.fill({1, 1});
  Fields io{in};
  machine_fields(io, out);
  complete(in, out.fit.model);
  return out;
}

std::string to_json(const MeasuredMachine& machine) {
  JsonObject out;
  set_member(out, "$schema", json_of("../schema/calibration.schema.json"));
  Fields io{out};
  MeasuredMachine copy = machine;
  machine_fields(io, copy);
  return json_lines({{}, std::move(out)}, kLineWidth);
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
