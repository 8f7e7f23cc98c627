#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <fstream>

#include "tests/tools/new_file.hpp"
#include "tests/tools/run_command.hpp"

/// What users type that Lockstep says differently: each error names what to write instead.
namespace lockstep {

namespace {

using Json = nlohmann::ordered_json;

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
      {{"run llama3-70b --tp 4", R"(unknown option --tp for "run"; use --set parallel.tp=4)"},
       {"run llama3-70b --pp=8", "; use --set parallel.pp=8\n"},
       {"run llama3-70b --zero", "; use --set parallel.zero=STAGE\n"},
       {"run llama3-70b --cluster dgx-a100", "; use --set cluster=dgx-a100\n"},
       {"run llama3-70b --nodes 4", "; use --set cluster.nodes=4\n"},
       {"run llama3-70b --gpu h200", "; use --set cluster.gpu=h200\n"},
       {"run llama3-70b --json", R"(unknown option --json for "run"; use --format json)"},
       {"collective all_reduce --cluster star --csv", "; use --format csv\n"},
       {"list devices --markdown", "; use --format md\n"}});
}

TEST_CASE("ranks and links that are not there are refused by every command that changes them") {
  for (const std::string command :
       {"run mlp-two-gpus", "compare mlp-two-gpus", "sensitivity mlp-two-gpus", "plan mlp-two-gpus",
        "campaign mlp-two-gpus typical-failures"})
    check_refused(
        {{command + " --set-rank 2=0.8", "error: --set-rank 2: the scenario has ranks 0 to 1\n"},
         {command + " --set-rank one=0.8", "error: --set-rank: expected ranks such as 17, 0..7"},
         {command + " --set-rank 1=fast", "error: --set-rank 1: expected compute=SPEED such as"},
         {command + " --set-rank 1=0.8 --set-rank 1=0.9", "--set-rank 1: the rank is given twice"},
         {command + " --fail node0/gpu9", R"(--fail "node0/gpu9": nothing is named "node0/gpu9")"},
         {command + " --set-link node0/nvswitch0 bandwidth=50",
          "expected a share such as 50% or"}});
}

TEST_CASE("slow ranks and failed links without an effect are refused") {
  check_refused(
      {{"campaign mlp-two-gpus typical-failures --set-campaign 'step_time=1 s' --set-rank 1=0.8",
        "has a measured step_time, which slow ranks and changed links would not change"},
       {"campaign mlp-two-gpus typical-failures --job mlp-two-gpus --set-rank 1=0.8",
        "--job: --set-rank, --gpu-speed, --set-link, --fail, --fidelity and --fold are of one job"},
       {"campaign mlp-two-gpus typical-failures --job mlp-two-gpus --fold off",
        "--job: --set-rank, --gpu-speed, --set-link, --fail, --fidelity and --fold are of one job"},
       {"run llama7b-256 --set-rank 3 'start=2 ms'", "start is of `collective` and `replay`"},
       {"run mlp-two-gpus --set-rank 1 'compute=0.5,until=0 s'",
        "until must be later than the start of the step, got 0 ps"},
       {"run mlp-two-gpus --set-rank 1 'compute=0.5,from=2 s,until=1 s'",
        "until must be later than from, got until=1 s and from=2 s"}});
}

TEST_CASE("a value of an axis is refused where it was written") {
  const std::string plan = "plan --model llama3-8b --cluster dgx-h100 --nodes 1 --global-batch 8 ";
  check_refused({{plan + "--fix zero=7",
                  "error: --fix: \"zero=7\": zero is an integer from 0 to 3, not \"7\"\n"},
                 {plan + "--vary zero=7", "error: --vary: \"zero=7\""},
                 {plan + "--fix zro=1", "error: --fix: \"zro=1\": unknown key \"zro\""}});
  const NewFile file;
  std::ofstream{file.path()} << R"({"model": "llama3-8b", "cluster": "dgx-h100", "nodes": 1,
 "global_batch": 8,
 "fix": {"zero": 7}})";
  check_refused({{"plan --space " + file.path(),
                  file.path() + ":3:9: error: /fix: \"zero=7\": zero is an integer from 0 to 3"}});
}

TEST_CASE("an override is refused where it was written, with the values that it may have") {
  const std::string run = "run llama3-70b --set ";
  check_refused(
      {{run + "'parallel.overlap=[dp]'",
        "--set parallel.overlap=[dp]: error: /parallel/overlap/0: \"dp\" is two kinds of traffic: "
        "write \"dp_gradients\", \"dp_parameters\" or both"},
       // 64 GPUs with tp 4 and pp 4: cp and dp share 64 / 16 = 4.
       {run + "parallel.cp=3",
        "--set parallel.cp=3: error: /parallel: tp * pp * cp = 4 * 4 * 3 = 48 does not divide the "
        "cluster's 64 ranks; cp may be 1, 2, 4\n"},
       // 56 GPUs with cp 2 and pp 4: 7 for tp and dp; with tp 4 and pp 4 nothing whole for cp.
       {run + "cluster.nodes=7",
        "--set cluster.nodes=7: error: /parallel: tp * pp * cp = 4 * 4 * 2 = 32 does not divide "
        "the cluster's 56 ranks; tp may be 1, 7, or pp may be 1, 7\n"},
       // A batch of 512 = 4 * 128 is one microbatch of each of 128 replicas; of 256 it is 1024.
       // 4096 GPUs are 128 replicas, one sequence each: 4 microbatches each are a batch of 512.
       {run + "cluster.nodes=512", "as stages, 4, not 1: --set parallel.global_batch=512\n"},
       {"run gpt-moe --set cluster.nodes=32",
        "cluster has 256 GPUs; dp = 256 would fill it: --set parallel.dp=256 --set "
        "parallel.global_batch=1024\n"},
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
        "no software stack named \"foo\"; `lockstep list stacks` shows all 17\n"},
       {"run foo", "no scenario named \"foo\"; `lockstep list scenarios` shows all "},
       {"run llama3-70b --set model=foo", "`lockstep list models` shows all "},
       {"run llama3-70b --set cluster.file=foo", "`lockstep list clusters` shows all 40\n"},
       {"run llama3-70b --set stack=foo", "`lockstep list stacks` shows all 17\n"},
       {"run llama3-70b --set stack=megtron", "; did you mean \"megatron\"?"},
       {"run deepseek-v2",
        "\"deepseek-v2\" is a model: `lockstep plan --model deepseek-v2 --cluster NAME`"}});
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

TEST_CASE("a search without a cluster is answered with those that have the GPU") {
  check_refused(
      {{"plan --model llama3-70b --gpu h100 --gpus 512",
        "or --cluster azure-nd-h100-v5 or --cluster dgx-h100 or "},
       {"plan --model llama3-70b --gpu h20 --gpus 512",
        R"(none of these has h20-sxm5-96gb: plan a scenario with "cluster": {"gpu": "h20-sxm5-96gb", "gpus": 512})"},
       {"plan --model llama3-70b --gpus 512", "; `lockstep list clusters` lists them"},
       {"plan --model llama3-8b --cluster trn2 --nodes 16 --global-batch 64",
        "trainium2.json: error: says nothing of kernels, so computation has no times"}});
}

TEST_CASE("explain answers the name of a pipeline with what draws it") {
  check_refused(
      {{"explain pipeline-zb", "lockstep run pipeline-zb --plot pipeline=pipeline-zb.svg"},
       {"explain interleaved", "lockstep run pipeline-interleaved --plot pipeline="},
       {"explain pipeline", "lockstep run pipeline-1f1b --plot pipeline=1f1b.svg"}});
  CHECK(contains(output_of("lockstep help pipeline"), "--plot pipeline=FILE.svg"));
}

TEST_CASE("help explains algorithms by the registry, and verify names its command") {
  const std::string ring = output_of("lockstep help ring");
  CHECK(contains(ring, "Algorithm of all_reduce"));
  CHECK(contains(ring, "lockstep explain all_reduce --algorithm ring"));
  CHECK(rows_of("lockstep help ring")[0]["topic"] == "algorithm");
  check_refused(
      {{"verify all_reduce --algorithm ring", "use `lockstep verify collective all_reduce`"},
       {"sweep llama3-70b --plot x.svg", "use `lockstep plan --plot front=FILE.svg`"},
       {"explain all_reduce --plot x.svg", "use `lockstep collective --plot FILE.svg`"}});
}

TEST_CASE("what users of other tools type is answered with its way here") {
  const std::string search = "plan --model llama3-8b --cluster dgx-h100 --global-batch 64 ";
  check_refused(
      {{"collective all_reduce --algo ring", "did you mean \"--algorithm\"?"},
       {"collective all_reduce --op avg",
        "unknown option --op for \"collective\"; every reduction "
        "takes the time of a sum"},
       {"collective all_reduce --iters 20", "a simulation is deterministic, and runs once"},
       {"collective all_reduce -g 16", "use --ranks 16"},
       {"collective all_reduce --algorithm tree",
        "nearest: binomial_tree, binary_tree, double_binary_tree\n"},
       {"explain ring", "it is an algorithm: all_reduce --algorithm ring\n"},
       {"run dgx-h100",
        "\"dgx-h100\" is a cluster: `lockstep plan --model NAME --cluster dgx-h100`"},
       {"run llama3-70b --set cluster.ranks=500",
        "--set cluster.ranks=500: error: /cluster/ranks: a node has 8 GPUs: expected 1 to 8, or a "
        "multiple such as 496 or 504, got 500\n"},
       {search + "--gpus 12", "--gpus: error: /cluster/ranks: a node has 8 GPUs"},
       {search + "--gpus 512,1024", "several are an axis: --vary cluster.ranks=512,1024\n"},
       {search + "--gpu h100,b200", "several are an axis: --vary cluster.gpu=h100,b200\n"},
       {search + "--nodes 2 --vary tpp=1,2", "unknown key \"tpp\"; did you mean \"tp\"?"},
       {search + "--nodes 2 --objective cost", "did you mean \"usd\"?"},
       {search + "--nodes 2 --nic 200G", "use --set 'cluster.fabric.link.bandwidth="},
       {"topology export dgx-h100 --as graphml", "use --format graphml\n"},
       {"report", "expected a scenario: scenario file, name of a shipped one"}});
}

TEST_CASE("a range of sizes is answered with the options of nccl-tests") {
  const std::string ring = "collective all_reduce --cluster star --algorithm ring --size ";
  check_refused({{ring + "1K..1G", "got \"1K..1G\"; a range is -b 1K -e 1G -f 2\n"},
                 {ring + "1K-1G", "; a range is -b 1K -e 1G -f 2\n"},
                 {ring + "1K..x", "got \"1K..x\"\n"}});
}

TEST_CASE("explain says how a pipelined algorithm is shown with fewer chunks") {
  const std::string tree = "lockstep explain all_reduce --ranks 8 --algorithm double_binary_tree";
  CHECK(contains(output_of(tree), "--algorithm double_binary_tree:chunks=2 shows its pattern"));
  CHECK_FALSE(contains(output_of(tree + ":chunks=2"), "shows its pattern"));
}

TEST_CASE("layers that do not divide are answered with stages to paste") {
  // 80 = 24 * 3 + 8: eight parts of four layers, sixteen of three.
  const std::string out = run_command(
                              "lockstep run llama3-70b --set parallel.pp=8 --set "
                              "parallel.vpp=3 --set parallel.cp=1")
                              .err;
  CHECK(contains(out,
                 "80 layers cannot be cut into pp * vpp = 8 * 3 equal parts; give `stages` "
                 "(layers of every part: --set parallel.stages=4,4,4,4,4,4,4,4,3,3,3,3,3,3,3,"
                 "3,3,3,3,3,3,3,3,3), or a pp * vpp that divides 80"));
  const std::string edges = run_command(
                                "lockstep run llama3-405b --suggest 0 --set "
                                "parallel.short_edges=false")
                                .err;
  CHECK(contains(edges, "set short_edges = true, give `stages`"));  // 126 + 2 = 4 * 32
}

TEST_CASE("GPUs on the switch links of others are a warning") {
  // 18 NVLinks of 25 GB/s instead of 18 of 50 GB/s; an H200 has those of an H100.
  const std::string run = "lockstep run llama3-70b --suggest 0 --set cluster.gpu=";
  CHECK(contains(output_of(run + "b200"),
                 "warning: b200-sxm-180gb is on the GPU links of dgx-h100, 450 GB/s each way "
                 "instead of its own 900 GB/s; cluster = {\"gpu\": \"b200-sxm-180gb\", \"gpus\": "
                 "64}"));
  CHECK_FALSE(contains(output_of(run + "h200"), "warning"));
}

TEST_CASE("a torus says which override gives it another size, and takes it") {
  const std::string torus = "collective all_reduce --cluster torus-2d --size 1M ";
  check_refused(
      {{torus + "--ranks 64",
        "--ranks 64: a torus of shape 4x4 has 16 ranks, got 64; --set topology.shape=[8,8] gives "
        "64 (in a scenario cluster.topology.shape)\n"},
       // The most even sides: 12 = 3 * 4, not 2 * 6; 24 = 2 * 3 * 4; 61 is prime.
       {torus + "--ranks 12", "--set topology.shape=[3,4] gives 12"},
       {"topology show torus-3d --ranks 24", "--set topology.shape=[2,3,4] gives 24"},
       {torus + "--ranks 61", "; topology.shape determines its size\n"},
       {torus + "--set topology.shap=[8,8]",
        "--set topology.shap=[8,8]: error: /topology/shap: unknown key \"shap\"; did you mean "
        "\"shape\"?"},
       {torus + "--set ranks=64", "--set ranks=64: use --ranks 64\n"}});
  const Json result =
      Json::parse(output_of("lockstep " + torus + "--set topology.shape=[8,8] --format json"));
  CHECK(result["config"]["cluster"]["ranks"] == 64);
  CHECK(result["config"]["cluster"]["set"] == Json{"topology.shape=[8,8]"});
  CHECK(contains(output_of("lockstep " + torus + "--set topology.shape=[8,8]"),
                 "64 ranks on torus-2d with topology.shape=[8,8] (host)"));
}

TEST_CASE("overrides of a cluster change its links, and its summary is not printed over them") {
  const std::string show = "lockstep topology show dgx-h100 --nodes 2";
  // Sixteen NICs between the halves of two nodes, eight each way: half the bandwidth, half the cut.
  const double half =
      rows_of(show + " --set 'fabric.link.bandwidth=\"200 Gb/s\"'")[0]["bisection_Bps"];
  CHECK(half == doctest::Approx(8 * 25e9));
  CHECK(rows_of(show)[0]["bisection_Bps"].get<double>() > half);
  CHECK_FALSE(contains(output_of(show + " --set device=h200"), "eight H100"));
  CHECK(contains(output_of("lockstep topology show llama3-70b --set cluster.nodes=4"), "32\n"));
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

TEST_CASE("a mistyped name, key or number is answered with the one that is near") {
  check_refused(
      {{"run lama3-70b", R"(no scenario named "lama3-70b"; did you mean "llama3-70b-dgx-h100"?)"},
       {"run llama3-70b --set tp=4",
        R"(--set tp=4: error: /tp: unknown key "tp"; use --set parallel.tp=4)"},
       {"run llama3-70b --set seq=4096", "; use --set model.seq=4096"},
       {"run llama3-70b --set parallel.overlap=none",
        "\"none\" is no kind of traffic: an empty list, [], overlaps nothing"},
       {"run llama3-70b --gpu-speed 64=0.9", "--gpu-speed 64: the scenario has ranks 0 to 63"},
       {"compare llama3-70b --change tp=2",
        R"(--change tp=2: error: /tp: unknown key "tp"; use --change parallel.tp=2)"},
       {"report pipeline-1f1b --change parallel.tp=0 -o x.html",
        "--change parallel.tp=0: error: /parallel/tp: expected an integer from 1"},
       {"collective all_reduce --append x.csv", "use --format csv >> x.csv"},
       {"collective all_reduce --set-link gpu0",
        "--set-link: a value is missing; expected --set-link LINK SETTINGS"},
       {"replay", "expected a trace: GOAL file, or Chakra traces"},
       {"run llama3-70b --set cluster.node=4",
        "--set cluster.node=4: error: /cluster/node: expected an object with members of the "
        "cluster file, got the number 4; did you mean \"nodes\"?"},
       {"collective all_reduce --sizes 1M,,2M", R"(--size: expected a size such as)"},
       {"collective broadcast --root -1", "--root: expected an integer from 0"},
       {"collective all_reduce --nccl 9.99", R"(no tuning of NCCL "9.99"; choose from 2.12)"},
       {"run llama3-70b --nic 200", "--nic: expected a rate such as 200G"},
       {"validate", "expected files: files of measured training runs"},
       {"man rn", R"(unknown command "rn"; did you mean "run"?)"},
       {"-v", R"(unknown option -v for "lockstep"; use --version)"}});
}

TEST_CASE("a name that is near to none is answered with its family, not with all") {
  check_refused(
      {{"list models llama5",
        R"(no model named "llama5"; nearest: "llama-7b", "llama2-13b", "llama2-70b", )"
        R"("llama2-7b", "llama3-405b", "llama3-70b", "llama3-8b", "llama3.2-1b", )"},
       {"list models llama4", R"(model "llama4" is ambiguous: llama4-maverick, llama4-scout)"},
       {"run llama3-70b --set parallel.algorithms.tp=nvls_tree",
        "no algorithm named \"nvls_tree\"; did you mean \"nvls\"?\n"},
       {"list models 70b", R"(; nearest: "llama2-70b", "llama3-70b")"},
       {"collective all_reduce --cluster h100", R"(; nearest: "azure-nd-h100-v5", "dgx-h100", )"},
       {"run llama3-70b --set model=llama5", R"(; nearest: "llama-7b", )"}});
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
  const std::string reason = "not applicable: sharp: needs a tree of reducing switches";
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
