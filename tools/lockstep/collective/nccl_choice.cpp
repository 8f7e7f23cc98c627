#include "tools/lockstep/collective/nccl_choice.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "strategies/nccl/tuning_file.hpp"
#include "tools/lockstep/calibrate/calibration_of.hpp"
#include "tools/lockstep/errors.hpp"
#include "topologies/config/did_you_mean.hpp"

namespace lockstep::cli {

namespace {

std::vector<NcclCost> costs_of(const NcclOptions& options) {
  std::vector<NcclCost> out = options.costs;
  const std::vector<NcclCost> more = calibration_of(options.calibration).collectives;
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

NcclTuning load_tuning(const NcclOptions& options) {
  const std::string& version = options.version;
  const std::string folder = config_folder() + "/nccl";
  const std::vector<std::string> ids = nccl_tuning_ids(folder);
  if (std::find(ids.begin(), ids.end(), version) != ids.end())
    return load_nccl_tuning(folder + "/" + version + ".json", costs_of(options));
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

/// As links are; ranks add up what they receive while it comes in.
std::shared_ptr<const Network> fused_network(const Arena& arena) {
  Network out = arena.bare_network();
  for (int rank = 0; rank < arena.ranks(); ++rank)
    out.endpoints[static_cast<std::size_t>(rank)].reduce_rate.reset();
  return std::make_shared<const Network>(std::move(out));
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
  command
      .add_option("--calibration", calibration,
                  "File of `lockstep calibrate` whose costs of collectives auto:by=nccl goes by")
      ->type_name("FILE");
}

void NcclOptions::check() const {
  (void)parse_choices(*this);
  // The shipped files are right, and take a while.
  if (version != NcclOptions{}.version || !calibration.empty()) (void)load_tuning(*this);
}

NcclChooser::NcclChooser(const Arena& arena, const NcclOptions& options)
    : tuning_{load_tuning(options)}, fused_{fused_network(arena)} {
  communicator_.emplace(tuning_, parse_choices(options), arena.loaded().device,
                        arena.communicator_on(*fused_));
}

NcclPick NcclChooser::pick(Collective collective, Bytes size) const {
  auto pick = communicator_->pick(collective, size);
  if (!pick)
    throw UsageError(fmt::format("auto:by=nccl: NCCL {} has no way to do {}", tuning_.version,
                                 to_string(collective)));
  return *std::move(pick);
}

}  // namespace lockstep::cli
