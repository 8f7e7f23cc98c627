#include "strategies/measure/machine_runs/measure_links.hpp"

#include <algorithm>
#include <utility>

#include "sim/execute/command_graph/command_graph_builder.hpp"

namespace lockstep {

namespace {

using Kind = MachineMeasurement::Kind;

constexpr std::int64_t kMiB = std::int64_t{1} << 20;
constexpr int kChain = 8;  // copies one after the other

class MeasuringLinks {
 public:
  MeasuringLinks(Backend& backend, const MeasureOptions& options)
      : backend_{backend}, options_{options}, large_{(options.quick ? 16 : 256) * kMiB} {}

  std::vector<MachineMeasurement> run() {
    for (const bool nccl : {false, true}) {
      for (const std::int64_t bytes : {std::int64_t{8}, kMiB, large_}) {
        for_each_pair([&](int from, int to) { alone(from, to, bytes, nccl); });
      }
    }
    for_each_pair([&](int from, int to) {
      if (from < to) both_ways(from, to);
    });
    everyone("ring", [&](int from, int to) { return to == (from + 1) % backend_.count(); });
    everyone("everyone", [](int from, int to) { return from != to; });
    for (std::int64_t bytes = 8; bytes <= large_; bytes *= 32) {
      for (const Collective each : {Collective::all_reduce, Collective::all_gather,
                                    Collective::reduce_scatter, Collective::broadcast}) {
        library(each, bytes);
      }
    }
    return std::move(out_);
  }

 private:
  template <class Each>
  void for_each_pair(Each&& each) const {
    for (int from = 0; from < backend_.count(); ++from) {
      for (int to = 0; to < backend_.count(); ++to) {
        if (from != to) each(from, to);
      }
    }
  }
  [[nodiscard]] double time(const CommandGraph& graph, bool nccl = false) {
    LoadOptions load;
    load.nccl = nccl;
    const auto loaded = backend_.load(graph, load);
    for (BufferId i = 0; i < graph.buffers.size(); ++i) loaded->scatter_numbers(i, {}, i + 1);
    return median(loaded->seconds(2, options_.repeats));
  }
  MachineMeasurement& add(Kind kind, std::string what, double seconds, std::int64_t bytes) {
    MachineMeasurement& out = out_.emplace_back();
    out.kind = kind;
    out.what = std::move(what);
    out.seconds = seconds;
    out.bytes = bytes;
    return out;
  }

  /// A stream of copies from one GPU to another.
  static void copies(CommandGraphBuilder& graph, int from, int to, std::int64_t bytes, int times) {
    const std::int64_t count = std::max<std::int64_t>(1, bytes / 4);
    const StreamIndex sender = graph.add_stream("from", from);
    const StreamIndex receiver = graph.add_stream("to", to);
    const BufferId here = graph.add_buffer("from", from, NumberType::fp32, count);
    const BufferId there = graph.add_buffer("to", to, NumberType::fp32, count);
    for (int i = 0; i < times; ++i)
      graph.copy(receiver, {there, 0, count}, {here, 0, count}, sender);
  }
  void alone(int from, int to, std::int64_t bytes, bool nccl) {
    CommandGraphBuilder graph{backend_.count()};
    copies(graph, from, to, bytes, kChain);
    MachineMeasurement& out =
        add(Kind::peer, nccl ? "NCCL" : "copy", time(graph.graph(), nccl) / kChain, bytes);
    out.from = from;
    out.to = to;
  }
  void both_ways(int a, int b) {
    CommandGraphBuilder graph{backend_.count()};
    copies(graph, a, b, large_, 1);
    copies(graph, b, a, large_, 1);
    MachineMeasurement& out = add(Kind::peers, "both ways", time(graph.graph()), large_);
    out.from = a;
    out.to = b;
  }
  /// All pairs that belong to it at once; `bytes` each.
  template <class Belongs>
  void everyone(const char* what, Belongs&& belongs) {
    const std::int64_t bytes = large_ / backend_.count();
    CommandGraphBuilder graph{backend_.count()};
    for_each_pair([&](int from, int to) {
      if (belongs(from, to)) copies(graph, from, to, bytes, 1);
    });
    add(Kind::peers, what, time(graph.graph()), bytes).to = backend_.count();
  }
  void library(Collective collective, std::int64_t bytes) {
    const auto seconds =
        backend_.library_seconds(collective, bytes, backend_.count(), options_.repeats);
    if (seconds.empty()) return;
    add(Kind::library, std::string{to_string(collective)}, median(seconds), bytes).to =
        backend_.count();
  }

  Backend& backend_;
  const MeasureOptions& options_;
  std::int64_t large_;
  std::vector<MachineMeasurement> out_{};
};

}  // namespace

std::vector<MachineMeasurement> measure_links(Backend& backend, const MeasureOptions& options) {
  if (backend.count() < 2) return {};
  return MeasuringLinks{backend, options}.run();
}

}  // namespace lockstep
