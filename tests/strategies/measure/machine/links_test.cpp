#include <doctest/doctest.h>

#include "strategies/measure/machine_fit/fit_links.hpp"
#include "strategies/measure/machine_fit/fit_machine.hpp"
#include "strategies/measure/machine_runs/compare_machine.hpp"
#include "strategies/measure/machine_runs/measure_machine.hpp"
#include "strategies/measure/machine_runs/simulate_machine.hpp"
#include "tests/strategies/measure/machine/known_gpus.hpp"

/// Several GPUs whose figures are known: what measuring, fitting and comparing make of them.
namespace lockstep {
namespace {

using Kind = MachineMeasurement::Kind;

std::vector<MachineMeasurement> measured(KnownGpus& gpus) {
  MeasureOptions options;
  options.quick = true;
  options.repeats = 1;
  return measure_machine(gpus, false, options);
}

TEST_CASE("links of known GPUs are found again, alone, in both directions and all at once") {
  KnownGpus gpus{4, known_figures()};
  const MachineLinks links = fit_links(measured(gpus));
  REQUIRE(links.pairs.size() == 12);
  for (const MachineLink& each : links.pairs) {
    CAPTURE(each.from);
    CAPTURE(each.to);
    const double rate = each.from == 0 && each.to == 1 ? 100e9 : 200e9;
    CHECK(each.bandwidth.bytes_per_second() == doctest::Approx(rate).epsilon(0.01));
    CHECK(each.latency.seconds() == doctest::Approx(3e-6).epsilon(0.01));
  }
  // 4 MiB to each of three others at 300 GB/s in all: 42 us, and 3 us of latency.
  CHECK(links.port->bytes_per_second() == doctest::Approx(300e9 * 42 / 45).epsilon(0.01));
  CHECK(links.both_ways == doctest::Approx(1.5).epsilon(0.1));
}

TEST_CASE(
    "what several GPUs were measured to do is not marked as of one, and the other way round") {
  KnownGpus gpus{2, known_figures()};
  std::size_t links = 0;
  for (const MachineMeasurement& each : measured(gpus)) {
    const bool of_links =
        each.kind == Kind::peer || each.kind == Kind::peers || each.kind == Kind::library;
    CAPTURE(to_string(each.kind));
    CHECK(each.shared == !of_links);
    links += of_links ? 1 : 0;
  }
  CHECK(links > 10);
  KnownGpus one{1, known_figures()};
  for (const MachineMeasurement& each : measured(one)) CHECK(each.shared);
}

TEST_CASE("a host's time per kernel is fitted for GPUs, which it issues to") {
  KnownGpus gpus{1, known_figures()};
  CHECK(fit_machine(measured(gpus), false, 132).model.host_time == 5_us);
  CHECK(fit_machine(measured(gpus), true, 1).model.host_time == Duration{});
}

TEST_CASE("collectives on known GPUs take what the fit says, on one and over their links") {
  KnownGpus gpus{4, known_figures()};
  MeasuredMachine machine;
  machine.backend = "cuda";
  machine.gpus = 4;
  machine.measurements = measured(gpus);
  machine.fit = fit_machine(machine.measurements, false, 132);
  CompareOptions options;
  options.quick = true;
  options.repeats = 1;
  std::size_t over_links = 0;
  const auto rows = compare_machine(gpus, machine, options);
  for (const MachineComparison& each : rows)
    over_links += each.what.find("GPUs") != std::string::npos;
  CHECK(over_links >= 5);
  CHECK(mean_error(rows, "collective") < 0.05);
}

/// A GPU that gets from two others at once shares what it gets, not its links.
TEST_CASE("copies share a GPU's port") {
  CommandGraph graph;
  graph.devices = 4;
  for (int device = 0; device < 3; ++device) {
    graph.streams.push_back({"stream", device == 0 ? 3 : device});
    graph.buffers.push_back({"from", device, NumberType::fp32, 7'500'000});
    graph.buffers.push_back({"to", 3, NumberType::fp32, 7'500'000});
  }
  graph.streams.push_back({"stream", 3});
  for (const BufferId pair : {BufferId{1}, BufferId{2}}) {
    Command copy;
    copy.kind = Command::Kind::peer_copy;
    copy.stream = pair == 1 ? 0 : 3;
    copy.from = {2 * pair, 0, 7'500'000};
    copy.to = {2 * pair + 1, 0, 7'500'000};
    graph.commands.push_back(copy);
  }
  // 3 us, then 60 MB at 300 GB/s.
  CHECK(simulate_command_graph(graph, known_figures()) == 203_us);
}

}  // namespace
}  // namespace lockstep
