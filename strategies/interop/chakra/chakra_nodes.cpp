#include "strategies/interop/chakra/chakra_nodes.hpp"

#include <fmt/format.h>

#include <array>
#include <unordered_map>
#include <utility>

#include "strategies/interop/text/dependency_cycle.hpp"

namespace lockstep {

namespace {

constexpr std::size_t kMostNamed = 8;  // nodes of a circle in one message

// Numbers are those of the enums NodeType and CollectiveCommType in et_def.proto; see
// chakra_et.proto.
constexpr std::int64_t kFirstType = 1;
constexpr std::int64_t kLastType = 7;
constexpr std::array<Collective, 10> kCollectives{
    Collective::all_reduce, Collective::reduce,         Collective::all_gather,
    Collective::gather,     Collective::scatter,        Collective::broadcast,
    Collective::all_to_all, Collective::reduce_scatter, Collective::reduce_scatter,
    Collective::barrier};

bool communicates(ChakraNode::Kind kind) {
  return kind >= ChakraNode::Kind::send;
}

class Linker {
 public:
  Linker(const std::vector<RawChakraNode>& nodes, int ranks, Problems& problems)
      : raw_{nodes}, ranks_{ranks}, problems_{problems} {}

  ChakraRank link() {
    ChakraRank out;
    out.file = problems_.file();
    number_nodes();
    for (const RawChakraNode& raw : raw_) out.nodes.push_back(node(raw));
    if (!problems_.any()) check_cycle(out);
    out.ignored = ignored_;
    return out;
  }

 private:
  void number_nodes() {
    for (std::uint32_t i = 0; i < raw_.size(); ++i) {
      const bool fresh = index_.try_emplace(raw_[i].id, i).second;
      if (!fresh) note(raw_[i], "another node has this id already");
    }
  }

  ChakraNode node(const RawChakraNode& raw) {
    ChakraNode out;
    out.id = raw.id;
    out.name = raw.name;
    out.on_cpu = raw.on_cpu;
    out.at = raw.at;
    if (raw.duration) {
      out.duration = *raw.duration;
    } else {
      note(raw, "its duration is beyond 106 days");
    }
    read_dependencies(raw, out.after);
    if (raw.type < kFirstType || raw.type > kLastType) {
      note(raw, fmt::format("expected a type of node from {} to {}, got {}", kFirstType, kLastType,
                            raw.type));
      return out;
    }
    out.kind = static_cast<ChakraNode::Kind>(raw.type - kFirstType);
    if (!communicates(out.kind)) return out;
    if (raw.on_cpu) {
      ++ignored_.cpu_communications;
      out.kind = ChakraNode::Kind::compute;
    } else {
      read_communication(raw, out);
    }
    return out;
  }

  void read_dependencies(const RawChakraNode& raw, std::vector<std::uint32_t>& out) {
    for (const std::uint64_t id : raw.after_control) {
      const auto found = index_.find(id);
      if (found != index_.end()) {
        out.push_back(found->second);
      } else {
        ++ignored_.absent_controls;
      }
    }
    read_data_dependencies(raw, out);
  }

  void read_data_dependencies(const RawChakraNode& raw, std::vector<std::uint32_t>& out) {
    for (const std::uint64_t id : raw.after_data) {
      const auto found = index_.find(id);
      if (found != index_.end()) {
        out.push_back(found->second);
      } else {
        note(raw, fmt::format("it depends on node {}, which there is not", id));
      }
    }
  }

  void read_communication(const RawChakraNode& raw, ChakraNode& out) {
    const bool collective = out.kind == ChakraNode::Kind::collective;
    if (collective) read_collective(raw, out);
    const bool barrier = collective && out.collective == Collective::barrier;
    const std::int64_t size = number(raw, "comm_size", raw.comm_size, INT64_MAX, barrier);
    out.size = Bytes{size};
    if (collective) return;
    const bool sending = out.kind == ChakraNode::Kind::send;
    const bool alone = ranks_ == 1;
    out.peer = static_cast<int>(number(raw, sending ? "comm_dst" : "comm_src",
                                       sending ? raw.comm_dst : raw.comm_src,
                                       alone ? INT32_MAX : ranks_ - 1, false));
    out.tag = static_cast<std::uint32_t>(number(raw, "comm_tag", raw.comm_tag, UINT32_MAX, true));
    if (alone && out.peer > 0) drop_message(out);
  }

  /// Its other end is not in the trace. Its node stays, as what takes no time.
  void drop_message(ChakraNode& message) {
    ignored_.messages.add(message.size);
    message.kind = ChakraNode::Kind::metadata;
    message.duration = {};
  }

  void read_collective(const RawChakraNode& raw, ChakraNode& out) {
    const auto type = number(raw, "comm_type", raw.comm_type, kCollectives.size() - 1, false);
    out.collective = kCollectives.at(static_cast<std::size_t>(type));
    out.group = raw.group;
    if (!raw.all_dimensions)
      note(raw,
           "involved_dim leaves out a dimension; which ranks that means is not in the trace (give "
           "the group a pg_name)");
  }

  /// 0 where it is absent, which must be allowed, or wrong.
  std::int64_t number(const RawChakraNode& raw, std::string_view name, const ChakraNumber& given,
                      std::int64_t most, bool optional) {
    if (!given.given) {
      if (!optional) note(raw, fmt::format("{} is missing", name));
      return 0;
    }
    if (given.value && *given.value >= 0 && *given.value <= most) return *given.value;
    note(raw, fmt::format("{}: expected an integer from 0 to {}, got {}", name, most, given.shown));
    return 0;
  }

  using After = std::vector<std::vector<std::uint32_t>>;

  /// Where data dependencies alone make no circle, the others go.
  void check_cycle(ChakraRank& rank) {
    After all;
    for (const ChakraNode& node : rank.nodes) all.push_back(node.after);
    const auto cycle = find_cycle(all);
    if (cycle.empty()) return;
    After data(raw_.size());
    for (std::size_t i = 0; i < raw_.size(); ++i) read_data_dependencies(raw_[i], data[i]);
    if (!find_cycle(data).empty()) return refuse_cycle(cycle);
    for (std::size_t i = 0; i < raw_.size(); ++i) {
      ignored_.cyclic_controls += std::ssize(all[i]) - std::ssize(data[i]);
      rank.nodes[i].after = std::move(data[i]);
    }
  }

  void refuse_cycle(const std::vector<std::uint32_t>& cycle) {
    std::string text = "it can never begin: it depends on ";
    for (std::size_t i = 1; i < cycle.size() && i <= kMostNamed; ++i)
      text += fmt::format("node {}, that on ", raw_[cycle[i]].id);
    if (cycle.size() > kMostNamed + 1)
      text += fmt::format("{} more, the last on ", cycle.size() - kMostNamed - 1);
    note(raw_[cycle.front()], text + (cycle.size() == 1 ? "itself" : "it again"));
  }

  void note(const RawChakraNode& raw, std::string message) {
    problems_.note(raw.at, fmt::format("node {}", raw.id), std::move(message));
  }

  const std::vector<RawChakraNode>& raw_;
  int ranks_;
  Problems& problems_;
  std::unordered_map<std::uint64_t, std::uint32_t> index_;
  ChakraIgnored ignored_;
};

}  // namespace

ChakraRank link_nodes(const std::vector<RawChakraNode>& nodes, int ranks, Problems& problems) {
  return Linker(nodes, ranks, problems).link();
}

std::optional<Duration> chakra_duration(std::uint64_t microseconds) {
  constexpr std::uint64_t kPerMicrosecond = 1'000'000;
  if (microseconds > INT64_MAX / kPerMicrosecond) return std::nullopt;
  return 1_us * static_cast<std::int64_t>(microseconds);
}

}  // namespace lockstep
