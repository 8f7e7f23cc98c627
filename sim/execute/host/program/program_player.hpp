#pragma once

#include <vector>

#include "sim/execute/host/program/execute_program.hpp"

/// What an execution keeps of every rank and every collective: for its own sources alone.
namespace lockstep {

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

/// Whether a tensor is a weight or a copy or shard of one, and of which.
[[nodiscard]] bool is_weight(const Program& program, const Tensor& tensor);
[[nodiscard]] const Tensor& original(const Program& program, const Tensor& tensor);

}  // namespace lockstep
