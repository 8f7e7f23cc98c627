#include "tools/lockstep/step_data/rank_links.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "sim/base/json_text.hpp"
#include "sim/trace/communication_index.hpp"

namespace lockstep::cli {

namespace {

/// Links of a split route that are listed.
constexpr std::size_t kMostLinks = 12;

/// Whom a rank sends to or receives from; none of hosts.
std::optional<int> peer_of(const Mesh& mesh, int rank, const Communication& of) {
  if (rank >= mesh.ranks()) return std::nullopt;
  const std::vector<int> group = mesh.members(rank, of.over);
  const int count = static_cast<int>(group.size());
  if (count < 2) return std::nullopt;
  const int offset = of.offset != 0 ? of.offset : 1;
  const int position = ((mesh.coordinate(rank, of.over) + offset) % count + count) % count;
  return group[static_cast<std::size_t>(position)];
}

}  // namespace

RankLinks::RankLinks(const Cluster& cluster) : cluster_{cluster}, router_{make_router(cluster)} {}

std::int64_t RankLinks::route_of(const TrainingStepTimeline& timeline, std::size_t rank,
                                 const Operation& operation) {
  if (!has_ends(operation)) return -1;
  const int own = timeline.ranks[rank].rank;
  const auto peer = peer_of(timeline.program->mesh, own, *operation.communication);
  if (!peer || *peer == own || std::max(own, *peer) >= cluster_.ranks()) return -1;
  const bool receives = operation.kind == OperationKind::receive;
  const int from = receives ? *peer : own;
  const int to = receives ? own : *peer;
  const auto [found, is_new] =
      ids_.try_emplace({from, to, *peer}, static_cast<std::int64_t>(texts_.size()));
  if (is_new) texts_.push_back(text_of(from, to, *peer));
  return found->second;
}

std::string RankLinks::text_of(int from, int to, int peer) const {
  Route route;
  std::string links;
  std::string kinds;
  if (router_->route(static_cast<EndpointId>(from), static_cast<EndpointId>(to), route)) {
    for (std::size_t i = 0; i < std::min(kMostLinks, route.hops.size()); ++i) {
      const LinkId id = route.hops[i].link;
      const ClusterLink link = cluster_.link(id);
      const std::string kind = fmt::format("{} -> {}", to_string(cluster_.vertex(link.from).kind),
                                           to_string(cluster_.vertex(link.to).kind));
      links += (i > 0 ? "," : "") + json_string(cluster_.link_name(id));
      kinds += (i > 0 ? "," : "") + json_string(kind);
    }
  }
  return fmt::format(R"({{"peer":{},"links":[{}],"kinds":[{}]}})", peer, links, kinds);
}

std::string RankLinks::json() const {
  std::string out = "[";
  for (const std::string& each : texts_) out += (out.size() > 1 ? "," : "") + each;
  return out + "]";
}

}  // namespace lockstep::cli
