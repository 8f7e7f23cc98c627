#include "sim/execute/command_graph/fake_device.hpp"

#include <doctest/doctest.h>

#include "sim/execute/command_graph/command_graph_builder.hpp"

/// CommandGraphs by hand, each with one mistake.
using namespace lockstep;

namespace {

/// Two streams; the second reads what the first wrote.
struct Two {
  CommandGraphBuilder builder{1};
  BufferId a = builder.add_buffer("a", 0, NumberType::fp32, 8);
  BufferId b = builder.add_buffer("b", 0, NumberType::fp32, 8);
  BufferId c = builder.add_buffer("c", 0, NumberType::fp32, 8);
  StreamIndex one = builder.add_stream("one", 0);
  StreamIndex two = builder.add_stream("two", 0);

  [[nodiscard]] Region all(BufferId of) const { return {of, 0, 8}; }
};

[[nodiscard]] std::string first_problem(const CommandGraph& graph) {
  const auto problems = check_command_graph(graph);
  return problems.empty() ? "" : problems.front().what;
}

}  // namespace

TEST_CASE("what one stream writes and another reads needs an event") {
  Two of;
  of.builder.copy(of.one, of.all(of.b), of.all(of.a));
  SUBCASE("with it") {
    of.builder.depend(of.two, of.builder.last(of.one));
    of.builder.copy(of.two, of.all(of.c), of.all(of.b));
    CHECK(check_command_graph(of.builder.graph()).empty());
  }
  SUBCASE("without") {
    of.builder.copy(of.two, of.all(of.c), of.all(of.b));
    CHECK(first_problem(of.builder.graph()) ==
          "command 0 of one and command 1 of two meet in b, and nothing says which comes first");
  }
  SUBCASE("in another part of the buffer") {
    of.builder.copy(of.two, {of.c, 0, 0}, {of.b, 8, 0});
    CHECK(check_command_graph(of.builder.graph()).empty());
  }
}

TEST_CASE("a wait for what is known to be done is not made") {
  Two of;
  const CommandId first = of.builder.copy(of.one, of.all(of.b), of.all(of.a));
  const CommandId second = of.builder.mark(of.one);
  of.builder.depend(of.two, first);
  of.builder.depend(of.two, second);
  const CommandId third = of.builder.mark(of.two);
  of.builder.depend(of.two, first);
  const CommandId fourth = of.builder.mark(of.two);
  const CommandGraph& graph = of.builder.graph();
  CHECK(graph.commands[third].waits == std::vector<CommandId>{second});
  CHECK(graph.commands[third].after.size() == 2);
  CHECK(graph.commands[fourth].waits.empty());
  CHECK_FALSE(graph.commands[first].signals);
}

TEST_CASE("streams that wait for each other are found, and waits that come too early") {
  Two of;
  of.builder.mark(of.one);
  of.builder.mark(of.two);
  CommandGraph graph = of.builder.take();
  for (Command& command : graph.commands) command.signals = true;
  graph.commands[0].waits = {1};
  const auto early = check_command_graph(graph);
  REQUIRE(early.size() == 1);
  CHECK(early[0].what ==
        "command 0 of one waits for an event that nobody has recorded: command 1 of two");
  graph.commands[1].waits = {0};
  const auto ring = check_command_graph(graph);
  REQUIRE(ring.size() == 2);
  CHECK(ring[1].what == "command 0 of one never completes");
}

TEST_CASE("commands stay within their buffers and between equal lengths") {
  Two of;
  of.builder.copy(of.one, {of.b, 4, 8}, of.all(of.a));
  CHECK(first_problem(of.builder.graph()) == "command 0 of one reaches beyond b");
  Two other;
  other.builder.copy(other.one, {other.b, 0, 4}, other.all(other.a));
  CHECK(first_problem(other.builder.graph()) ==
        "command 0 of one moves between lengths that differ");
}

TEST_CASE("a drawn order keeps to streams and events") {
  Two of;
  const CommandId first = of.builder.mark(of.one);
  of.builder.depend(of.two, first);
  const CommandId second = of.builder.mark(of.two);
  for (std::uint64_t seed = 1; seed < 20; ++seed) {
    CHECK(drawn_order(of.builder.graph(), seed) == std::vector<CommandId>{first, second});
  }
}
