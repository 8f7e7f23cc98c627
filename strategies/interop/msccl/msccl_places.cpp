#include "strategies/interop/msccl/msccl_places.hpp"

#include <algorithm>

#include "strategies/interop/msccl/msccl_collective.hpp"

namespace lockstep {

namespace {

using Where = MscclRun::Where;

void append(MscclRun run, std::vector<MscclRun>& runs) {
  if (run.count == 0) return;
  if (!runs.empty() && runs.back().where == run.where &&
      runs.back().first + runs.back().count == run.first) {
    runs.back().count += run.count;
  } else {
    runs.push_back(run);
  }
}

}  // namespace

MscclPlaces::MscclPlaces(const Contract& contract) : contract_{contract} {}

/// In place an all-gather names the output alone, as others' files do, and a reduce-scatter the
/// input.
std::int64_t MscclPlaces::input_chunks() const {
  if (!begins_with_part(contract_.collective)) return contract_.blocks;
  return in_place() ? 0 : contract_.blocks / contract_.ranks;
}

std::int64_t MscclPlaces::output_chunks() const {
  if (in_place()) return begins_with_part(contract_.collective) ? contract_.blocks : 0;
  return ends_with_part(contract_.collective) ? contract_.blocks / contract_.ranks
                                              : contract_.blocks;
}

std::vector<MscclRun> MscclPlaces::runs(int rank, std::span<const Chunk> chunks) const {
  std::vector<MscclRun> out;
  for (const Chunk& chunk : chunks) add(rank, chunk, out);
  return out;
}

void MscclPlaces::add(int rank, Chunk chunk, std::vector<MscclRun>& runs) const {
  const bool gathers = begins_with_part(contract_.collective);
  switch (chunk.buffer) {
    case Buffer::scratch:
      return append({Where::scratch, chunk.first, chunk.count}, runs);
    case Buffer::data:
      if (gathers && !in_place())
        return add_parted(rank, chunk, Where::input, Where::spare_data, runs);
      return append({gathers ? Where::output : Where::input, chunk.first, chunk.count}, runs);
    case Buffer::output:
      if (in_place()) return append({Where::spare_output, chunk.first, chunk.count}, runs);
      if (ends_with_part(contract_.collective))
        return add_parted(rank, chunk, Where::output, Where::spare_output, runs);
      return append({Where::output, chunk.first, chunk.count}, runs);
  }
}

void MscclPlaces::add_parted(int rank, Chunk chunk, Where own, Where spare,
                             std::vector<MscclRun>& runs) const {
  const std::int64_t part = contract_.blocks / contract_.ranks;
  const std::int64_t begin = rank * part;
  const std::int64_t end = chunk.first + chunk.count;
  const std::int64_t own_begin = std::clamp(begin, chunk.first, end);
  const std::int64_t own_end = std::clamp(begin + part, chunk.first, end);
  append({spare, chunk.first, own_begin - chunk.first}, runs);
  append({own, own_begin - begin, own_end - own_begin}, runs);
  append({spare, own_end, end - own_end}, runs);
}

}  // namespace lockstep
