#include <fmt/format.h>

#include "sim/base/json_text.hpp"
#include "sim/config/json_values.hpp"
#include "strategies/calibration/machine_file.hpp"
#include "topologies/devices/kernel_values.hpp"

namespace lockstep {

namespace {

[[nodiscard]] std::string microseconds(double seconds) {
  std::string out = fmt::format("{:.6f}", seconds * 1e6);  // to the picosecond
  out.erase(out.find_last_not_of('0') + 1);
  if (out.back() == '.') out.pop_back();
  return out + " us";
}
[[nodiscard]] std::string microseconds(Duration duration) {
  return microseconds(duration.seconds());
}
template <class Time>
[[nodiscard]] std::string time(Time of) {
  return json_string(microseconds(of));
}
[[nodiscard]] std::string number(double value) {
  return fmt::format("{:.6g}", value);
}

/// Joins lines of an array or object, indented.
[[nodiscard]] std::string lines(const std::vector<std::string>& each, const char* open,
                                const char* close, const std::string& indent) {
  if (each.empty()) return std::string{open} + close;
  std::string out = open;
  for (std::size_t i = 0; i < each.size(); ++i) {
    out += (i == 0 ? "\n" : ",\n") + indent + "  " + each[i];
  }
  return out + "\n" + indent + close;
}

[[nodiscard]] std::string measurement(const MachineMeasurement& of) {
  std::string out =
      fmt::format("{{\"kind\": \"{}\", \"what\": {}, \"time\": {}, \"shared\": {}",
                  to_string(of.kind), json_string(of.what), time(of.seconds), of.shared);
  if (of.kind == MachineMeasurement::Kind::kernel) {
    const Kernel& kernel = of.kernel;
    out += fmt::format(
        ", \"kernels\": {}, \"kernel\": {{\"operation\": \"{}\", \"precision\": \"{}\", \"flops\": "
        "{}, \"moved_bytes\": {}, \"m\": {}, \"n\": {}, \"k\": {}, \"batches\": {}, \"causal\": "
        "{}, \"backward\": {}, \"bias\": {}}}",
        of.kernels, to_string(kernel.kind), to_string(kernel.math),
        fmt::format("{:.17g}", kernel.flops), fmt::format("{:.17g}", kernel.moved_bytes), kernel.m,
        kernel.n, kernel.k, kernel.batches, kernel.causal, kernel.backward, kernel.bias);
  }
  if (of.bytes > 0) out += fmt::format(", \"size\": \"{} B\"", of.bytes);
  if (of.from != 0 || of.to != 0) {
    out += fmt::format(", \"from\": {}, \"to\": {}", of.from, of.to);
  }
  if (of.ratio > 0) out += ", \"ratio\": " + number(of.ratio);
  return out + "}";
}

[[nodiscard]] std::string figures(const KindFigures& of) {
  return fmt::format("{{\"kernels\": {}, \"traffic\": {}}}", number(of.kernels),
                     number(of.traffic));
}

/// The parameters of one precision, or of attention.
template <class Of>
[[nodiscard]] std::string parameters(const Of& of) {
  return json_text({{}, parameters_json(of, {microseconds, number})});
}

[[nodiscard]] std::string curve(const MemoryCurve& of) {
  std::string out;
  for (const auto& [bytes, seconds] : of.points) {
    out += fmt::format("{}{{\"size\": \"{} B\", \"time\": {}}}", out.empty() ? "" : ", ", bytes,
                       time(seconds));
  }
  return "[" + out + "]";
}

[[nodiscard]] std::string rate(Rate of) {
  return fmt::format("\"{:.6f} GB/s\"", of.bytes_per_second() / 1e9);
}

[[nodiscard]] std::string links(const MachineLinks& of) {
  std::vector<std::string> pairs;
  for (const MachineLink& each : of.pairs) {
    pairs.push_back(fmt::format("{{\"from\": {}, \"to\": {}, \"latency\": {}, \"bandwidth\": {}}}",
                                each.from, each.to, time(each.latency), rate(each.bandwidth)));
  }
  const std::string port = of.port ? "\"port\": " + rate(*of.port) + ", " : "";
  return fmt::format("{{{}\"both_ways\": {}, \"pairs\": {}}}", port, number(of.both_ways),
                     lines(pairs, "[", "]", "    "));
}

[[nodiscard]] std::string fit(const MachineFit& of) {
  const DeviceModel& model = of.model;
  std::vector<std::string> peaks;
  std::vector<std::string> gemms;
  for (std::size_t i = 0; i < kDtypes; ++i) {
    const auto dtype = to_string(static_cast<Dtype>(i));
    if (model.peaks[i]) {
      peaks.push_back(
          fmt::format("\"{}\": \"{:.3f} GFLOP/s\"", dtype, model.peaks[i]->per_second() / 1e9));
    }
    if (model.gemms[i]) {
      gemms.push_back(fmt::format("\"{}\": {}", dtype, parameters(*model.gemms[i])));
    }
  }
  std::vector<std::string> kinds;
  for (std::size_t i = 0; i < kOperationKinds; ++i) {
    const KindFigures& own = model.kinds[i];
    if (own.kernels == 1 && own.traffic == 1) continue;
    kinds.push_back(
        fmt::format("\"{}\": {}", to_string(static_cast<OperationKind>(i)), figures(own)));
  }
  std::vector<std::string> add;
  for (std::size_t i = 0; i < of.add.size(); ++i) {
    if (of.add[i].points.empty()) continue;
    add.push_back(
        fmt::format("\"{}\": {}", to_string(static_cast<NumberType>(i)), curve(of.add[i])));
  }
  std::vector<std::string> members{
      fmt::format("\"sharing\": \"{}\"", of.serial ? "serial" : "bandwidth"),
      fmt::format("\"multiprocessors\": {}", model.multiprocessors),
      "\"memory_bandwidth\": " + rate(model.memory_bandwidth),
      "\"launch\": " + time(model.launch),
      "\"host_time\": " + time(model.host_time),
      "\"empty_copy\": " + time(of.empty_copy),
      "\"slowdown_while_communicating\": " + number(model.slowdown_while_communicating),
      "\"bias\": " + figures(model.bias),
      "\"convolution_efficiency\": " + number(model.convolution_efficiency),
      "\"peaks\": " + lines(peaks, "{", "}", "    "),
      "\"products\": " + lines(gemms, "{", "}", "    "),
      "\"attention\": " + parameters(model.attention),
      "\"operations\": " + lines(kinds, "{", "}", "    "),
      "\"copy\": " + curve(of.copy),
      "\"add\": " + lines(add, "{", "}", "    "),
      "\"links\": " + links(of.links)};
  if (!of.together.points.empty()) members.push_back("\"together\": " + curve(of.together));
  if (of.issue > Duration{}) members.push_back("\"issue\": " + time(of.issue));
  return lines(members, "{", "}", "  ");
}

}  // namespace

std::string to_json(const MeasuredMachine& machine) {
  std::vector<std::string> facts;
  for (const auto& [name, value] : machine.facts) {
    facts.push_back(
        fmt::format("{{\"name\": {}, \"value\": {}}}", json_string(name), json_string(value)));
  }
  std::vector<std::string> measurements;
  for (const MachineMeasurement& each : machine.measurements)
    measurements.push_back(measurement(each));
  std::vector<std::string> residuals;
  for (const MachineResidual& each : machine.residuals) {
    residuals.push_back(fmt::format(
        "{{\"of\": {}, \"rows\": {}, \"median\": {}, \"p90\": {}, \"bias\": {}}}",
        json_string(each.of), each.rows, number(each.median), number(each.p90), number(each.bias)));
  }
  return lines(
             {"\"$schema\": \"../schema/calibration.schema.json\"",
              "\"name\": " + json_string(machine.name),
              "\"backend\": " + json_string(machine.backend),
              "\"device\": " + json_string(machine.device),
              fmt::format("\"gpus\": {}", machine.gpus), "\"date\": " + json_string(machine.date),
              "\"machine\": " + lines(facts, "[", "]", "  "),
              "\"measurements\": " + lines(measurements, "[", "]", "  "),
              "\"fit\": " + fit(machine.fit), "\"residuals\": " + lines(residuals, "[", "]", "  ")},
             "{", "}", "") +
         "\n";
}

}  // namespace lockstep
