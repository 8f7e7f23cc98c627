#include "strategies/measure/machine_runs/measure_machine.hpp"

#include <algorithm>

#include "sim/execute/command_graph/command_graph_builder.hpp"
#include "sim/execute/device_kernels/kernel_launch.hpp"
#include "strategies/measure/machine_runs/machine_programs.hpp"
#include "strategies/measure/machine_runs/measure_links.hpp"
#include "strategies/measure/machine_runs/time_operation.hpp"

namespace lockstep {

namespace {

using Kind = MachineMeasurement::Kind;

constexpr int kChain = 64;
constexpr std::int64_t kPlaces = 8;  // of blocks that are moved one after the other
constexpr int kStreams = 8;          // that copy at once
constexpr std::int64_t kMiB = std::int64_t{1} << 20;

class Measuring {
 public:
  Measuring(Backend& backend, bool is_host, const MeasureOptions& options)
      : backend_{backend}, is_host_{is_host}, options_{options} {}

  std::vector<MachineMeasurement> run() {
    tell("launches");
    launches();
    tell("memory");
    memory();
    const ProgramsToMeasure programs = programs_to_measure(is_host_, options_.quick);
    tell("products");
    operations(programs.gemms);
    tell("attention");
    operations(programs.attentions);
    tell("the rest of training steps");
    operations(programs.steps);
    tell("computation during copies");
    beside();
    tell("host and device");
    host_copies();
    tell("links between GPUs");
    for (MachineMeasurement& each : measure_links(backend_, options_))
      out_.push_back(std::move(each));
    return std::move(out_);
  }

 private:
  void tell(const std::string& what) const {
    if (options_.before) options_.before(what);
  }
  [[nodiscard]] double time(const CommandGraph& graph, bool cuda_graph = true) {
    LoadOptions load;
    load.cuda_graph = cuda_graph;
    const auto loaded = backend_.load(graph, load);
    for (BufferId i = 0; i < graph.buffers.size(); ++i) loaded->scatter_numbers(i, {}, i + 1);
    return median(loaded->seconds(2, options_.repeats));
  }
  MachineMeasurement& add(Kind kind, std::string what, double seconds) {
    MachineMeasurement& out = out_.emplace_back();
    out.kind = kind;
    out.what = std::move(what);
    out.seconds = seconds;
    out.shared = true;  // of one GPU; links say otherwise
    return out;
  }
  // One after the other on one stream.

  void launches() {
    CommandGraphBuilder kernels{1};
    CommandGraphBuilder copies{1};
    for (CommandGraphBuilder* graph : {&kernels, &copies}) {
      graph->add_stream("timed", 0);
      graph->add_buffer("a", 0, NumberType::fp32, 1);
      graph->add_buffer("b", 0, NumberType::fp32, 1);
    }
    KernelLaunch fill;
    fill.function = KernelFunction::fill;
    fill.count = 1;
    fill.numbers = {1};
    const auto kernel = std::make_shared<const KernelLaunch>(fill);
    for (int i = 0; i < kChain; ++i) {
      kernels.launch(0, {{}, {{0, 0, 1}}, kernel});
      copies.copy(0, {1, 0, 1}, {0, 0, 1});
    }
    add(Kind::launch, "kernel", time(kernels.graph(), false) / kChain);
    add(Kind::graph_node, "kernel", time(kernels.graph(), true) / kChain);
    add(Kind::empty_copy, "copy", time(copies.graph(), true) / kChain);
  }

  void memory() {
    const std::int64_t most = options_.quick ? 4 * kMiB : is_host_ ? 64 * kMiB : 1024 * kMiB;
    for (std::int64_t bytes = 1024; bytes <= most; bytes *= 4) {
      move(Kind::copy, NumberType::fp32, bytes);
      move(Kind::add, NumberType::fp32, bytes);
      if (is_host_) continue;
      move(Kind::add, NumberType::bf16, bytes);
      move(Kind::add, NumberType::fp16, bytes);
    }
    if (is_host_) return;
    for (std::int64_t bytes = 16 * 1024; bytes <= most / kStreams; bytes *= 4) together(bytes);
  }
  /// As in a collective whose ranks share the device: each stream copies between places of its own.
  void together(std::int64_t bytes) {
    constexpr int kTimes = 8;
    CommandGraphBuilder graph{1};
    const std::int64_t count = bytes / bytes_of(NumberType::fp32);
    graph.add_buffer("from", 0, NumberType::fp32, kStreams * count);
    graph.add_buffer("to", 0, NumberType::fp32, kStreams * count);
    std::vector<StreamIndex> streams;
    for (int i = 0; i < kStreams; ++i) {
      streams.push_back(graph.add_stream("copies " + std::to_string(i), 0));
    }
    for (int i = 0; i < kTimes * kStreams; ++i) {
      const std::int64_t place = i % kStreams;
      graph.copy(streams[static_cast<std::size_t>(place)], {1, place * count, count},
                 {0, place * count, count});
    }
    MachineMeasurement& out = add(Kind::together, "fp32", time(graph.graph()) / kTimes);
    out.bytes = bytes;
    out.to = kStreams;
  }
  void move(Kind kind, NumberType type, std::int64_t bytes) {
    CommandGraphBuilder graph{1};
    graph.add_stream("timed", 0);
    const std::int64_t count = bytes / bytes_of(type);
    // As in a collective, whose ranks hold many such blocks, no two of them the same.
    const auto places = static_cast<int>(
        std::clamp<std::int64_t>((is_host_ ? 64 : 1024) * kMiB / bytes, 1, kPlaces));
    graph.add_buffer("from", 0, type, places * count);
    graph.add_buffer("to", 0, type, places * count);
    const int times = std::max(4, places);
    for (int i = 0; i < times; ++i) {
      const Region from{0, i % places * count, count};
      const Region to{1, i % places * count, count};
      if (kind == Kind::copy) {
        graph.copy(0, to, from);
      } else {
        graph.combine(0, Command::Kind::add, to, from);
      }
    }
    add(kind, std::string{to_string(type)}, time(graph.graph()) / times).bytes = bytes;
  }

  // Operations.

  void operations(const std::vector<Program>& programs) {
    TimingOptions timing;
    timing.repeats = options_.repeats;
    for (const Program& program : programs) {
      for (const auto& [routine, index] : distinct_operations(program)) {
        const TimedOperation timed = time_operation(backend_, program, routine, index, timing);
        MachineMeasurement& out =
            add(Kind::kernel, std::string{to_string(timed.kernel.kind)}, timed.seconds);
        out.kernel = timed.kernel;
        out.kernels = timed.kernels;
      }
    }
  }

  /// Products alone, and while another stream copies for as long as they take.
  void beside() {
    constexpr int kGemms = 8;
    const double alone = gemms_and_copies(kGemms, 0);
    const double copy = gemms_and_copies(0, kChain) / kChain;
    const int copies = static_cast<int>(std::clamp(alone / copy, 1.0, 4096.0));
    // A host is serial: copies replace computation instead of overlapping with it.
    const double both = is_host_ ? alone : gemms_and_copies(kGemms, copies);
    add(Kind::beside, "products while copies run", both).ratio = std::max(1.0, both / alone);
  }
  [[nodiscard]] double gemms_and_copies(int gemms, int copies) {
    const std::int64_t size = is_host_ ? 128 : 4096;
    const NumberType type = is_host_ ? NumberType::fp32 : NumberType::bf16;
    CommandGraphBuilder graph{1};
    const StreamIndex computing = graph.add_stream("products", 0);
    const StreamIndex copying = graph.add_stream("copies", 0);
    for (const char* name : {"a", "b", "y", "from", "to"}) {
      graph.add_buffer(name, 0, type, size * size);
    }
    KernelLaunch gemm;
    gemm.function = KernelFunction::gemm;
    gemm.name = "product";
    gemm.count = size * size;
    gemm.sizes = {size, size, size, 1, size, 1, size, 1, size, 1};
    gemm.numbers = {1};
    const auto begin = std::make_shared<const KernelLaunch::Table>(KernelLaunch::Table{0});
    gemm.tables = {begin, begin, begin};
    const auto kernel = std::make_shared<const KernelLaunch>(gemm);
    const auto all = [size](BufferId of) { return Region{of, 0, size * size}; };
    for (int i = 0; i < copies; ++i) graph.copy(copying, all(4), all(3));
    for (int i = 0; i < gemms; ++i) graph.launch(computing, {{all(0), all(1)}, {all(2)}, kernel});
    return time(graph.graph());
  }

  void host_copies() {
    for (std::int64_t bytes = 64 * 1024; bytes <= 256 * kMiB; bytes *= 16) {
      for (const bool to_device : {true, false}) {
        const auto seconds = backend_.host_copy_seconds(bytes, to_device, options_.repeats);
        if (seconds.empty()) return;
        add(to_device ? Kind::from_host : Kind::to_host, "pinned", median(seconds)).bytes = bytes;
      }
    }
  }

  Backend& backend_;
  bool is_host_;
  const MeasureOptions& options_;
  std::vector<MachineMeasurement> out_{};
};

}  // namespace

std::vector<MachineMeasurement> measure_machine(Backend& backend, bool is_host,
                                                const MeasureOptions& options) {
  return Measuring{backend, is_host, options}.run();
}

}  // namespace lockstep
