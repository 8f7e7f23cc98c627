#include "sim/execute/cuda/cuda_backend.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "sim/execute/cuda/cuda_command_graph.hpp"
#include "sim/execute/cuda/cuda_kernels.hpp"

namespace lockstep {

namespace {

using cuda::check;
using cuda::doing;

/// "13.0" of 13000.
[[nodiscard]] std::string version(int number) {
  return fmt::format("{}.{}", number / 1000, number % 1000 / 10);
}

class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(int devices) : machine_{devices} {}

  [[nodiscard]] std::string name() const override { return properties(0).name; }
  [[nodiscard]] int count() const override { return machine_.devices; }

  [[nodiscard]] DeviceFacts facts() const override {
    const cudaDeviceProp of = properties(0);
    int driver = 0;
    int runtime = 0;
    check(cudaDriverGetVersion(&driver), doing("asking for the driver's version"));
    check(cudaRuntimeGetVersion(&runtime), doing("asking for the runtime's version"));
    int nccl = 0;
    check(ncclGetVersion(&nccl), doing("asking for NCCL's version"));
    DeviceFacts out{{"gpus", fmt::format("{}", machine_.devices)},
                    {"compute_capability", fmt::format("{}.{}", of.major, of.minor)},
                    {"multiprocessors", fmt::format("{}", of.multiProcessorCount)},
                    {"memory_bytes", fmt::format("{}", of.totalGlobalMem)},
                    {"cuda_driver_api", version(driver)},
                    {"cuda_runtime", version(runtime)},
                    {"nccl", fmt::format("{}", nccl)}};
    add_clock(out, "clock_khz", cudaDevAttrClockRate);
    add_clock(out, "memory_clock_khz", cudaDevAttrMemoryClockRate);
    add_settings(out);
    return out;
  }

  [[nodiscard]] std::unique_ptr<LoadedCommandGraph> load(const CommandGraph& graph,
                                                         const LoadOptions& options) override {
    return cuda::load_graph(machine_, graph, options);
  }

  [[nodiscard]] std::vector<double> host_copy_seconds(std::int64_t bytes, bool to_device,
                                                      int repeats) override {
    const auto size = static_cast<std::size_t>(bytes);
    const cuda::Memory device{0, size, "copies between host and GPU"};
    void* host = nullptr;
    check(cudaMallocHost(&host, size), doing("allocating pinned memory of the host"));
    const std::unique_ptr<void, void (*)(void*)> kept{host,
                                                      [](void* of) { (void)cudaFreeHost(of); }};
    const cuda::Stream stream{0};
    const cuda::Event begin{0, true};
    const cuda::Event end{0, true};
    std::vector<double> out;
    for (int i = -2; i < repeats; ++i) {
      begin.record(stream.get());
      check(cudaMemcpyAsync(to_device ? static_cast<void*>(device.data()) : host,
                            to_device ? host : static_cast<void*>(device.data()), size,
                            to_device ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost,
                            stream.get()),
            doing("copying between host and GPU"));
      end.record(stream.get());
      check(cudaStreamSynchronize(stream.get()), doing("waiting for a copy"));
      float milliseconds = 0;
      check(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()),
            doing("asking how long a copy took"));
      if (i >= 0) out.push_back(double{milliseconds} / 1e3);
    }
    return out;
  }

  /// In bytes on each GPU: of the whole message (all_reduce, broadcast), gathered or scattered.
  [[nodiscard]] std::vector<double> library_seconds(Collective collective, std::int64_t bytes,
                                                    int devices, int repeats) override {
    if (devices < 2) return {};
    const auto count = std::max<std::size_t>(1, static_cast<std::size_t>(bytes / 4));
    const std::size_t part = std::max<std::size_t>(1, count / static_cast<std::size_t>(devices));
    const std::size_t room = (count + part * static_cast<std::size_t>(devices)) * 4;
    const auto& communicators = machine_.communicators(devices);
    std::vector<cuda::Memory> from;
    std::vector<cuda::Memory> to;
    std::vector<cuda::Stream> streams;
    for (int device = 0; device < devices; ++device) {
      from.emplace_back(device, room, "NCCL");
      to.emplace_back(device, room, "NCCL");
      streams.emplace_back(device);
      const cuda::OnDevice here{device};
      cuda::fill_scattered({from.back().data(), NumberType::fp32},
                           static_cast<std::int64_t>(room / 4), NumberRange{},
                           static_cast<std::uint64_t>(device), streams.back().get());
    }
    const auto what = [&] {
      return fmt::format("{} by NCCL on {} GPUs", to_string(collective), devices);
    };
    const auto call = [&](std::size_t i) {
      void* x = from[i].data();
      void* y = to[i].data();
      const auto stream = streams[i].get();
      switch (collective) {
        case Collective::all_reduce:
          return ncclAllReduce(x, y, count, ncclFloat, ncclSum, communicators[i], stream);
        case Collective::all_gather:
          return ncclAllGather(x, y, part, ncclFloat, communicators[i], stream);
        case Collective::reduce_scatter:
          return ncclReduceScatter(x, y, part, ncclFloat, ncclSum, communicators[i], stream);
        default:
          return ncclBroadcast(x, y, count, ncclFloat, 0, communicators[i], stream);
      }
    };
    const cuda::Event begin{0, true};
    const cuda::Event end{0, true};
    std::vector<double> out;
    for (int i = -2; i < repeats; ++i) {
      begin.record(streams[0].get());
      check(ncclGroupStart(), what);
      for (std::size_t k = 0; k < streams.size(); ++k) check(call(k), what);
      check(ncclGroupEnd(), what);
      end.record(streams[0].get());
      for (const cuda::Stream& stream : streams) {
        check(cudaStreamSynchronize(stream.get()), what);
      }
      float milliseconds = 0;
      check(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()), what);
      if (i >= 0) out.push_back(double{milliseconds} / 1e3);
    }
    return out;
  }

 private:
  [[nodiscard]] static cudaDeviceProp properties(int device) {
    cudaDeviceProp out{};
    check(cudaGetDeviceProperties(&out, device), doing("asking what the GPU is"));
    return out;
  }

  static void add_clock(DeviceFacts& facts, const char* name, cudaDeviceAttr attribute) {
    int value = 0;
    if (cudaDeviceGetAttribute(&value, attribute, 0) == cudaSuccess) {
      facts.emplace_back(name, fmt::format("{}", value));
    } else {
      (void)cudaGetLastError();  // an attribute that this driver does not know is left out
    }
  }

  /// What nvidia-smi says of the card, which is only read: driver, clocks, power.
  static void add_settings(DeviceFacts& facts) {
    constexpr const char* kAsk =
        "nvidia-smi -i 0 --format=csv,noheader --query-gpu=driver_version,clocks.sm,clocks.max.sm,"
        "clocks.mem,power.draw,power.limit,temperature.gpu 2>/dev/null";
    const std::unique_ptr<FILE, int (*)(FILE*)> pipe{popen(kAsk, "r"), pclose};
    if (pipe == nullptr) return;
    std::string text(512, '\0');
    const std::size_t length = std::fread(text.data(), 1, text.size(), pipe.get());
    text.resize(length);
    while (!text.empty() && text.back() == '\n') text.pop_back();
    if (text.empty()) return;
    facts.emplace_back(
        "driver, sm clock, most sm clock, memory clock, power, power limit, temperature", text);
  }

  mutable cuda::Machine machine_;
};

}  // namespace

}  // namespace lockstep

lockstep::Backend* lockstep_cuda_backend() {
  int devices = 0;
  const cudaError_t status = cudaGetDeviceCount(&devices);
  if (status != cudaSuccess) {
    (void)cudaGetLastError();
    int driver = 0;
    if (cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0) {
      throw lockstep::NoDevice{"no GPU: this machine has no NVIDIA driver"};
    }
    throw lockstep::NoDevice{fmt::format("no GPU: {} (the driver has CUDA {}, this needs {})",
                                         cudaGetErrorString(status), lockstep::version(driver),
                                         lockstep::version(CUDART_VERSION))};
  }
  if (devices == 0) throw lockstep::NoDevice{"no GPU: this machine has none"};
  return new lockstep::CudaBackend{devices};
}
