#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/execute/run_program/execute_program.hpp"

namespace lockstep::test {

/// A program of a few ranks along one axis, each a role of its own that does what a test says.
class Ranks {
 public:
  explicit Ranks(int ranks) {
    program.mesh = Mesh{{{"pp", ranks}}};
    for (int rank = 0; rank < ranks; ++rank) {
      program.roles.push_back({"rank " + std::to_string(rank), {{AtomId{0}, rank}}, false, {}});
    }
  }

  Ref tensor(std::string name, std::int64_t length = 4) {
    Tensor out;
    out.name = std::move(name);
    out.dtype = Dtype::fp32;
    out.extents = {{Dim::hidden, length}};
    return Ref{.tensor = program.add(std::move(out))};
  }

  static Operation fill(const Ref& what) {
    return operation(OperationKind::fill, "fill", {}, {what});
  }
  static Operation send(std::string name, const Ref& what, int offset) {
    return with_peer(operation(OperationKind::send, std::move(name), {what}, {}), offset);
  }
  static Operation receive(std::string name, const Ref& what, int offset) {
    return with_peer(operation(OperationKind::receive, std::move(name), {}, {what}), offset);
  }
  static Operation sum(std::string name, const Ref& what) {
    return with_peer(operation(OperationKind::collective, std::move(name), {what}, {what}), 0);
  }
  static Operation operation(OperationKind kind, std::string name, std::vector<Ref> reads,
                             std::vector<Ref> writes) {
    Operation out;
    out.kind = kind;
    out.name = std::move(name);
    out.reads = std::move(reads);
    out.writes = std::move(writes);
    return out;
  }

  void does(std::size_t rank, std::vector<Operation> operations) {
    const RoutineId id = program.add(Routine{"all", std::move(operations)});
    program.roles.at(rank).calls.push_back({id, 0, 0});
  }

  /// What the error of a step says; empty where there is none.
  [[nodiscard]] std::string trouble(const ExecutionOptions& options = {}) const {
    try {
      ProgramExecution{program, options}.step();
      return "";
    } catch (const ExecutionError& error) {
      return error.what();
    }
  }

  Program program;

 private:
  static Operation with_peer(Operation operation, int offset) {
    operation.communication = Communication{};
    operation.communication->over = {AtomId{0}};
    operation.communication->offset = offset;
    return operation;
  }
};

[[nodiscard]] inline bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace lockstep::test
