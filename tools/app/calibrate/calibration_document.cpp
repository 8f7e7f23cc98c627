#include "tools/app/calibrate/calibration_document.hpp"

#include <fmt/format.h>

#include "sim/config/json/json_values.hpp"
#include "tools/app/inputs/cluster_request.hpp"
#include "tools/app/json.hpp"
#include "topologies/devices/kernel_values.hpp"

namespace lockstep::app {

namespace {

constexpr const char* kSource = "lockstep calibrate";

std::string duration(Duration time) {
  return fmt::format("{:.3f} us", time.seconds() * 1e6);
}

std::string rate(Rate bandwidth) {
  return fmt::format("{:.2f} GB/s", bandwidth.bytes_per_second() / 1e9);
}

double rounded(double value) {
  return std::stod(fmt::format("{:.5g}", value));
}

Json figure(Json value) {
  return {{"value", std::move(value)}, {"source", kSource}};
}

Json cost_json(const NcclCost& cost) {
  Json out;
  out["nccl"] = cost.key.version;
  out["architecture"] = nccl_name(cost.key.architecture);
  out["collective"] = to_string(cost.key.collective);
  out["algorithm"] = nccl_name(cost.key.kind);
  out["protocol"] = nccl_name(cost.key.protocol);
  out["nodes"] = cost.key.several_nodes ? "several" : "one";
  out["launch"] = duration(cost.launch);
  if (cost.hop > Duration{}) out["hop"] = duration(cost.hop);
  if (cost.hop_hidden_by) out["hop_hidden_by"] = to_string(*cost.hop_hidden_by);
  if (cost.network_hop > Duration{}) out["network_hop"] = duration(cost.network_hop);
  if (cost.loop > Duration{}) out["loop"] = duration(cost.loop);
  if (cost.wire) out["wire"] = rate(*cost.wire);
  if (cost.own) out["own"] = rate(*cost.own);
  out["source"] = cost.source;
  return out;
}

/// As rounded(), in JSON.
std::string number_text(double value) {
  std::string out = fmt::format("{:.5g}", value);
  return out.find_first_of(".e") == std::string::npos ? out + ".0" : out;
}

template <class Of>
Json parameters(const Of& of) {
  return Json::parse(json_text({{}, parameters_json(of, {duration, number_text}, kSource)}));
}

/// Whole, so that it extends nothing.
Json kernels_json(const KernelFigures& of) {
  Json out;
  out["name"] = of.name;
  const Json common = parameters(of);
  out["launch"] = common.at("launch");
  Json gemms = Json::object();
  for (std::size_t i = 0; i < of.gemms.size(); ++i)
    if (of.gemms[i]) gemms[to_string(static_cast<Dtype>(i))] = parameters(*of.gemms[i]);
  out["products"] = std::move(gemms);
  Json attention = Json::object();
  for (const auto& [name, figures] : of.attention) attention[name] = parameters(figures);
  out["attention"] = std::move(attention);
  Json memory = {{"all", figure(1)}};
  for (std::size_t i = 0; i < kOperationClasses; ++i) {
    const auto one = static_cast<OperationClass>(i);
    if (one == OperationClass::copy || one == OperationClass::communication) continue;
    memory[to_string(one)] = figure(rounded(of.memory_efficiency[i]));
  }
  out["memory_efficiency"] = std::move(memory);
  out.update(common);
  return out;
}

Json stack_json(const StackFit& fit) {
  Json out = Json::object();
  if (fit.host_time) out["host_time"] = duration(*fit.host_time);
  if (fit.slowdown_while_communicating)
    out["slowdown_while_communicating"] = rounded(*fit.slowdown_while_communicating);
  out["source"] = kSource;
  return out;
}

}  // namespace

std::string calibration_text(const Calibration& calibration) {
  Json out;
  out["name"] = calibration.name;
  out["summary"] = calibration.summary;
  Json costs = Json::array();
  for (const NcclCost& cost : calibration.collectives) costs.push_back(cost_json(cost));
  out["collectives"] = std::move(costs);
  Json kernels = Json::object();
  for (const auto& [device, figures] : calibration.kernels) kernels[device] = kernels_json(figures);
  out["kernels"] = std::move(kernels);
  Json stacks = Json::object();
  for (const auto& [stack, fit] : calibration.stacks) stacks[stack] = stack_json(fit);
  out["stacks"] = std::move(stacks);
  return out.dump(2) + "\n";
}

}  // namespace lockstep::app
