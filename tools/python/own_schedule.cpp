#include "tools/python/own_schedule.hpp"

#include <pybind11/stl.h>

#include <cstdint>
#include <exception>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/schedule/schedule.hpp"
#include "strategies/interop/msccl/msccl_export.hpp"
#include "tools/app/collective/candidates.hpp"
#include "tools/app/errors.hpp"
#include "tools/python/errors.hpp"

namespace py = pybind11;

namespace lockstep::python {

namespace {

/// Kind (send, receive, copy), peer, buffer, block, count, reduce, channel, other buffer and block.
using Action = std::tuple<int, int, int, std::int64_t, std::int64_t, bool, int, int, std::int64_t>;
using Steps = std::vector<std::vector<Action>>;  // of a rank

constexpr int kSend = 0;
constexpr int kReceive = 1;

void add_to(ScheduleStep& step, const Action& action) {
  const auto& [kind, peer, buffer, block, count, reduce, channel, to_buffer, to_block] = action;
  const Chunk chunk{static_cast<Buffer>(buffer), block, count};
  const Combine combine = reduce ? Combine::reduce : Combine::copy;
  if (kind == kSend) {
    step.sends.push_back({peer, chunk, channel});
  } else if (kind == kReceive) {
    step.receives.push_back({peer, chunk, combine, channel});
  } else {
    step.locals.push_back({chunk, {static_cast<Buffer>(to_buffer), to_block, count}, combine});
  }
}

/// Steps as they were yielded: one lane per rank.
class OwnSchedule final : public Schedule {
 public:
  OwnSchedule(std::vector<Steps> steps, std::int64_t blocks, std::vector<std::int64_t> scratch,
              Buffer result, int slots)
      : steps_{std::move(steps)},
        blocks_{blocks},
        scratch_{std::move(scratch)},
        result_{result},
        slots_{slots} {}

  [[nodiscard]] int ranks() const override { return static_cast<int>(steps_.size()); }
  [[nodiscard]] int slots() const override { return slots_; }
  [[nodiscard]] std::int64_t blocks() const override { return blocks_; }
  [[nodiscard]] std::int64_t scratch_blocks(int rank) const override {
    return scratch_.at(static_cast<std::size_t>(rank));
  }
  [[nodiscard]] Buffer result() const override { return result_; }
  [[nodiscard]] std::int64_t steps(int rank, int) const override {
    return std::ssize(steps_.at(static_cast<std::size_t>(rank)));
  }
  void step(int rank, int, std::int64_t index, ScheduleStep& step) const override {
    for (const Action& each :
         steps_.at(static_cast<std::size_t>(rank)).at(static_cast<std::size_t>(index)))
      add_to(step, each);
  }

 private:
  std::vector<Steps> steps_;
  std::int64_t blocks_;
  std::vector<std::int64_t> scratch_;
  Buffer result_;
  int slots_;
};

std::string written(const std::string& collective, const OwnSchedule& schedule, int root,
                    const std::string& name) {
  MscclExportOptions options;
  options.collective = app::collective_of(collective);
  options.ranks = schedule.ranks();
  options.root = root;
  options.name = name;
  if (root < 0 || root >= schedule.ranks())
    throw app::RequestError("root", "expected a rank below " + std::to_string(schedule.ranks()) +
                                        ", got " + std::to_string(root));
  const MscclExport made = write_msccl(schedule, options);
  if (!made.problem.empty()) throw app::Refusal(made.problem);
  return made.text;
}

std::string write_own(const std::string& collective, std::int64_t blocks,
                      std::vector<std::int64_t> scratch, const std::string& result, int root,
                      int slots, const std::string& name, std::vector<Steps> steps) {
  const Buffer to = result == "output" ? Buffer::output : Buffer::data;
  try {
    return written(collective, OwnSchedule{std::move(steps), blocks, std::move(scratch), to, slots},
                   root, name);
  } catch (...) {
    raise_as_python(std::current_exception(), py::none());
  }
}

}  // namespace

void add_own_schedule(py::module_& module) {
  module.def("write_msccl", write_own, py::arg("collective"), py::arg("blocks"), py::arg("scratch"),
             py::arg("result"), py::arg("root"), py::arg("slots"), py::arg("name"),
             py::arg("steps"));
}

}  // namespace lockstep::python
