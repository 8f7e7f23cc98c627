#include "sim/symmetry/partition/cells.hpp"

#include <algorithm>
#include <unordered_map>

namespace lockstep::fold {
namespace {

struct KeyHash {
  std::size_t operator()(const Key& key) const { return static_cast<std::size_t>(key.low); }
};

}  // namespace

Cells::Cells(std::span<const Key> keys)
    : order_(keys.size()), place_(keys.size()), cell_of_(keys.size()), counted_(keys.size(), 0) {
  std::unordered_map<Key, CellId, KeyHash> known;  // looked up, never walked
  for (Vertex vertex = 0; vertex < keys.size(); ++vertex) {
    const auto [found, is_new] =
        known.try_emplace(keys[vertex], static_cast<CellId>(cells_.size()));
    if (is_new) cells_.emplace_back();
    cell_of_[vertex] = found->second;
    ++cells_[found->second].size;
  }
  std::uint32_t next = 0;
  std::vector<std::uint32_t> fill;
  for (CellId id = 0; id < cells_.size(); ++id) {
    cells_[id].first = next;
    fill.push_back(next);
    next += cells_[id].size;
  }
  for (Vertex vertex = 0; vertex < keys.size(); ++vertex) {
    place_[vertex] = fill[cell_of_[vertex]]++;
    order_[place_[vertex]] = vertex;
  }
  for (CellId id = static_cast<CellId>(cells_.size()); id-- > 0;) queue(id);
}

void Cells::queue(CellId cell) {
  if (cells_[cell].waits) return;
  cells_[cell].waits = true;
  waiting_.push_back(cell);
}

std::optional<Cells::CellId> Cells::next() {
  if (waiting_.empty()) return std::nullopt;
  const CellId cell = waiting_.back();
  waiting_.pop_back();
  cells_[cell].waits = false;
  return cell;
}

/// Notes that a vertex of its cell has counted, and whether as the first one did.
void Cells::tally(Vertex vertex) {
  const CellId id = cell_of_[vertex];
  Cell& cell = cells_[id];
  if (cell.touched++ == 0) {
    touched_cells_.push_back(id);
    cell.counted = counted_[vertex];
    cell.alike = true;
  } else if (counted_[vertex] != cell.counted) {
    cell.alike = false;
  }
}

void Cells::move_back(Vertex vertex) {
  Cell& cell = cells_[cell_of_[vertex]];
  const std::uint32_t to = cell.first + cell.size - ++cell.moved;
  const std::uint32_t from = place_[vertex];
  const Vertex other = order_[to];
  order_[from] = other;
  place_[other] = from;
  order_[to] = vertex;
  place_[vertex] = to;
}

void Cells::split() {
  touched_cells_.clear();
  for (const Vertex vertex : touched_) tally(vertex);
  for (const Vertex vertex : touched_)
    if (!stays_whole(cells_[cell_of_[vertex]])) move_back(vertex);
  for (const CellId cell : touched_cells_) split_cell(cell);
  for (const Vertex vertex : touched_) counted_[vertex] = 0;
  touched_.clear();
}

void Cells::split_cell(CellId id) {
  const Cell cell = cells_[id];
  cells_[id].touched = cells_[id].moved = 0;
  if (stays_whole(cell)) return;
  const std::uint32_t touched = cell.touched;
  const std::uint32_t end = cell.first + cell.size;
  const std::uint32_t first = end - touched;
  const auto counted = [this](std::uint32_t at) { return counted_[order_[at]]; };
  if (!cell.alike) {
    std::sort(order_.begin() + first, order_.begin() + end, [this](Vertex a, Vertex b) {
      return counted_[a] != counted_[b] ? counted_[a] < counted_[b] : a < b;
    });
    for (std::uint32_t at = first; at < end; ++at) place_[order_[at]] = at;
  }
  parts_.assign(1, id);
  // What has not been touched keeps the cell's number; where all were, the first run does.
  std::uint32_t run = first;
  const bool keeps = touched < cells_[id].size;
  for (std::uint32_t at = first + 1; at <= end; ++at) {
    if (at < end && counted(at) == counted(run)) continue;
    if (keeps || run != first) parts_.push_back(cut(run, at - run));
    run = at;
  }
  std::uint32_t rest = cells_[id].size;
  for (std::size_t i = 1; i < parts_.size(); ++i) rest -= cells_[parts_[i]].size;
  cells_[id].size = rest;
  const bool waits = cells_[id].waits;
  const CellId largest =
      *std::max_element(parts_.begin(), parts_.end(),
                        [this](CellId a, CellId b) { return cells_[a].size < cells_[b].size; });
  for (const CellId part : parts_)
    if (waits || part != largest) queue(part);
}

Cells::CellId Cells::cut(std::uint32_t first, std::uint32_t size) {
  const auto id = static_cast<CellId>(cells_.size());
  cells_.push_back({.first = first, .size = size});
  for (std::uint32_t at = first; at < first + size; ++at) cell_of_[order_[at]] = id;
  return id;
}

}  // namespace lockstep::fold
