#include "sim/execute/program_order/program_waits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>

#include "sim/execute/program_order/wait_graph.hpp"

namespace lockstep::execution {

namespace {

/// Follows first waits from the first head that waits until a head comes again.
[[nodiscard]] std::vector<std::size_t> some_ring(const WaitGraph& graph) {
  std::vector<std::size_t> way;
  std::map<std::size_t, std::size_t> seen;  // head to its place in the way
  std::size_t at = graph.heads().front();
  while (seen.try_emplace(at, way.size()).second) {
    way.push_back(at);
    if (graph.waits(at).empty()) return {};  // it could go on: not stuck after all
    at = *graph.waits(at).front().on;
  }
  way.erase(way.begin(), way.begin() + static_cast<std::ptrdiff_t>(seen[at]));
  return way;
}

/// A wait and the head that waits.
struct Step {
  std::size_t from = 0;
  const HeadWait* wait = nullptr;
};

/// Breadth first from a head back to itself.
[[nodiscard]] std::vector<Step> shortest_ring(const WaitGraph& graph, std::size_t start) {
  std::map<std::size_t, Step> came_by;
  std::deque<std::size_t> queue{start};
  while (!queue.empty() && !came_by.contains(start)) {
    const std::size_t at = queue.front();
    queue.pop_front();
    for (const HeadWait& wait : graph.waits(at)) {
      if (came_by.try_emplace(*wait.on, Step{at, &wait}).second) queue.push_back(*wait.on);
    }
  }
  std::vector<Step> ring;
  if (!came_by.contains(start)) return ring;
  std::size_t at = start;
  do {
    ring.push_back(came_by[at]);
    at = ring.back().from;
  } while (at != start);
  std::reverse(ring.begin(), ring.end());
  return ring;
}

[[nodiscard]] std::vector<Step> ring_of(const WaitGraph& graph) {
  constexpr std::size_t kStarts = 64;  // enough to find a short one where there is one
  std::vector<Step> shortest;
  const std::vector<std::size_t> starts = some_ring(graph);
  for (std::size_t i = 0; i < std::min(starts.size(), kStarts); ++i) {
    std::vector<Step> ring = shortest_ring(graph, starts[i]);
    if (shortest.empty() || ring.size() < shortest.size()) shortest = std::move(ring);
  }
  return shortest;
}

/// A wait that nobody answers: of the lowest rank.
[[nodiscard]] std::optional<Step> for_nobody(const WaitGraph& graph) {
  for (const std::size_t head : graph.heads()) {
    for (const HeadWait& wait : graph.waits(head)) {
      if (!wait.on) return Step{head, &wait};
    }
  }
  return std::nullopt;
}

[[nodiscard]] std::string sentence(const WaitGraph& graph, const Step& step) {
  return fmt::format("{} waits for {}", graph.name(step.from, true), step.wait->what);
}

[[nodiscard]] std::string ring_text(const WaitGraph& graph, const std::vector<Step>& ring) {
  constexpr std::size_t kShown = 8;
  std::string text;
  for (std::size_t i = 0; i < ring.size(); ++i) {
    if (ring.size() > kShown && i == kShown - 2) {
      text += fmt::format("... {} more ... <- ", ring.size() - kShown + 1);
      i = ring.size() - 1;
    }
    text += sentence(graph, ring[i]) + " <- ";
  }
  return text + graph.name(ring.front().from, false);
}

[[nodiscard]] std::string others_text(std::size_t others) {
  if (others == 0) return "";
  return fmt::format("; {} other operation{} too", others, others == 1 ? " waits" : "s wait");
}

}  // namespace

std::string waits_text(const ExecutionState& state) {
  const WaitGraph graph{state};
  const std::size_t heads = graph.heads().size();
  if (heads == 0) return "nobody waits";
  if (const std::optional<Step> last = for_nobody(graph)) {
    return fmt::format("{} <- {}{}", sentence(graph, *last), last->wait->why_never,
                       others_text(heads - 1));
  }
  const std::vector<Step> ring = ring_of(graph);
  if (ring.empty()) return "of those that wait somebody could go on";
  return ring_text(graph, ring) + others_text(heads - ring.size());
}

}  // namespace lockstep::execution
