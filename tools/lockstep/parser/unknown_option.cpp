#include "tools/lockstep/parser/unknown_option.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "sim/config/key_aliases.hpp"
#include "sim/schedule/contract.hpp"

namespace lockstep::cli {

namespace {

struct Instead {
  std::string_view option;
  std::string_view key;          // of --set
  std::string_view placeholder;  // where no value was given
};

/// Values of a scenario that planners of other tools give as options.
constexpr std::array<Instead, 40> kScenarioKeys{{
    {"--tp", "parallel.tp", "N"},
    {"--pp", "parallel.pp", "N"},
    {"--dp", "parallel.dp", "N"},
    {"--cp", "parallel.cp", "N"},
    {"--ep", "parallel.ep", "N"},
    {"--vpp", "parallel.vpp", "N"},
    {"--zero", "parallel.zero", "STAGE"},
    {"--schedule", "parallel.schedule", "NAME"},
    {"--recompute", "parallel.recompute", "full"},
    {"--precision", "parallel.precision", "bf16"},
    {"--overlap", "parallel.overlap", "dp_gradients,pp"},
    {"--micro-batch", "parallel.micro_batch", "N"},
    {"--micro-batch-size", "parallel.micro_batch", "N"},
    {"--global-batch", "parallel.global_batch", "N"},
    {"--global-batch-size", "parallel.global_batch", "N"},
    {"--batch", "parallel.global_batch", "N"},
    {"--sequence-parallel", "parallel.sequence_parallel", "true"},
    {"--seq", "model.seq", "TOKENS"},
    {"--seq-length", "model.seq", "TOKENS"},
    {"--layers", "model.layers", "N"},
    {"--model", "model", "NAME"},
    {"--cluster", "cluster", "NAME"},
    {"--nodes", "cluster.nodes", "N"},
    {"--ranks", "cluster.ranks", "N"},
    {"-n", "cluster.ranks", "N"},
    {"--gpus", "cluster.gpus", "N"},
    {"--gpu", "cluster.gpu", "NAME"},
    {"--device", "cluster.gpu", "NAME"},
    {"--tokens", "tokens", "15T"},
    {"--stack", "stack", "NAME"},
    {"--mbs", "parallel.micro_batch", "N"},
    {"--gbs", "parallel.global_batch", "N"},
    {"--num-nodes", "cluster.nodes", "N"},
    {"--num-gpus", "cluster.ranks", "N"},
    {"--tensor-model-parallel-size", "parallel.tp", "N"},
    {"--pipeline-model-parallel-size", "parallel.pp", "N"},
    {"--context-parallel-size", "parallel.cp", "N"},
    {"--expert-model-parallel-size", "parallel.ep", "N"},
    {"--zero-stage", "parallel.zero", "STAGE"},
    {"--num-layers", "model.layers", "N"},
}};

std::optional<std::string> format_instead(const std::string& option) {
  if (option == "--json" || option == "--csv") return "--format " + option.substr(2);
  if (option == "--md" || option == "--markdown") return "--format md";
  return std::nullopt;
}

}  // namespace

std::optional<std::string> option_instead(const std::string& command, const std::string& option,
                                          const std::string& value) {
  if (auto format = format_instead(option)) return format;
  if (option == "-o" || option == "--output" || option == "--out")
    return "--format json > " + (value.empty() ? "FILE" : value);
  if (command == "complexity" && (option == "--nodes" || option == "-N")) return "--ranks A..B";
  if (command == "collective" &&
      (option == "-g" || option == "--ngpus" || option == "-t" || option == "--nthreads"))
    return "--ranks " + (value.empty() ? "N" : value);
  if (option == "--append" && command != "run")
    return "--format csv >> " + (value.empty() ? "FILE" : value);
  if ((command == "plan" || command == "sweep") && option == "--nic")
    return "--set 'cluster.fabric.link.bandwidth=\"200 Gb/s\"', or --vary with several";
  if (command == "export" && option == "--as") return "--format " + (value.empty() ? "dot" : value);
  if (command == "lockstep" && (option == "-v" || option == "-V")) return "--version";
  if (command == "verify" && parse_collective(option))
    return "`lockstep verify collective " + option + "`";
  if (option == "--plot" && command == "sweep")
    return "`lockstep plan --plot front=FILE.svg`, or --format csv for another tool";
  if (option == "--plot" && command == "explain") return "`lockstep collective --plot FILE.svg`";
  if (command != "run") return std::nullopt;
  for (const Instead& each : kScenarioKeys)
    if (each.option == option)
      return "--set " + std::string{each.key} + "=" +
             (value.empty() ? std::string{each.placeholder} : value);
  if (const KeyAlias* alias = find_key_alias(option); alias != nullptr && option.size() > 2)
    return fmt::format("--set {}={}", alias->path,
                       value.empty() || !alias->value.empty() ? "VALUE" : value) +
           (alias->value.empty() ? "" : fmt::format(" ({})", alias->value));
  return std::nullopt;
}

std::optional<std::string> option_reason(const std::string& command, const std::string& option) {
  if (command != "collective") return std::nullopt;
  if (option == "--op" || option == "--redop") return "every reduction takes the time of a sum";
  if (option == "--iters" || option == "-w" || option == "--warmup_iters")
    return "a simulation is deterministic, and runs once";
  return std::nullopt;
}

}  // namespace lockstep::cli
