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

/// State of an execution except values: participants and progress. Internal to this folder.
namespace lockstep::execution {

inline constexpr std::uint32_t kNoOperation = UINT32_MAX;

/// One call of a collective.
struct CollectiveInstance {
  std::vector<int> members{};               // ranks; hosts: ranks of the mesh + their number
  std::vector<std::uint32_t> operations{};  // per member; kNoOperation: it has none that ends it
  int root = 0;                             // index of a member
  std::vector<bool> here{};                 // per member, in this step
  std::size_t come = 0;                     // number of those

  [[nodiscard]] bool complete() const { return come == members.size(); }
  [[nodiscard]] std::size_t place_of(int rank) const;
};

struct Connection;

/// A message: a send with its receive.
struct ExpectedMessage {
  int from = 0;
  int to = 0;
  TensorInstance what{};
  std::uint32_t send = kNoOperation;     // of `from`
  std::uint32_t receive = kNoOperation;  // of `to`
  Connection* connection = nullptr;      // null: never sent
  bool sent = false;                     // in this step
  std::shared_ptr<const void> payload{};
};

/// Messages from one stream of a rank to one stream of another, received in sending order, as with
/// NCCL, whose sends have no tags. The receiving stream matters: interleaved stages exchange
/// activations and gradients from one stream each, and the receiver's schedule has one stream for
/// each of them.
struct Connection {
  std::deque<ExpectedMessage*> waiting{};
};

/// A rank or host with its progress in the step.
struct RankCursor {
  int rank = 0;
  const RoleProgram* role = nullptr;
  std::vector<std::vector<std::uint32_t>> streams{};  // operations
  std::vector<std::size_t> next{};                    // per stream: operations ended
  std::vector<bool> begun{};                          // per operation
  std::vector<bool> done{};                           // per operation
  std::vector<std::uint64_t>
      ended_as{};  // per operation: index among all ended operations of all ranks
  std::vector<CollectiveInstance*> collective_instances{};  // per operation; null: no collective
  std::vector<ExpectedMessage*> messages{};  // per operation; null: no send or receive

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
  /// `queue_slots`: per connection; 0: unlimited, and messages may be received in any order. Throws
  /// ExecutionError for communication with a missing rank; InternalError for negative slots.
  ExecutionState(const Program& program, std::vector<RoleProgram> roles, int queue_slots);
  ExecutionState(const ExecutionState&) = delete;
  ExecutionState& operator=(const ExecutionState&) = delete;

  void begin_step();
  /// Records the end of an operation.
  void end(RankCursor& cursor, std::uint32_t index);

  /// Whether the connection of a send has a free slot.
  [[nodiscard]] bool has_room(const ExpectedMessage& message) const;
  void put(ExpectedMessage& message, std::shared_ptr<const void> payload);
  /// Whether the message can be received: it has been sent and is first on its connection.
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
  [[nodiscard]] std::int64_t operations() const;  // of a step, over all ranks

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

/// The other rank of a send or receive. Throws ExecutionError, naming `who`, if it does not exist
/// or a host sends.
[[nodiscard]] int peer_of(const Program& program, int rank, const Communication& how,
                          const std::string& who);
/// Throws ExecutionError, naming `who`, for missing members, hosts or root.
void check_members(const Program& program, int rank, const Communication& how,
                   const std::string& who);

}  // namespace lockstep::execution
