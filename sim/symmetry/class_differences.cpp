#include "sim/symmetry/class_differences.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

namespace lockstep::fold {
namespace {

/// In none of the things that Looks compares.
constexpr const char* kOtherwise = "different peers (direct or indirect)";

/// What of a member is visible from outside.
class Looks {
 public:
  Looks(const Relations& relations, const Partition& partition, const Network& network,
        const Workload& workload)
      : relations_{relations}, partition_{partition}, network_{network}, workload_{workload} {}

  /// The first thing in which two members differ; empty: they differ by others.
  [[nodiscard]] std::string difference(std::uint32_t member, std::uint32_t usual) const {
    if (std::string text = of_its_own(member, usual); !text.empty()) return text;
    for (const auto each : {&Looks::by_peers, &Looks::by_sends, &Looks::by_receives})
      if (std::string text = (this->*each)(member, usual); !text.empty()) return text;
    return {};
  }
  /// Difference of start or endpoint; empty: none.
  [[nodiscard]] std::string of_its_own(std::uint32_t member, std::uint32_t usual) const {
    std::string text = by_start(member, usual);
    return text.empty() ? by_endpoint(member, usual) : text;
  }
  /// Equal for members without a difference.
  [[nodiscard]] auto all_of(std::uint32_t member) const {
    const Endpoint& e = network_.endpoints[relations_.members[member].endpoint];
    const auto steps = [](const std::optional<Rate>& rate) { return rate ? rate->steps() : 0; };
    return std::tuple{relations_.members[member].call,
                      start(member).since_start().ps(),
                      e.message_overhead.ps(),
                      steps(e.reduce_rate),
                      steps(e.copy_rate),
                      peers(member),
                      sends(member),
                      receives(member)};
  }

 private:
  [[nodiscard]] TimePoint start(std::uint32_t member) const {
    const Member& who = relations_.members[member];
    const auto& starts = workload_.calls[who.call].starts;
    return starts.empty() ? TimePoint{} : starts[static_cast<std::size_t>(who.rank)];
  }
  [[nodiscard]] std::string by_start(std::uint32_t member, std::uint32_t usual) const {
    return start_difference(start(member), start(usual));
  }

  [[nodiscard]] std::string by_endpoint(std::uint32_t member, std::uint32_t usual) const {
    return endpoint_difference(network_.endpoints[relations_.members[member].endpoint],
                               network_.endpoints[relations_.members[usual].endpoint]);
  }

  /// Numbers of those that it sends to and receives from.
  [[nodiscard]] std::pair<std::uint32_t, std::uint32_t> peers(std::uint32_t m) const {
    return {relations_.first_pair[m + 1] - relations_.first_pair[m],
            partition_.first_received[m + 1] - partition_.first_received[m]};
  }
  [[nodiscard]] std::string by_peers(std::uint32_t member, std::uint32_t usual) const {
    const auto [to, from] = peers(member);
    const auto [usual_to, usual_from] = peers(usual);
    if (to == usual_to && from == usual_from) return {};
    return fmt::format("{} send and {} receive peers (typical: {}, {})", to, from, usual_to,
                       usual_from);
  }

  /// How its messages travel: latency, hops, bytes and slowest link of each, in order.
  using Ways = std::multiset<std::tuple<std::int64_t, std::uint32_t, std::int64_t, std::uint64_t>>;
  void add(std::uint32_t p, Ways& ways) const {
    const Pair& pair = relations_.pairs[p];
    std::uint64_t slowest = 0;
    for (std::uint64_t i = relations_.first_crossing[p]; i < relations_.first_crossing[p + 1];
         ++i) {
      const LinkId link = relations_.links[relations_.crossings[i].link];
      const std::uint64_t steps = network_.links[link].bandwidth.steps();
      if (slowest == 0 || steps < slowest) slowest = steps;
    }
    ways.insert({pair.latency.ps(), pair.hops, pair.bytes, slowest});
  }
  [[nodiscard]] Ways sends(std::uint32_t member) const {
    Ways out;
    for (std::uint32_t p = relations_.first_pair[member]; p < relations_.first_pair[member + 1];
         ++p)
      add(p, out);
    return out;
  }
  [[nodiscard]] Ways receives(std::uint32_t member) const {
    Ways out;
    for (std::uint32_t i = partition_.first_received[member];
         i < partition_.first_received[member + 1]; ++i)
      add(partition_.received[i], out);
    return out;
  }
  [[nodiscard]] static std::string compare(const Ways& own, const Ways& usual, const char* verb) {
    if (own == usual) return {};
    const auto [a, b] = std::mismatch(own.rbegin(), own.rend(), usual.rbegin(), usual.rend());
    if (a == own.rend() || b == usual.rend()) return fmt::format("{} over other ways", verb);
    const auto [latency, hops, bytes, slowest] = *a;
    const auto [usual_latency, usual_hops, usual_bytes, usual_slowest] = *b;
    if (latency != usual_latency)
      return fmt::format("{} over {} ({} links) instead of {} ({})", verb,
                         to_string(Duration::picoseconds(latency)), hops,
                         to_string(Duration::picoseconds(usual_latency)), usual_hops);
    if (hops != usual_hops)
      return fmt::format("{} over {} links instead of {}", verb, hops, usual_hops);
    if (bytes != usual_bytes)
      return fmt::format("{} {} instead of {}", verb, to_string(Bytes{bytes}),
                         to_string(Bytes{usual_bytes}));
    if (slowest == 0 || usual_slowest == 0) return fmt::format("{} over other ways", verb);
    return fmt::format("{} over a link of {} instead of {}", verb,
                       to_string(Rate::from_steps(slowest)),
                       to_string(Rate::from_steps(usual_slowest)));
  }
  [[nodiscard]] std::string by_sends(std::uint32_t member, std::uint32_t usual) const {
    return compare(sends(member), sends(usual), "sends");
  }
  [[nodiscard]] std::string by_receives(std::uint32_t member, std::uint32_t usual) const {
    return compare(receives(member), receives(usual), "receives");
  }

  const Relations& relations_;
  const Partition& partition_;
  const Network& network_;
  const Workload& workload_;
};

/// How classes differ from the usual one of their call, and whose messages reach them.
class Differences {
 public:
  Differences(const Relations& relations, const Partition& partition, const Network& network,
              const Workload& workload)
      : relations_{relations},
        partition_{partition},
        network_{network},
        looks_{relations, partition, network, workload} {}

  void describe(FoldReport& report) {
    const std::size_t number = std::min(report.classes.size(), FoldReport::kMaxDescribed);
    find_usual(number);
    std::vector<std::uint32_t> own;
    std::vector<std::uint32_t> different;
    for (std::uint32_t c = 0; c < number; ++c) {
      const std::uint32_t first = partition_.first_member[c];
      const std::uint32_t usual = partition_.first_member[usual_.at(kind_of(first))];
      if (first == usual) continue;
      report.classes[c].difference = looks_.difference(first, usual);
      if (!looks_.of_its_own(first, usual).empty()) own.push_back(c);
      if (!report.classes[c].difference.empty()) different.push_back(c);
    }
    find_causes(own.empty() ? different : own, number, report);
    for (std::uint32_t c = 0; c < number; ++c) {
      EquivalenceClass& each = report.classes[c];
      if (each.difference.empty() && each.cause.messages == 0 &&
          usual_.at(kind_of(partition_.first_member[c])) != c)
        each.difference = kOtherwise;
    }
  }

 private:
  /// The call, and whether reductions take time: in switches they take none.
  using Kind = std::pair<std::uint32_t, bool>;
  [[nodiscard]] Kind kind_of(std::uint32_t member) const {
    const Member& who = relations_.members[member];
    return {who.call, network_.endpoints[who.endpoint].reduce_rate.has_value()};
  }

  /// The largest class of those that look as most members do.
  void find_usual(std::size_t number) {
    using Look = decltype(looks_.all_of(0));
    std::map<Look, std::int64_t> members;
    std::vector<typename std::map<Look, std::int64_t>::const_iterator> look_of;
    for (std::size_t c = 0; c < number; ++c) {
      const auto at = members.try_emplace(looks_.all_of(partition_.first_member[c])).first;
      at->second += partition_.members_in[c];
      look_of.push_back(at);
    }
    const auto size = [&](std::uint32_t c) {
      return std::pair{look_of[c]->second, partition_.members_in[c]};
    };
    for (std::uint32_t c = 0; c < number; ++c) {
      const auto [at, is_new] = usual_.try_emplace(kind_of(partition_.first_member[c]), c);
      if (!is_new && size(c) > size(at->second)) at->second = c;
    }
  }

  /// Follows the messages of all members of `sources` at once.
  void find_causes(const std::vector<std::uint32_t>& sources, std::size_t number,
                   FoldReport& report) const {
    constexpr std::uint32_t kUnreached = ~std::uint32_t{0};
    struct Reached {
      std::uint32_t from = kUnreached;
      std::int64_t messages = 0;
    };
    if (sources.empty()) return;
    std::vector<bool> is_source(report.classes.size());
    for (const std::uint32_t c : sources) is_source[c] = true;
    std::vector<Reached> reached(relations_.members.size());
    std::vector<std::uint32_t> queue;
    for (std::uint32_t m = 0; m < reached.size(); ++m) {
      if (!is_source[partition_.member_class[m]]) continue;
      reached[m].from = m;
      queue.push_back(m);
    }
    for (std::size_t i = 0; i < queue.size(); ++i) {
      const std::uint32_t m = queue[i];
      for (std::uint32_t p = relations_.first_pair[m]; p < relations_.first_pair[m + 1]; ++p) {
        const std::uint32_t to = relations_.pairs[p].receiver;
        if (reached[to].from != kUnreached) continue;
        reached[to] = {reached[m].from, reached[m].messages + 1};
        queue.push_back(to);
      }
    }
    for (std::uint32_t c = 0; c < number; ++c) {
      const Reached& of = reached[partition_.first_member[c]];
      if (of.messages == 0 || usual_.at(kind_of(partition_.first_member[c])) == c) continue;
      const Member& from = relations_.members[of.from];
      report.classes[c].cause = {of.messages, from.call, from.rank,
                                 report.classes[partition_.member_class[of.from]].difference};
    }
  }

  const Relations& relations_;
  const Partition& partition_;
  const Network& network_;
  Looks looks_;
  std::map<Kind, std::uint32_t> usual_;
};

}  // namespace

std::string endpoint_difference(const Endpoint& endpoint, const Endpoint& usual) {
  if (endpoint.message_overhead != usual.message_overhead)
    return fmt::format("a message costs it {} instead of {}", to_string(endpoint.message_overhead),
                       to_string(usual.message_overhead));
  const auto text = [](const std::optional<Rate>& rate) {
    return rate ? to_string(*rate) : std::string{"no time"};
  };
  if (endpoint.reduce_rate != usual.reduce_rate)
    return fmt::format("reduces at {} instead of {}", text(endpoint.reduce_rate),
                       text(usual.reduce_rate));
  if (endpoint.copy_rate != usual.copy_rate)
    return fmt::format("copies at {} instead of {}", text(endpoint.copy_rate),
                       text(usual.copy_rate));
  return {};
}

std::string start_difference(TimePoint start, TimePoint usual) {
  const Duration late = start - usual;
  if (late == Duration{}) return {};
  return late > Duration{} ? fmt::format("starts {} later", to_string(late))
                           : fmt::format("starts {} earlier", to_string(Duration{} - late));
}

std::string difference_between(std::uint32_t member, std::uint32_t usual,
                               const Relations& relations, const Partition& partition,
                               const Network& network, const Workload& workload) {
  std::string text = Looks{relations, partition, network, workload}.difference(member, usual);
  return text.empty() ? kOtherwise : text;
}

void describe_differences(const Relations& relations, const Partition& partition,
                          const Network& network, const Workload& workload, FoldReport& report) {
  Differences{relations, partition, network, workload}.describe(report);
}

}  // namespace lockstep::fold
