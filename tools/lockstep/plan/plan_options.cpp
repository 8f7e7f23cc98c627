#include "tools/lockstep/plan/plan_options.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "tools/lockstep/options/number_option.hpp"
#include "tools/lockstep/output/errors.hpp"
#include "tools/lockstep/run/run_json.hpp"

namespace lockstep::cli {

namespace {

constexpr std::int64_t kMost = 1'000'000'000;

/// Several values of an option that takes one are an axis of the space.
void refuse_list(const std::string& name, const std::string& text, const char* key) {
  if (text.find(',') != std::string::npos)
    throw UsageError(
        fmt::format("{}: expected one number, got \"{}\"; several are an axis: --vary "
                    "{}={}",
                    name, text, key, text));
}

void add_count(const Command& command, const char* name, const char* key,
               std::optional<std::int64_t>& into, const char* help) {
  const auto take = [&into, key, option = std::string{name}](const std::string& text) {
    refuse_list(option, text, key);
    std::int64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{} || stop != end || value < 1 || value > kMost)
      throw UsageError(
          fmt::format("{}: expected an integer from 1 to {}, got \"{}\"", option, kMost, text));
    into = value;
  };
  command.add_option(name, std::function<void(const std::string&)>{take}, help)->type_name("N");
}

void add_amount(const Command& command, const char* name, double least,
                std::function<void(double)> take, const char* help) {
  const std::string option = name;
  command
      .add_option(
          name,
          [option, least, take = std::move(take)](const std::string& text) {
            double value = 0;
            const auto [end, error] =
                std::from_chars(text.data(), text.data() + text.size(), value);
            if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value) ||
                value < least)
              throw UsageError(fmt::format("{}: expected a number of at least {}, got \"{}\"",
                                           option, least, text));
            take(value);
          },
          help)
      ->type_name("NUMBER");
}

}  // namespace

void add_space(const Command& command, SpaceRequest& space) {
  command
      .add_option("scenario", space.scenario,
                  "Scenario file or the name of a shipped one; or --model and --cluster")
      ->type_name("SCENARIO");
  command.group("Model and cluster");
  command
      .add_option("--model", space.model,
                  "Model: name of a shipped one, a model file or a Hugging Face config.json")
      ->type_name("MODEL");
  command.add_option("--cluster", space.cluster, "Cluster: name of a shipped one or a file")
      ->type_name("CLUSTER");
  command.add_option("--gpu", space.gpu, "Device instead of the cluster's: name or file")
      ->type_name("DEVICE");
  add_count(command, "--nodes", "cluster.nodes", space.nodes, "Number of nodes");
  add_count(command, "--gpus", "cluster.ranks", space.gpus, "Number of GPUs, instead of nodes");
  add_count(command, "--global-batch", "global_batch", space.global_batch, "Sequences per step");
  add_count(command, "--seq", "model.seq", space.sequence, "Tokens per sequence");
  command.add_option("--tokens", space.tokens, "Training tokens, e.g. 15T; for days and cost")
      ->type_name("TOKENS");
  command
      .add_option("--precision", space.precision, "Precision of linear layers, e.g. bf16 or fp8")
      ->type_name("PRECISION");
  command.add_option("--stack", space.stack, "Software stack (see `lockstep list stacks`)")
      ->type_name("STACK");
  command
      .add_option("--set", space.overrides,
                  "Override a scenario value, e.g. parallel.bucket=\"100 MB\"; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command.group("Space");
  command
      .add_option("--vary", space.vary,
                  "Axis: a key and its values, e.g. tp=1,2,4,8, pp=1..16*2, tp=divisors or "
                  "cluster.nodes=8..512*2, or keys that go together, e.g. "
                  "nodes:global_batch=8,16:256,512; repeatable")
      ->type_name("KEY=VALUES")
      ->allow_extra_args(false);
  command.add_option("--fix", space.fix, "Key of one value, e.g. zero=1; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
}

void add_space_file(const Command& command, SpaceRequest& space) {
  command
      .add_option("--space", space.file, "Space file with the same (configs/spaces), or its name")
      ->type_name("FILE");
}

app::PartChanges part_changes(const RunOptions& options) {
  const TrainingStepRequest step = step_request_of(options);
  app::PartChanges out{
      step.speeds, step.links, part_changes_of(options), {}, step.simulation.fidelity};
  if (out.fidelity != Fidelity::automatic)
    out.text += (out.text.empty() ? "" : " ") + ("--fidelity " + options.fidelity);
  if (out.any()) out.options = run_options_json(options).dump();
  return out;
}

void add_prices(const Command& command, PlanPrices& prices) {
  add_amount(
      command, "--price", 0, [&prices](double n) { prices.usd_per_gpu_hour = n; },
      "Price of a GPU hour ($; default: that of the cluster or device file)");
  add_amount(
      command, "--watts", 0, [&prices](double n) { prices.watts_per_gpu = n; },
      "Power that a GPU and its part of the node draw (W; default: watts of the cluster file, "
      "max_power of the device)");
  add_amount(
      command, "--pue", 1, [&prices](double n) { prices.pue = n; },
      "Power usage effectiveness: facility power over machine power (default: that of "
      "the cluster file, 1)");
  add_amount(
      command, "--price-kwh", 0, [&prices](double n) { prices.usd_per_kwh = n; },
      "Price of a kWh ($), in addition to --price (default: that of the cluster file)");
}

}  // namespace lockstep::cli
