#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "strategies/step/lowering/lowering.hpp"

namespace lockstep {

/// With whom the simulated ranks of a step communicate: the part of lowering that depends on who is
/// simulated.
class Correspondence {
 public:
  virtual ~Correspondence() = default;

  /// The next rank to be lowered, and where its streams run.
  [[nodiscard]] virtual EndpointId begin(int rank) = 0;

  /// The part of the rank in a collective: the same whenever it comes to the operation.
  struct Part {
    /// Calls of one instance with equally many before them are one call.
    std::uint64_t instance = 0;
    std::uint32_t member = 0;
    Duration launch{};     // before the first byte
    bool repeats = false;  // one call may represent all repetitions
    /// Two calls in turn may: all members come to the same calls on the same streams, and none ends
    /// one before all have begun it.
    bool in_turn = false;
    std::uint64_t transfers = 0;  // of all ranks that the rank represents
  };
  /// None for groups of one and empty messages.
  [[nodiscard]] virtual std::optional<Part> collective(const RoleProgram& role,
                                                       const RoleOperation& operation) = 0;
  /// A call in which the rank has a part.
  [[nodiscard]] virtual CollectiveCall call(const RoleProgram& role,
                                            const RoleOperation& operation) = 0;
  /// The rank comes to a collective in which it has this part.
  virtual void count(const Part& /*part*/) {}
  /// The other end of a message.
  [[nodiscard]] virtual Correspondent message(const RoleProgram& role,
                                              const RoleOperation& operation) = 0;

 protected:
  Correspondence() = default;
  Correspondence(const Correspondence&) = default;
  Correspondence& operator=(const Correspondence&) = default;
};

/// Of all ranks, each of which is a class of its own; of representatives of the classes of
/// `input.fold`; or of those of roles and kinds, whose collectives take `input.times`.
[[nodiscard]] std::unique_ptr<Correspondence> make_correspondence(const LoweringInput& input);

/// From whom to whom a message goes, and which tensor: ranks that stand for others if
/// `input.kinds`.
struct MessageEnds {
  int from = 0;
  int to = 0;
  TensorInstance tensor;
  friend auto operator<=>(const MessageEnds&, const MessageEnds&) = default;
};
[[nodiscard]] MessageEnds ends_of(const LoweringInput& input, int rank, const RoleProgram& role,
                                  const RoleOperation& operation);

}  // namespace lockstep
