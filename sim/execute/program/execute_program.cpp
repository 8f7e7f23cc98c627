#include "sim/execute/program/execute_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/execute/program/exchange.hpp"
#include "sim/execute/program/random_bits.hpp"
#include "sim/execute/program/scheduled_exchange.hpp"

namespace lockstep {

namespace {

using Kind = OperationKind;

constexpr std::size_t kMostBlockedShown = 12;
/// Replicas of the loss may differ by rounding.
constexpr double kSameLoss = 1e-9;

/// Tokens that an expert may get, so that none is ever dropped: all of them. 0: no experts.
[[nodiscard]] std::int64_t slots_of(const Program& program) {
  for (const Routine& routine : program.routines) {
    for (const Operation& operation : routine.operations) {
      if (operation.kind == Kind::dispatch) {
        return global_elements(program.tensors[operation.reads[1].tensor]);
      }
    }
  }
  return 0;
}

/// The weight that a tensor is, or is a copy of.
[[nodiscard]] const Tensor& original(const Program& program, const Tensor& tensor) {
  const Tensor* out = &tensor;
  while (out->copy_of) out = &program.tensors[*out->copy_of];
  return *out;
}

[[nodiscard]] bool is_weight(const Program& program, const Tensor& tensor) {
  return original(program, tensor).category == Category::weight &&
         (tensor.copy_of || tensor.category == Category::weight);
}

/// Those that carry numbers on do not add to gradients of their own accord.
[[nodiscard]] bool makes_gradients(Kind kind) {
  switch (kind) {
    case Kind::scale:
    case Kind::cast:
    case Kind::slice:
    case Kind::host_copy:
    case Kind::update:
    case Kind::add:
      return false;
    default:
      return true;
  }
}

/// What attention parts and recomputed operations are parts and copies of.
[[nodiscard]] std::string drawn_as(const Operation& operation) {
  if (operation.kind == Kind::attention || operation.kind == Kind::attention_backward) {
    return "attention";
  }
  constexpr std::string_view kAgain = ".again";
  std::string name = operation.name;
  if (name.ends_with(kAgain)) name.resize(name.size() - kAgain.size());
  return name;
}

}  // namespace

/// A rank or host with its memory.
struct ProgramExecution::Player {
  int rank = 0;
  const RoleProgram* role = nullptr;
  std::vector<std::vector<double>> values{};  // per instance
  std::vector<bool> written{};                // likewise
  std::vector<bool> kept{};                   // likewise: from step to step
  std::vector<bool> read_first{};             // likewise: before anything writes it
  std::vector<std::vector<std::uint32_t>> streams{};
  std::vector<std::size_t> next{};   // per stream
  std::vector<bool> done{};          // per operation
  std::vector<bool> arrived{};       // likewise: waits in its meeting
  std::vector<Meeting*> meetings{};  // per operation; null: no collective

  [[nodiscard]] const RoleOperation& operation(std::uint32_t index) const {
    return role->operations[index];
  }
};

/// One call of a collective.
struct ProgramExecution::Meeting {
  struct Guest {
    Player* player = nullptr;
    std::uint32_t operation = 0;
  };
  std::vector<int> members{};
  std::vector<Guest> guests{};  // as members; no player yet: has not come
  int root = 0;
  std::size_t come = 0;
};

ProgramExecution::ProgramExecution(const Program& program, ExecutionOptions options)
    : program_{program},
      options_{std::move(options)},
      inputs_{program_inputs(program)},
      layouts_{program, slots_of(program)},
      draws_{options_.order_seed} {
  for (std::size_t i = 0; i < program.roles.size(); ++i) roles_.push_back(unroll(program, i));
  if (options_.revise) std::for_each(roles_.begin(), roles_.end(), options_.revise);
  make_players();
}

ProgramExecution::~ProgramExecution() = default;

void ProgramExecution::make_players() {
  const auto hosts = std::count_if(program_.roles.begin(), program_.roles.end(),
                                   [](const Role& role) { return role.host; });
  for (int rank = 0; rank < program_.mesh.ranks() + static_cast<int>(hosts); ++rank) {
    auto player = std::make_unique<Player>();
    player->rank = rank;
    player->role = &roles_[role_played(program_, rank)];
    const RoleProgram& role = *player->role;
    player->streams.resize(program_.streams.size());
    for (std::uint32_t i = 0; i < role.operations.size(); ++i) {
      player->streams[role.operations[i].operation->stream].push_back(i);
    }
    for (std::size_t stream = 0; stream < player->streams.size(); ++stream) {
      if (!player->streams[stream].empty()) lanes_.push_back({players_.size(), stream});
    }
    player->values.resize(role.instances.size());
    player->written.assign(role.instances.size(), false);
    plan_meetings(*player);
    begin(*player);
    players_.push_back(std::move(player));
  }
}

void ProgramExecution::plan_meetings(Player& player) {
  player.meetings.assign(player.role->operations.size(), nullptr);
  std::map<std::vector<int>, std::size_t> met;
  for (std::uint32_t i = 0; i < player.role->operations.size(); ++i) {
    const Operation& operation = *player.operation(i).operation;
    if (operation.kind != Kind::collective) continue;
    Communicator who = communicator_of(program_, player.rank, *operation.communication);
    const std::size_t count = met[who.members]++;
    std::unique_ptr<Meeting>& meeting = meetings_[{who.members, count}];
    if (meeting == nullptr) {
      meeting = std::make_unique<Meeting>();
      meeting->root = who.root;
      meeting->guests.resize(who.members.size());
      meeting->members = std::move(who.members);
    }
    player.meetings[i] = meeting.get();
  }
}

/// Once: what is kept from step to step begins with its first values.
void ProgramExecution::begin(Player& player) {
  const RoleProgram& role = *player.role;
  player.kept.assign(role.instances.size(), false);
  player.read_first.assign(role.instances.size(), false);
  std::vector<bool> used(role.instances.size(), false);
  for (const RoleOperation& operation : role.operations) {
    for (const std::uint32_t read : operation.reads) {
      if (!used[read]) player.read_first[read] = true;
      used[read] = true;
    }
    for (const std::uint32_t write : operation.writes) used[write] = true;
  }
  for (std::uint32_t i = 0; i < role.instances.size(); ++i) {
    const Tensor& tensor = role.tensor(i);
    const TensorInstance& instance = role.instances[i];
    player.kept[i] = tensor.resident && tensor.category != Category::gradient &&
                     !inputs_.contains(instance.tensor);
    if (!player.kept[i]) continue;
    player.written[i] = true;
    const PartLayout& layout = layouts_.of(instance.tensor, player.rank);
    player.values[i].assign(static_cast<std::size_t>(layout.elements()), 0.0);
    if (!is_weight(program_, tensor)) continue;
    const std::string& name = original(program_, tensor).name;
    const std::vector<std::int64_t> places = layout.global_indices();
    for (std::size_t k = 0; k < places.size(); ++k) {
      if (places[k] < 0) continue;
      player.values[i][k] = initial_weight(options_.seed, name, instance.position, places[k]);
    }
  }
}

void ProgramExecution::begin_step() {
  ++step_;
  messages_.clear();
  for (auto& [key, meeting] : meetings_) {
    std::fill(meeting->guests.begin(), meeting->guests.end(), Meeting::Guest{});
    meeting->come = 0;
  }
  for (const auto& player : players_) {
    player->next.assign(player->streams.size(), 0);
    player->done.assign(player->role->operations.size(), false);
    player->arrived.assign(player->role->operations.size(), false);
    for (std::uint32_t i = 0; i < player->values.size(); ++i) {
      if (player->kept[i]) continue;
      const Tensor& tensor = player->role->tensor(i);
      const TensorInstance& instance = player->role->instances[i];
      const PartLayout& part = layouts_.of(instance.tensor, player->rank);
      const auto input = inputs_.find(instance.tensor);
      player->values[i].clear();
      player->written[i] = tensor.resident;
      if (input != inputs_.end()) {
        player->values[i] =
            input_values(mixed(options_.seed, static_cast<std::uint64_t>(step_)), tensor,
                         input->second, part, instance.microbatch, options_.sample_of);
      } else if (tensor.resident) {
        player->values[i].assign(static_cast<std::size_t>(part.elements()), 0.0);
      }
    }
  }
}

double ProgramExecution::step() {
  begin_step();
  run_all();
  return loss();
}

void ProgramExecution::run_all() {
  std::size_t left = 0;
  for (const auto& player : players_) left += player->role->operations.size();
  while (left > 0) {
    std::size_t ended = sweep(false);
    if (ended == 0) ended = sweep(true);
    if (ended == 0) stuck();
    left -= ended;
  }
}

/// Goes through all lanes in a drawn order and lets each do a few operations, or, not being
/// patient, none. Returns how many operations have ended.
std::size_t ProgramExecution::sweep(bool patient) {
  for (std::size_t i = lanes_.size(); i > 1; --i) {
    draws_ = mixed(draws_, i);
    std::swap(lanes_[i - 1], lanes_[draws_ % i]);
  }
  std::size_t ended = 0;
  for (const Lane& lane : lanes_) {
    draws_ = mixed(draws_, lane.stream);
    const std::uint64_t most = patient ? 1 : draws_ % 5;
    for (std::uint64_t i = 0; i < most && advance(lane); ++i) ++ended;
  }
  return ended;
}

/// Whether the next operation of a lane has ended. One that waits in a meeting ends with a later
/// call.
bool ProgramExecution::advance(const Lane& lane) {
  Player& player = *players_[lane.player];
  const std::vector<std::uint32_t>& stream = player.streams[lane.stream];
  std::size_t& next = player.next[lane.stream];
  if (next == stream.size()) return false;
  const std::uint32_t index = stream[next];
  if (!player.done[index]) {
    const std::vector<std::uint32_t>& after = player.operation(index).after;
    const bool ready = std::all_of(after.begin(), after.end(),
                                   [&](std::uint32_t before) { return player.done[before]; });
    if (!ready || !run(player, index)) return false;
    player.done[index] = true;
  }
  ++next;
  return true;
}

/// False where it has to wait.
bool ProgramExecution::run(Player& player, std::uint32_t index) {
  switch (player.operation(index).operation->kind) {
    case Kind::collective:
      if (!player.arrived[index]) arrive(player, index);
      return player.done[index];
    case Kind::send:
      send(player, index);
      return true;
    case Kind::receive:
      return receive(player, index);
    default:
      compute(player, index);
      return true;
  }
}

// Computation.

/// Keys that have travelled along a ring are those of a rank further back.
const PartLayout& ProgramExecution::layout(const Player& player, std::uint32_t index,
                                           std::uint32_t instance) {
  const Operation& operation = *player.operation(index).operation;
  const TensorId id = player.role->instances[instance].tensor;
  int rank = player.rank;
  const Extent* sequence = find_extent(program_.tensors[id], Dim::sequence);
  const bool travels =
      operation.ring_offset > 0 && find_extent(program_.tensors[id], Dim::kv_heads) != nullptr;
  if (travels && sequence != nullptr) {
    const int size = program_.mesh.size(sequence->shards);
    const int own = program_.mesh.coordinate(rank, sequence->shards);
    rank = program_.mesh.moved(rank, sequence->shards,
                               (own + size - operation.ring_offset % size) % size);
  }
  return layouts_.of(id, rank);
}

const std::vector<double>& ProgramExecution::value(const Player& player, std::uint32_t index,
                                                   std::uint32_t instance) const {
  if (!player.written[instance]) {
    throw ExecutionError{fmt::format("{} reads {}, which nobody has written", who(player, index),
                                     player.role->tensor(instance).name)};
  }
  return player.values[instance];
}

void ProgramExecution::compute(Player& player, std::uint32_t index) {
  const RoleOperation& what = player.operation(index);
  const Operation& operation = *what.operation;
  KernelCall call;
  call.operation = &operation;
  call.optimizer = options_.optimizer;
  call.step = step_;
  for (const std::uint32_t read : what.reads) {
    call.reads.push_back(
        {&player.role->tensor(read), &layout(player, index, read), &value(player, index, read)});
  }
  for (const std::uint32_t write : what.writes) {
    const PartLayout& part = layout(player, index, write);
    call.writes.push_back({&player.role->tensor(write), &part,
                           std::vector<double>(static_cast<std::size_t>(part.elements()), 0.0)});
  }
  if (operation.kind == Kind::matmul) {
    const Atoms& partial = call.write(0).tensor->partial;
    call.adds_bias = program_.mesh.coordinate(player.rank, partial) == 0;
  }
  if (operation.dropout > 0) {
    std::uint64_t draw =
        mixed(mixed(options_.seed, drawn_as(operation)), static_cast<std::uint64_t>(step_));
    draw = mixed(draw, static_cast<std::uint64_t>(what.call.position));
    call.draw = mixed(draw, static_cast<std::uint64_t>(what.call.microbatch));
  }
  try {
    run_kernel(call);
  } catch (const ExecutionError& error) {
    throw ExecutionError{fmt::format("{}: {}", who(player, index), error.what())};
  }
  for (std::size_t i = 0; i < what.writes.size(); ++i) {
    const bool gradient =
        call.write(i).tensor->category == Category::gradient && makes_gradients(operation.kind);
    const bool adds = !combines_itself(operation) && (operation.accumulate || gradient);
    store(player, index, what.writes[i], std::move(call.write(i).values), adds);
  }
}

void ProgramExecution::store(Player& player, std::uint32_t index, std::uint32_t instance,
                             std::vector<double> values, bool add) {
  std::vector<double>& held = player.values[instance];
  if (add && player.written[instance]) {
    if (held.size() != values.size()) {
      throw ExecutionError{fmt::format("{} adds {} values to {} of {}", who(player, index),
                                       values.size(), held.size(),
                                       player.role->tensor(instance).name)};
    }
    for (std::size_t i = 0; i < values.size(); ++i) held[i] += values[i];
    return;
  }
  if (add && player.role->tensor(instance).category != Category::gradient) {
    throw ExecutionError{fmt::format("{} adds to {}, which nobody has written", who(player, index),
                                     player.role->tensor(instance).name)};
  }
  held = std::move(values);
  player.written[instance] = true;
}

// Communication.

void ProgramExecution::arrive(Player& player, std::uint32_t index) {
  Meeting& meeting = *player.meetings[index];
  const auto own = std::find(meeting.members.begin(), meeting.members.end(), player.rank) -
                   meeting.members.begin();
  Meeting::Guest& guest = meeting.guests[static_cast<std::size_t>(own)];
  guest = {&player, index};
  player.arrived[index] = true;
  if (++meeting.come == meeting.members.size()) hold(meeting);
}

/// Everyone has come: what they bring is exchanged, and they may go on.
void ProgramExecution::hold(Meeting& meeting) {
  const Meeting::Guest& first = meeting.guests.front();
  const Communication& how = *first.player->operation(first.operation).operation->communication;
  check_agreement(meeting);
  std::vector<std::vector<ExchangePart>> tensors = parts_of(meeting);
  try {
    const auto members = static_cast<int>(meeting.members.size());
    const auto schedule = options_.schedule_of && members > 1
                              ? options_.schedule_of(how, members, meeting.root)
                              : nullptr;
    if (schedule != nullptr) {
      draws_ = mixed(draws_, meeting.members.size());
      exchange_by(*schedule, how, draws_, tensors);
    } else {
      for (std::vector<ExchangePart>& parts : tensors) exchange(how, meeting.root, parts);
    }
  } catch (const ExecutionError& error) {
    throw ExecutionError{fmt::format("{} with {} others: {}", who(*first.player, first.operation),
                                     meeting.members.size() - 1, error.what())};
  }
  for (std::size_t k = 0; k < meeting.guests.size(); ++k) {
    const Meeting::Guest& guest = meeting.guests[k];
    const RoleOperation& what = guest.player->operation(guest.operation);
    for (std::size_t i = 0; i < what.writes.size(); ++i) {
      store(*guest.player, guest.operation, what.writes[i], std::move(tensors[i][k].got),
            what.operation->accumulate);
    }
    guest.player->done[guest.operation] = true;
  }
}

/// All call the same collective.
void ProgramExecution::check_agreement(const Meeting& meeting) const {
  const Meeting::Guest& first = meeting.guests.front();
  const Communication& how = *first.player->operation(first.operation).operation->communication;
  for (const Meeting::Guest& guest : meeting.guests) {
    const Communication& other = *guest.player->operation(guest.operation).operation->communication;
    if (other.collective == how.collective && other.reduction == how.reduction &&
        other.cut == how.cut && other.joined == how.joined) {
      continue;
    }
    throw ExecutionError{fmt::format("{} meets {}", who(*first.player, first.operation),
                                     who(*guest.player, guest.operation))};
  }
}

/// Per tensor and member what is brought and taken.
std::vector<std::vector<ExchangePart>> ProgramExecution::parts_of(const Meeting& meeting) {
  std::size_t tensors = 0;
  for (const Meeting::Guest& guest : meeting.guests) {
    const RoleOperation& what = guest.player->operation(guest.operation);
    tensors = std::max({tensors, what.reads.size(), what.writes.size()});
  }
  std::vector<std::vector<ExchangePart>> out(tensors);
  for (std::size_t i = 0; i < tensors; ++i) {
    for (const Meeting::Guest& guest : meeting.guests) {
      const RoleOperation& what = guest.player->operation(guest.operation);
      ExchangePart part;
      if (i < what.reads.size()) {
        part.from = &layout(*guest.player, guest.operation, what.reads[i]);
        part.brought = &value(*guest.player, guest.operation, what.reads[i]);
      }
      if (i < what.writes.size()) {
        part.to = &layout(*guest.player, guest.operation, what.writes[i]);
        part.got.assign(static_cast<std::size_t>(part.to->elements()), 0.0);
      }
      out[i].push_back(std::move(part));
    }
  }
  return out;
}

ProgramExecution::MessageKey ProgramExecution::message_key(const Player& player,
                                                           std::uint32_t index) const {
  const RoleOperation& what = player.operation(index);
  const Communication& how = *what.operation->communication;
  const int size = program_.mesh.size(how.over);
  const int own = program_.mesh.coordinate(player.rank, how.over);
  const int peer = program_.mesh.moved(player.rank, how.over, (own + how.offset + size) % size);
  const bool sends = what.operation->kind == Kind::send;
  const TensorInstance& tensor = player.role->instances[sends ? what.reads[0] : what.writes[0]];
  return {sends ? player.rank : peer, sends ? peer : player.rank, tensor};
}

void ProgramExecution::send(Player& player, std::uint32_t index) {
  messages_[message_key(player, index)].push_back(
      value(player, index, player.operation(index).reads[0]));
}

bool ProgramExecution::receive(Player& player, std::uint32_t index) {
  std::deque<std::vector<double>>& queue = messages_[message_key(player, index)];
  if (queue.empty()) return false;
  const std::uint32_t to = player.operation(index).writes[0];
  const std::int64_t wanted = layout(player, index, to).elements();
  if (static_cast<std::int64_t>(queue.front().size()) != wanted) {
    throw ExecutionError{fmt::format("{} gets {} values where {} belong", who(player, index),
                                     queue.front().size(), wanted)};
  }
  store(player, index, to, std::move(queue.front()), false);
  queue.pop_front();
  return true;
}

// Results.

/// A sum over microbatches and over the ranks that have summands; whoever has it has the same.
double ProgramExecution::loss() const {
  std::map<std::vector<int>, double> found;  // per set of ranks that have it together
  for (const auto& player : players_) {
    for (const RoleOperation& what : player->role->operations) {
      if (what.operation->kind != Kind::loss) continue;
      const Tensor& tensor = player->role->tensor(what.writes[0]);
      found[program_.mesh.members(player->rank, tensor.partial)] +=
          player->values[what.writes[0]].at(0);
    }
  }
  if (found.empty()) throw ExecutionError{"no rank computes a loss"};
  const double out = found.begin()->second;
  for (const auto& [ranks, value] : found) {
    if (std::abs(value - out) <= kSameLoss * std::abs(out)) continue;
    throw ExecutionError{
        fmt::format("ranks from {} on have a loss of {}, those from {} on one of {}",
                    found.begin()->first.front(), out, ranks.front(), value)};
  }
  return out;
}

std::vector<HeldWeight> ProgramExecution::weights() {
  std::vector<HeldWeight> out;
  for (const auto& player : players_) {
    for (std::uint32_t i = 0; i < player->values.size(); ++i) {
      const Tensor& tensor = player->role->tensor(i);
      if (!player->kept[i] || !player->read_first[i] || !is_weight(program_, tensor)) continue;
      const TensorInstance& instance = player->role->instances[i];
      out.push_back({player->rank, original(program_, tensor).name, tensor.name, instance.position,
                     &layouts_.of(instance.tensor, player->rank), &player->values[i]});
    }
  }
  return out;
}

// What can go wrong.

std::string ProgramExecution::who(const Player& player, std::uint32_t index) const {
  const bool host = player.rank >= program_.mesh.ranks();
  return fmt::format("{} {}: {}", host ? "host" : "rank",
                     host ? player.rank - program_.mesh.ranks() : player.rank,
                     player.role->name(index));
}

std::string ProgramExecution::waits_for(const Player& player, std::uint32_t index) const {
  for (const std::uint32_t before : player.operation(index).after) {
    if (!player.done[before]) return "its own " + player.role->name(before);
  }
  const Operation& operation = *player.operation(index).operation;
  if (operation.kind == Kind::receive) {
    return fmt::format("a message from rank {}", std::get<0>(message_key(player, index)));
  }
  if (operation.kind != Kind::collective) return "nothing";
  const Meeting& meeting = *player.meetings[index];
  std::string out = "ranks";
  for (std::size_t i = 0; i < meeting.members.size(); ++i) {
    if (meeting.guests[i].player == nullptr) out += fmt::format(" {}", meeting.members[i]);
  }
  return out;
}

void ProgramExecution::stuck() const {
  std::string text = "the execution cannot go on:";
  std::size_t shown = 0;
  for (const auto& player : players_) {
    for (std::size_t stream = 0; stream < player->streams.size(); ++stream) {
      if (player->next[stream] == player->streams[stream].size()) continue;
      if (++shown > kMostBlockedShown) continue;
      const std::uint32_t index = player->streams[stream][player->next[stream]];
      text += fmt::format("\n  {} (stream {}) waits for {}", who(*player, index),
                          program_.streams[stream], waits_for(*player, index));
    }
  }
  if (shown > kMostBlockedShown) text += fmt::format("\n  and {} more", shown - kMostBlockedShown);
  throw ExecutionError{text};
}

}  // namespace lockstep
