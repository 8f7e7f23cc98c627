#include <doctest/doctest.h>

#include "tests/tools/run_command.hpp"

/// What users type that Lockstep says differently: each error names what to write instead.
namespace lockstep {

namespace {

struct Mistake {
  std::string command;
  std::string said;  // a part of stderr
};

void check_refused(const std::vector<Mistake>& mistakes) {
  for (const Mistake& mistake : mistakes) {
    CAPTURE(mistake.command);
    const CommandResult result = run_command("lockstep " + mistake.command);
    CHECK(result.status == 2);
    CHECK(result.out.empty());
    CAPTURE(result.err);
    CHECK(contains(result.err, mistake.said));
  }
}

}  // namespace

TEST_CASE("an option of other tools is refused with the way to say it") {
  check_refused(
      {{"run llama3-70b --tp 4", R"("--tp" is no option of "run"; use --set parallel.tp=4)"},
       {"run llama3-70b --pp=8", "; use --set parallel.pp=8\n"},
       {"run llama3-70b --zero", "; use --set parallel.zero=STAGE\n"},
       {"run llama3-70b --cluster dgx-a100", "; use --set cluster=dgx-a100\n"},
       {"run llama3-70b --nodes 4", "; use --set cluster.nodes=4\n"},
       {"run llama3-70b --gpu h200", "; use --set cluster.gpu=h200\n"},
       {"run llama3-70b --json", R"("--json" is no option of "run"; use --format json)"},
       {"collective all_reduce --cluster star --csv", "; use --format csv\n"},
       {"list devices --markdown", "; use --format md\n"}});
}

TEST_CASE("an override is refused where it was written, with the values that it may have") {
  const std::string run = "run llama3-70b --set ";
  check_refused(
      {{run + "'parallel.overlap=[dp]'",
        "--set parallel.overlap=[dp]: error: /parallel/overlap/0: \"dp\" is two kinds of traffic: "
        "write \"dp_gradients\", \"dp_parameters\" or both"},
       // 64 GPUs with dp 2, tp 4 and pp 4: 64 / 32 = 2 is left for cp, whose divisors with
       // another dp are those of 64 / 16 = 4.
       {run + "parallel.cp=3",
        "--set parallel.cp=3: error: /parallel/dp: dp * pp * cp * tp = 2 * 4 * 3 * 4 = 96, but the "
        "cluster has 64 GPUs; cp may be 1, 2, 4\n"},
       {run + "cluster.nodes=7", "--set cluster.nodes=7: error: /parallel/dp: dp * pp * cp * tp"},
       {run + "model.sequence=8192",
        "--set model.sequence=8192: error: /model/sequence: unknown key \"sequence\"; did you mean "
        "\"seq\"?"},
       {run + "model.attention=standard",
        "--set model.attention=standard: error: /model/attention: no attention named"},
       {run + "tokens=15X", "/tokens: expected a count from 1 to 1e+18"}});
}

TEST_CASE("a key of other tools is answered with the key here") {
  const std::string set = "run llama3-70b --set ";
  check_refused(
      {{set + "parallel.virtual_stages=2",
        R"(error: /parallel/virtual_stages: unknown key "virtual_stages"; Lockstep calls it "vpp")"},
       {set + "model.num_hidden_layers=4", R"(; Lockstep calls it "layers")"},
       {set + "tensor_parallel_size=8", "; use --set parallel.tp=8\n"},
       {set + "num_layers_per_virtual_pipeline_stage=2",
        "; use --set parallel.vpp=VALUE: layers / (pp * layers per virtual stage)\n"},
       {"run llama3-70b --train-micro-batch-size-per-gpu 2", "use --set parallel.micro_batch=2\n"},
       {"plan llama3-70b --fix virtual_stages=2", "; use --set parallel.vpp=2\n"}});
}

TEST_CASE("a name that is near to none of many is answered with the command that lists them") {
  check_refused(
      {{"list models foo", "no model named \"foo\"; `lockstep list models` shows all "},
       {"list stacks foo",
        "no software stack named \"foo\"; `lockstep list stacks` shows all 11\n"},
       {"run foo", "no scenario named \"foo\"; `lockstep list scenarios` shows all "},
       {"run llama3-70b --set model=foo", "`lockstep list models` shows all "},
       {"run llama3-70b --set cluster.file=foo", "`lockstep list clusters` shows all 19\n"},
       {"run llama3-70b --set stack=foo", "`lockstep list stacks` shows all 11\n"},
       {"run llama3-70b --set stack=megtron", "; did you mean \"megatron\"?"},
       {"run deepseek-v3",
        "\"deepseek-v3\" is a model: `lockstep plan --model deepseek-v3 --cluster NAME`"}});
}

TEST_CASE("problems of a search are placed at the option that was written") {
  const std::string plan = "plan --model llama3-8b --cluster dgx-h100 ";
  check_refused(
      {{"plan --model foo --cluster dgx-h100", "--model foo: error: /model/file: no model"},
       {"plan --model llama3-8b --cluster foo", "--cluster foo: error: /cluster/file: no"},
       {plan + "--stack foo", "--stack: error: /stack: no software stack"},
       {plan + "--fix stack=foo", "--fix stack=foo: error: /stack: no software stack"},
       {plan + "--vary foo=1", "--vary foo=1: error: /foo: unknown key"},
       {plan + "--set stack=foo", "--set stack=foo: error: /stack: no software stack"},
       {"sweep llama3-70b --vary parallel.foo=1",
        "--vary parallel.foo=1: error: /parallel/foo: unknown key"}});
}

TEST_CASE("a root beyond the ranks is refused by every command that takes one") {
  for (const std::string command :
       {"collective broadcast --ranks 4", "collective broadcast,reduce --algorithm all --ranks 4",
        "collective broadcast --ranks 4 --crossover -e 1K", "verify collective broadcast --ranks 4",
        "explain broadcast --ranks 4 --algorithm flat",
        "schedule export broadcast --ranks 4 --algorithm flat"})
    check_refused({{command + " --root 9", "--root: expected a rank from 0 to 3, got 9\n"}});
  check_refused({{"complexity broadcast --ranks 2..8 --root 5",
                  "--root: expected a rank from 0 to 1, got 5\n"}});
}

TEST_CASE("slowing many ranks is answered with the option for it") {
  check_refused({{"run llama3-70b --set-rank all compute=0.95",
                  "got \"all\"; several ranks are slowed by --gpu-speed all=0.95 or 0..63=0.9\n"}});
}

TEST_CASE("a mistyped name, key or number is answered with the one that is near") {
  check_refused(
      {{"run lama3-70b", R"(no scenario named "lama3-70b"; did you mean "llama3-70b-dgx-h100"?)"},
       {"run llama3-70b --set tp=4",
        R"(--set tp=4: error: /tp: unknown key "tp"; use --set parallel.tp=4)"},
       {"run llama3-70b --set seq=4096", "; use --set model.seq=4096"},
       {"run llama3-70b --set cluster.node=4",
        "--set cluster.node=4: error: /cluster/node: expected an object with members of the "
        "cluster file, got the number 4; did you mean \"nodes\"?"},
       {"collective all_reduce --sizes 1M,,2M", R"(--size: expected a size such as)"},
       {"collective broadcast --root -1", "--root: expected a whole number from 0"},
       {"collective all_reduce --nccl 9.99", R"(no tuning of NCCL "9.99"; choose from 2.12)"},
       {"run llama3-70b --nic 200", "--nic: expected a rate such as 200G"},
       {"validate", "expected files: files of measured training runs"},
       {"man rn", R"(unknown command "rn"; did you mean "run"?)"},
       {"-v", R"("-v" is no option of "lockstep"; use --version)"}});
}

TEST_CASE("a name that is near to none is answered with its family, not with all") {
  check_refused({{"list models llama4",
                  R"(no model named "llama4"; nearest: "llama-7b", "llama2-13b", "llama2-70b", )"
                  R"("llama2-7b", "llama3-405b", "llama3-70b", "llama3-8b")"},
                 {"list models 70b", R"(; nearest: "llama2-70b", "llama3-70b")"},
                 {"collective all_reduce --cluster h100", R"(; did you mean "dgx-h100"?)"},
                 {"run llama3-70b --set model=llama4", R"(; nearest: "llama-7b", )"}});
}

TEST_CASE("commands are found by two letters, and options of Megatron-LM by what they set") {
  check_refused(
      {{"rn llama3-70b", R"(did you mean "run"?)"},
       {"LOCK", "--help lists the commands"},
       {"completion", "expected a shell: bash, zsh or fish\n"},
       {"run llama3-70b -o x.json", "use --format json > x.json\n"},
       {"run llama3-70b --tensor-model-parallel-size 8", "use --set parallel.tp=8\n"},
       {"complexity all_reduce --nodes 4", "use --ranks A..B\n"},
       {"collective all_reduce --trace x.json --size 1K,2K", "got 1 algorithm and 2 sizes"}});
}

TEST_CASE("element types have one vocabulary on all commands") {
  check_refused({{"verify collective all_reduce --type int8",
                  "-d: expected one of float, bfloat16, half (fp32, bf16, fp16), got \"int8\""},
                 {"verify collective all_reduce -d bf16", "-d: the reference executor has float"}});
  CHECK(run_command("lockstep verify collective all_reduce -a ring --datatype float").status == 0);
  const std::string named = run_command("lockstep collective all_reduce -d bfloat16").out;
  CHECK(run_command("lockstep collective all_reduce -d bf16").out == named);
}

TEST_CASE("keys of clusters without a file are refused with what the file has instead") {
  check_refused(
      {{"run llama7b-256 --set cluster.nics_per_node=3",
        "\"nics_per_node\" is a key of clusters without a file; its node builder has them"},
       {"run llama7b-256 --set cluster.nic_gbps=200",
        R"(write "fabric": {"link": {"bandwidth": "200 Gb/s"}})"},
       {"run llama7b-256 --set cluster.gpus=16", R"(write "nodes" or "ranks")"}});
}

TEST_CASE("a file that cannot be written is an error before anything is simulated") {
  for (const std::string option : {"--trace ", "--append "}) {
    const CommandResult result =
        run_command("lockstep run llama7b-256 " + option + "/nonexistent/file.csv");
    CHECK(result.status == 4);
    CHECK(result.out.empty());
    CHECK(result.err ==
          "lockstep: error: cannot write /nonexistent/file.csv: No such file or directory\n");
  }
}

TEST_CASE("a key of a model in a scenario is refused with its line") {
  const TemporaryFile scenario(R"({
  "name": "own", "summary": "own", "cluster": {"file": "dgx-h100", "ranks": 1},
  "model": {"file": "gpt3-125m", "sequence": 1024},
  "parallel": {"global_batch": 1}})");
  const CommandResult result = run_command("lockstep run " + scenario.path());
  CHECK(result.status == 2);
  // Line 3, where the key begins after 33 characters.
  CHECK(contains(result.err, scenario.path() + ":3:34: error: /model/sequence: unknown key"));
}

TEST_CASE("lists in overrides need neither brackets nor quotes, and counts have units") {
  const auto of = [](const std::string& override, const std::string& key) {
    return json_of("lockstep run gpt3-v100 --set " + override).at("config").at(key).dump();
  };
  const std::string whole = of("'parallel.overlap=[\"dp_gradients\",\"pp\"]'", "parallel");
  CHECK(of("parallel.overlap=dp_gradients,pp", "parallel") == whole);
  CHECK(of("'parallel.overlap=[dp_gradients, pp]'", "parallel") == whole);
  CHECK(of("parallel.overlap=pp", "parallel") == of("'parallel.overlap=[\"pp\"]'", "parallel"));
  CHECK(of("tokens=15T", "tokens") == of("tokens=15e12", "tokens"));
  CHECK(of("tokens=1.5B", "tokens") == of("tokens=1500000000", "tokens"));
}

TEST_CASE("sizes have any unit: K, M and KiB are powers of 1024, kB and MB of 1000") {
  for (const auto& [text, bytes] :
       std::vector<std::pair<std::string, std::int64_t>>{{"64M", 67'108'864},
                                                         {"64MiB", 67'108'864},
                                                         {"'64 MiB'", 67'108'864},
                                                         {"8MB", 8'000'000},
                                                         {"1.5M", 1'572'864},
                                                         {"1e6", 1'000'000},
                                                         {"2.5e3", 2'500},
                                                         {"1kB", 1'000}}) {
    CAPTURE(text);
    const auto rows =
        rows_of("lockstep collective all_reduce --cluster star -n 4 -d int8 --size " + text);
    CHECK(rows.at(0).at("size_bytes") == bytes);
  }
}

TEST_CASE("an algorithm that the cluster does not allow is reported, the others run") {
  // SHARP needs switches that reduce; with rail0's leaf gone a node has no such way on rail 0.
  const std::string command =
      "lockstep collective all_reduce --cluster dgx-h100 --nodes 4 --fail rail0/leaf0 -b 1M -e 1M "
      "--algorithm ";
  const std::string reason = "not applicable: sharp: needs switches that reduce in the network";
  CHECK(contains(output_of(command + "sharp,ring"), "# " + reason));
  const CommandResult json = run_command(command + "sharp,ring --format json");
  CHECK(json.status == 0);
  CHECK(contains(json.err, "note: " + reason));
  CHECK(nlohmann::json::parse(json.out).at("rows").size() == 1);
  CHECK(run_command(command + "sharp").status == 2);
}

TEST_CASE("the ends of a route are ranks or vertices, and a CPU is called one") {
  const std::string routes = "lockstep topology routes dgx-h100 ";
  CHECK(output_of(routes + "--from node0/gpu0 --to node0/gpu3") ==
        output_of(routes + "--from 0 --to 3"));
  CHECK(contains(output_of(routes + "--to 8"), "# 8 is node0/cpu0, not a GPU\n"));
  check_refused({{"topology routes dgx-h100 --from node0/gpu0 --to node0/gpu9",
                  R"(--to: no rank is at "node0/gpu9"; did you mean "node0/gpu0"?)"}});
}

TEST_CASE("the same flags mean the same on every command") {
  CHECK(output_of("lockstep topology show star -n 4") ==
        output_of("lockstep topology show --cluster star --ranks 4"));
  CHECK(output_of("lockstep explain all_reduce -n 4") ==
        output_of("lockstep explain all_reduce --algorithm ring --ranks 4"));
  CHECK(contains(output_of("lockstep schedule export broadcast -n 4"), "<algo name=\"broadcast_"));
  CHECK(contains(output_of("lockstep topology export ring -n 4 --format graphml"), "<graphml"));
  CHECK(output_of("lockstep explain broadcast -n 4 -r 1 -d half -b 64") ==
        output_of("lockstep explain broadcast --ranks 4 --root 1 --type half --size 64"));
  CHECK(output_of("lockstep complexity all_reduce -a ring -n 2..64 --size 1M -d half") ==
        output_of("lockstep complexity all_reduce --algorithms ring --ranks 2..64 --size-large 1M "
                  "--datatype half"));
  check_refused({{"topology export ring --format svg", "--format: expected dot or graphml"},
                 {"topology show", "expected a cluster: "}});
}

}  // namespace lockstep
