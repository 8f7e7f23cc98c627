#include "tools/lockstep/step_data/step_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "sim/base/json_text.hpp"
#include "sim/trace/critical_path.hpp"
#include "sim/trace/peers.hpp"
#include "tools/lockstep/report/page_data.hpp"
#include "tools/lockstep/step_data/step_routes.hpp"
#include "tools/lockstep/step_figures/link_loads.hpp"
#include "tools/lockstep/step_figures/step_tracks.hpp"
#include "tools/lockstep/step_figures/time_look.hpp"

namespace lockstep::cli {

namespace {

constexpr std::size_t kMostMemoryPoints = 2000;
constexpr std::size_t kMostRanks = 256;
/// Parts of the step in which loads of links are given.
constexpr std::size_t kMostDivisions = 200;
constexpr std::size_t kLeastDivisions = 25;

using Numbers = std::vector<std::int64_t>;

std::string text_of(const Numbers& values) {
  fmt::memory_buffer out;
  out.push_back('[');
  for (std::size_t i = 0; i < values.size(); ++i)
    fmt::format_to(std::back_inserter(out), "{}{}", i == 0 ? "" : ",", values[i]);
  out.push_back(']');
  return fmt::to_string(out);
}

std::string joined(const std::vector<std::string>& texts) {
  std::string out = "[";
  for (const std::string& each : texts) out += (out.size() > 1 ? "," : "") + each;
  return out + "]";
}

/// The distinct operations of a program, and where their time stands in the legend.
class Operations {
 public:
  explicit Operations(const Peers& peers) : peers_{peers} {}

  std::int64_t of(const Operation& operation) {
    const auto [found, is_new] =
        ids_.try_emplace(&operation, static_cast<std::int64_t>(texts_.size()));
    if (is_new) texts_.push_back(text(operation));
    return found->second;
  }
  [[nodiscard]] std::string json() const { return joined(texts_); }
  [[nodiscard]] std::string looks() const {
    std::vector<std::string> out;
    for (const figures::BarPart& each : looks_)
      out.push_back(fmt::format(R"({{"name":{},"color":{},"pattern":{}}})", json_string(each.name),
                                json_string(each.color), static_cast<int>(each.pattern)));
    return joined(out);
  }

 private:
  std::string text(const Operation& operation) {
    const bool sends = is_communication(operation);
    const std::string group = sends ? peers_.group(operation) : "";
    figures::BarPart look = part_of(sends ? TimeUse::communication(group)
                                          : TimeUse::computation(class_of(operation.kind)));
    auto found = std::ranges::find(looks_, look.name, &figures::BarPart::name);
    if (found == looks_.end()) found = looks_.insert(looks_.end(), std::move(look));
    return fmt::format(R"({{"name":{},"kind":{},"purpose":{},"group":{},"look":{}}})",
                       json_string(operation.name), json_string(kind_of(operation)),
                       json_string(to_string(operation.purpose)), json_string(group),
                       found - looks_.begin());
  }
  static std::string_view kind_of(const Operation& operation) {
    return operation.kind == OperationKind::collective && operation.communication
               ? to_string(operation.communication->collective)
               : to_string(operation.kind);
  }

  const Peers& peers_;
  std::map<const Operation*, std::int64_t> ids_{};
  std::vector<std::string> texts_{};
  std::vector<figures::BarPart> looks_{};
};

class StepData {
 public:
  StepData(const TrainingStepResult& result, std::size_t budget)
      : result_{result},
        timeline_{result.step.timeline},
        peers_{timeline_},
        operations_{peers_},
        routes_{result},
        budget_{budget} {}

  [[nodiscard]] std::string json() {
    std::string memory = memory_json();
    choose_loads();
    std::size_t used = packed_size(memory) + packed_size(loads_) + 4096;
    const std::vector<std::size_t> order = ranks_to_show(result_);
    for (const std::size_t rank : order) {
      if (shown_.size() >= kMostRanks || !add_rank(rank, used)) break;
    }
    std::string out = text(memory, order.size());
    for (; packed_size(out) > budget_ && shown_.size() > 1; out = text(memory, order.size()))
      drop_last();
    return out;
  }

 private:
  [[nodiscard]] std::string text(const std::string& memory, std::size_t ranks) {
    std::string path = path_json();
    return fmt::format(
        R"({{"schema":"lockstep.step_data/2","end":{},"note":{},"streams":{},"looks":{},)"
        R"("operations":{},"roles":{},"ranks":{},"routes":{},"links":{},"loads":{},"path":{},)"
        R"("memory":{}}})",
        timeline_.end.ps(), json_string(note(ranks)), strings(timeline_.program->streams),
        operations_.looks(), operations_.json(), joined(roles_json_), joined(ranks_json_),
        routes_.json(), links_json(), loads_, path, memory);
  }

  [[nodiscard]] std::string links_json() const {
    std::set<LinkId> links = routes_.links();
    links.insert(loaded_.begin(), loaded_.end());
    return link_table(result_.scenario.cluster.cluster, links);
  }

  /// Loads of links over time, in as many parts of the step as a quarter of the room holds.
  void choose_loads() {
    for (std::size_t divisions = kMostDivisions; divisions >= kLeastDivisions; divisions /= 2) {
      const StepLinkLoads loads = link_loads(result_, divisions);
      if (loads.links.empty()) return;
      std::string text = loads_json(loads, divisions);
      if (packed_size(text) > budget_ / 4) continue;
      loads_ = std::move(text);
      for (const LinkLoad& each : loads.links) loaded_.insert(each.link);
      divisions_ = divisions;
      return;
    }
  }

  /// A letter for each part of the step: 0 to z for none to all of the bandwidth.
  static std::string loads_json(const StepLinkLoads& loads, std::size_t divisions) {
    constexpr std::string_view kLetters =
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    std::vector<std::string> use;
    Numbers links;
    for (const LinkLoad& each : loads.links) {
      std::string letters;
      for (const double share : each.use) {
        const double level = std::ceil(
            std::clamp(share, 0.0, 1.0) * static_cast<double>(kLetters.size() - 1) - 1e-6);
        letters += kLetters[static_cast<std::size_t>(std::max(0.0, level))];
      }
      use.push_back(json_string(letters));
      links.push_back(each.link);
    }
    return fmt::format(R"({{"divisions":{},"by_transfer":{},"link":{},"use":{}}})", divisions,
                       loads.by_transfer, text_of(links), joined(use));
  }

  /// The rank shown last; the path and the names count, too, and are known only with all ranks.
  void drop_last() {
    place_.erase(shown_.back());
    shown_.pop_back();
    routes_.shorten(routes_before_.back());
    routes_before_.pop_back();
    ranks_json_.pop_back();
  }

  static std::string strings(const std::vector<std::string>& texts) {
    std::vector<std::string> out;
    for (const std::string& each : texts) out.push_back(json_string(each));
    return joined(out);
  }

  /// Whether it fits. The first rank always does, with as many of its longest operations as fit.
  bool add_rank(std::size_t index, std::size_t& used) {
    const RankTimeline& rank = timeline_.ranks[index];
    if (!roles_.contains(rank.role) && shown_.empty()) choose_shortest(index, used);
    std::string role_text;
    if (!roles_.contains(rank.role)) role_text = role_json(rank.role);
    const std::size_t routes = routes_.count();
    const std::string text = rank_json(index);
    const std::size_t size =
        packed_size(role_text) + packed_size(text) + packed_size(routes_.json(routes));
    if (!shown_.empty() && used + size > budget_) {
      routes_.shorten(routes);
      if (!role_text.empty()) kept_.erase(rank.role);
      return false;
    }
    used += size;
    if (!role_text.empty()) {
      roles_.emplace(rank.role, roles_json_.size());
      roles_json_.push_back(role_text);
    }
    place_.emplace(index, shown_.size());
    shown_.push_back(index);
    routes_before_.push_back(routes);
    ranks_json_.push_back(with_role(text, roles_.at(rank.role)));
    return true;
  }

  static std::string with_role(const std::string& text, std::size_t role) {
    return fmt::format(R"({{"role":{},{}}})", role, text);
  }

  /// Raises the shortest time of an operation that is kept until one rank fits.
  void choose_shortest(std::size_t index, std::size_t used) {
    const RankTimeline& rank = timeline_.ranks[index];
    for (shortest_ = Duration{};; shortest_ = shortest_ == Duration{}
                                                  ? Duration::picoseconds(1'000'000)
                                                  : shortest_ + shortest_) {
      kept_.erase(rank.role);
      const std::size_t size = packed_size(role_json(rank.role)) + packed_size(rank_json(index));
      kept_.erase(rank.role);
      if (used + size <= budget_ || shortest_ > timeline_.end.since_start()) return;
    }
  }

  /// Operations of a role that take time on any simulated rank of it.
  const std::vector<std::uint32_t>& kept(std::size_t role) {
    const auto [found, is_new] = kept_.try_emplace(role);
    if (!is_new) return found->second;
    const std::size_t count = timeline_.roles[role].operations.size();
    std::vector<bool> takes(count, false);
    for (const RankTimeline& rank : timeline_.ranks) {
      if (rank.role != role) continue;
      for (std::size_t i = 0; i < count; ++i) {
        const Duration time = rank.operations.end_of(i) - rank.operations.start_of(i);
        if (time > Duration{} && time >= shortest_) takes[i] = true;
      }
    }
    for (std::uint32_t i = 0; i < count; ++i)
      if (takes[i]) found->second.push_back(i);
    return found->second;
  }

  std::string role_json(std::size_t role) {
    const RoleProgram& program = timeline_.roles[role];
    Numbers operation;
    Numbers microbatch;
    Numbers position;
    Numbers stream;
    for (const std::uint32_t i : kept(role)) {
      const RoleOperation& each = program.operations[i];
      operation.push_back(operations_.of(*each.operation));
      microbatch.push_back(each.call.microbatch);
      position.push_back(each.call.position);
      stream.push_back(each.operation->stream);
    }
    return fmt::format(
        R"({{"name":{},"stage":{},"operation":{},"microbatch":{},"position":{},"stream":{}}})",
        json_string(timeline_.program->roles[role].name), stage_of(role), text_of(operation),
        text_of(microbatch), text_of(position), text_of(stream));
  }

  [[nodiscard]] int stage_of(std::size_t role) const {
    for (std::size_t i = 0; i < result_.summary.stages.size(); ++i)
      if (result_.summary.stages[i].role == role) return static_cast<int>(i);
    return -1;
  }

  /// Times relative to the end of the operation before in the same stream. Without its braces.
  std::string rank_json(std::size_t index) {
    const RankTimeline& rank = timeline_.ranks[index];
    const RoleProgram& program = timeline_.roles[rank.role];
    std::map<StreamId, std::int64_t> ends;
    Numbers gap;
    Numbers time;
    Numbers route;
    for (const std::uint32_t i : kept(rank.role)) {
      const Interval interval = rank.operations[i];
      std::int64_t& end = ends[program.operations[i].operation->stream];
      gap.push_back(interval.start.ps() - end);
      time.push_back((interval.end - interval.start).ps());
      end = interval.end.ps();
      route.push_back(routes_.route_of(rank.rank, program, program.operations[i]));
    }
    return fmt::format(R"("rank":{},"host":{},"gap":{},"time":{},"route":{})", rank.rank,
                       rank.rank >= timeline_.program->mesh.ranks(), text_of(gap), text_of(time),
                       text_of(route));
  }

  /// Operations of the critical path on the ranks shown, in order: place of the rank, and place of
  /// the operation among those kept of its role.
  std::string path_json() {
    Numbers rank;
    Numbers operation;
    if (!path_) path_ = critical_path(peers_);
    for (const PathSegment& segment : *path_) {
      const auto found = place_.find(segment.rank);
      if (found == place_.end() || !segment.operation) continue;
      const std::vector<std::uint32_t>& list = kept(timeline_.ranks[segment.rank].role);
      const auto at = std::ranges::lower_bound(list, *segment.operation);
      if (at == list.end() || *at != *segment.operation) continue;
      const std::int64_t place = at - list.begin();
      if (!rank.empty() && rank.back() == static_cast<std::int64_t>(found->second) &&
          operation.back() == place)
        continue;
      rank.push_back(static_cast<std::int64_t>(found->second));
      operation.push_back(place);
    }
    return fmt::format(R"({{"rank":{},"operation":{}}})", text_of(rank), text_of(operation));
  }

  /// Of many points in equal parts of the step the largest.
  std::string memory_json() const {
    const std::vector<MemoryPoint>& curve = result_.memory.account.device.curve;
    const std::int64_t part = timeline_.end.ps() / static_cast<std::int64_t>(kMostMemoryPoints) + 1;
    std::vector<MemoryPoint> points;
    for (const MemoryPoint& point : curve) {
      const bool same = !points.empty() && points.back().at.ps() / part == point.at.ps() / part &&
                        curve.size() > kMostMemoryPoints;
      if (!same)
        points.push_back(point);
      else if (point.held.total() > points.back().held.total())
        points.back() = point;
    }
    Numbers at;
    std::vector<Numbers> bytes(kCategories);
    for (const MemoryPoint& point : points) {
      at.push_back(point.at.ps());
      for (std::size_t i = 0; i < kCategories; ++i)
        bytes[i].push_back(point.held.bytes.at(i).count());
    }
    std::vector<std::string> names;
    std::vector<std::string> columns;
    for (std::size_t i = 0; i < kCategories; ++i) {
      if (std::ranges::all_of(bytes[i], [](auto of) { return of == 0; })) continue;
      std::string name{to_string(static_cast<Category>(i))};
      std::ranges::replace(name, '_', ' ');
      names.push_back(name);
      columns.push_back(text_of(bytes[i]));
    }
    return fmt::format(R"({{"rank":{},"categories":{},"at":{},"bytes":{}}})", result_.memory.rank,
                       strings(names), text_of(at), joined(columns));
  }

  [[nodiscard]] std::string note(std::size_t ranks) const {
    std::string out;
    if (shown_.size() < ranks)
      out += fmt::format(
          "{} of {} simulated ranks, those of all stages first, to keep the page "
          "small.",
          shown_.size(), ranks);
    if (shortest_ > Duration{})
      out += fmt::format("{}Operations below {} are left out.", out.empty() ? "" : " ",
                         to_string(shortest_));
    if (divisions_ > 0 && divisions_ < kMostDivisions)
      out += fmt::format("{}Loads of links are those of {} parts of the step.",
                         out.empty() ? "" : " ", divisions_);
    return out;
  }

  const TrainingStepResult& result_;
  const TrainingStepTimeline& timeline_;
  Peers peers_;
  Operations operations_;
  StepRoutes routes_;
  std::string loads_ = R"({"divisions":0,"by_transfer":false,"link":[],"use":[]})";
  std::set<LinkId> loaded_{};  // links in loads_
  std::size_t divisions_ = 0;  // of the step in loads_
  std::size_t budget_;
  Duration shortest_{};
  std::optional<std::vector<PathSegment>> path_{};
  std::map<std::size_t, std::vector<std::uint32_t>> kept_{};  // by role
  std::map<std::size_t, std::size_t> roles_{};                // place in roles_json_
  std::map<std::size_t, std::size_t> place_{};                // of a rank in ranks_json_
  std::vector<std::size_t> shown_{};
  std::vector<std::size_t> routes_before_{};  // of each rank shown: those of earlier ranks
  std::vector<std::string> roles_json_{};
  std::vector<std::string> ranks_json_{};
};

}  // namespace

std::string step_data(const TrainingStepResult& result, std::size_t budget) {
  return StepData{result, budget}.json();
}

}  // namespace lockstep::cli
