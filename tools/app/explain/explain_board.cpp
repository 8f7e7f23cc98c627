#include "tools/app/explain/explain_board.hpp"

#include <utility>

#include "sim/execute/schedule/host_memory.hpp"
#include "sim/execute/schedule_checks/barrier_reach.hpp"
#include "sim/execute/schedule_checks/symbol_blocks.hpp"
#include "tools/app/explain/explain_holding.hpp"

namespace lockstep::app {

namespace {

class ChunkBoard final : public ExplainBoard {
 public:
  ChunkBoard(const Schedule& schedule, const Contract& contract, std::vector<ChunkColumn> columns)
      : schedule_{schedule},
        contract_{contract},
        columns_{std::move(columns)},
        sets_{contract.ranks},
        blocks_{schedule, contract_, sets_},
        text_{contract.ranks, reduces(contract.collective)} {}

  [[nodiscard]] BlockMemory& memory() override { return blocks_; }

  [[nodiscard]] std::vector<std::string> columns() const override {
    std::vector<std::string> out;
    for (const ChunkColumn& column : columns_) out.push_back(column.name());
    return out;
  }

  [[nodiscard]] std::string cell(int rank, std::size_t index) const override {
    const ChunkColumn& column = columns_[index];
    if (column.first + column.count > held_blocks(schedule_, rank, column.buffer)) return {};
    const Contributions& held = blocks_.at(rank, column.buffer, column.first);
    for (std::int64_t i = 1; i < column.count; ++i)
      if (!alike(held, blocks_.at(rank, column.buffer, column.first + i), i)) return "varies";
    // Scratch has no places of its own: what lies there is named by where it came from.
    if (column.buffer == Buffer::scratch) return text_(held, -1, column.count);
    return text_(held, column.first, column.count);
  }

 private:
  /// Whether what the block `distance` further holds is the same, as much further.
  [[nodiscard]] static bool alike(const Contributions& first, const Contributions& other,
                                  std::int64_t distance) {
    return ContributionSets::equal(first.written() ? first.moved(distance) : first, other);
  }

  const Schedule& schedule_;
  Contract contract_;
  std::vector<ChunkColumn> columns_;
  ContributionSets sets_;
  SymbolBlocks blocks_;
  HoldingText text_;
};

class BarrierBoard final : public ExplainBoard {
 public:
  explicit BarrierBoard(const Schedule& schedule)
      : ranks_{schedule.ranks()}, heard_{schedule.ranks()} {}

  [[nodiscard]] BlockMemory& memory() override { return heard_; }
  [[nodiscard]] std::vector<std::string> columns() const override { return {"knows of"}; }
  [[nodiscard]] std::string cell(int rank, std::size_t) const override {
    std::vector<int> known;
    for (int other = 0; other < ranks_; ++other)
      if (heard_.has(rank, other)) known.push_back(other);
    return rank_set_text(known, ranks_, true);
  }

 private:
  int ranks_;
  BarrierReach heard_;
};

}  // namespace

std::unique_ptr<ExplainBoard> make_board(const Schedule& schedule, const Contract& contract,
                                         std::vector<ChunkColumn> columns) {
  if (contract.collective == Collective::barrier) return std::make_unique<BarrierBoard>(schedule);
  return std::make_unique<ChunkBoard>(schedule, contract, std::move(columns));
}

}  // namespace lockstep::app
