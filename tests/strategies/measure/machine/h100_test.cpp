#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "strategies/measure/machine/machine_file.hpp"
#include "strategies/measure/machine_fit/fit_machine.hpp"
#include "strategies/measure/machine_runs/collectives_to_compare.hpp"
#include "strategies/measure/machine_runs/machine_programs.hpp"
#include "strategies/measure/machine_runs/simulate_machine.hpp"

/// The simulator against a real GPU, without one: the shipped calibration of an H100 has every
/// measured time, tests/data/machine those of the hold-out cases of the same run.
namespace lockstep {
namespace {

const std::string kRoot = LOCKSTEP_SOURCE_DIR;

MeasuredMachine shipped() {
  return load_machine(kRoot + "/configs/calibration/h100-sxm5-80gb.json");
}

/// Seconds by case.
std::map<std::string, double> held_out() {
  std::ifstream in{kRoot + "/tests/data/machine/h100-sxm5-80gb.tsv"};
  std::map<std::string, double> out;
  for (std::string line; std::getline(in, line);) {
    std::istringstream fields{line};
    std::string group;
    std::string name;
    std::string time;
    std::getline(fields, group, '\t');
    std::getline(fields, name, '\t');
    std::getline(fields, time, '\t');
    if (line.starts_with('#') || group == "group") continue;
    out[name] = std::stod(time) * 1e-6;
  }
  return out;
}

struct MeanError {
  double sum = 0;
  int rows = 0;
  [[nodiscard]] double mean() const { return sum / rows; }
  void add(double simulated, double measured) {
    sum += std::abs(simulated / measured - 1);
    ++rows;
  }
};

TEST_CASE("the shipped H100 calibration is what its measurements are fitted to") {
  MeasuredMachine machine = shipped();
  const std::string before = to_json(machine);
  machine.fit = fit_machine(machine.measurements, false, 132);
  CHECK(to_json(read_machine(parse_json(to_json(machine), "again"))) == before);
}

TEST_CASE("measured on an H100, collectives, layers and steps that no fit saw are within 9.5 %") {
  const MachineFit fit = shipped().fit;
  const std::map<std::string, double> measured = held_out();
  MeanError collectives;
  for (const CollectiveToCompare& each : collectives_to_compare(false, false)) {
    const auto graph = commands_to_compare(each, 1);
    REQUIRE(graph.has_value());
    CAPTURE(text(each, 1));
    REQUIRE(measured.contains(text(each, 1)));
    collectives.add(simulate_command_graph(*graph, fit).seconds(), measured.at(text(each, 1)));
  }
  MeanError all = collectives;
  for (const ProgramToCompare& each : programs_to_compare(false, false)) {
    CAPTURE(each.what);
    REQUIRE(measured.contains(each.what));
    all.add(simulate_program(each.program, fit).seconds(), measured.at(each.what));
  }
  CHECK(all.rows == static_cast<int>(measured.size()));
  CHECK(collectives.mean() < 0.09);
  CHECK(all.mean() < 0.095);
}

}  // namespace
}  // namespace lockstep
