#include "strategies/measure/machine_runs/time_operation.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "sim/execute/command_graph/command_graph_builder.hpp"
#include "sim/execute/device_program/lowered_regions.hpp"
#include "sim/execute/device_program/training_step_commands.hpp"
#include "sim/execute/kernels/random_bits.hpp"
#include "sim/execute/program/computations.hpp"
#include "sim/execute/program/initial_values.hpp"
#include "sim/execute/program_order/drawn_order.hpp"

namespace lockstep {

namespace {

/// How often an operation stands in the command graph that is timed.
constexpr int kChain = 8;
constexpr double kLong = 1e-3;     // seconds from which one alone is timed
constexpr double kVeryLong = 0.1;  // from which one time is enough
constexpr std::uint64_t kSeed = 17;

void check_on_device(const CommandGraph& graph) {
  for (const CommandGraphLaunch& launch : graph.launches) {
    if (launch.kernel->function != KernelFunction::on_host) continue;
    throw DeviceError{launch.kernel->name +
                      " is computed by the host, so the device's time for it is not known"};
  }
}

/// What buffers of a command graph begin with.
struct Contents {
  std::map<BufferId, NumberRange> ranges{};   // others: -1 to 1
  std::map<BufferId, std::int64_t> tables{};  // whole numbers below this: rows of a table
};

/// As in training: weights so that what comes out of GEMMs is as large as what goes in, of
/// optimizer states no squares below zero, whose roots would be no numbers.
[[nodiscard]] NumberRange range_of(const Tensor& tensor) {
  if (tensor.category == Category::optimizer_state && !tensor.copy_of) return {0, 1};
  const bool weight = tensor.category == Category::weight || tensor.copy_of;
  if (!weight || tensor.extents.size() < 2) return {};
  double terms = 1;
  for (std::size_t i = 0; i + 1 < tensor.extents.size(); ++i) {
    terms *= static_cast<double>(tensor.extents[i].size);
  }
  const double most = std::sqrt(3 / terms);
  return {-most, most};
}

/// Numbers in every buffer, none zero.
void fill(LoadedCommandGraph& loaded, const CommandGraph& graph, const Contents& contents) {
  for (BufferId i = 0; i < graph.buffers.size(); ++i) {
    const auto range = contents.ranges.find(i);
    loaded.scatter_numbers(i, range == contents.ranges.end() ? NumberRange{} : range->second,
                           kSeed + i);
    const auto found = contents.tables.find(i);
    if (found == contents.tables.end()) continue;
    std::vector<double> rows;
    for (std::int64_t k = 0; k < graph.buffers[i].elements; ++k) {
      rows.push_back(static_cast<double>(
          mixed(kSeed, static_cast<std::uint64_t>(k)) %
          static_cast<std::uint64_t>(std::max<std::int64_t>(1, found->second))));
    }
    loaded.write({i, 0, graph.buffers[i].elements}, rows);
  }
}

[[nodiscard]] double timed(Backend& backend, const CommandGraph& graph, const Contents& contents,
                           const TimingOptions& options) {
  check_on_device(graph);
  LoadOptions load;
  load.cuda_graph = options.cuda_graph;
  const auto loaded = backend.load(graph, load);
  fill(*loaded, graph, contents);
  return median(loaded->seconds(options.warmups, options.repeats));
}

/// Number of rows that the integers of an operation count: of the table, of the experts' slots, or
/// of the vocabulary.
[[nodiscard]] std::int64_t rows_of(const Program& program, const Operation& operation) {
  for (const Operand operand : {Operand::table, Operand::slots}) {
    for (const Operand each : {operand, gradient_of(operand)}) {
      const bool read = reads(operation, each);
      if (!read && !writes(operation, each)) continue;
      const Ref& ref = read ? read_of(operation, each) : write_of(operation, each);
      return program.tensors[ref.tensor].extents.front().size;
    }
  }
  return program.tensors[operation.reads.front().tensor].extents.back().size;
}

}  // namespace

NumberType number_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::fp64:
      return NumberType::fp64;
    case Dtype::fp32:
    case Dtype::int32:
      return NumberType::fp32;
    case Dtype::fp16:
      return NumberType::fp16;
    default:
      return NumberType::bf16;
  }
}

TimedOperation time_operation(Backend& backend, const Program& program, RoutineId routine,
                              std::size_t index, const TimingOptions& options) {
  const Operation& operation = program.routines[routine].operations[index];
  LayoutTable layouts{program, 0};
  CommandGraphBuilder builder{1};
  const StreamIndex stream = builder.add_stream("timed", 0);
  KernelCall<float> call;
  call.operation = &operation;
  std::map<TensorId, Region> regions;
  Contents contents;
  const auto region_of = [&](const Ref& ref) {
    const auto [found, is_new] = regions.try_emplace(ref.tensor);
    if (is_new) {
      const Tensor& tensor = program.tensors[ref.tensor];
      const std::int64_t elements = layouts.of(ref.tensor, 0).elements();
      const BufferId buffer =
          builder.add_buffer(tensor.name, 0, number_type(tensor.dtype), elements);
      found->second = {buffer, 0, elements};
      contents.ranges[buffer] = range_of(tensor);
      if (tensor.dtype == Dtype::int32) contents.tables[buffer] = rows_of(program, operation);
    }
    return found->second;
  };
  LoweredRegions at;
  std::vector<bool> adds;
  for (const Ref& ref : operation.reads) {
    call.reads.push_back({&program.tensors[ref.tensor], &layouts.of(ref.tensor, 0), nullptr});
    at.reads.push_back(region_of(ref));
  }
  for (const Ref& ref : operation.writes) {
    const Tensor& tensor = program.tensors[ref.tensor];
    call.writes.push_back({&tensor, &layouts.of(ref.tensor, 0), {}});
    at.writes.push_back(region_of(ref));
    adds.push_back(execution::Computations<float>::adds(operation, tensor));
  }
  const LoweredOperation lowered = lower_operation(call, adds);
  for (const LoweredScratch& of : lowered.scratch) {
    const BufferId buffer =
        builder.add_buffer("beside", 0, at.type_of(of, builder.graph()), of.elements);
    at.scratch.push_back({buffer, 0, of.elements});
  }
  const auto add_all = [&] {
    for (const LoweredKernel& each : lowered.kernels) {
      builder.launch(stream, {at.of(each.reads), at.of(each.writes),
                              std::make_shared<const KernelLaunch>(each.launch)});
    }
  };
  add_all();
  TimedOperation out;
  out.name = operation.name;
  out.kernel = kernel_of(program, program.routines[routine], index);
  out.kernels = static_cast<int>(lowered.kernels.size());
  TimingOptions once = options;
  once.warmups = once.repeats = 1;
  out.seconds = timed(backend, builder.graph(), contents, once);
  if (out.seconds < kLong) {  // several in a row, so that what surrounds them counts little
    for (int i = 1; i < kChain; ++i) add_all();
    out.seconds = timed(backend, builder.graph(), contents, options) / kChain;
  } else if (out.seconds < kVeryLong) {
    out.seconds = timed(backend, builder.graph(), contents, options);
  }
  return out;
}

std::vector<std::pair<RoutineId, std::size_t>> distinct_operations(const Program& program) {
  using Key = std::tuple<OperationKind, double, double, std::int64_t, std::int64_t, std::int64_t,
                         std::int64_t, bool, bool>;
  std::set<Key> seen;
  std::vector<std::pair<RoutineId, std::size_t>> out;
  for (RoutineId routine = 0; routine < program.routines.size(); ++routine) {
    const Routine& of = program.routines[routine];
    for (std::size_t i = 0; i < of.operations.size(); ++i) {
      const Kernel kernel = kernel_of(program, of, i);
      const bool timeless = kernel.of == OperationClass::communication ||
                            kernel.of == OperationClass::copy || kernel.fused_away;
      if (timeless) continue;
      const Key key{kernel.kind, kernel.flops,   kernel.moved_bytes, kernel.m,   kernel.n,
                    kernel.k,    kernel.batches, kernel.causal,      kernel.bias};
      if (seen.insert(key).second) out.emplace_back(routine, i);
    }
  }
  return out;
}

double time_program(Backend& backend, const Program& program, const TimingOptions& options) {
  using namespace execution;
  ExecutionState state{program, {unroll(program, 0)}, 1};
  LayoutTable layouts{program, 0};
  TrainingStepInputs<float> needs;
  needs.layout = [&](const RankCursor& cursor, std::uint32_t,
                     std::uint32_t instance) -> const PartLayout& {
    return layouts.of(cursor.role->instances[instance].tensor, cursor.rank);
  };
  needs.layout_of = [&](TensorId tensor, int rank) -> const PartLayout& {
    return layouts.of(tensor, rank);
  };
  needs.settings = [](const RankCursor& cursor, std::uint32_t operation) {
    KernelSettings out;
    out.operation = cursor.operation(operation).operation;
    return out;
  };
  needs.adds = &Computations<float>::adds;
  needs.type = [](const Tensor& tensor) { return number_type(tensor.dtype); };
  TrainingStepCommands<float> commands{state, std::move(needs)};
  state.begin_step();
  const RoleProgram& role = state.roles().front();
  commands.begin_step([&](int, std::uint32_t instance) { return role.tensor(instance).resident; });
  DrawnOrder{state, commands, kSeed}.run();
  Contents contents;
  for (std::uint32_t i = 0; i < role.instances.size(); ++i) {
    contents.ranges[commands.buffer(0, i)] = range_of(role.tensor(i));
  }
  for (const RoleOperation& operation : role.operations) {
    for (const std::uint32_t read : operation.reads) {
      if (role.tensor(read).dtype != Dtype::int32) continue;
      contents.tables[commands.buffer(0, read)] = rows_of(program, *operation.operation);
    }
  }
  return timed(backend, commands.take(), contents, options);
}

Program only_routine(const Program& program, std::string_view routine) {
  Program out = program;
  for (Tensor& tensor : out.tensors) tensor.resident = true;
  Role& role = out.roles.front();
  out.roles.resize(1);
  const auto other = [&](const Call& call) {
    return program.routines[call.routine].name != routine;
  };
  std::erase_if(role.calls, other);
  if (!role.calls.empty()) role.calls.resize(1);
  return out;
}

Program in_precision(const Program& program, Dtype dtype) {
  Program out = program;
  const auto narrow = [](Dtype of) { return of == Dtype::bf16 || of == Dtype::fp16; };
  for (Tensor& tensor : out.tensors) {
    if (narrow(tensor.dtype)) tensor.dtype = dtype;
  }
  for (Routine& routine : out.routines) {
    for (Operation& operation : routine.operations) {
      if (operation.math && narrow(*operation.math)) operation.math = dtype;
    }
  }
  return out;
}

}  // namespace lockstep
