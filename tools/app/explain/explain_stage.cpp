#include "tools/app/explain/explain_stage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "sim/symmetry/fold.hpp"
#include "strategies/collectives/placement/chunk_search.hpp"
#include "strategies/collectives/registry/registry.hpp"
#include "tools/app/collective/setup/replay_limit.hpp"
#include "tools/app/collective/setup/root.hpp"
#include "tools/app/errors.hpp"

namespace lockstep::app {

namespace {

const CollectiveAlgorithm& row_of(const StageRequest& request) {
  return *request.spec.algorithm;
}

std::shared_ptr<const CollectiveSetup> setup_of(const StageRequest& request, int hosts) {
  const AuxiliaryRanks auxiliary_ranks = row_of(request).auxiliary_ranks;
  const bool switches = auxiliary_ranks == AuxiliaryRanks::node_switches ||
                        auxiliary_ranks == AuxiliaryRanks::fabric_switches;
  return std::make_shared<const CollectiveSetup>(request.cluster, request.network,
                                                 CollectiveSetup::Wants{hosts, switches});
}

void set_ranks_per_node(int given, AlgorithmInput& input) {
  if (input.n % given != 0)
    throw RequestError("ranks_per_node",
                       fmt::format("expected a divisor of {} ranks, got {}", input.n, given));
  input.layout.per_node = given;
  input.layout.node_sizes.clear();
}

void set_dimensions(const std::vector<int>& given, AlgorithmInput& input) {
  const std::int64_t product =
      std::accumulate(given.begin(), given.end(), std::int64_t{1}, std::multiplies<>{});
  if (product != input.n)
    throw RequestError("dims",
                       fmt::format("{} makes {} ranks, there are {}",
                                   lockstep::to_string(ArgumentValue{given}), product, input.n));
  input.layout.dimensions = given;
}

AlgorithmInput input_of(const StageRequest& request, const CollectiveSetup& setup) {
  AlgorithmInput out = setup.input(request.spec.arguments, request.root, request.size);
  if (request.ranks_per_node) set_ranks_per_node(*request.ranks_per_node, out);
  if (!request.dimensions.empty()) set_dimensions(request.dimensions, out);
  return out;
}

void refuse_problems(const StageRequest& request, const AlgorithmInput& input) {
  check_root(row_of(request).collective, input.root, input.n);
  std::vector<RequestProblem> problems;
  for (const std::string& problem : validate(row_of(request), input))
    problems.push_back({"algorithm " + request.spec.text(), problem});
  if (!problems.empty()) throw RequestError(std::move(problems));
}

/// Imported schedules have their ranks, chunks and root for good.
Stage imported_stage(const StageRequest& request) {
  const MscclImport& import = request.imported->import;
  Stage out;
  out.setup = setup_of(request, 0);
  out.input = out.setup->input({}, import.root, request.size);
  if (out.input.n != import.ranks)
    throw RequestError("schedule " + import.name, fmt::format("is for {} ranks, the cluster has {}",
                                                              import.ranks, out.input.n));
  if (request.ranks_per_node) set_ranks_per_node(*request.ranks_per_node, out.input);
  if (!request.dimensions.empty()) set_dimensions(request.dimensions, out.input);
  if (import.distance != 1) out.input.arguments["distance"] = std::int64_t{import.distance};
  out.schedule = import.schedule;
  out.members = out.setup->members(AuxiliaryRanks::none, 0);
  out.layout = divide_message(request.size, *request.type, out.schedule->blocks());
  return out;
}

}  // namespace

ImportedAlgorithm::ImportedAlgorithm(MscclImport read, Collective collective)
    : import{std::move(read)} {
  row.collective = collective;
  row.name = import.name;
  row.summary = "schedule of a file";
  row.limits = "the ranks of the file";
  row.rounds = "as in the file";
  row.sent_per_rank = "as in the file";
  row.time = "as simulated";
  row.source = "the file";
}

Stage make_stage(const StageRequest& request) {
  if (request.imported) return imported_stage(request);
  Stage out;
  out.setup = setup_of(request, 0);
  out.input = input_of(request, *out.setup);
  refuse_problems(request, out.input);
  out.input = ChunkSearch{out.setup->model()}.with_best_chunks(row_of(request), out.input,
                                                               out.setup->communicator());
  out.schedule = make_schedule(row_of(request), out.input);
  const int auxiliary_ranks = out.schedule->ranks() - out.input.n;
  out.members = out.setup->members(row_of(request).auxiliary_ranks, auxiliary_ranks);
  // Hosts for parameter servers are built along with the cluster.
  if (out.members.empty() && row_of(request).auxiliary_ranks == AuxiliaryRanks::hosts) {
    out.setup = setup_of(request, auxiliary_ranks);
    out.members = out.setup->members(AuxiliaryRanks::hosts, auxiliary_ranks);
  }
  if (out.members.empty())
    throw RequestError(
        "algorithm " + request.spec.text(),
        fmt::format("needs {} more in addition to the {} ranks, which this cluster does not have",
                    auxiliary_ranks, out.input.n));
  if (const std::string why =
          out.setup->unreachable(row_of(request).auxiliary_ranks, auxiliary_ranks);
      !why.empty())
    throw RequestError("algorithm " + request.spec.text(), why);
  out.layout = divide_message(request.size, *request.type, out.schedule->blocks());
  return out;
}

StageReplay replay_stage(const Stage& stage, NetworkModel model) {
  Workload workload;
  workload.calls.push_back(
      {"the collective", stage.schedule, stage.members, stage.layout.block, {}});
  const Network& network = stage.setup->network();
  refuse_large_replay(network, workload, model, {}, kMostMemory);
  const ReplayResult result = replay_folded(network, workload, model).result;
  if (!result.unfinished.empty()) throw Refusal("deadlock: " + result.unfinished.front().text);
  StageReplay out{result.end.since_start(), {}, 0, result.transfers};
  double most = 0;  // seconds
  for (std::size_t i = 0; i < result.link_bytes.size(); ++i) {
    // Where only ports limit, what other links would have to carry says nothing.
    if (model == NetworkModel::alpha_beta && !network.links[i].port) continue;
    const double seconds = static_cast<double>(result.link_bytes[i].count()) /
                           network.links[i].bandwidth.bytes_per_second();
    if (seconds <= most) continue;
    most = seconds;
    out.busiest_link = stage.setup->link_name(static_cast<LinkId>(i));
  }
  // A link may seem to carry more than it can by what its messages end early, at whole picoseconds.
  if (out.time > Duration{}) out.busy = std::min(1.0, most / out.time.seconds());
  return out;
}

}  // namespace lockstep::app
