#include "tools/app/explain/explain_columns.hpp"

#include <algorithm>
#include <iterator>

#include "tools/app/explain/explain_holding.hpp"

namespace lockstep::app {

namespace {

/// Whether ranks begin or end with their own part of the message alone.
bool has_parts(Collective collective) {
  switch (collective) {
    case Collective::scatter:
    case Collective::gather:
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::all_to_all:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::string ChunkColumn::name() const {
  constexpr std::array kPrefixes{'c', 'o', 's'};
  return chunk_name(kPrefixes.at(static_cast<std::size_t>(buffer)), first, count);
}

ChunkColumns::ChunkColumns(const Contract& contract) {
  if (contract.blocks > 0) note({Buffer::data, 0, contract.blocks});
  if (!has_parts(contract.collective)) return;
  const std::int64_t part = std::max<std::int64_t>(1, contract.blocks / contract.ranks);
  for (std::int64_t first = 0; first < contract.blocks; first += part)
    note({Buffer::data, first, part});
}

void ChunkColumns::note(const Chunk& run) {
  if (run.count == 0) return;
  Runs& runs = buffers_.at(static_cast<std::size_t>(run.buffer));
  if (!runs.named.emplace(run.first, run.first + run.count).second) return;
  runs.edges.insert({run.first, run.first + run.count});
}

void ChunkColumns::note(const Round& round) {
  for (const RoundMessage& message : round.messages) {
    for (const Chunk& run : message.sent) note(run);
    for (const Chunk& run : message.received) note(run);
  }
  for (const RoundLocal& local : round.locals) {
    note(local.operation.from);
    note(local.operation.to);
  }
}

std::vector<ChunkColumn> ChunkColumns::columns() const {
  std::vector<ChunkColumn> out;
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    const Runs& runs = buffers_.at(i);
    std::int64_t reach = 0;  // of the runs that begin at or before the column
    auto run = runs.named.begin();
    for (auto edge = runs.edges.begin(); edge != runs.edges.end(); ++edge) {
      const auto next = std::next(edge);
      if (next == runs.edges.end()) break;
      for (; run != runs.named.end() && run->first <= *edge; ++run)
        reach = std::max(reach, run->second);
      if (reach > *edge) out.push_back({static_cast<Buffer>(i), *edge, *next - *edge});
    }
  }
  return out;
}

}  // namespace lockstep::app
