#include "sim/execute/command_graph/host_backend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <fstream>
#include <limits>
#include <numeric>
#include <thread>

#include "sim/base/check.hpp"
#include "sim/execute/command_graph/fake_device.hpp"
#include "sim/execute/device_kernels/run_on_host.hpp"
#include "sim/execute/device_kernels/values.hpp"
#include "sim/execute/kernels/random_bits.hpp"

namespace lockstep {

namespace {

/// Seconds that this thread has been computing: what else the machine does does not count.
[[nodiscard]] double computed() {
  timespec now{};
  LOCKSTEP_CHECK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) == 0);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

class HostCommandGraph final : public LoadedCommandGraph {
 public:
  HostCommandGraph(const CommandGraph& graph, std::uint64_t order_seed) : graph_{graph} {
    for (BufferId i = 0; i < graph.buffers.size(); ++i) {
      const CommandGraphBuffer& buffer = graph.buffers[i];
      memory_.emplace_back(static_cast<std::size_t>(buffer.elements * bytes_of(buffer.type)));
      poison(i);
    }
    if (order_seed > 0) {
      order_ = drawn_order(graph, order_seed);
    } else {
      order_.resize(graph.commands.size());
      std::iota(order_.begin(), order_.end(), CommandId{0});
    }
  }

  void write(Region where, std::span<const double> values) override {
    LOCKSTEP_CHECK(std::ssize(values) == where.count);
    const kernels::Values to = at(where);
    for (std::int64_t i = 0; i < where.count; ++i) {
      kernels::store(to, i, values[static_cast<std::size_t>(i)]);
    }
  }
  [[nodiscard]] std::vector<double> read(Region where) override {
    std::vector<double> out;
    out.reserve(static_cast<std::size_t>(where.count));
    const kernels::Values from = at(where);
    for (std::int64_t i = 0; i < where.count; ++i) out.push_back(kernels::load<double>(from, i));
    return out;
  }
  void poison(BufferId buffer) override {
    const Region all{buffer, 0, graph_.buffers[buffer].elements};
    for (std::int64_t i = 0; i < all.count; ++i) {
      kernels::store(at(all), i, std::numeric_limits<double>::quiet_NaN());
    }
  }
  void scatter_numbers(BufferId buffer, const NumberRange& range, std::uint64_t seed) override {
    const Region all{buffer, 0, graph_.buffers[buffer].elements};
    const kernels::Values to = at(all);
    for (std::int64_t i = 0; i < all.count; ++i) {
      kernels::store(to, i, kernels::scattered(range, seed, static_cast<std::uint64_t>(i)));
    }
  }

  void run() override {
    for (const CommandId id : order_) run(graph_.commands[id]);
  }
  [[nodiscard]] std::vector<double> seconds(int warmups, int repeats) override {
    std::vector<double> out;
    for (int i = -warmups; i < repeats; ++i) {
      const double begin = computed();
      run();
      if (i >= 0) out.push_back(computed() - begin);
    }
    return out;
  }

 private:
  [[nodiscard]] kernels::Values at(const Region& region) {
    const NumberType type = graph_.buffers[region.buffer].type;
    std::byte* base = memory_[region.buffer].data();
    return {base + region.first * bytes_of(type), type};
  }

  void run(const Command& command) {
    using Kind = Command::Kind;
    switch (command.kind) {
      case Kind::mark:
        return;
      case Kind::copy:
      case Kind::peer_copy:
        return copy(command);
      case Kind::add:
      case Kind::maximum:
        return kernels::combine_on_host(command.kind == Kind::add, command.to.count,
                                        at(command.from), at(command.to));
      case Kind::launch:
        return launch(graph_.launches[command.launch]);
    }
  }

  void copy(const Command& command) {
    const kernels::Values to = at(command.to);
    const kernels::Values from = at(command.from);
    LOCKSTEP_CHECK(to.type == from.type);
    std::memcpy(to.data, from.data, static_cast<std::size_t>(command.to.count * bytes_of(to.type)));
  }

  void launch(const CommandGraphLaunch& launch) {
    std::vector<kernels::Values> reads;
    std::vector<kernels::Values> writes;
    for (const Region& region : launch.reads) reads.push_back(at(region));
    for (const Region& region : launch.writes) writes.push_back(at(region));
    kernels::run_on_host(*launch.kernel, reads, writes);
  }

  CommandGraph graph_;
  std::vector<std::vector<std::byte>> memory_{};
  std::vector<CommandId> order_{};
};

class HostBackend final : public Backend {
 public:
  explicit HostBackend(std::uint64_t order_seed) : order_seed_{order_seed} {}

  [[nodiscard]] std::string name() const override {
    std::ifstream in{"/proc/cpuinfo"};
    for (std::string line; std::getline(in, line);) {
      if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
    }
    return "host processor";
  }
  [[nodiscard]] int count() const override { return 1; }
  [[nodiscard]] DeviceFacts facts() const override {
    return {{"processors", fmt::format("{}", std::thread::hardware_concurrency())},
            {"threads_used", "1"},
            {"compiler", fmt::format("g++ {}", __VERSION__)}};
  }
  [[nodiscard]] std::unique_ptr<LoadedCommandGraph> load(const CommandGraph& graph,
                                                         const LoadOptions&) override {
    return std::make_unique<HostCommandGraph>(graph, order_seed_);
  }
  [[nodiscard]] std::vector<double> host_copy_seconds(std::int64_t, bool, int) override {
    return {};
  }
  [[nodiscard]] std::vector<double> library_seconds(Collective, std::int64_t, int, int) override {
    return {};
  }

 private:
  std::uint64_t order_seed_;
};

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::unique_ptr<Backend> host_backend(std::uint64_t order_seed) {
  return std::make_unique<HostBackend>(order_seed);
}

}  // namespace lockstep
