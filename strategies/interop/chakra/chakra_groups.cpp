#include "strategies/interop/chakra/chakra_groups.hpp"

#include <fmt/format.h>

#include <map>

namespace lockstep {

namespace {

using Lists = std::map<std::uint32_t, std::vector<ChakraNodeRef>>;  // by rank

/// The collectives of each group, rank by rank. The nameless group has every rank in it.
std::map<std::string, Lists> collectives_by_group(const ChakraTrace& trace) {
  std::map<std::string, Lists> out;
  for (std::uint32_t rank = 0; rank < trace.ranks.size(); ++rank) {
    const auto& nodes = trace.ranks[rank].nodes;
    for (std::uint32_t i = 0; i < nodes.size(); ++i)
      if (nodes[i].kind == ChakraNode::Kind::collective)
        out[nodes[i].group][rank].push_back({rank, i});
  }
  const auto nameless = out.find("");
  if (nameless != out.end())
    for (std::uint32_t rank = 0; rank < trace.ranks.size(); ++rank) nameless->second[rank];
  return out;
}

class Matching {
 public:
  Matching(const ChakraTrace& trace, Problems& problems) : trace_{trace}, problems_{problems} {}

  void add_group(const std::string& group, const Lists& lists, std::vector<ChakraCall>& calls) {
    const auto& [first_rank, first] = *lists.begin();
    for (const auto& [rank, list] : lists) {
      if (list.size() == first.size()) continue;
      note(trace_.ranks[rank], {}, "",
           fmt::format("rank {} has {} collective{} {}, but rank {} has {}", rank, list.size(),
                       list.size() == 1 ? "" : "s", in_words(group), first_rank, first.size()));
      return;
    }
    for (std::size_t k = 0; k < first.size(); ++k) {
      ChakraCall call{group, k, {}};
      for (const auto& [rank, list] : lists) {
        compare(list[k], first[k]);
        call.nodes.push_back(list[k]);
      }
      calls.push_back(std::move(call));
    }
  }

 private:
  static std::string in_words(const std::string& group) {
    return group.empty() ? "without a pg_name" : "of the group " + in_quotes(group);
  }

  [[nodiscard]] const ChakraNode& node(ChakraNodeRef ref) const {
    return trace_.ranks[ref.rank].nodes[ref.index];
  }

  [[nodiscard]] static std::string in_words(const ChakraNode& node) {
    return fmt::format("{} of {} bytes", to_string(node.collective), node.size.count());
  }

  void compare(ChakraNodeRef mine, ChakraNodeRef first) {
    const ChakraNode& a = node(mine);
    const ChakraNode& b = node(first);
    if (a.collective == b.collective && a.size == b.size) return;
    note(trace_.ranks[mine.rank], a.at, fmt::format("node {}", a.id),
         fmt::format("{}, where rank {} does {} (node {})", in_words(a), first.rank, in_words(b),
                     b.id));
  }

  void note(const ChakraRank& rank, Position at, std::string pointer, std::string message) {
    problems_.add(ConfigError{Problem{rank.file, at, std::move(pointer), std::move(message)}});
  }

  const ChakraTrace& trace_;
  Problems& problems_;
};

}  // namespace

std::vector<ChakraCall> match_collectives(const ChakraTrace& trace, Problems& problems) {
  std::vector<ChakraCall> out;
  Matching matching(trace, problems);
  for (const auto& [group, lists] : collectives_by_group(trace))
    matching.add_group(group, lists, out);
  return out;
}

ChakraMessages match_messages(const ChakraTrace& trace) {
  ChakraMessages out;
  for (std::uint32_t rank = 0; rank < trace.ranks.size(); ++rank) {
    const auto& nodes = trace.ranks[rank].nodes;
    for (std::uint32_t i = 0; i < nodes.size(); ++i) {
      const ChakraNode& node = nodes[i];
      const bool sending = node.kind == ChakraNode::Kind::send;
      if (!sending && node.kind != ChakraNode::Kind::receive) continue;
      const auto own = static_cast<int>(rank);
      out.ends.push_back(
          {sending ? own : node.peer, sending ? node.peer : own, node.tag, node.size, sending});
      out.nodes.push_back({rank, i});
    }
  }
  out.tags = plan_tags(out.ends);
  return out;
}

}  // namespace lockstep
