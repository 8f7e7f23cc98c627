#include "strategies/interop/msccl/msccl_schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "sim/base/check.hpp"

namespace lockstep {

namespace {

bool same(Chunk a, Chunk b) {
  return a.buffer == b.buffer && a.first == b.first && a.count == b.count;
}

bool overlap(Chunk a, Chunk b) {
  return a.buffer == b.buffer && std::abs(a.first - b.first) < a.count;
}

/// Whether what arrives has to lie somewhere else before it can go where it belongs: it is not
/// kept, or the destination holds a part of the source.
bool needs_passing_place(MscclOperation operation, Chunk from, Chunk to) {
  switch (operation) {
    case MscclOperation::receive_reduce_send:
      return true;
    case MscclOperation::receive_reduce_copy:
    case MscclOperation::receive_reduce_copy_send:
      return overlap(from, to) && !same(from, to);
    default:
      return false;
  }
}

std::uint32_t steps_for(MscclOperation operation) {
  return receives(operation) && sends(operation) ? 2 : 1;
}

}  // namespace

MscclSchedule::MscclSchedule(const MscclProgram& program, const MscclLayout& layout, int slots)
    : slots_{slots}, blocks_{layout.blocks()}, result_{layout.result()} {
  for (const MscclGpu& gpu : program.gpus) {
    add_gpu(gpu, layout);
    lanes_ = std::max(lanes_, static_cast<int>(gpu.blocks.size()));
  }
}

void MscclSchedule::add_gpu(const MscclGpu& gpu, const MscclLayout& layout) {
  Gpu out;
  out.scratch = gpu.scratch_chunks;
  for (const MscclThreadBlock& block : gpu.blocks) {
    Lane lane{block.send, block.receive, block.channel, {}, {}};
    std::int64_t longest = 0;  // that passes through
    for (const MscclStep& step : block.steps) {
      Work work;
      work.operation = step.operation;
      work.from = layout.place(gpu, step.source, step.count);
      work.to = layout.place(gpu, step.destination, step.count);
      if (needs_passing_place(step.operation, work.from, work.to)) {
        work.passing = out.scratch;
        longest = std::max<std::int64_t>(longest, step.count);
      }
      lane.work_of_step.insert(lane.work_of_step.end(), steps_for(step.operation),
                               static_cast<std::uint32_t>(lane.work.size()));
      lane.work.push_back(work);
    }
    out.scratch += longest;
    out.lanes.push_back(std::move(lane));
  }
  set_last_steps(gpu, out);
  gpus_.push_back(std::move(out));
}

/// Dependencies name steps of the file; here they name the last of what a step became.
void MscclSchedule::set_last_steps(const MscclGpu& gpu, Gpu& out) {
  for (std::size_t block = 0; block < gpu.blocks.size(); ++block) {
    for (std::size_t i = 0; i < gpu.blocks[block].steps.size(); ++i) {
      const MscclStep& step = gpu.blocks[block].steps[i];
      if (step.waits_for_tb < 0) continue;
      const auto& work_of_step =
          out.lanes[static_cast<std::size_t>(step.waits_for_tb)].work_of_step;
      const auto behind = std::upper_bound(work_of_step.begin(), work_of_step.end(),
                                           static_cast<std::uint32_t>(step.waits_for_step));
      Work& work = out.lanes[block].work[i];
      work.after_lane = step.waits_for_tb;
      work.after_step = behind - work_of_step.begin() - 1;
    }
  }
}

const MscclSchedule::Lane* MscclSchedule::find_lane(int rank, int lane) const {
  const auto& lanes = gpus_.at(static_cast<std::size_t>(rank)).lanes;
  return lane < std::ssize(lanes) ? &lanes[static_cast<std::size_t>(lane)] : nullptr;
}

std::int64_t MscclSchedule::scratch_blocks(int rank) const {
  return gpus_.at(static_cast<std::size_t>(rank)).scratch;
}

std::int64_t MscclSchedule::steps(int rank, int lane) const {
  const Lane* found = find_lane(rank, lane);
  return found == nullptr ? 0 : std::ssize(found->work_of_step);
}

void MscclSchedule::step(int rank, int lane, std::int64_t index, ScheduleStep& step) const {
  const Lane* found = find_lane(rank, lane);
  LOCKSTEP_CHECK(found != nullptr);
  const auto position = static_cast<std::size_t>(index);
  const std::uint32_t which = found->work_of_step.at(position);
  const Work& work = found->work[which];
  if (position > 0 && found->work_of_step[position - 1] == which) return send(*found, work, step);
  if (work.after_lane >= 0) step.after.push_back({work.after_lane, work.after_step});
  if (receives(work.operation)) return receive(*found, work, step);
  if (sends(work.operation)) return send(*found, work, step);
  if (work.operation == MscclOperation::nop) return;
  const bool copies = work.operation == MscclOperation::copy;
  if (copies && same(work.from, work.to)) return;
  step.locals.push_back({work.from, work.to, copies ? Combine::copy : Combine::reduce});
}

void MscclSchedule::receive(const Lane& lane, const Work& work, ScheduleStep& step) {
  const bool adds = has_source(work.operation);
  const Chunk passing{Buffer::scratch, work.passing, work.to.count};
  if (work.passing >= 0) {
    step.receives.push_back({lane.receive, passing, Combine::copy, lane.channel});
    step.locals.push_back({work.from, passing, Combine::reduce});
    if (has_destination(work.operation)) step.locals.push_back({passing, work.to, Combine::copy});
  } else if (adds && !same(work.from, work.to)) {
    step.receives.push_back({lane.receive, work.to, Combine::copy, lane.channel});
    step.locals.push_back({work.from, work.to, Combine::reduce});
  } else {
    step.receives.push_back(
        {lane.receive, work.to, adds ? Combine::reduce : Combine::copy, lane.channel});
  }
  step.receives.back().forwarded = sends(work.operation);
}

void MscclSchedule::send(const Lane& lane, const Work& work, ScheduleStep& step) {
  Chunk sent = has_destination(work.operation) ? work.to : work.from;
  if (work.operation == MscclOperation::receive_reduce_send)
    sent = {Buffer::scratch, work.passing, work.to.count};
  step.sends.push_back({lane.send, sent, lane.channel});
}

std::string MscclSchedule::place(int rank, int lane, std::int64_t step) const {
  const Lane* found = find_lane(rank, lane);
  LOCKSTEP_CHECK(found != nullptr);
  const std::uint32_t which = found->work_of_step.at(static_cast<std::size_t>(step));
  return fmt::format("gpu {}, tb {}, step {} ({})", rank, lane, which,
                     to_string(found->work[which].operation));
}

}  // namespace lockstep
