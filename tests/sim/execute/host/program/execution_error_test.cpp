#include <doctest/doctest.h>

#include <string>

#include "sim/execute/host/program/execute_program.hpp"

// Programs that cannot go on end with one error that names ranks and operations.
namespace lockstep {
namespace {

/// Two ranks, each a role of its own, with a loss and what the test adds.
class TwoRanks {
 public:
  TwoRanks() {
    program.mesh = Mesh{{{"pp", 2}}};
    for (int rank = 0; rank < 2; ++rank) {
      program.roles.push_back({"rank " + std::to_string(rank), {{AtomId{0}, rank}}, false, {}});
    }
  }

  TensorId tensor(std::string name, std::int64_t length) {
    Tensor out;
    out.name = std::move(name);
    out.extents = {{Dim::hidden, length}};
    return program.add(std::move(out));
  }

  static Operation operation(OperationKind kind, std::string name, std::vector<Ref> reads,
                             std::vector<Ref> writes) {
    Operation out;
    out.kind = kind;
    out.name = std::move(name);
    out.reads = std::move(reads);
    out.writes = std::move(writes);
    if (kind == OperationKind::send || kind == OperationKind::receive ||
        kind == OperationKind::collective) {
      out.communication = Communication{};
      out.communication->over = {AtomId{0}};
      out.communication->offset = 1;
    }
    return out;
  }

  void does(std::size_t rank, std::vector<Operation> operations) {
    const RoutineId id = program.add(Routine{"all", std::move(operations)});
    program.roles.at(rank).calls.push_back({id, 0, 0});
  }

  /// What the error says; empty where there is none.
  [[nodiscard]] std::string trouble() const {
    try {
      ProgramExecution{program}.step();
      return "";
    } catch (const ExecutionError& error) {
      return error.what();
    }
  }

  Program program;
};

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("ranks that both receive first wait for each other, and both are named") {
  TwoRanks ranks;
  const Ref x{.tensor = ranks.tensor("x", 4)};
  const Ref y{.tensor = ranks.tensor("y", 4)};
  ranks.does(0, {TwoRanks::operation(OperationKind::receive, "get.y", {}, {y}),
                 TwoRanks::operation(OperationKind::fill, "fill.x", {}, {x}),
                 TwoRanks::operation(OperationKind::send, "give.x", {x}, {})});
  ranks.does(1, {TwoRanks::operation(OperationKind::receive, "get.x", {}, {x}),
                 TwoRanks::operation(OperationKind::fill, "fill.y", {}, {y}),
                 TwoRanks::operation(OperationKind::send, "give.y", {y}, {})});
  const std::string text = ranks.trouble();
  CAPTURE(text);
  CHECK(has(text, "cannot go on"));
  CHECK(has(text,
            "rank 0: position 0 microbatch 0: get.y (stream compute) waits for a message from "
            "rank 1"));
  CHECK(has(text,
            "rank 1: position 0 microbatch 0: get.x (stream compute) waits for a message from "
            "rank 0"));
}

TEST_CASE("a collective that one rank does not come to names who is missing") {
  TwoRanks ranks;
  const Ref x{.tensor = ranks.tensor("x", 4)};
  ranks.does(0, {TwoRanks::operation(OperationKind::fill, "fill.x", {}, {x}),
                 TwoRanks::operation(OperationKind::collective, "sum", {x}, {x})});
  const std::string text = ranks.trouble();
  CAPTURE(text);
  CHECK(has(text, "rank 0: position 0 microbatch 0: sum (stream compute) waits for ranks 1"));
}

TEST_CASE("different collectives that meet are both named") {
  TwoRanks ranks;
  const Ref x{.tensor = ranks.tensor("x", 4)};
  const Operation fill = TwoRanks::operation(OperationKind::fill, "fill.x", {}, {x});
  const Operation sum = TwoRanks::operation(OperationKind::collective, "sum", {x}, {x});
  Operation pass = TwoRanks::operation(OperationKind::collective, "pass", {x}, {x});
  pass.communication->collective = Collective::send_recv;
  ranks.does(0, {fill, sum});
  ranks.does(1, {fill, pass});
  const std::string text = ranks.trouble();
  CAPTURE(text);
  CHECK(has(text,
            "rank 0: position 0 microbatch 0: sum meets rank 1: position 0 microbatch 0: pass"));
}

TEST_CASE("members of a sum that bring different sizes are refused") {
  TwoRanks ranks;
  const Ref four{.tensor = ranks.tensor("four", 4)};
  const Ref five{.tensor = ranks.tensor("five", 5)};
  ranks.does(0, {TwoRanks::operation(OperationKind::fill, "fill", {}, {four}),
                 TwoRanks::operation(OperationKind::collective, "sum", {four}, {four})});
  ranks.does(1, {TwoRanks::operation(OperationKind::fill, "fill", {}, {five}),
                 TwoRanks::operation(OperationKind::collective, "sum", {five}, {five})});
  const std::string text = ranks.trouble();
  CAPTURE(text);
  CHECK(has(text, "sum with 1 others: members hold different parts"));
}

TEST_CASE("an operation on parts that do not belong together is refused") {
  TwoRanks ranks;
  const TensorId whole = ranks.tensor("whole", 4);
  const TensorId part = ranks.tensor("part", 4);
  ranks.program.tensors[part].extents[0].shards = {AtomId{0}};
  ranks.does(0, {TwoRanks::operation(OperationKind::fill, "fill", {}, {{.tensor = whole}}),
                 TwoRanks::operation(OperationKind::fill, "fill", {}, {{.tensor = part}}),
                 TwoRanks::operation(OperationKind::add, "both",
                                     {{.tensor = whole}, {.tensor = part}}, {{.tensor = whole}})});
  const std::string text = ranks.trouble();
  CAPTURE(text);
  CHECK(has(text, "both (add): whole and part hold different parts of hidden (4 and 2 of 4)"));
}

}  // namespace
}  // namespace lockstep
