#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "sim/program/unroll.hpp"

/// Who does what in an execution, and how far everybody is: all but the values. For the sources of
/// this folder alone.
namespace lockstep::execution {

inline constexpr std::uint32_t kNoOperation = UINT32_MAX;

/// One call of a collective.
struct CollectiveInstance {
  std::vector<int> members{};               // ranks; hosts: ranks of the mesh + their number
  std::vector<std::uint32_t> operations{};  // as members; kNoOperation: has none that comes to it
  int root = 0;                             // a place among the members
  std::vector<bool> here{};                 // as members, in this step
  std::size_t come = 0;                     // likewise: how many

  [[nodiscard]] bool complete() const { return come == members.size(); }
  [[nodiscard]] std::size_t place_of(int rank) const;
};

struct Connection;

/// What one rank sends to another: a send and the receive that takes it.
struct ExpectedMessage {
  int from = 0;
  int to = 0;
  TensorInstance what{};
  std::uint32_t send = kNoOperation;     // of `from`
  std::uint32_t receive = kNoOperation;  // of `to`
  Connection* connection = nullptr;      // null: nobody sends it
  bool sent = false;                     // in this step
  std::shared_ptr<const void> payload{};
};

/// Messages from one stream of one rank to one stream of another, taken in the order in which they
/// are sent, as NCCL does, whose sends carry no tag. The receiver's stream counts too: of two
/// interleaved stages each sends activations and gradients to the other from one stream, and which
/// of them the other wants first is a matter of its own schedule, which has a stream for each.
struct Connection {
  std::deque<ExpectedMessage*> waiting{};
};

/// A rank or host, and how far it is in the step.
struct RankCursor {
  int rank = 0;
  const RoleProgram* role = nullptr;
  std::vector<std::vector<std::uint32_t>> streams{};  // operations
  std::vector<std::size_t> next{};                    // per stream: how many have ended
  std::vector<bool> begun{};                          // per operation
  std::vector<bool> done{};                           // likewise
  std::vector<std::uint64_t> ended_as{};              // likewise: the how manieth of all ranks
  std::vector<CollectiveInstance*> collective_instances{};  // likewise; null: no collective
  std::vector<ExpectedMessage*> messages{};                 // likewise; null: no send or receive

  [[nodiscard]] const RoleOperation& operation(std::uint32_t index) const {
    return role->operations[index];
  }
  [[nodiscard]] OperationKind kind(std::uint32_t index) const {
    return operation(index).operation->kind;
  }
  [[nodiscard]] std::uint32_t head(std::size_t stream) const {
    return next[stream] == streams[stream].size() ? kNoOperation : streams[stream][next[stream]];
  }
};

class ExecutionState {
 public:
  /// `queue_slots`: of every connection; 0: no bound, and messages are taken as they are wanted.
  /// Errors: ExecutionError for communication with who does not exist; InternalError for slots
  /// below 0.
  ExecutionState(const Program& program, std::vector<RoleProgram> roles, int queue_slots);
  ExecutionState(const ExecutionState&) = delete;
  ExecutionState& operator=(const ExecutionState&) = delete;

  void begin_step();
  /// An operation has ended.
  void end(RankCursor& cursor, std::uint32_t index);

  /// Whether the connection that a send puts its message on has room.
  [[nodiscard]] bool has_room(const ExpectedMessage& message) const;
  void put(ExpectedMessage& message, std::shared_ptr<const void> payload);
  /// Whether the message can be taken: it is there, and at the head of its connection.
  [[nodiscard]] bool comes_next(const ExpectedMessage& message) const;
  [[nodiscard]] std::shared_ptr<const void> take(ExpectedMessage& message);

  /// "rank 3: layer 1 microbatch 0: mlp.up", "host 0: ...".
  [[nodiscard]] std::string who(const RankCursor& cursor, std::uint32_t index) const;
  [[nodiscard]] std::string name_of(int rank) const;  // "rank 3", "host 0"

  [[nodiscard]] const Program& program() const { return program_; }
  [[nodiscard]] const std::vector<RoleProgram>& roles() const { return roles_; }
  [[nodiscard]] std::vector<RankCursor>& cursors() { return cursors_; }
  [[nodiscard]] const std::vector<RankCursor>& cursors() const { return cursors_; }
  [[nodiscard]] const RankCursor& cursor(int rank) const {
    return cursors_[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] std::int64_t operations() const;  // of a step, of all ranks

 private:
  using MessageKey = std::tuple<int, int, TensorInstance>;  // from, to, what

  void add_cursor(int rank);
  void create_instances(RankCursor& cursor);
  void create_messages();
  void create_message(RankCursor& cursor, std::uint32_t index,
                      std::map<MessageKey, std::vector<ExpectedMessage*>>& known);
  [[nodiscard]] Connection& connection(const ExpectedMessage& message);

  const Program& program_;
  std::vector<RoleProgram> roles_;
  std::size_t slots_;
  std::vector<RankCursor> cursors_{};
  std::map<std::pair<std::vector<int>, std::size_t>, std::unique_ptr<CollectiveInstance>>
      collective_instances_{};
  std::vector<std::unique_ptr<ExpectedMessage>> messages_{};
  std::map<std::tuple<int, int, int, int>, Connection> connections_{};  // ranks, then streams
  std::uint64_t ended_ = 0;
};

/// The rank that a send or receive is with. Errors: ExecutionError, naming `who`, where the
/// communication is with somebody who does not exist, or a host sends.
[[nodiscard]] int peer_of(const Program& program, int rank, const Communication& how,
                          const std::string& who);
/// Errors: ExecutionError, naming `who`, for members, hosts or a root that do not exist.
void check_members(const Program& program, int rank, const Communication& how,
                   const std::string& who);

}  // namespace lockstep::execution
