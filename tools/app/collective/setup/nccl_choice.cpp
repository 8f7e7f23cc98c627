#include "tools/app/collective/setup/nccl_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "sim/config/did_you_mean.hpp"
#include "strategies/nccl/tuning_file.hpp"
#include "tools/app/errors.hpp"
#include "tools/app/inputs/calibration_of.hpp"

namespace lockstep::app {

namespace {

std::vector<NcclCost> costs_of(const NcclRequest& options) {
  std::vector<NcclCost> out = options.costs;
  const std::vector<NcclCost> more = fitted_calibration_of(options.calibration).collectives;
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

NcclTuning load_tuning(const NcclRequest& options) {
  const std::string& version = options.version;
  const std::string folder = config_folder() + "/nccl";
  const std::vector<std::string> ids = nccl_tuning_ids(folder);
  if (std::find(ids.begin(), ids.end(), version) != ids.end())
    return load_nccl_tuning(folder + "/" + version + ".json", costs_of(options));
  throw RequestError("nccl", fmt::format("no tuning of NCCL \"{}\"; choose from {}", version,
                                         fmt::join(ids, ", ")));
}

NcclFilters parse_choices(const NcclRequest& options) {
  const ParsedNcclFilters parsed = parse_nccl_filters(options.algorithms, options.protocols);
  std::vector<RequestProblem> problems;
  for (const NcclChoiceError& error : parsed.errors)
    problems.push_back({error.variable == "NCCL_ALGO" ? "nccl_algo" : "nccl_proto", error.message});
  if (!problems.empty()) throw RequestError(std::move(problems));
  return parsed.filters;
}

/// As links are; ranks add up what they receive while it comes in.
std::shared_ptr<const Network> fused_network(const CollectiveSetup& setup) {
  Network out = setup.bare_network();
  for (int rank = 0; rank < setup.ranks(); ++rank)
    out.endpoints[static_cast<std::size_t>(rank)].reduce_rate.reset();
  return std::make_shared<const Network>(std::move(out));
}

}  // namespace

void NcclRequest::check() const {
  if (!algorithms.empty() || !protocols.empty()) (void)parse_choices(*this);
  // The shipped files are right, and take a while.
  if (version != NcclRequest{}.version || !calibration.empty()) (void)load_tuning(*this);
}

NcclChooser::NcclChooser(const CollectiveSetup& setup, const NcclRequest& options)
    : tuning_{load_tuning(options)}, fused_{fused_network(setup)} {
  communicator_.emplace(tuning_, parse_choices(options), setup.loaded().device,
                        setup.communicator_on(*fused_));
}

NcclPick NcclChooser::pick(Collective collective, Bytes size, const AutomaticChoice& how) const {
  auto pick = communicator_->pick(collective, size, how);
  if (!pick)
    throw RequestError(fmt::format("auto:by=nccl: NCCL {} has no way to do {}", tuning_.version,
                                   to_string(collective)));
  return *std::move(pick);
}

}  // namespace lockstep::app
