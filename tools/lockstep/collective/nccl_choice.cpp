#include "tools/lockstep/collective/nccl_choice.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "strategies/nccl/facts_of.hpp"
#include "strategies/nccl/tuning.hpp"
#include "strategies/nccl/tuning_file.hpp"
#include "tools/lockstep/errors.hpp"
#include "topologies/config/did_you_mean.hpp"

namespace lockstep::cli {

namespace {

NcclTuning load_tuning(const std::string& version) {
  const std::string folder = config_folder() + "/nccl";
  const std::vector<std::string> ids = nccl_tuning_ids(folder);
  if (std::find(ids.begin(), ids.end(), version) != ids.end())
    return load_nccl_tuning(folder + "/" + version + ".json");
  throw UsageError(
      fmt::format("--nccl: no tuning of NCCL \"{}\"; there is {}", version, fmt::join(ids, ", ")));
}

NcclChoices parse_choices(const NcclOptions& options) {
  const ParsedNcclChoices parsed = parse_nccl_choices(options.algorithms, options.protocols);
  std::string text;
  for (const NcclChoiceError& error : parsed.errors)
    text +=
        fmt::format("{}{}: {}", text.empty() ? "" : "\n  ",
                    error.variable == "NCCL_ALGO" ? "--nccl-algo" : "--nccl-proto", error.message);
  if (!text.empty()) throw UsageError(text);
  return parsed.choices;
}

}  // namespace

void NcclOptions::add_to(CLI::App& command) {
  command.add_option("--nccl", version, "Version of NCCL whose tuning auto:by=nccl follows")
      ->type_name("VERSION")
      ->capture_default_str();
  command
      .add_option("--nccl-algo", algorithms,
                  "What it may choose from, as in NCCL_ALGO: \"ring,tree;allreduce:^tree\"")
      ->type_name("LIST");
  command.add_option("--nccl-proto", protocols, "The same for protocols, as in NCCL_PROTO")
      ->type_name("LIST");
}

NcclChooser::NcclChooser(const Arena& arena, const NcclOptions& options)
    : arena_{arena},
      tuning_{load_tuning(options.version)},
      facts_{nccl_facts_of(tuning_, arena.cluster(), arena.loaded().device)},
      choices_{parse_choices(options)} {}

NcclChooser::Pick NcclChooser::pick(Collective collective, Bytes size) const {
  const auto plan = nccl_plan(tuning_, facts_, collective, size, choices_);
  if (!plan)
    throw UsageError(fmt::format("auto:by=nccl: NCCL {} has no way to do {}", tuning_.version,
                                 to_string(collective)));
  ParsedSpecs parsed = parse_specs(plan->spec, collective);
  if (parsed.specs.size() != 1)
    throw UsageError(fmt::format("auto:by=nccl: NCCL would use {}, which is not modelled for {}",
                                 plan->spec, to_string(collective)));
  Pick out;
  out.spec = std::move(parsed.specs.front());
  out.text = fmt::format("{}, {}, {} channel{}", plan->spec, nccl_name(plan->protocol),
                         plan->channels, plan->channels == 1 ? "" : "s");
  if (const auto estimate = nccl_pick(tuning_, facts_, collective, size, choices_)) {
    out.model = estimate->time;
    out.launch = tuning_.base_latency[estimate->algorithm][estimate->protocol].value_or(Duration{});
  }
  out.network = network_under(plan->protocol);
  return out;
}

std::shared_ptr<const Network> NcclChooser::network_under(NcclProtocol protocol) const {
  const std::lock_guard lock(mutex_);
  auto& network = networks_.at(static_cast<std::size_t>(protocol));
  if (network == nullptr)
    network = std::make_shared<const Network>(
        arena_.network_under(load_named_protocol(std::string{nccl_name(protocol)})));
  return network;
}

}  // namespace lockstep::cli
