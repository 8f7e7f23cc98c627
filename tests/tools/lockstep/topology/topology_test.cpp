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

TEST_CASE("bandwidth_Bps is nominal in routes and in exports, carries_Bps what efficiency leaves") {
  // NVLink of a DGX H100: 450 GB/s of which 0.824 are usable, 370.8 GB/s.
  const auto rows = rows_of("lockstep topology routes --cluster dgx-h100 --from 0 --to 1");
  CHECK(rows.front()["bandwidth_Bps"] == 450e9);
  CHECK(rows.front()["efficiency"] == 0.824);
  CHECK(rows.front()["carries_Bps"] == 370.8e9);
  const std::string dot = output_of("lockstep topology export --cluster dgx-h100");
  CHECK(contains(dot, "bandwidth_Bps=450000000000, carries_Bps=370800000000, efficiency=0.824"));
}

TEST_CASE("a graph is exported as DOT and as GraphML, to a file as well") {
  const std::string command = "lockstep topology export --cluster dgx1";
  const std::string dot = output_of(command + " --format dot");
  CHECK(dot.rfind("digraph", 0) == 0);
  CHECK(output_of(command) == dot);
  CHECK(contains(output_of(command + " --format graphml"), "<graphml"));
  const TemporaryFile file("");
  CHECK(output_of(command + " --output " + file.path()).empty());
  CHECK(text_of(file.path()) == dot);
}

TEST_CASE("what topology cannot do is refused in words that help") {
  const std::string error = "lockstep: error: ";
  CHECK(refusal_of("lockstep topology", 2) ==
        error + "expected a command: show, routes, export, import; see --help\n");
  CHECK(refusal_of("lockstep topology sho", 2) ==
        error + "unknown command \"sho\" for \"topology\"; did you mean \"show\"?\n");
  CHECK(refusal_of("lockstep topology routes --cluster star --to 8", 2) ==
        error + "--to: expected a rank from 0 to 7, got 8\n");
  CHECK(contains(refusal_of("lockstep topology routes --cluster star --to x", 2),
                 "--to: no rank is at \"x\""));
  CHECK(contains(refusal_of("lockstep topology export --cluster star --format svg", 2),
                 "--format: expected dot or graphml, got \"svg\""));
  CHECK(contains(refusal_of("lockstep topology show --cluster stra", 2), "did you mean \"star\"?"));
}

TEST_CASE("an export that cannot be written ends with 4 and leaves nothing behind") {
  CHECK(refusal_of("lockstep topology export --cluster star -o /nonexistent/graph.dot", 4) ==
        "lockstep: error: cannot write /nonexistent/graph.dot: No such file or directory\n");
}

TEST_CASE("links that are slower or gone are reported, and change what is shown") {
  const std::string show = "lockstep topology show --cluster dgx-h100 --nodes 2";
  const std::string changed =
      show + " --set-link \"node0/nic0 -> rail0/leaf0\" bandwidth=50%,latency=\"1 us\"" +
      " --fail rail1/leaf0 --fail node1/gpu3--node1/nvswitch0";
  const std::string told = output_of(changed);
  CHECK(contains(told,
                 "# node0/nic0 -> rail0/leaf0: 50 GB/s -> 25 GB/s, latency 350 ns -> 1 us\n"
                 "# rail1/leaf0 failed: 4 links\n"
                 "# node1/gpu3 -- node1/nvswitch0 failed: 2 links\n"));
  // Both GPUs 1 lose their rail, so that ways to them from the other node lead elsewhere.
  CHECK(contains(told, " of 240 rank-to-rank routes rerouted, the first from "));
  const auto row = rows_of(changed)[0];
  CHECK(row["failed_links"] == 6);
  CHECK(row["network_links"] == rows_of(show)[0]["network_links"]);
  CHECK(json_of(changed)["config"]["link_changes"].size() == 4);  // the last: whom it concerns
  const std::string routes =
      "lockstep topology routes --cluster dgx-h100 --nodes 2 --from 1 --to 9";
  CHECK(contains(output_of(routes), "rail1/leaf0"));
  CHECK_FALSE(contains(output_of(routes + " --fail node0/nic1"), "rail1/leaf0"));
  CHECK_FALSE(
      contains(output_of("lockstep topology export --cluster ring --fail gpu0--gpu1"), "0->1"));
}

TEST_CASE("links that are not there, and ranks that are cut off, are refused") {
  const std::string show = "lockstep topology show --cluster dgx-h100 --nodes 2 ";
  const std::string error = "lockstep: error: ";
  CHECK(refusal_of(show + "--fail node0/gpu33", 2) ==
        error +
            "--fail \"node0/gpu33\": nothing is named \"node0/gpu33\"; did you mean "
            "\"node0/gpu3\"?\n");
  CHECK(refusal_of(show + "--set-link node0/gpu3 bandwith=50%", 2) ==
        error +
            "--set-link \"node0/gpu3\": expected bandwidth=... or latency=..., got "
            "\"bandwith=50%\"; did you mean \"bandwidth\"?\n");
  CHECK(refusal_of(show + "--set-link node0/gpu3", 2) ==
        error + "--set-link: a value is missing; expected --set-link LINK SETTINGS\n");
  // The rail's switch has a cable to either node, each of two directions.
  for (const char* options : {"--fail rail0 --set-link rail0 bandwidth=50%",
                              "--set-link rail0 bandwidth=50% --fail rail0"})
    CHECK(refusal_of(show + options, 2) ==
          error + "--set-link \"rail0\": all 4 links fail, so the setting has no effect\n");
  CHECK(refusal_of(show + "--fail rail0 --set-link \"node0/nic0 -> rail0/leaf0\" latency=\"1 us\"",
                   2) == error +
                             "--set-link \"node0/nic0 -> rail0/leaf0\": the link fails, so "
                             "the setting has no effect\n");
  // PCIe links of that NIC are left.
  CHECK(contains(output_of(show + "--fail rail0 --set-link node0/nic0 bandwidth=50%"),
                 "rail0 failed: 4 links"));
  CHECK(refusal_of(show + "--fail node0", 1) ==
        error + "no route is left from rank 0 (node0/gpu0) to rank 1 (node0/gpu1)\n");
}

TEST_CASE("a machine that is imported is a cluster that runs") {
  const std::string from = "lockstep topology import tests/data/topology_import/";
  const TemporaryFile file("");
  CHECK(output_of(from + "hgx-h100.xml --name hgx --output " + file.path()) ==
        file.path() +
            ": 4 GPUs on NVSwitches, 4 PCIe switches, 2 CPUs, 4 NICs; fabric rail_optimised of 400 "
            "Gb/s\n");
  CHECK(text_of(file.path()) == output_of(from + "hgx-h100.xml --name hgx"));
  CHECK(text_of(file.path()) == output_of(from + "hgx-h100.xml --name hgx --output -"));
  const std::string on = " --cluster " + file.path() + " --nodes 4";
  CHECK(rows_of("lockstep topology show" + on)[0]["ranks"] == 16);
  CHECK(rows_of("lockstep collective all_reduce -b 1M -e 1M --check" + on)[0]["wrong"] == 0);
  const CommandResult partial = run_command(from + "cloud-partial.xml --output " + file.path());
  CHECK(partial.status == 0);
  CHECK(contains(partial.err, "lockstep: note: no NVLink in file: "));
}

TEST_CASE("AMD's links between GPUs are called xGMI by every command") {
  const TemporaryFile file("");
  const std::string import = "lockstep topology import tests/data/topology_import/mi300x.xml";
  REQUIRE(run_command(import + " --output " + file.path()).status == 0);
  CHECK(contains(text_of(file.path()), R"("kind": "xgmi")"));
  CHECK_FALSE(contains(text_of(file.path()), R"("kind": "nvlink")"));
  CHECK(contains(output_of("lockstep topology show " + file.path()), "xgmi links (directed)"));
  CHECK(rows_of("lockstep topology routes " + file.path())[0]["kind"] == "xgmi");
  for (const char* form : {"dot", "graphml"}) {
    const std::string graph =
        output_of("lockstep topology export " + file.path() + " --format " + form);
    CHECK(contains(graph, "xgmi"));
    CHECK_FALSE(contains(graph, "nvlink"));
  }
}

TEST_CASE("what an import leaves out is reported on stderr") {
  const CommandResult pasted =
      run_command("lockstep topology import tests/data/topology_import/pasted-smi.txt");
  CHECK(pasted.status == 0);
  CHECK(contains(pasted.err,
                 "lockstep: note: line 28: a table of `nvidia-smi topo -p2p` is skipped"));
  CHECK(contains(pasted.err, "8 lines that are no part of the matrix are skipped, from line 1 on"));
  const CommandResult ports =
      run_command("lockstep topology import tests/data/topology_import/two-ports.xml");
  CHECK(
      contains(ports.err, "left out: eth0; veth5f3a; docker0; bond0 (network interfaces without"));
}

TEST_CASE("what cannot be imported is refused, and nothing is written") {
  const std::string from = "lockstep topology import tests/data/topology_import/hgx-h100.xml ";
  CHECK(contains(refusal_of("lockstep topology import", 2), "expected a file"));
  CHECK(contains(refusal_of("lockstep topology import nowhere.xml", 2), "no such file"));
  CHECK(contains(refusal_of(from + "--device h10O", 2), "--device: no device named \"h10O\""));
  CHECK(contains(refusal_of(from + "--nic-speed 400", 2), "--nic-speed: expected a rate"));
  CHECK(contains(refusal_of(from + "--nvswitch 18", 2), "the file specifies the NVLinks itself"));
  CHECK(contains(refusal_of(from + "--output /nonexistent/x.json", 4),
                 "cannot write /nonexistent/x.json: No such file or directory"));
  const TemporaryFile broken("<system version=\"1\">\n<cpu numaid=0/></system>\n");
  CHECK(refusal_of("lockstep topology import " + broken.path(), 2) ==
        broken.path() +
            ":2:13: error: malformed attribute: expected NAME=\"VALUE\", got \"0/></system>\"\n"
            "1 error; nothing was run\n");
}

}  // namespace lockstep
