#include "sim/symmetry/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

namespace lockstep::fold {
namespace {

/// What of a member is visible from outside.
class Looks {
 public:
  Looks(const Relations& relations, const Partition& partition, const Network& network,
        const Workload& workload)
      : relations_{relations}, partition_{partition}, network_{network}, workload_{workload} {}

  /// The first thing in which two members differ.
  [[nodiscard]] std::string difference(std::uint32_t member, std::uint32_t usual) const {
    for (const auto tell : {&Looks::by_start, &Looks::by_endpoint, &Looks::by_peers,
                            &Looks::by_sends, &Looks::by_receives})
      if (std::string text = (this->*tell)(member, usual); !text.empty()) return text;
    return "different peers (direct or indirect)";
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

  [[nodiscard]] std::string by_peers(std::uint32_t member, std::uint32_t usual) const {
    const auto peers = [this](std::uint32_t m) {
      return std::pair{relations_.first_pair[m + 1] - relations_.first_pair[m],
                       partition_.first_received[m + 1] - partition_.first_received[m]};
    };
    const auto [to, from] = peers(member);
    const auto [usual_to, usual_from] = peers(usual);
    if (to == usual_to && from == usual_from) return {};
    return fmt::format("{} send and {} receive peers (typical: {}, {})", to, from, usual_to,
                       usual_from);
  }

  /// How its messages travel: hops, latency and bytes of each, in order.
  using Ways = std::multiset<std::tuple<std::int64_t, std::uint32_t, std::int64_t>>;
  void add(std::uint32_t p, Ways& ways) const {
    const Pair& pair = relations_.pairs[p];
    ways.insert({pair.latency.ps(), pair.hops, pair.bytes});
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
    const auto [latency, hops, bytes] = *a;
    const auto [usual_latency, usual_hops, usual_bytes] = *b;
    if (latency != usual_latency)
      return fmt::format("{} over {} ({} links) instead of {} ({})", verb,
                         to_string(Duration::picoseconds(latency)), hops,
                         to_string(Duration::picoseconds(usual_latency)), usual_hops);
    if (hops != usual_hops)
      return fmt::format("{} over {} links instead of {}", verb, hops, usual_hops);
    return fmt::format("{} {} instead of {}", verb, to_string(Bytes{bytes}),
                       to_string(Bytes{usual_bytes}));
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

void describe_classes(const Relations& relations, const Partition& partition,
                      const Network& network, const Workload& workload, FoldReport& report) {
  if (partition.first_member.empty()) return;
  const auto largest = static_cast<std::size_t>(
      std::max_element(partition.members_in.begin(), partition.members_in.end()) -
      partition.members_in.begin());
  const Looks looks{relations, partition, network, workload};
  for (std::size_t c = 0; c < partition.first_member.size(); ++c) {
    const Member& first = relations.members[partition.first_member[c]];
    EquivalenceClass out{
        first.call, first.rank, std::int64_t{partition.members_in[c]} * relations.copies(), {}};
    if (c != largest && report.classes.size() < FoldReport::kMaxDescribed)
      out.difference = looks.difference(partition.first_member[c], partition.first_member[largest]);
    report.classes.push_back(std::move(out));
  }
  report.class_of.resize(workload.calls.size());
  for (std::uint32_t copy = 0; copy < relations.copies(); ++copy)
    for (std::size_t m = 0; m < relations.members.size(); ++m)
      report.class_of[relations.members[m].call].push_back(partition.member_class[m]);
}

std::string difference_between(std::uint32_t member, std::uint32_t usual,
                               const Relations& relations, const Partition& partition,
                               const Network& network, const Workload& workload) {
  return Looks{relations, partition, network, workload}.difference(member, usual);
}

}  // namespace lockstep::fold
