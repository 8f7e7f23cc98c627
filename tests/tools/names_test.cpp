#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "tests/tools/new_file.hpp"
#include "tests/tools/run_command.hpp"

/// Short names of devices, models, clusters and scenarios on the command line and in files.
namespace lockstep {

// Llama 2 7B: 6,738,415,616 parameters, model card of meta-llama/Llama-2-7b-hf.
TEST_CASE("list models prints the card of a config.json of Hugging Face") {
  const NewFile file;
  std::ofstream(file.path() + ".json")
      << R"({"model_type": "llama", "hidden_size": 4096, "intermediate_size": 11008,
             "num_hidden_layers": 32, "num_attention_heads": 32, "vocab_size": 32000,
             "max_position_embeddings": 4096})";
  const std::string command = "lockstep list models " + file.path() + ".json";
  const auto rows = rows_of(command);
  const std::string text = output_of(command);
  std::filesystem::remove(file.path() + ".json");
  const auto value = [&rows](const std::string& parameter) {
    for (const auto& row : rows)
      if (row["parameter"] == parameter) return row["value"];
    return nlohmann::ordered_json{};
  };
  CHECK(value("parameters") == 6'738'415'616);
  CHECK(value("hidden") == "4096");
  CHECK(value("gated_mlp") == "true");
  CHECK(contains(text, "6.738 B"));
  CHECK(contains(run_command("lockstep list models no/such.json").err, "no such file"));
}

TEST_CASE("a short name gives the result of the long one") {
  const auto resolved = [](const std::string& command, const std::string& key) {
    return json_of(command).at("config").at(key).dump();
  };
  const std::string mlp =
      "lockstep run mlp-two-gpus --set 'cluster={\"gpu\": \"{}\", \"gpus\": 2}'";
  CHECK(resolved(replaced(mlp, "{}", "h100"), "cluster") ==
        resolved(replaced(mlp, "{}", "h100-sxm5-80gb"), "cluster"));
  CHECK(resolved("lockstep run llama3-70b --set model=llama-3-8b --set parallel.vpp=4", "model") ==
        resolved("lockstep run llama3-70b-dgx-h100 --set model=llama3-8b --set parallel.vpp=4",
                 "model"));
  CHECK(output_of("lockstep topology show --cluster rail-optimized") ==
        output_of("lockstep topology show --cluster rail-optimised"));
}

TEST_CASE("list prints the card of one entry, with units, sources and what is computed") {
  const auto value_of = [](const std::string& entry, const std::string& parameter) {
    for (const auto& row : rows_of("lockstep list " + entry))
      if (row.at("parameter") == parameter) return row.at("value").get<std::string>();
    return std::string{};
  };
  CHECK(value_of("devices h100", "id") == "h100-sxm5-80gb");
  CHECK(value_of("devices h100", "memory.bandwidth") == "3.35 TB/s");  // as in its file
  CHECK(value_of("devices h100", "peer_links (all)") == "450 GB/s in each direction");  // 18 x 25
  // Exact in data: safetensors index of meta-llama/Meta-Llama-3-70B.
  CHECK(contains(output_of("lockstep list models llama-3-70b --format csv"),
                 "parameters,70553706496,computed"));
  CHECK(contains(output_of("lockstep list models llama-3-70b"), "70.55 B"));
  CHECK(value_of("clusters dgx-h100", "ranks") == "8");
  CHECK(value_of("scenarios llama3-70b", "GPUs") == "64");  // 8 nodes of 8
  CHECK(contains(output_of("lockstep list devices h100"), "NVIDIA H100 datasheet, SXM"));
  CHECK(contains(run_command("lockstep list devices v100").err, "device \"v100\" is ambiguous: "));
  CHECK(run_command("lockstep list topologies ring").status == 2);
}

TEST_CASE("an ambiguous beginning lists the candidates") {
  CHECK(run_command("lockstep collective all_reduce --cluster dgx").err ==
        "lockstep: error: --cluster: cluster \"dgx\" is ambiguous: dgx-a100, dgx-b200, dgx-b300, "
        "dgx-h100, dgx-h200, "
        "dgx1\n");
  CHECK(run_command("lockstep run zero-7").err ==
        "lockstep: error: scenario \"zero-7\" is ambiguous: zero-7b5-0, zero-7b5-1, zero-7b5-2, "
        "zero-7b5-3\n");
  CHECK(run_command("lockstep run llama3-70b --set cluster.gpu=v100").err ==
        "--set cluster.gpu=v100: error: /cluster/gpu: device \"v100\" is ambiguous: "
        "v100-sxm2-16gb, v100-sxm2-32gb, v100-sxm3-32gb\n1 error; nothing was run\n");
}

TEST_CASE("a device next to the scenario or the cluster file needs no .json") {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / "lockstep-own-device";
  std::filesystem::create_directories(folder);
  std::filesystem::copy_file(LOCKSTEP_SOURCE_DIR "/configs/devices/b200-sxm-180gb.json",
                             folder / "x300.json",
                             std::filesystem::copy_options::overwrite_existing);
  const std::string cluster = text_of(LOCKSTEP_SOURCE_DIR "/configs/clusters/dgx-h100.json");
  std::ofstream{folder / "own.json"} << replaced(cluster, "\"h100-sxm5-80gb\"", "\"x300\"");
  std::ofstream{folder / "wrong.json"} << replaced(cluster, "\"h100-sxm5-80gb\"", "\"x400\"");
  const std::string at = folder.string();
  std::ofstream{folder / "step.json"} << R"({"name": "own", "summary": "own", "model": "gpt3-125m",
    "cluster": {"file": "own", "ranks": 2}, "parallel": {"dp": 2, "global_batch": 2}})";

  CHECK(contains(output_of("lockstep topology show --cluster " + at + "/own.json"), "x300"));
  CHECK(run_command("lockstep run " + at + "/step.json").status == 0);
  CHECK(run_command("lockstep run " + at + "/step.json --set cluster.gpu=x300").status == 0);
  // The cluster file has the wrong name, so the error is placed there: line 5 has "device".
  const CommandResult wrong =
      run_command("lockstep run " + at + "/step.json --set cluster.file=wrong");
  CHECK(wrong.status == 2);
  CHECK(contains(wrong.err, at + "/wrong.json:"));
  CHECK(contains(wrong.err, "error: /device: no device named \"x400\""));
  std::filesystem::remove_all(folder);
}

/// Of stacks, texts say which to choose: they are wrapped, not cut.
TEST_CASE("a list is one line an entry, of stacks more, within the width of the terminal") {
  for (const std::string list :
       {"devices", "clusters", "models", "scenarios", "stacks", "precisions"}) {
    CAPTURE(list);
    std::size_t entries = 0;
    for (const std::string& line : lines_of(output_of("lockstep list " + list))) {
      if (line.empty() || line.front() == '#') continue;
      CAPTURE(line);
      const bool goes_on = line.starts_with("   ");
      CHECK((!goes_on || list == "stacks"));
      if (!goes_on) ++entries;
      CHECK(line.size() <= 100);  // the width where there is no terminal
    }
    CHECK(entries == rows_of("lockstep list " + list).size());
  }
  CHECK(contains(output_of("lockstep list models"),
                 "# --wide or `lockstep list models NAME` shows the whole text"));
  CHECK_FALSE(contains(output_of("lockstep list models --wide"), " ...\n"));
}

}  // namespace lockstep
