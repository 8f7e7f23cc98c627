#include "strategies/step/lowering/fold_step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "sim/base/check.hpp"
#include "sim/program/communicator.hpp"
#include "sim/symmetry/branches/written_schedule.hpp"
#include "sim/symmetry/class_differences.hpp"
#include "sim/symmetry/quotient/link_bytes.hpp"
#include "strategies/step/lowering/calls_in_turn.hpp"
#include "strategies/step/lowering/class_partings.hpp"

namespace lockstep {

namespace {

/// Steps of a collective that are kept, as it happens many times; some 200 bytes each.
constexpr std::int64_t kMostWritten = 1 << 16;

}  // namespace

/// The ways of classes of pairs: the first channels belong to collectives, so many to each class;
/// the others, one each, to messages.
class PairRouter final : public Router {
 public:
  PairRouter(const std::vector<fold::ClassRoute>& ways, int channels)
      : ways_{ways}, channels_{static_cast<std::uint32_t>(channels)} {}

  [[nodiscard]] std::uint32_t add_channel(std::uint32_t pair_class) {
    of_message_.push_back(pair_class);
    return static_cast<std::uint32_t>(ways_.size()) * channels_ +
           static_cast<std::uint32_t>(of_message_.size() - 1);
  }

  [[nodiscard]] bool route(EndpointId, EndpointId, Route&) const override { return false; }
  [[nodiscard]] bool by_channel() const override { return true; }
  [[nodiscard]] bool route_of(EndpointId, EndpointId, std::uint32_t channel,
                              Route& route) const override {
    route = *held_route(channel);
    return true;
  }
  [[nodiscard]] const Route* held_route(std::uint32_t channel) const override {
    const std::uint32_t pair_class = channel / channels_;
    const std::size_t after = channel - ways_.size() * channels_;
    return &ways_[pair_class < ways_.size() ? pair_class : of_message_[after]].route;
  }

 private:
  const std::vector<fold::ClassRoute>& ways_;
  std::uint32_t channels_;
  std::vector<std::uint32_t> of_message_;
};

FoldedTrainingStep::FoldedTrainingStep(const TrainingStepFoldingInput& input)
    : in_{input},
      communications_{input.program, input.roles},
      schedule_{input.program, communications_, input.choice, input.endpoint, input.speeds} {}

FoldedTrainingStep::~FoldedTrainingStep() = default;

std::unique_ptr<FoldedTrainingStep> FoldedTrainingStep::find(
    const TrainingStepFoldingInput& input) {
  std::unique_ptr<FoldedTrainingStep> out{new FoldedTrainingStep(input)};
  if (!out->run()) return nullptr;
  return out;
}

bool FoldedTrainingStep::run() {
  CollectiveCall call;
  call.name = "step";
  call.schedule = {std::shared_ptr<const Schedule>{}, &schedule_};
  call.block = Bytes{1};
  for (int rank = 0; rank < schedule_.ranks(); ++rank)
    call.members.push_back(is_switch(rank) ? schedule_.switch_at(rank) : in_.endpoint(rank));
  workload_.calls.push_back(std::move(call));
  auto relations = fold::find_relations(in_.network, workload_, in_.most_relations);
  if (!relations) return false;
  relations_ = std::move(*relations);
  partition_ = fold::find_partition(relations_, in_.network, in_.model);
  quotient_ = fold::make_quotient(relations_, partition_, in_.network, workload_, in_.model);
  router_ = std::make_shared<PairRouter>(quotient_.class_routes, schedule_.channels());
  quotient_.network.router = router_;
  // Classes are numbered by their first members, and switches are the last of these.
  for (const std::uint32_t member : partition_.first_member)
    if (!is_switch(static_cast<int>(member))) representatives_.push_back(static_cast<int>(member));
  class_of_.assign(partition_.member_class.begin(),
                   partition_.member_class.begin() + schedule_.performers());
  find_components();
  return true;
}

std::size_t FoldedTrainingStep::role_of(int rank) const {
  return role_played(in_.program, rank);
}

/// Classes whose ranks are in groups together, by communicator. Switches join none: one may play in
/// several groups that have no rank in common.
void FoldedTrainingStep::find_components() {
  components_.assign(communications_.communicators(), {});
  for (auto& component : components_) {
    component.resize(partition_.first_member.size());
    std::iota(component.begin(), component.end(), 0U);
  }
  const auto root = [](std::vector<std::uint32_t>& of, std::uint32_t at) {
    while (of[at] != at) at = of[at] = of[of[at]];
    return at;
  };
  for (int rank = 0; rank < schedule_.performers(); ++rank) {
    for (const RankPart& part : schedule_.parts(rank)) {
      if (part.chosen == nullptr) continue;
      auto& of = components_[communications_[part.communication].communicator];
      const auto first = static_cast<std::size_t>(schedule_.player(part, 0));
      const std::uint32_t a = root(of, partition_.member_class[static_cast<std::size_t>(rank)]);
      const std::uint32_t b = root(of, partition_.member_class[first]);
      of[std::max(a, b)] = std::min(a, b);
    }
  }
  for (auto& component : components_)
    for (std::uint32_t c = 0; c < component.size(); ++c) component[c] = root(component, c);
}

/// The class of pairs that one rank's messages to another are of.
std::uint32_t FoldedTrainingStep::pair_of(int from, int to) const {
  const auto sender = static_cast<std::uint32_t>(from);
  for (std::uint32_t p = relations_.first_pair[sender]; p < relations_.first_pair[sender + 1]; ++p)
    if (relations_.pairs[p].receiver == static_cast<std::uint32_t>(to))
      return partition_.pair_class[p];
  throw InternalError("ranks that talk are no pair");
}

const CollectiveCall* FoldedTrainingStep::call_of(const ChosenCollective& chosen) {
  const auto [found, is_new] = calls_.try_emplace(&chosen);
  if (is_new) {
    found->second.schedule = chosen.schedule;
    found->second.block = chosen.block;
  }
  return &found->second;
}

fold::FoldedRank FoldedTrainingStep::folded_rank(const RankPart& part, int rank,
                                                 const std::vector<EndpointId>& classes) {
  std::map<std::uint32_t, int> position;  // of the group's members
  for (int i = 0; i < schedule_.participants(part); ++i)
    position[static_cast<std::uint32_t>(schedule_.player(part, i))] = i;
  const auto add = [&](std::uint32_t p, std::uint32_t other, std::vector<fold::FoldedPeer>& out,
                       std::map<std::uint32_t, std::size_t>& known) {
    const auto at = position.find(other);
    if (at == position.end()) return;
    const std::uint32_t pairs = partition_.pair_class[p];
    const auto [found, is_new] = known.try_emplace(pairs, out.size());
    if (!is_new) {
      ++out[found->second].times;
      return;
    }
    const auto member_slot =
        std::lower_bound(classes.begin(), classes.end(), partition_.member_class[other]);
    out.push_back(
        {at->second, static_cast<std::uint32_t>(member_slot - classes.begin()), pairs, 1});
  };
  fold::FoldedRank out{call_of(*part.chosen), part.position};
  std::map<std::uint32_t, std::size_t> known;
  const auto member = static_cast<std::uint32_t>(rank);
  for (std::uint32_t p = relations_.first_pair[member]; p < relations_.first_pair[member + 1]; ++p)
    add(p, relations_.pairs[p].receiver, out.to, known);
  known.clear();
  for (std::uint32_t i = partition_.first_received[member];
       i < partition_.first_received[member + 1]; ++i) {
    const std::uint32_t p = partition_.received[i];
    add(p, relations_.pairs[p].sender, out.from, known);
  }
  for (auto* peers : {&out.to, &out.from})
    std::sort(peers->begin(), peers->end(),
              [](const fold::FoldedPeer& a, const fold::FoldedPeer& b) { return a.peer < b.peer; });
  return out;
}

/// Whether the first class of a group neither reduces nor copies in any time, nor issues messages
/// in an order that matters.
bool FoldedTrainingStep::leaves_alone(const Group& group) const {
  const Endpoint& endpoint = network().endpoints[group.classes.front()];
  if (endpoint.reduce_rate || endpoint.message_overhead > Duration{}) return false;
  if (!endpoint.copy_rate) return true;
  ScheduleStep step;
  for (int lane = 0; lane < group.schedule->lanes(); ++lane) {
    for (std::int64_t i = 0; i < group.schedule->steps(0, lane); ++i) {
      step.clear();
      group.schedule->step(0, lane, i, step);
      if (!step.locals.empty()) return false;
    }
  }
  return true;
}

bool FoldedTrainingStep::may_take_turns(const Group& group, std::uint32_t communication) const {
  if (!among_all(communications_[communication].how)) return false;
  const std::size_t role = role_of(representatives_[group.classes.front()]);
  const bool one_role = std::all_of(group.classes.begin(), group.classes.end(), [&](EndpointId c) {
    return c < representatives_.size() && role_of(representatives_[c]) == role;
  });
  return one_role && is_plain(*group.schedule);
}

/// Null where a switch plays for other ranks, or in other communications of these alone.
const RankPart* FoldedTrainingStep::part_in(int rank, std::uint32_t communication,
                                            std::uint32_t component) const {
  if (!is_switch(rank)) return &schedule_.part(rank, communication);
  const auto& of = components_[communications_[communication].communicator];
  for (const RankPart& part : schedule_.parts(rank)) {
    if (part.communication != communication) continue;
    const auto first = static_cast<std::size_t>(schedule_.player(part, 0));
    if (of[partition_.member_class[first]] == component) return &part;
  }
  return nullptr;
}

std::uint64_t FoldedTrainingStep::switch_transfers(std::uint32_t communication,
                                                   std::uint32_t component) const {
  const auto& of = components_[communications_[communication].communicator];
  std::uint64_t out = 0;
  for (int rank = schedule_.performers(); rank < schedule_.ranks(); ++rank) {
    for (const RankPart& part : schedule_.parts(rank)) {
      const auto first = static_cast<std::size_t>(schedule_.player(part, 0));
      const bool here =
          part.communication == communication && of[partition_.member_class[first]] == component;
      if (here) out += static_cast<std::uint64_t>(part.own->messages);
    }
  }
  return out;
}

const FoldedTrainingStep::Group& FoldedTrainingStep::group(std::uint32_t communication,
                                                           std::uint32_t component) {
  const auto [found, is_new] = groups_.try_emplace({communication, component});
  Group& out = found->second;
  if (!is_new) return out;
  const auto& of = components_[communications_[communication].communicator];
  std::vector<const RankPart*> parts;
  for (std::uint32_t c = 0; c < of.size(); ++c) {
    const auto rank = static_cast<int>(partition_.first_member[c]);
    if (of[c] != component && !is_switch(rank)) continue;
    const RankPart* part = part_in(rank, communication, component);
    if (part == nullptr) continue;
    out.classes.push_back(c);
    parts.push_back(part);
  }
  std::vector<fold::FoldedRank> ranks;
  for (std::size_t i = 0; i < parts.size(); ++i)
    ranks.push_back(folded_rank(
        *parts[i], static_cast<int>(partition_.first_member[out.classes[i]]), out.classes));
  out.switch_transfers = switch_transfers(communication, component);
  out.schedule = fold::written(
      std::make_shared<fold::QuotientSchedule>(std::move(ranks), schedule_.channels()),
      kMostWritten);
  out.repeats = out.classes.size() == 1 && leaves_alone(out);
  out.in_turn = may_take_turns(out, communication);
  return out;
}

std::optional<FoldedTrainingStep::MemberSlot> FoldedTrainingStep::collective(
    int rank, const Operation& operation) {
  const std::uint32_t id = communications_.of(operation);
  if (id == TrainingStepCommunications::kNone) return std::nullopt;
  const std::uint32_t own = class_of()[static_cast<std::size_t>(rank)];
  const std::uint32_t communicator = communications_[id].communicator;
  const std::uint32_t component = components_[communicator][own];
  const RankPart& part = schedule_.part(rank, id);
  MemberSlot out;
  out.group = &group(id, component);
  const std::vector<EndpointId>& classes = out.group->classes;
  out.member = static_cast<std::uint32_t>(std::lower_bound(classes.begin(), classes.end(), own) -
                                          classes.begin());
  out.transfers = static_cast<std::uint64_t>(part.own->messages) * partition_.members_in[own];
  if (out.member == 0) out.transfers += out.group->switch_transfers;
  out.launch = part.chosen->launch;
  out.on_copy_engines = part.chosen->on_copy_engines;
  out.collective_instance = (std::uint64_t{communicator} << 32U) | component;
  return out;
}

FoldedTrainingStep::Message FoldedTrainingStep::message(int rank, const Operation& operation,
                                                        const TensorInstance& tensor) {
  const std::uint32_t id = communications_.of(operation);
  const int peer = communications_.peer(id, rank);
  const bool sends = operation.kind == OperationKind::send;
  const std::uint32_t pairs = sends ? pair_of(rank, peer) : pair_of(peer, rank);
  const std::uint32_t own = class_of()[static_cast<std::size_t>(rank)];
  if (sends) transfers_ += partition_.members_in[own];
  const auto [tag, is_new] = tags_.try_emplace({pairs, tensor}, 0);
  if (is_new) tag->second = router_->add_channel(pairs);
  return {class_of()[static_cast<std::size_t>(peer)], tag->second};
}

std::vector<Bytes> FoldedTrainingStep::link_bytes(const ReplayResult& result) const {
  return fold::link_bytes_of(relations_, partition_, quotient_, in_.network, result);
}

/// Against the largest class of its role, the first of several.
std::string FoldedTrainingStep::difference(std::size_t of, std::size_t usual) const {
  if (of == usual) return {};
  const RankSpeed& speed = speed_of(in_.speeds, representatives_[of]);
  if (speed != speed_of(in_.speeds, representatives_[usual])) return description(speed);
  return fold::difference_between(partition_.first_member[of], partition_.first_member[usual],
                                  relations_, partition_, in_.network, workload_);
}

double FoldedTrainingStep::work(int per_node) const {
  double work = 0;
  for (const int rank : representatives_) {
    const std::size_t role = role_of(rank);
    work += static_cast<double>(in_.roles[role].operations.size());
    const auto times = communications_.times_in_role(role);
    const std::vector<RankPart>& parts = schedule_.parts(rank);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (parts[i].own == nullptr) continue;
      const bool once = communications_.group_size(parts[i].communication) <= per_node;
      work += static_cast<double>(parts[i].own->messages) * (once ? 1 : times[i]);
    }
  }
  return work;
}

std::vector<RankEquivalenceClass> FoldedTrainingStep::describe(bool differences) const {
  std::vector<RankEquivalenceClass> out;
  for (std::size_t c = 0; c < classes(); ++c)
    out.push_back(
        {representatives_[c], role_of(representatives_[c]), partition_.members_in[c], {}});
  if (!differences) return out;
  const std::map<std::size_t, std::size_t> usual = usual_classes(out);
  for (std::size_t c = 0; c < classes(); ++c) {
    // A speed of its own is what others differ by, so it is described however many classes precede.
    const std::size_t largest = usual.at(out[c].role);
    const bool own_speed = speed_of(in_.speeds, representatives_[c]) !=
                           speed_of(in_.speeds, representatives_[largest]);
    if (own_speed || c < RankEquivalenceClass::kMaxDescribed)
      out[c].difference = difference(c, largest);
  }
  return out;
}

}  // namespace lockstep
