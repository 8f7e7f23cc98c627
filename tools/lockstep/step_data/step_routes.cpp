#include "tools/lockstep/step_data/step_routes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sim/base/json_text.hpp"
#include "tools/lockstep/step_figures/link_loads.hpp"

namespace lockstep::cli {

namespace {

constexpr std::size_t kMostListed = 1024;
/// Messages of larger groups are too many to follow.
constexpr int kMostMembers = 512;

}  // namespace

StepRoutes::StepRoutes(const TrainingStepResult& result) : result_{result}, traffic_{result} {}

std::int64_t StepRoutes::route_of(int rank, const RoleProgram& role,
                                  const RoleOperation& operation) {
  const Operation& of = *operation.operation;
  if (!of.communication) return -1;
  if (of.kind == OperationKind::collective &&
      result_.step.timeline.program->mesh.size(of.communication->over) > kMostMembers)
    return -1;
  const CommunicationTraffic* const traffic = traffic_.of(rank, role, operation);
  if (traffic == nullptr) return -1;
  const auto known = known_.find(traffic);
  if (known != known_.end()) return known->second;
  std::vector<LinkId> links;
  for (const auto& [link, bytes] : traffic->bytes) links.push_back(link);
  const std::size_t more = links.size() > kMostListed ? links.size() - kMostListed : 0;
  links.resize(links.size() - more);
  const std::string text =
      fmt::format(R"({{"members":[{}],"algorithm":{},"links":[{}],"more":{}}})",
                  fmt::join(traffic->members, ","), json_string(traffic->algorithm),
                  fmt::join(links, ","), more);
  const auto [found, is_new] = ids_.try_emplace(text, static_cast<std::int64_t>(texts_.size()));
  if (is_new) {
    texts_.push_back(text);
    links_.push_back(std::move(links));
  }
  known_.emplace(traffic, found->second);
  return found->second;
}

void StepRoutes::shorten(std::size_t count) {
  texts_.resize(count);
  links_.resize(count);
  const auto is_gone = [count](const auto& each) {
    return each.second >= static_cast<std::int64_t>(count);
  };
  std::erase_if(ids_, is_gone);
  std::erase_if(known_, is_gone);
}

std::string StepRoutes::json(std::size_t first) const {
  std::string out = "[";
  for (std::size_t i = first; i < texts_.size(); ++i)
    out += (out.size() > 1 ? "," : "") + texts_[i];
  return out + "]";
}

std::set<LinkId> StepRoutes::links() const {
  std::set<LinkId> out;
  for (const std::vector<LinkId>& each : links_) out.insert(each.begin(), each.end());
  return out;
}

std::string link_table(const Cluster& cluster, const std::set<LinkId>& links) {
  std::string names;
  std::string kinds;
  for (const LinkId link : links) {
    names += (names.empty() ? "" : ",") + json_string(cluster.link_name(link));
    kinds += (kinds.empty() ? "" : ",") + json_string(kind_of_link(cluster, link));
  }
  return fmt::format(R"({{"id":[{}],"name":[{}],"kind":[{}]}})", fmt::join(links, ","), names,
                     kinds);
}

}  // namespace lockstep::cli
