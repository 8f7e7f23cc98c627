#include "tools/app/replay/replay_trace_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "tools/app/errors.hpp"
#include "tools/app/fingerprint.hpp"
#include "tools/app/replay/replay_algorithms.hpp"
#include "tools/app/replay/replay_trace.hpp"
#include "tools/app/replay/replay_traffic.hpp"

namespace lockstep::app {

namespace {

std::shared_ptr<const CollectiveSetup> setup_of_ranks(const ReplayTraceRequest& request,
                                                      std::optional<int> ranks) {
  ClusterRequest cluster = request.cluster;
  if (ranks) cluster.ranks = ranks;
  return std::make_shared<const CollectiveSetup>(cluster, request.network,
                                                 CollectiveSetup::Wants{});
}

/// Where nobody says how large the cluster is, it is as large as the trace, if it can be.
std::shared_ptr<const CollectiveSetup> setup_for(const ReplayTraceRequest& request, int ranks) {
  if (request.cluster.ranks || request.cluster.nodes) return setup_of_ranks(request, {});
  try {
    return setup_of_ranks(request, ranks);
  } catch (const RequestError&) {
    return setup_of_ranks(request, {});
  }
}

Duration scaled(Duration duration, double factor) {
  const double ps = std::round(static_cast<double>(duration.ps()) * factor);
  if (ps >= static_cast<double>(INT64_MAX)) throw OutOfRange("compute_scale");
  return Duration::picoseconds(static_cast<std::int64_t>(ps));
}

void scale_computations(Stream& stream, double factor) {
  if (factor == 1) return;
  for (Activity& operation : stream.operations)
    if (operation.kind == Activity::Kind::compute)
      operation.duration = scaled(operation.duration, factor);
}

/// Ranks with a speed or a start of their own; rank r is endpoint r.
void set_computations(const std::vector<RankSetting>& settings, double compute_scale,
                      Workload& workload) {
  std::map<EndpointId, const RankSetting*> own;
  for (const RankSetting& each : settings) own.emplace(static_cast<EndpointId>(each.rank), &each);
  for (Stream& stream : workload.streams) {
    const auto found = own.find(stream.endpoint);
    const RankSetting* setting = found == own.end() ? nullptr : found->second;
    scale_computations(stream, setting != nullptr && setting->compute
                                   ? compute_scale / *setting->compute
                                   : compute_scale);
    if (setting != nullptr && setting->start && !stream.operations.empty())
      stream.operations.front().not_before = TimePoint{*setting->start};
  }
}

/// Speeds of ranks and scales that change nothing.
void refuse_without_effect(const std::vector<RankSetting>& settings,
                           const ReplayTraceRequest& request, const Workload& workload) {
  std::set<EndpointId> computing;
  for (const Stream& stream : workload.streams)
    if (std::any_of(stream.operations.begin(), stream.operations.end(), [](const Activity& each) {
          return each.kind == Activity::Kind::compute && each.duration > Duration{};
        }))
      computing.insert(stream.endpoint);
  const bool scales = request.compute_scale != 0 && request.compute_scale != 1;
  if (scales && computing.empty())
    throw RequestError("compute",
                       fmt::format("has no effect: no rank of {} computes", request.trace));
  if (request.compute_scale == 0) computing.clear();
  std::map<std::string, bool> has_effect;
  for (const RankSetting& each : settings)
    if (each.compute)
      has_effect[each.compute_of] |= computing.contains(static_cast<EndpointId>(each.rank));
  for (const auto& [ranks, has] : has_effect)
    if (!has)
      throw RequestError(fmt::format("set_rank {}", ranks),
                         fmt::format("a speed has no effect: {}",
                                     request.compute_scale == 0
                                         ? "computations take no time (--compute zero)"
                                         : "none of these ranks computes in " + request.trace));
}

/// Message overheads and rates of reductions.
Network changed_network(const Network& usual, std::vector<RankSetting> settings) {
  Network out = usual;
  for (RankSetting& each : settings) each.compute.reset();
  app::apply(std::as_const(settings), out);
  return out;
}

/// Those that wait for a peer come first: the others wait for them.
std::string unfinished_text(const std::vector<Unfinished>& unfinished) {
  constexpr std::size_t kShown = 10;
  constexpr std::string_view kBehindOthers = "waits for operations of other streams";
  std::vector<std::string> causes;
  for (const Unfinished& each : unfinished)
    if (each.text.find(kBehindOthers) == std::string::npos) causes.push_back(each.text);
  std::string text = fmt::format("deadlock: {} ends of messages of the trace never complete{}",
                                 causes.size(), causes.empty() ? "" : ":");
  for (std::size_t i = 0; i < std::min(kShown, causes.size()); ++i) text += "\n  " + causes[i];
  if (causes.size() > kShown) text += fmt::format("\n  and {} more", causes.size() - kShown);
  if (const std::size_t behind = unfinished.size() - causes.size(); behind > 0)
    text += fmt::format("\n{} further operation{} for these", behind,
                        behind == 1 ? " waits" : "s wait");
  return text;
}

class Run {
 public:
  explicit Run(const ReplayTraceRequest& request)
      : request_{request},
        trace_{load_trace(request.trace)},
        setup_{setup_for(request, trace_.ranks())},
        algorithms_{*setup_, request.algorithms} {
    if (setup_->ranks() < trace_.ranks())
      throw RequestError(fmt::format(
          "{} has {} rank{}, the cluster {}; nodes or ranks make it larger if its size is free",
          request.trace, trace_.ranks(), trace_.ranks() == 1 ? "" : "s", setup_->ranks()));
  }

  ReplayTraceResult run() {
    std::vector<EndpointId> members = setup_->members(AuxiliaryRanks::none, 0);
    members.resize(static_cast<std::size_t>(trace_.ranks()));
    Workload workload =
        trace_.workload(members, [this](Collective collective, auto ranks, Bytes message) {
          return algorithms_.choose(collective, ranks, message);
        });
    if (request_.slots) workload.slots = *request_.slots;
    RankSettings settings =
        rank_settings(request_.ranks, trace_.ranks(), request_.cluster.seed, "the trace");
    refuse_without_effect(settings.ranks, request_, workload);
    set_computations(settings.ranks, request_.compute_scale, workload);
    refuse_large_streams(setup_->network(), workload,
                         {request_.trace, members.size(), "lockstep replay"}, request_.most_memory);
    const std::optional<Network> changed =
        settings.ranks.empty() ? std::nullopt
                               : std::optional{changed_network(setup_->network(), settings.ranks)};
    FoldedStreams replayed = replay_streams_folded(changed ? *changed : setup_->network(), workload,
                                                   setup_->model(), request_.fold);
    const ReplayResult& result = replayed.result;
    if (!result.unfinished.empty()) throw Refusal(unfinished_text(result.unfinished));
    ReplayTraceResult out;
    out.setup = setup_;
    out.form = trace_.form_name();
    out.ranks = totals_of(workload, result, trace_.ranks());
    out.busiest = busiest(result);
    out.algorithms = algorithms_.chosen();
    out.notes = trace_.notes();
    Fingerprint fingerprint;
    for (const RankTotals& each : out.ranks) fingerprint.add(each.end.ps());
    out.fingerprint = fingerprint.text();
    out.fold = std::move(replayed.report);
    if (request_.classes)
      out.classes = replay_classes(workload, result, out.fold, settings.ranks, trace_.ranks());
    out.settings = std::move(settings);
    return out;
  }

 private:
  [[nodiscard]] BusiestLink busiest(const ReplayResult& result) const {
    double most = 0;
    BusiestLink out;
    for (std::size_t i = 0; i < result.link_bytes.size(); ++i) {
      const Link& link = setup_->network().links[i];
      // Where only ports limit, what other links would have to carry says nothing.
      if (setup_->model() == NetworkModel::alpha_beta && !link.port) continue;
      const double seconds =
          static_cast<double>(result.link_bytes[i].count()) / link.bandwidth.bytes_per_second();
      if (seconds <= most) continue;
      most = seconds;
      out.name = setup_->link_name(static_cast<LinkId>(i));
    }
    // A link may seem to carry more than it can by what messages end early, at whole picoseconds.
    if (result.end > TimePoint{})
      out.busy = std::min(1.0, most / result.end.since_start().seconds());
    return out;
  }

  const ReplayTraceRequest& request_;
  ReplayTrace trace_;
  std::shared_ptr<const CollectiveSetup> setup_;
  ReplayAlgorithms algorithms_;
};

}  // namespace

ReplayTraceResult replay_trace(const ReplayTraceRequest& request) {
  return Run(request).run();
}

}  // namespace lockstep::app
