#include "strategies/interop/msccl/msccl.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "strategies/interop/msccl/msccl_checks.hpp"
#include "strategies/interop/text/read_file.hpp"
#include "strategies/interop/text/xml_document.hpp"

namespace lockstep {

namespace {

/// Ranks times the most thread blocks of any: what runs a schedule keeps a state for each.
constexpr std::int64_t kMostLanes = std::int64_t{1} << 23U;

int most_blocks(const MscclProgram& program) {
  std::size_t most = 0;
  for (const MscclGpu& gpu : program.gpus) most = std::max(most, gpu.blocks.size());
  return static_cast<int>(most);
}

void check_lane_count(const MscclProgram& program, Problems& problems) {
  const std::int64_t lanes = std::ssize(program.gpus) * std::int64_t{most_blocks(program)};
  if (lanes <= kMostLanes) return;
  problems.note(program.at, "",
                fmt::format("{} GPUs times {} tbs are too many; at most {}", program.gpus.size(),
                            most_blocks(program), kMostLanes));
}

int slots_of(const MscclProgram& program, const MscclOptions& options) {
  if (options.slots) return *options.slots;
  if (program.slots) return *program.slots;
  return program.protocol == "Simple" ? 2 : 8;
}

int channels_of(const MscclProgram& program) {
  if (program.channels > 0) return program.channels;
  int channels = 1;
  for (const MscclGpu& gpu : program.gpus) {
    for (const MscclThreadBlock& block : gpu.blocks)
      channels = std::max(channels, block.channel + 1);
  }
  return channels;
}

/// Visits (GPU, thread block, step).
template <class Visit>
void for_each_step(const MscclProgram& program, const Visit& visit) {
  for (const MscclGpu& gpu : program.gpus) {
    for (const MscclThreadBlock& block : gpu.blocks) {
      for (const MscclStep& step : block.steps) visit(gpu, block, step);
    }
  }
}

/// Steps that others wait for without hasdep="1": MSCCL never notifies the others.
std::optional<std::string> unannounced(const MscclProgram& program) {
  std::int64_t count = 0;
  std::string first;
  for_each_step(program, [&](const MscclGpu& gpu, const MscclThreadBlock&, const MscclStep& step) {
    if (step.waits_for_tb < 0) return;
    const MscclThreadBlock& other = gpu.blocks[static_cast<std::size_t>(step.waits_for_tb)];
    const MscclStep& awaited = other.steps[static_cast<std::size_t>(step.waits_for_step)];
    if (awaited.has_dependents) return;
    if (count++ == 0) first = name_of(gpu, other, awaited);
  });
  if (count == 0) return std::nullopt;
  return fmt::format("{} is waited for but has no hasdep=\"1\" ({} such); MSCCL would hang", first,
                     count);
}

std::optional<std::string> residuals(const MscclProgram& program) {
  std::int64_t count = 0;
  for_each_step(program, [&](const MscclGpu&, const MscclThreadBlock&, const MscclStep& step) {
    if (step.operation == MscclOperation::add_residual) ++count;
  });
  if (count == 0) return std::nullopt;
  return fmt::format(
      "{} steps of type \"ra\" are assumed to be \"re\": the source is added to the "
      "destination",
      count);
}

std::optional<std::string> ignored_copies(const MscclProgram& program) {
  const std::int64_t count = program.ignored_copies;
  if (count == 0) return std::nullopt;
  return fmt::format("{} element{} <copy> {} ignored, as RCCL does", count, count == 1 ? "" : "s",
                     count == 1 ? "is" : "are");
}

/// Where the smallest size is above the largest.
std::optional<std::string> no_sizes(const MscclProgram& program) {
  const std::int64_t least = program.min_bytes.value_or(0);
  if (!program.max_bytes || least <= *program.max_bytes) return std::nullopt;
  return fmt::format("minBytes, {}, is above maxBytes, {}: it is meant for no size", least,
                     *program.max_bytes);
}

bool writes_output(const MscclProgram& program) {
  bool writes = false;
  for_each_step(program, [&](const MscclGpu&, const MscclThreadBlock&, const MscclStep& step) {
    writes = writes ||
             (has_destination(step.operation) && step.destination.buffer == MscclBuffer::output);
  });
  return writes;
}

std::vector<std::string> notes_on(const MscclProgram& program, const MscclLayout& layout) {
  std::vector<std::string> notes;
  if (!layout.collective()) {
    notes.push_back(
        fmt::format("nothing says what the result of \"{}\" should be, so it is not "
                    "verified",
                    program.collective));
  }
  if (layout.collective() && !layout.in_place() && !writes_output(program))
    notes.emplace_back("the program runs out of place, but no step writes to \"o\"");
  if (auto note = unannounced(program)) notes.push_back(std::move(*note));
  for (auto& note : {residuals(program), ignored_copies(program), no_sizes(program)})
    if (note) notes.push_back(*note);
  return notes;
}

}  // namespace

std::optional<Contract> MscclImport::contract() const {
  if (!collective) return std::nullopt;
  return contract_of(*collective, *schedule, ranks, root, distance);
}

MscclImport parse_msccl(std::string_view text, const std::string& file,
                        const MscclOptions& options) {
  const MscclProgram program = read_msccl_program(text, file);
  Problems problems{file};
  check_lane_count(program, problems);
  const MscclLayout layout{program, problems};
  problems.throw_if_any();
  check_msccl_chunks(program, layout, problems);
  check_msccl_connections(program, problems);
  check_msccl_dependencies(program, problems);
  problems.throw_if_any();
  return {.schedule =
              std::make_shared<const MscclSchedule>(program, layout, slots_of(program, options)),
          .collective = layout.collective(),
          .ranks = static_cast<int>(program.gpus.size()),
          .root = program.root,
          .distance = program.distance,
          .name = program.name,
          .protocol = program.protocol,
          .channels = channels_of(program),
          .chunks_per_loop = layout.blocks(),
          .min_bytes = program.min_bytes,
          .max_bytes = program.max_bytes,
          .in_place = layout.in_place(),
          .notes = notes_on(program, layout)};
}

MscclImport read_msccl(const std::filesystem::path& path, const MscclOptions& options) {
  return parse_msccl(read_file(path, "an MSCCL XML file", kLargestXml), path.string(), options);
}

}  // namespace lockstep
