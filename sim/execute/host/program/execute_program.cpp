#include "sim/execute/host/program/execute_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/execute/host/kernels/random_bits.hpp"
#include "sim/execute/host/program/program_player.hpp"

namespace lockstep {

namespace {

using Kind = OperationKind;

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
  KernelCall<double> call = kernel_call(player, index);
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

KernelCall<double> ProgramExecution::kernel_call(const Player& player, std::uint32_t index) {
  const RoleOperation& what = player.operation(index);
  KernelCall<double> call;
  call.operation = what.operation;
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
  if (what.operation->kind == Kind::matmul) {
    const Atoms& partial = call.write(0).tensor->partial;
    call.adds_bias = program_.mesh.coordinate(player.rank, partial) == 0;
  }
  if (what.operation->dropout > 0) call.draw = draw_of(what);
  return call;
}

/// The same on every rank, for a part of an operation and for its recomputation.
std::uint64_t ProgramExecution::draw_of(const RoleOperation& what) const {
  std::uint64_t draw = mixed(options_.seed, drawn_as(*what.operation));
  draw = mixed(draw, static_cast<std::uint64_t>(step_));
  draw = mixed(draw, static_cast<std::uint64_t>(what.call.position));
  return mixed(draw, static_cast<std::uint64_t>(what.call.microbatch));
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

}  // namespace lockstep
