#include "tools/app/sensitivity/figure.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>

#include "sim/config/complaint.hpp"
#include "sim/config/json/config_error.hpp"
#include "strategies/stacks/cost_of.hpp"
#include "tools/app/errors.hpp"

namespace lockstep::app {

namespace {

/// Of the links of one kind.
struct KindLinks {
  bool carries = false;
  double least = 0;  // bytes per second
  double most = 0;
  double latency = 0;  // the longest, seconds
};

std::array<KindLinks, kLinkKindNames.size()> kinds_of(const TrainingStepResult& result) {
  std::array<KindLinks, kLinkKindNames.size()> out{};
  const Cluster& cluster = result.scenario.cluster.cluster;
  const std::vector<Bytes>& carried = result.step.timeline.link_bytes;
  for (std::size_t id = 0; id < carried.size() && id < cluster.link_count(); ++id) {
    if (carried[id].count() == 0) continue;
    const ClusterLink link = cluster.link(static_cast<LinkId>(id));
    KindLinks& kind = out.at(static_cast<std::size_t>(link.kind));
    const double rate = link.figures.bandwidth.bytes_per_second();
    kind.least = kind.carries ? std::min(kind.least, rate) : rate;
    kind.most = std::max(kind.most, rate);
    kind.latency = std::max(kind.latency, link.figures.latency.seconds());
    kind.carries = true;
  }
  return out;
}

bool has_nics(const Cluster& cluster) {
  for (VertexId v = 0; v < cluster.vertex_count(); ++v)
    if (cluster.vertex(v).kind == VertexKind::nic) return true;
  return false;
}

std::string name_of(LinkKind kind, const Cluster& cluster) {
  if (kind == LinkKind::network && has_nics(cluster)) return "nic";
  if (kind == LinkKind::cpu) return "cpu link";
  return std::string{to_string(kind)};
}

/// Lower case, with single spaces.
std::string plain(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool gap = c == '.' || c == '_' || c == '-' || c == ' ';
    if (gap && (out.empty() || out.back() == ' ')) continue;
    out += gap ? ' ' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

/// Of one kind, which may have no traffic: another kind is not meant.
bool is_of_links(const std::string& name) {
  for (const std::string_view kind : {"nic", "nvlink", "pcie", "cpu link"})
    for (const std::string_view figure : {" bandwidth", " latency"})
      if (name == std::string{kind}.append(figure)) return true;
  return false;
}

std::string with_nic(const std::string& name) {
  constexpr std::string_view kNetwork = "network ";
  return name.starts_with(kNetwork) ? "nic " + name.substr(kNetwork.size()) : name;
}

/// Classes of kernels that the program of a step has.
std::set<OperationClass> classes_of(const Program& program) {
  std::set<OperationClass> out;
  for (const Routine& routine : program.routines)
    for (const Operation& operation : routine.operations) out.insert(class_of(operation.kind));
  out.erase(OperationClass::communication);
  return out;
}

class Collector {
 public:
  Collector(const TrainingStepRequest& request, const TrainingStepResult& result)
      : request_{request}, result_{result} {}

  std::vector<Figure> collect() {
    add_links();
    add_device();
    for (const OperationClass of : classes_of(*result_.step.timeline.program))
      add({.of = Figure::Of::kernel_rate,
           .kernels = of,
           .name = std::string{to_string(of)} + " rate"});
    return std::move(out_);
  }

 private:
  void add(Figure figure) {
    figure.most = std::max(figure.most, figure.value);
    out_.push_back(std::move(figure));
  }

  void add_links() {
    const auto kinds = kinds_of(result_);
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      const auto kind = static_cast<LinkKind>(i);
      const KindLinks& links = kinds.at(i);
      if (!links.carries) continue;
      const std::string name = name_of(kind, result_.scenario.cluster.cluster);
      add({.of = Figure::Of::link_bandwidth,
           .link = kind,
           .name = name + " bandwidth",
           .unit = FigureUnit::bytes_per_second,
           .value = links.least,
           .most = links.most});
      if (links.latency > 0)
        add({.of = Figure::Of::link_latency,
             .link = kind,
             .name = name + " latency",
             .unit = FigureUnit::seconds,
             .value = links.latency});
    }
  }

  void add_device() {
    const Device& device = result_.scenario.cluster.device;
    const bool datasheet = !result_.scenario.sustained && request_.calibration.empty();
    const auto peak = result_.throughput.peak_per_gpu;
    if (datasheet && peak)
      add({.of = Figure::Of::peak,
           .name = "peak flops",
           .unit = FigureUnit::flops_per_second,
           .value = *peak});
    if (datasheet && device.memory)
      add({.of = Figure::Of::memory_bandwidth,
           .name = "memory bandwidth",
           .unit = FigureUnit::bytes_per_second,
           .value = device.memory->bandwidth.bytes_per_second()});
    if (device.reduce_rate)
      add({.of = Figure::Of::reduce_rate,
           .name = "reduce rate",
           .unit = FigureUnit::bytes_per_second,
           .value = device.reduce_rate->bytes_per_second()});
    if (!datasheet) return;
    const Duration launch = device_model(device, result_.scenario.stack, config_folder()).host_time;
    if (launch > Duration{})
      add({.of = Figure::Of::host_time,
           .name = "launch time",
           .unit = FigureUnit::seconds,
           .value = launch.seconds()});
  }

  const TrainingStepRequest& request_;
  const TrainingStepResult& result_;
  std::vector<Figure> out_{};
};

}  // namespace

void Figure::scale(TrainingStepRequest& request, double factor) const {
  FigureFactors& factors = request.factors;
  LinkFactors& links = factors.links.at(static_cast<std::size_t>(link));
  switch (of) {
    case Of::link_bandwidth:
      links.bandwidth *= factor;
      return;
    case Of::link_latency:
      links.latency *= factor;
      return;
    case Of::peak:
      factors.peak *= factor;
      return;
    case Of::memory_bandwidth:
      factors.memory_bandwidth *= factor;
      return;
    case Of::reduce_rate:
      factors.reduce_rate *= factor;
      return;
    case Of::host_time:
      factors.host_time *= factor;
      return;
    case Of::kernel_rate:
      factors.rates.at(static_cast<std::size_t>(kernels)) *= factor;
      return;
  }
}

std::vector<Figure> figures_of(const TrainingStepRequest& request,
                               const TrainingStepResult& result) {
  return Collector{request, result}.collect();
}

const Figure& find_figure(const std::vector<Figure>& figures, std::string_view name) {
  const std::string wanted = with_nic(plain(name));
  std::vector<std::string> names;
  for (const Figure& each : figures) {
    if (with_nic(plain(each.name)) == wanted) return each;
    names.push_back(each.name);
  }
  const std::vector<std::string_view> candidates{names.begin(), names.end()};
  const bool links = is_of_links(wanted);
  const std::string near = nearest_names(wanted, candidates);
  const std::string all = fmt::format("; it has {}", fmt::join(names, ", "));
  const std::string quoted = in_quotes(std::string{name});
  if (links) throw RequestError(fmt::format("this step has no traffic of {}{}", quoted, all));
  throw RequestError(fmt::format("this step has no parameter named {}{}", quoted,
                                 near.starts_with("; did") ? near : all));
}

}  // namespace lockstep::app
