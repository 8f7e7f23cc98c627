#include <doctest/doctest.h>

#include "tests/tools/run_command.hpp"

namespace lockstep {

namespace {

std::string refusal_of(const std::string& command, int status) {
  CAPTURE(command);
  const CommandResult result = run_command(command);
  CHECK(result.status == status);
  CHECK(result.out.empty());
  return result.err;
}

}  // namespace

TEST_CASE("every shipped cluster can be shown, walked and exported") {
  for (const auto& row : rows_of("lockstep list clusters")) {
    const std::string cluster = " --cluster " + row["file"].get<std::string>();
    CAPTURE(cluster);
    CHECK(rows_of("lockstep topology show" + cluster)[0]["ranks"] == row["ranks"]);
    CHECK(rows_of("lockstep topology routes" + cluster).size() >= 1);
    CHECK(contains(output_of("lockstep topology export" + cluster), "->"));
  }
}

TEST_CASE("a torus of 4 by 4 is shown with what can be counted by hand") {
  const auto row = rows_of("lockstep topology show --cluster torus-2d")[0];
  CHECK(row["ranks"] == 16);
  CHECK(row["gpu_vertices"] == 16);
  CHECK(row["network_links"] == 64);  // 4 leave each of 16
  // The halves are two rows each; every column crosses between them twice, round the back as well:
  // 8 links one way.
  CHECK(row["bisection_Bps"].get<double>() == doctest::Approx(8 * 50e9));
  CHECK(row["diameter_hops"] == 4);  // 2 along each side
}

TEST_CASE("a route goes rail first and names the link that limits") {
  const auto rows =
      rows_of("lockstep topology routes --cluster dgx-h100 --nodes 2 --from 0 --to 11");
  CHECK(rows.front()["from"] == "node0/gpu0");
  CHECK(rows[1]["to"] == "node0/gpu3");  // over NVLink onto the receiver's rail
  CHECK(rows.back()["to"] == "node1/gpu3");
  int limits = 0;
  for (const auto& row : rows) limits += row["limits"] == true ? 1 : 0;
  CHECK(limits == 1);
}

TEST_CASE("a graph is exported as DOT and as GraphML, to a file as well") {
  const std::string command = "lockstep topology export --cluster dgx1";
  const std::string dot = output_of(command + " --as dot");
  CHECK(dot.rfind("digraph", 0) == 0);
  CHECK(output_of(command) == dot);
  CHECK(contains(output_of(command + " --as graphml"), "<graphml"));
  const TemporaryFile file("");
  CHECK(output_of(command + " --output " + file.path()).empty());
  CHECK(text_of(file.path()) == dot);
}

TEST_CASE("what topology cannot do is refused in words that help") {
  const std::string error = "lockstep: error: ";
  CHECK(refusal_of("lockstep topology", 2) ==
        error + "expected a command: show, routes, export; --help tells more\n");
  CHECK(refusal_of("lockstep topology sho", 2) ==
        error + "\"sho\" is no argument or command of \"topology\"; did you mean \"show\"?\n");
  CHECK(refusal_of("lockstep topology routes --cluster star --to 8", 2) ==
        error + "--to: expected a rank from 0 to 7, got 8\n");
  CHECK(contains(refusal_of("lockstep topology routes --cluster star --to x", 2),
                 "--to: expected a whole number, got \"x\""));
  CHECK(contains(refusal_of("lockstep topology export --cluster star --as svg", 2),
                 "--as: expected dot or graphml, got \"svg\""));
  CHECK(contains(refusal_of("lockstep topology show --cluster stra", 2), "did you mean \"star\"?"));
}

TEST_CASE("an export that cannot be written ends with 4 and leaves nothing behind") {
  CHECK(refusal_of("lockstep topology export --cluster star -o /nonexistent/graph.dot", 4) ==
        "lockstep: error: cannot write /nonexistent/graph.dot\n");
}

}  // namespace lockstep
