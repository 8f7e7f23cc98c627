#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "sim/execute/program/execution_state.hpp"

namespace lockstep::execution {

/// What the next operation of a stream waits for.
struct HeadWait {
  std::string what;                 // "a message from rank 1"
  std::optional<std::size_t> on{};  // the head that must proceed first; none: impossible
  std::string why_never{};          // "no operation of rank 1 sends it", if impossible
};

/// Dependencies in a deadlocked execution. Nodes are heads, the next operations of all streams of
/// all ranks, numbered rank * streams + stream.
class WaitGraph {
 public:
  explicit WaitGraph(const ExecutionState& state);

  /// Heads of streams with operations left, ascending.
  [[nodiscard]] const std::vector<std::size_t>& heads() const { return heads_; }
  [[nodiscard]] const std::vector<HeadWait>& waits(std::size_t head) const { return waits_[head]; }
  /// "rank 0: layer 3 microbatch 1: get.y (stream pp)".
  [[nodiscard]] std::string name(std::size_t head, bool with_stream) const;

 private:
  [[nodiscard]] std::size_t head_of(int rank, std::uint32_t operation) const;
  void add_waits(const RankCursor& cursor, std::uint32_t operation,
                 std::vector<HeadWait>& out) const;
  [[nodiscard]] HeadWait for_message(const ExpectedMessage& message) const;
  [[nodiscard]] HeadWait behind(const ExpectedMessage& other, std::string what) const;
  [[nodiscard]] HeadWait for_room(const ExpectedMessage& message) const;
  [[nodiscard]] HeadWait for_member(const CollectiveInstance& collective_instance,
                                    std::size_t member) const;
  [[nodiscard]] std::string other_sends(const ExpectedMessage& wanted) const;
  [[nodiscard]] std::string text_of(const TensorInstance& instance) const;

  const ExecutionState& state_;
  std::size_t streams_;
  std::vector<std::size_t> heads_{};
  std::vector<std::vector<HeadWait>> waits_{};
};

}  // namespace lockstep::execution
