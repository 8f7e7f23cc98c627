#include <fmt/format.h>

#include <algorithm>

#include "sim/execute/device_program/lowered_regions.hpp"
#include "sim/execute/device_program/training_step_commands.hpp"
#include "sim/execute/kernels/execution_error.hpp"

namespace lockstep::execution {

namespace {

// Numbers of spares; collectives have those below.
constexpr std::size_t kLateSpares = std::size_t{1} << 32;
constexpr std::size_t kScratchSpares = std::size_t{1} << 33;

}  // namespace

template <class Real>
void TrainingStepCommands<Real>::compute(const RankCursor& cursor, std::uint32_t operation) {
  const RoleOperation& what = cursor.operation(operation);
  const StreamIndex own = stream_of(cursor, operation);
  KernelCall<Real> call;
  static_cast<KernelSettings&>(call) = needs_.settings(cursor, operation);
  LoweredRegions at;
  std::vector<bool> adds;
  for (const std::uint32_t each : what.reads) {
    call.reads.push_back(
        {&cursor.role->tensor(each), &needs_.layout(cursor, operation, each), nullptr});
    at.reads.push_back(whole(read(cursor, operation, each)));
  }
  std::vector<std::pair<Region, Region>> late;  // written beside, then copied to where they go
  for (const std::uint32_t each : what.writes) {
    const Tensor& tensor = cursor.role->tensor(each);
    call.writes.push_back({&tensor, &needs_.layout(cursor, operation, each), {}});
    adds.push_back(store(cursor, operation, each, needs_.adds(*what.operation, tensor)));
    held(cursor.rank, each).written = true;
    at.writes.push_back(whole(buffer(cursor.rank, each)));
    const bool read_too = std::find(what.reads.begin(), what.reads.end(), each) != what.reads.end();
    if (!read_too || row_of(what.operation->kind).in_place) continue;
    Region& to = at.writes.back();
    const NumberType type = builder_->graph().buffers[to.buffer].type;
    const Region beside =
        whole(spare(cursor.rank, own, kLateSpares + at.writes.size(), to.count, type));
    if (adds.back()) copy(own, beside, to, own);
    late.emplace_back(to, beside);
    to = beside;
  }
  LoweredOperation lowered;
  try {
    lowered = lower_operation(call, adds);
  } catch (const ExecutionError& error) {
    throw ExecutionError{fmt::format("{}: {}", state_.who(cursor, operation), error.what())};
  }
  for (const LoweredScratch& of : lowered.scratch) {
    at.scratch.push_back(whole(spare(cursor.rank, own, kScratchSpares + at.scratch.size(),
                                     of.elements, at.type_of(of, builder_->graph()))));
  }
  for (const LoweredKernel& each : lowered.kernels) {
    launch(own, each.launch, at.of(each.reads), at.of(each.writes));
  }
  for (const auto& [to, from] : late) copy(own, to, from, own);
}

template void TrainingStepCommands<float>::compute(const RankCursor&, std::uint32_t);
template void TrainingStepCommands<double>::compute(const RankCursor&, std::uint32_t);

}  // namespace lockstep::execution
