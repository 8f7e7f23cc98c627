#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/execute/schedule/block_memory.hpp"
#include "sim/schedule/contract.hpp"
#include "tools/app/explain/explain_columns.hpp"

namespace lockstep::app {

/// Contents of every rank's buffers during a schedule, in words. For a barrier: the ranks known to
/// have arrived.
class ExplainBoard {
 public:
  ExplainBoard() = default;
  ExplainBoard(const ExplainBoard&) = delete;
  ExplainBoard& operator=(const ExplainBoard&) = delete;
  virtual ~ExplainBoard() = default;

  [[nodiscard]] virtual BlockMemory& memory() = 0;
  [[nodiscard]] virtual std::vector<std::string> columns() const = 0;
  [[nodiscard]] virtual std::string cell(int rank, std::size_t column) const = 0;
};

/// `columns`: for collectives with chunks. The schedule must outlive the board.
[[nodiscard]] std::unique_ptr<ExplainBoard> make_board(const Schedule& schedule,
                                                       const Contract& contract,
                                                       std::vector<ChunkColumn> columns);

}  // namespace lockstep::app
