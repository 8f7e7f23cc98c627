#include "sim/config/key_aliases.hpp"

#include <doctest/doctest.h>

#include "sim/config/complaint.hpp"

using namespace lockstep;

// Options of Megatron-LM (megatron/training/arguments.py), keys of DeepSpeed's JSON, of
// config.json.
TEST_CASE("a key that other tools have under another name is answered with Lockstep's") {
  const auto path = [](std::string_view name) {
    const KeyAlias* found = find_key_alias(name);
    return found != nullptr ? found->path : "-";
  };
  CHECK(path("virtual_stages") == "parallel.vpp");
  CHECK(path("--tensor-model-parallel-size") == "parallel.tp");
  CHECK(path("train_micro_batch_size_per_gpu") == "parallel.micro_batch");
  CHECK(path("num_hidden_layers") == "model.layers");
  CHECK(path("HIDDEN_SIZE") == "model.hidden");
  CHECK(path("vpp") == "-");
  CHECK(aliases_of_key("model.layers") ==
        std::vector<std::string_view>{"num_layers", "num_hidden_layers", "n_layer"});
}

TEST_CASE("the name is offered where its key is allowed, with its path elsewhere in a scenario") {
  const std::vector<std::string_view> parallel = {"tp", "vpp", "micro_batch", "global_batch"};
  CHECK(complain_of_key("virtual_stages", parallel) ==
        R"(unknown key "virtual_stages"; Lockstep calls it "vpp")");
  CHECK(complain_of_key("gradient_accumulation_steps", parallel) ==
        R"(unknown key "gradient_accumulation_steps"; Lockstep calls it "global_batch" )"
        "(micro_batch * dp * accumulation steps)");
  CHECK(complain_of_key("seq_length", parallel) ==
        R"(unknown key "seq_length"; Lockstep calls it "model.seq")");
  CHECK(complain_of_key("seq_length", {"bandwidth", "latency"}).find("Lockstep") ==
        std::string::npos);
}
