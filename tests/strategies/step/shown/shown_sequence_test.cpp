#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/strategies/step/shown/shown_scenario.hpp"

/// Long sequences of Llama 2 7B over n GPUs of n/8 nodes. s tokens, h = 4096 hidden, L = 32 layers,
/// one sequence; queries, keys and values are all h wide, bf16.
namespace lockstep::test {
namespace {

constexpr std::int64_t kH = 4096;
constexpr std::int64_t kL = 32;

[[nodiscard]] std::vector<std::string> sized(int nodes, std::int64_t tokens) {
  return {"cluster.nodes=" + std::to_string(nodes), "parallel.cp=" + std::to_string(8 * nodes),
          "model.seq=" + std::to_string(tokens)};
}

[[nodiscard]] double step_s(const std::string& name, int nodes, std::int64_t tokens) {
  return Shown(name, sized(nodes, tokens)).step_s();
}

/// A rank's part of the hidden states: 2 s h / n bytes.
[[nodiscard]] std::int64_t part(std::int64_t tokens, std::int64_t ranks) {
  return 2 * tokens / ranks * kH;
}

}  // namespace

TEST_CASE("sequence-ulysses: four all-to-alls of a rank's part in each direction") {
  const Shown shown("sequence-ulysses");
  const std::int64_t each = part(131072, 32);
  // Queries, keys, values to heads; the output back. Computed once more before the way back.
  CHECK(shown.sent("cp", "forward") == Sent{4 * kL, 4 * kL * each});
  const GroupTraffic all = shown.traffic("cp");
  CHECK(all.operations == 3 * 4 * kL);
  CHECK(all.bytes.count() == 3 * 4 * kL * each);
}

TEST_CASE("sequence-ring: keys and values n - 1 hops in each pass, their gradients n - 1 back") {
  const Shown shown("sequence-ring");
  const std::int64_t keys_and_values = 2 * part(131072, 32);
  CHECK(shown.sent("cp", "forward") == Sent{31 * kL, 31 * kL * keys_and_values});
  // 31 hops once more for the recomputation; back 31 of keys and values and 31 of their gradients,
  // the last of which brings them home.
  const std::int64_t hops = 31 + 31 + 31 + 31;
  CHECK(shown.traffic("cp").operations == hops * kL);
  CHECK(shown.traffic("cp").bytes.count() == hops * kL * keys_and_values);
}

TEST_CASE("sequence-all-gather: every rank gathers keys and values, a quarter of the queries") {
  const Shown shown("sequence-all-gather");
  // Llama 3 8B: 8 heads of keys for 32 of queries. All tokens of a group of 4 nodes.
  const std::int64_t keys = part(131072, 1) / 4;
  CHECK(shown.sent("cp", "forward") == Sent{2 * kL, 2 * kL * keys});
  // Once more for the recomputation, and for backward, where their gradients are reduce-scattered.
  CHECK(shown.traffic("cp").operations == (2 + 2 + 2 + 2) * kL);
  CHECK(shown.traffic("cp").bytes.count() == 8 * kL * keys);
}

TEST_CASE("sequence-2d: all-to-alls among the eight of a node, a ring over the nodes") {
  const Shown shown("sequence-2d");
  const std::int64_t each = part(131072, 32);
  // Among heads of 8 ranks, keys and values of 4 of the sequence go round: 3 hops.
  CHECK(shown.sent("cp", "forward") == Sent{(4 + 3) * kL, (4 * each + 3 * 2 * each) * kL});
}

TEST_CASE("sequence-ulysses: a degree over the heads is one clear error") {
  for (const int nodes : {8, 16}) {
    CAPTURE(nodes);
    try {
      (void)shipped_scenario("sequence-ulysses", sized(nodes, 131072));
      FAIL("accepted");
    } catch (const ConfigError& error) {
      const std::string text = error.what();
      CHECK(text.find("/parallel/cp") != std::string::npos);
      CHECK(text.find("at most 32") != std::string::npos);
      CHECK(text.find("ring or 2d") != std::string::npos);
      CHECK(text.find("\n1 error") == text.rfind("\n"));
    }
  }
}

TEST_CASE("sequences: up to 32 ranks Ulysses is fastest, as its parts shrink with the ranks") {
  // Bytes a rank sends in a layer forward: Ulysses 4 parts, 8 s h / n; a ring 2 (n-1) parts, all
  // but 4 s h whatever n, of which a node's last rank sends all over one NIC. Of 2D on two nodes
  // the ring is one hop, behind attention: as fast as Ulysses, but for the additions of gradients.
  for (const int nodes : {2, 4}) {
    for (const std::int64_t tokens : {131072, 1048576}) {
      CAPTURE(nodes);
      CAPTURE(tokens);
      const double ulysses = step_s("sequence-ulysses", nodes, tokens);
      const double both = step_s("sequence-2d", nodes, tokens);
      const double ring = step_s("sequence-ring", nodes, tokens);
      CHECK(ulysses < (nodes == 2 ? 1.02 * both : both));
      CHECK(both < ring);
    }
  }
}

TEST_CASE("sequences: beyond the heads 2D is what is left against a plain ring") {
  // Between nodes a ring of 2D moves the keys and values of an eighth of the heads per GPU, each
  // over its own NIC; a plain ring all of them over one.
  for (const int nodes : {8, 16}) {
    for (const std::int64_t tokens : {32768, 131072, 1048576}) {
      CAPTURE(nodes);
      CAPTURE(tokens);
      CHECK(step_s("sequence-2d", nodes, tokens) < step_s("sequence-ring", nodes, tokens));
    }
  }
}

TEST_CASE("sequences: attention outgrows communication: a ring catches up with length") {
  // Attention of a rank grows with s^2, what it sends with s.
  double last = 1e9;
  for (const std::int64_t tokens : {32768, 131072, 524288, 1048576}) {
    CAPTURE(tokens);
    const double behind = step_s("sequence-ring", 16, tokens) / step_s("sequence-2d", 16, tokens);
    CHECK(behind > 1);
    if (tokens > 131072) CHECK(behind < last);
    last = behind;
  }
}

TEST_CASE("sequences: 32k to 1M tokens on 2 to 16 nodes fit into 80 GiB") {
  for (const char* name : {"sequence-2d", "sequence-ring"}) {
    for (const int nodes : {2, 16}) {
      CAPTURE(name);
      CAPTURE(nodes);
      const Shown shown(name, sized(nodes, 1048576));
      CHECK(shown.peak_bytes() < shown.gpu_bytes());
    }
  }
}

}  // namespace lockstep::test
