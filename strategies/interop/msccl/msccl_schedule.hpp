#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/schedule/schedule.hpp"
#include "strategies/interop/msccl/msccl_layout.hpp"
#include "strategies/interop/msccl/msccl_program.hpp"

namespace lockstep {

/// An MSCCL program as a schedule: one lane per thread block, steps in order. A step that receives
/// and sends becomes two, a receive and a send that forwards out of the receive's slot;
/// dependencies on it wait for both. Data that `rrs` forwards without keeping is in scratch after
/// the program's own, one run per lane that needs it.
class MscclSchedule final : public Schedule {
 public:
  /// Requires a program that passed all checks.
  MscclSchedule(const MscclProgram& program, const MscclLayout& layout, int slots);

  [[nodiscard]] int ranks() const override { return static_cast<int>(gpus_.size()); }
  [[nodiscard]] int lanes() const override { return lanes_; }
  [[nodiscard]] int slots() const override { return slots_; }
  [[nodiscard]] std::int64_t blocks() const override { return blocks_; }
  [[nodiscard]] std::int64_t scratch_blocks(int rank) const override;
  [[nodiscard]] Buffer result() const override { return result_; }
  [[nodiscard]] std::int64_t steps(int rank, int lane) const override;
  void step(int rank, int lane, std::int64_t index, ScheduleStep& step) const override;

  /// Location of a step in the file: "gpu 3, tb 2, step 5 (rrc)".
  [[nodiscard]] std::string place(int rank, int lane, std::int64_t step) const;

 private:
  /// One step of the file.
  struct Work {
    MscclOperation operation = MscclOperation::nop;
    int after_lane = -1;  // -1: none
    std::int64_t after_step = 0;
    Chunk from;
    Chunk to;
    std::int64_t passing = -1;  // scratch block for forwarded data; -1: none
  };
  struct Lane {
    int send = -1;
    int receive = -1;
    int channel = 0;
    std::vector<Work> work;
    std::vector<std::uint32_t> work_of_step;
  };
  struct Gpu {
    std::vector<Lane> lanes;
    std::int64_t scratch = 0;
  };

  void add_gpu(const MscclGpu& gpu, const MscclLayout& layout);
  static void set_last_steps(const MscclGpu& gpu, Gpu& out);
  [[nodiscard]] const Lane* find_lane(int rank, int lane) const;
  static void receive(const Lane& lane, const Work& work, ScheduleStep& step);
  static void send(const Lane& lane, const Work& work, ScheduleStep& step);

  std::vector<Gpu> gpus_;
  int lanes_ = 1;
  int slots_ = 0;
  std::int64_t blocks_ = 1;
  Buffer result_ = Buffer::data;
};

}  // namespace lockstep
