#include "sim/execute/cuda/cuda_command_graph.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/execute/cuda/cuda_kernels.hpp"
#include "sim/execute/device_kernels/arguments_of.hpp"

namespace lockstep::cuda {

namespace {

/// Of larger command graphs the time to issue is small compared with that of what they do.
constexpr std::size_t kMostInGraph = 20'000;

class CudaCommandGraph final : public LoadedCommandGraph {
 public:
  CudaCommandGraph(Machine& machine, const CommandGraph& graph, const LoadOptions& options)
      : machine_{machine}, graph_{graph}, options_{options} {
    if (graph.devices > machine.devices) {
      throw DeviceError{
          fmt::format("a plan for {} GPUs where there are {}", graph.devices, machine.devices)};
    }
    if (graph.devices > 1 && options.nccl) {
      communicators_ = &machine.communicators(graph.devices);
    } else if (graph.devices > 1) {
      machine.allow_peers(graph.devices);
    }
    for (const CommandGraphBuffer& buffer : graph.buffers) {
      memory_.emplace_back(buffer.device,
                           static_cast<std::size_t>(buffer.elements * bytes_of(buffer.type)),
                           buffer.name);
    }
    for (const CommandGraphStream& stream : graph.streams) streams_.emplace_back(stream.device);
    for (int device = 0; device < graph.devices; ++device) {
      own_.emplace_back(device);
      begins_.emplace_back(device, true);
      ends_.emplace_back(device, true);
    }
    make_events();
    bring_tables();
    for (BufferId i = 0; i < graph.buffers.size(); ++i) poison(i);
    if (options.cuda_graph && fits_a_graph()) capture();
  }

  ~CudaCommandGraph() override { drop_graph(); }

  void write(Region where, std::span<const double> values) override {
    const kernels::Values to = at(where);
    std::vector<std::byte> bytes(values.size() * static_cast<std::size_t>(bytes_of(to.type)));
    const kernels::Values here{bytes.data(), to.type};
    for (std::size_t i = 0; i < values.size(); ++i) {
      kernels::store(here, static_cast<std::int64_t>(i), values[i]);
    }
    transfer(where, to.data, bytes.data(), bytes.size(), cudaMemcpyHostToDevice);
  }
  [[nodiscard]] std::vector<double> read(Region where) override {
    const kernels::Values from = at(where);
    std::vector<std::byte> bytes(static_cast<std::size_t>(where.count * bytes_of(from.type)));
    transfer(where, bytes.data(), from.data, bytes.size(), cudaMemcpyDeviceToHost);
    std::vector<double> out;
    for (std::int64_t i = 0; i < where.count; ++i) {
      out.push_back(kernels::load<double>({bytes.data(), from.type}, i));
    }
    return out;
  }
  void poison(BufferId buffer) override {
    const CommandGraphBuffer& of = graph_.buffers[buffer];
    const OnDevice here{of.device};
    fill_nan(at({buffer, 0, of.elements}), of.elements, own_of(of.device));
    finish(of.device);
  }
  void scatter_numbers(BufferId buffer, const NumberRange& range, std::uint64_t seed) override {
    const CommandGraphBuffer& of = graph_.buffers[buffer];
    const OnDevice here{of.device};
    fill_scattered(at({buffer, 0, of.elements}), of.elements, range, seed, own_of(of.device));
    finish(of.device);
  }

  void run() override {
    issue();
    wait();
  }

  /// From before the first command on the first GPU to after the last one there, all others joined.
  [[nodiscard]] std::vector<double> seconds(int warmups, int repeats) override {
    std::vector<double> out;
    for (int i = -warmups; i < repeats; ++i) {
      wait();
      begins_[0].record(own_of(0));
      issue();
      ends_[0].record(own_of(0));
      wait();
      float milliseconds = 0;
      check(cudaEventElapsedTime(&milliseconds, begins_[0].get(), ends_[0].get()),
            doing("asking how long a plan took"));
      if (i >= 0) out.push_back(double{milliseconds} / 1e3);
    }
    return out;
  }

 private:
  [[nodiscard]] kernels::Values at(const Region& region) const {
    const NumberType type = graph_.buffers[region.buffer].type;
    return {memory_[region.buffer].data() + region.first * bytes_of(type), type};
  }
  [[nodiscard]] cudaStream_t own_of(int device) const {
    return own_[static_cast<std::size_t>(device)].get();
  }
  void finish(int device) const {
    check(cudaStreamSynchronize(own_of(device)), doing("waiting for a GPU"));
  }
  void transfer(const Region& where, void* to, const void* from, std::size_t bytes,
                cudaMemcpyKind kind) const {
    if (bytes == 0) return;
    const int device = graph_.buffers[where.buffer].device;
    const OnDevice here{device};
    // A plain copy may return before what it brings has arrived, and streams here do not wait for
    // it.
    check(cudaMemcpyAsync(to, from, bytes, kind, own_of(device)), [&] {
      return fmt::format("copying {} bytes of {} between host and GPU", bytes,
                         graph_.buffers[where.buffer].name);
    });
    finish(device);
  }

  void make_events() {
    for (const Command& command : graph_.commands) {
      events_.push_back(command.signals
                            ? std::make_unique<Event>(graph_.streams[command.stream].device)
                            : nullptr);
    }
    for (const CommandGraphStream& stream : graph_.streams) joins_.emplace_back(stream.device);
  }

  /// Tables of places, each once, on the GPU that its kernel runs on.
  void bring_tables() {
    arguments_.resize(graph_.launches.size());
    for (const Command& command : graph_.commands) {
      if (command.kind != Command::Kind::launch) continue;
      const CommandGraphLaunch& launch = graph_.launches[command.launch];
      if (launch.kernel->function == KernelFunction::on_host) continue;
      std::vector<kernels::Values> reads;
      std::vector<kernels::Values> writes;
      for (const Region& region : launch.reads) reads.push_back(at(region));
      for (const Region& region : launch.writes) writes.push_back(at(region));
      kernels::Arguments& arguments = arguments_[command.launch];
      arguments = kernels::arguments_of(*launch.kernel, reads, writes);
      const int device = graph_.streams[command.stream].device;
      for (std::size_t i = 0; i < launch.kernel->tables.size(); ++i) {
        const auto& table = launch.kernel->tables[i];
        if (table != nullptr) arguments.table[i] = table_on(device, table);
      }
      const bool gemm = launch.kernel->function == KernelFunction::gemm;
      if (gemm && workspaces_.count(command.stream) == 0) {
        workspaces_.emplace(command.stream, Memory{device, CublasGemms::kWorkspace, "products"});
      }
    }
  }

  [[nodiscard]] const std::int64_t* table_on(int device,
                                             const std::shared_ptr<const KernelLaunch::Table>& of) {
    const auto [found, is_new] = tables_.try_emplace({device, of.get()});
    if (is_new && !of->empty()) {
      const std::size_t bytes = of->size() * sizeof(std::int64_t);
      found->second = Memory{device, bytes, "a table of places"};
      check(cudaMemcpyAsync(found->second.data(), of->data(), bytes, cudaMemcpyHostToDevice,
                            own_of(device)),
            doing("bringing a table of places to a GPU"));
      finish(device);
    }
    return reinterpret_cast<const std::int64_t*>(found->second.data());
  }

  // Issuing.

  [[nodiscard]] bool fits_a_graph() const {
    if (graph_.commands.size() > kMostInGraph || communicators_ != nullptr) return false;
    return std::none_of(graph_.launches.begin(), graph_.launches.end(),
                        [](const CommandGraphLaunch& each) {
                          return each.kernel->function == KernelFunction::on_host;
                        });
  }

  void capture() {
    issue_commands();  // once before: libraries set themselves up when first called
    wait();
    for (BufferId i = 0; i < graph_.buffers.size(); ++i) poison(i);
    try {
      make_graph();
    } catch (const DeviceError&) {
      // A driver that does not capture some command, or makes no graph of several GPUs: the command
      // graph is issued command by command instead. What is wrong with the command graph itself
      // shows there too.
      drop_graph();
    }
    wait();
  }

  void make_graph() {
    const OnDevice here{0};
    check(cudaStreamBeginCapture(own_of(0), cudaStreamCaptureModeThreadLocal),
          doing("beginning to capture a plan"));
    issue_commands();
    check(cudaStreamEndCapture(own_of(0), &cuda_graph_), doing("ending to capture a plan"));
    check(cudaGraphInstantiate(&executable_, cuda_graph_, 0), doing("making a graph of a plan"));
    check(cudaGraphUpload(executable_, own_of(0)), doing("bringing a graph to a GPU"));
  }

  /// Whether or not one is being captured, or has been made.
  void drop_graph() {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    (void)cudaStreamIsCapturing(own_of(0), &status);
    if (status != cudaStreamCaptureStatusNone) (void)cudaStreamEndCapture(own_of(0), &cuda_graph_);
    if (executable_ != nullptr) (void)cudaGraphExecDestroy(std::exchange(executable_, nullptr));
    if (cuda_graph_ != nullptr) (void)cudaGraphDestroy(std::exchange(cuda_graph_, nullptr));
    (void)cudaGetLastError();
  }

  void issue() {
    if (executable_ == nullptr) return issue_commands();
    const OnDevice here{0};
    check(cudaGraphLaunch(executable_, own_of(0)), doing("launching a graph"));
  }

  /// Between one event of the first GPU's own stream, that all streams wait for, and one of each,
  /// that it waits for.
  void issue_commands() {
    fork_.record(own_of(0));
    for (const Stream& stream : streams_) {
      const OnDevice here{stream.device()};
      check(cudaStreamWaitEvent(stream.get(), fork_.get(), 0), doing("beginning a stream"));
    }
    for (CommandId id = 0; id < graph_.commands.size(); ++id) issue(id);
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      {
        const OnDevice here{streams_[i].device()};
        joins_[i].record(streams_[i].get());
      }
      const OnDevice here{0};
      check(cudaStreamWaitEvent(own_of(0), joins_[i].get(), 0), doing("ending a stream"));
    }
  }

  void issue(CommandId id) {
    const Command& command = graph_.commands[id];
    const Stream& stream = streams_[command.stream];
    const OnDevice here{stream.device()};
    for (const CommandId event : command.waits) {
      check(cudaStreamWaitEvent(stream.get(), events_[event]->get(), 0),
            [&] { return fmt::format("letting {} wait", graph_.streams[command.stream].name); });
    }
    run(command, stream);
    if (command.signals) events_[id]->record(stream.get());
  }

  void run(const Command& command, const Stream& stream) {
    using Kind = Command::Kind;
    switch (command.kind) {
      case Kind::mark:
        return;
      case Kind::copy:
        return copy(command, stream);
      case Kind::peer_copy:
        return communicators_ != nullptr ? send(command, stream) : peer_copy(command, stream);
      case Kind::add:
      case Kind::maximum:
        return combine(command.kind == Kind::add, command.to.count, at(command.from),
                       at(command.to), stream.get());
      case Kind::launch:
        return launch(command, stream);
    }
  }

  [[nodiscard]] std::string text(const Command& command) const {
    return fmt::format("copying {} elements of {} to {}", command.to.count,
                       graph_.buffers[command.from.buffer].name,
                       graph_.buffers[command.to.buffer].name);
  }
  [[nodiscard]] std::size_t bytes_of_copy(const Command& command) const {
    return static_cast<std::size_t>(command.to.count *
                                    bytes_of(graph_.buffers[command.to.buffer].type));
  }

  void copy(const Command& command, const Stream& stream) const {
    if (command.to.count == 0) return;
    check(cudaMemcpyAsync(at(command.to).data, at(command.from).data, bytes_of_copy(command),
                          cudaMemcpyDeviceToDevice, stream.get()),
          [&] { return text(command); });
  }

  void peer_copy(const Command& command, const Stream& stream) const {
    if (command.to.count == 0) return;
    const int from = graph_.buffers[command.from.buffer].device;
    check(cudaMemcpyPeerAsync(at(command.to).data, stream.device(), at(command.from).data, from,
                              bytes_of_copy(command), stream.get()),
          [&] {
            return fmt::format("{}, from GPU {} to GPU {}", text(command), from, stream.device());
          });
  }

  /// NCCL's send and receive, each on the stream of its end.
  void send(const Command& command, const Stream& stream) const {
    if (command.to.count == 0) return;
    const Stream& other = streams_[command.from_stream];
    const auto doing_it = [&] { return text(command) + " by NCCL"; };
    const std::size_t bytes = bytes_of_copy(command);
    check(ncclGroupStart(), doing_it);
    check(ncclSend(at(command.from).data, bytes, ncclChar, stream.device(),
                   (*communicators_)[static_cast<std::size_t>(other.device())], other.get()),
          doing_it);
    check(ncclRecv(at(command.to).data, bytes, ncclChar, other.device(),
                   (*communicators_)[static_cast<std::size_t>(stream.device())], stream.get()),
          doing_it);
    check(ncclGroupEnd(), doing_it);
  }

  void launch(const Command& command, const Stream& stream) {
    const CommandGraphLaunch& launch = graph_.launches[command.launch];
    if (launch.kernel->function == KernelFunction::on_host) return compute(launch, stream);
    const kernels::Arguments& arguments = arguments_[command.launch];
    // Types that cuBLAS has no GEMM of go by a plain kernel.
    if (launch.kernel->function == KernelFunction::gemm && CublasGemms::has(arguments)) {
      return machine_.gemms.run(*launch.kernel, arguments, stream, workspaces_.at(command.stream));
    }
    if (launch.kernel->in_doubles) {
      launch_doubles(*launch.kernel, arguments, stream.get());
    } else {
      launch_floats(*launch.kernel, arguments, stream.get());
    }
  }

  /// The host computes: the stream's work is waited for, operands are fetched and brought back.
  void compute(const CommandGraphLaunch& launch, const Stream& stream) {
    check(cudaStreamSynchronize(stream.get()),
          [&] { return "waiting for the operands of " + launch.kernel->name; });
    std::vector<std::vector<double>> reads;
    std::vector<std::vector<double>> writes;
    for (const Region& region : launch.reads) reads.push_back(read(region));
    for (const Region& region : launch.writes) writes.push_back(read(region));
    launch.kernel->on_host(reads, writes);
    for (std::size_t i = 0; i < writes.size(); ++i) write(launch.writes[i], writes[i]);
  }

  void wait() const {
    for (const Stream& stream : streams_) {
      check(cudaStreamSynchronize(stream.get()), doing("waiting for a plan to end"));
    }
    for (const Stream& stream : own_) {
      check(cudaStreamSynchronize(stream.get()), doing("waiting for a plan to end"));
    }
  }

  Machine& machine_;
  CommandGraph graph_;
  LoadOptions options_;
  const std::vector<ncclComm_t>* communicators_ = nullptr;  // null: peer copies
  std::vector<Memory> memory_{};
  std::vector<Stream> streams_{};
  std::vector<Stream> own_{};  // per GPU, beside the command graph's
  std::vector<Event> begins_{};
  std::vector<Event> ends_{};
  Event fork_{0};
  std::vector<std::unique_ptr<Event>> events_{};  // per command; null: it signals none
  std::vector<Event> joins_{};                    // per stream
  std::map<std::pair<int, const KernelLaunch::Table*>, Memory> tables_{};
  std::map<StreamIndex, Memory> workspaces_{};
  std::vector<kernels::Arguments> arguments_{};  // per launch
  cudaGraph_t cuda_graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace

Machine::Machine(int count) : devices{count}, gemms{count} {}

Machine::~Machine() {
  for (ncclComm_t each : communicators_) (void)ncclCommDestroy(each);
}

void Machine::allow_peers(int count) {
  for (int from = 0; from < count; ++from) {
    const OnDevice here{from};
    for (int to = 0; to < count; ++to) {
      if (from == to || (from < peers_ && to < peers_)) continue;
      int possible = 0;
      check(cudaDeviceCanAccessPeer(&possible, from, to), doing("asking for peer access"));
      if (possible == 0) {
        throw DeviceError{fmt::format(
            "GPU {} cannot reach the memory of GPU {}: no peer access; use --transport nccl, or "
            "--devices 1",
            from, to)};
      }
      const cudaError_t status = cudaDeviceEnablePeerAccess(to, 0);
      if (status == cudaErrorPeerAccessAlreadyEnabled) {
        (void)cudaGetLastError();
        continue;
      }
      check(status, [&] { return fmt::format("letting GPU {} reach GPU {}", from, to); });
    }
  }
  peers_ = std::max(peers_, count);
}

const std::vector<ncclComm_t>& Machine::communicators(int count) {
  if (static_cast<int>(communicators_.size()) == count) return communicators_;
  for (ncclComm_t each : communicators_) (void)ncclCommDestroy(each);
  communicators_.assign(static_cast<std::size_t>(count), nullptr);
  check(ncclCommInitAll(communicators_.data(), count, nullptr),
        [count] { return fmt::format("starting NCCL on {} GPUs", count); });
  return communicators_;
}

std::unique_ptr<LoadedCommandGraph> load_graph(Machine& machine, const CommandGraph& graph,
                                               const LoadOptions& options) {
  return std::make_unique<CudaCommandGraph>(machine, graph, options);
}

}  // namespace lockstep::cuda
