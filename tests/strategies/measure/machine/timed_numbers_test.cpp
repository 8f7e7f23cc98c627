#include <doctest/doctest.h>

#include <cmath>

#include "sim/execute/command_graph/host_backend.hpp"
#include "strategies/measure/machine_runs/machine_programs.hpp"
#include "strategies/measure/machine_runs/time_operation.hpp"

/// What is timed computes with numbers: a step whose values have become NaN or zero would show
/// another power and other branches than one in training.
namespace lockstep {
namespace {

/// A command graph of another device that looks at all numbers once it has been timed.
class WatchedCommandGraph final : public LoadedCommandGraph {
 public:
  WatchedCommandGraph(std::unique_ptr<LoadedCommandGraph> own, const CommandGraph& graph,
                      std::string& trouble)
      : own_{std::move(own)}, graph_{graph}, trouble_{trouble} {}
  void write(Region where, std::span<const double> values) override { own_->write(where, values); }
  [[nodiscard]] std::vector<double> read(Region where) override { return own_->read(where); }
  void poison(BufferId buffer) override { own_->poison(buffer); }
  void scatter_numbers(BufferId buffer, const NumberRange& range, std::uint64_t seed) override {
    own_->scatter_numbers(buffer, range, seed);
  }
  void run() override { own_->run(); }
  [[nodiscard]] std::vector<double> seconds(int warmups, int repeats) override {
    std::vector<double> out = own_->seconds(warmups, repeats);
    for (BufferId i = 0; i < graph_.buffers.size(); ++i) {
      for (const double value : own_->read({i, 0, graph_.buffers[i].elements})) {
        if (!std::isfinite(value)) trouble_ = graph_.buffers[i].name;
      }
    }
    return out;
  }

 private:
  std::unique_ptr<LoadedCommandGraph> own_;
  CommandGraph graph_;
  std::string& trouble_;
};

class WatchedHost final : public Backend {
 public:
  [[nodiscard]] std::string name() const override { return host_->name(); }
  [[nodiscard]] int count() const override { return 1; }
  [[nodiscard]] DeviceFacts facts() const override { return {}; }
  [[nodiscard]] std::unique_ptr<LoadedCommandGraph> load(const CommandGraph& graph,
                                                         const LoadOptions& options) override {
    return std::make_unique<WatchedCommandGraph>(host_->load(graph, options), graph, trouble);
  }
  [[nodiscard]] std::vector<double> host_copy_seconds(std::int64_t, bool, int) override {
    return {};
  }
  [[nodiscard]] std::vector<double> library_seconds(Collective, std::int64_t, int, int) override {
    return {};
  }

  std::string trouble{};  // the name of a buffer that holds something else; empty: none

 private:
  std::unique_ptr<Backend> host_ = host_backend();
};

TEST_CASE("steps that are timed hold numbers in the end, none of them NaN or infinite") {
  WatchedHost host;
  TimingOptions options;
  options.warmups = 1;
  options.repeats = 2;
  for (const ProgramToCompare& each : programs_to_compare(true, false)) {
    if (each.group != "step") continue;
    CAPTURE(each.what);
    host.trouble.clear();
    CHECK(time_program(host, each.program, options) > 0);
    CHECK(host.trouble == "");
  }
}

}  // namespace
}  // namespace lockstep
