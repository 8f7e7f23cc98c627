#pragma once

#include <memory>
#include <vector>

#include "sim/network/maxmin/flow_table.hpp"
#include "sim/network/maxmin/link_twins.hpp"
#include "sim/network/maxmin/max_min_solver.hpp"
#include "sim/network/maxmin/sparse_shares.hpp"
#include "sim/network/transport.hpp"

namespace lockstep::maxmin {

/// The fluid model; alpha-beta is the same with unlimited links except ports.
///
/// A flow without rivals is timed by one division. Flows that share links form components, kept as
/// sets of links that may be wider than the current connectivity and are rebuilt once as many flows
/// have left as remain. A component is solved once per instant in which it changed. While few flows
/// cross any link, SparseShares is used instead of components.
class FluidTransport final : public Transport {
 public:
  FluidTransport(const Network& network, bool ports_only);

  [[nodiscard]] std::unique_ptr<Transport> clone() const override;
  std::uint32_t start(const Message& message, const Route& route, EventQueue& queue) override;
  void start_again(std::uint32_t kept, TimePoint at, EventQueue& queue) override;
  void drop(std::uint32_t kept) override;
  void handle(const Event& event, EventQueue& queue, std::vector<TransferId>& arrived) override;
  void settle(EventQueue& queue) override;
  [[nodiscard]] std::vector<Transit> hand_over(TimePoint now) override;
  std::uint32_t take_over(const Transit& transit, const Route& route) override;
  [[nodiscard]] std::uint64_t solves() const override { return solves_; }

 private:
  /// End of the first flow of a link's group, possibly outdated.
  struct End {
    std::int64_t at_ps;
    LinkId link;
    friend bool operator>(const End& a, const End& b) {
      return a.at_ps != b.at_ps ? a.at_ps > b.at_ps : a.link > b.link;
    }
  };
  struct Component {
    std::vector<LinkId> links;
    std::vector<LinkId> due;      // links on which the next flow ends
    std::vector<End> ends;        // heap; outdated entries are skipped at the top
    bool lists_ends = false;      // whether `ends` is complete
    std::vector<LinkId> changed;  // since the last solve, by flows that joined or left
    bool whole = false;           // more has changed than `changed` lists
    std::uint32_t pauses = 0;     // solves to come that skip solve_near()
    std::uint32_t last_pause = 0;
    SolveCheckpoints checkpoints;
    std::uint32_t flows = 0;
    std::uint32_t left_since_built = 0;
    std::uint32_t version = 0;
    bool dirty = false;
    bool untidy = false;  // some of `links` are no longer part
  };

  struct LinkUse {
    std::uint32_t crossing = 0;  // attached flows
    FlowId alone = kNone;        // its only flow, if it is alone on all its links
  };

  [[nodiscard]] FlowId make_flow(const Message& message, const Route& route);
  [[nodiscard]] FlowId create_flow(const Message& message, const Route& route);
  [[nodiscard]] std::uint64_t cap_beyond_ports(const Route& route) const;
  LinkId take_cap_link(std::uint64_t capacity);
  void follow(const LinkTwins::Parting& parting);

  void end_sparse(FlowId id, EventQueue& queue, std::vector<TransferId>& arrived);
  void settle_sparse(EventQueue& queue);
  [[nodiscard]] bool join_sparse(EventQueue& queue);
  void queue_end(FlowId id, TimePoint end, EventQueue& queue);
  void give_rate(FlowId id, std::uint64_t rate, EventQueue& queue);
  void follow_sparse(const LinkTwins::Parting& parting);
  void add_sparse_hop(FlowId id, const LinkTwins::Parting& parting);
  void leave_sparse(TimePoint now);

  void arrive(FlowId id);
  void end_alone(FlowId id, EventQueue& queue, std::vector<TransferId>& arrived);
  void end_in_component(ComponentId id, EventQueue& queue, std::vector<TransferId>& arrived);
  void retire(FlowId id, EventQueue& queue, std::vector<TransferId>& arrived);
  void deliver(FlowId id, EventQueue& queue, std::vector<TransferId>& arrived);
  void destroy(FlowId id);
  void take_off_links(FlowId id, TimePoint now);

  [[nodiscard]] bool crosses_nobody(FlowId id);
  void begin_alone(FlowId id, EventQueue& queue);
  [[nodiscard]] Duration time_alone(const Flow& flow);
  void join(FlowId id, TimePoint now);
  void absorb(FlowId id, ComponentId into, TimePoint now);
  [[nodiscard]] ComponentId component_for(FlowId id);
  void merge(ComponentId from, ComponentId into);
  [[nodiscard]] ComponentId take_component();
  void release(ComponentId id);
  void touch(ComponentId id);
  void leave_component(LinkId link);
  void tidy(ComponentId id);

  void solve(ComponentId id, EventQueue& queue);
  [[nodiscard]] bool solve_near(ComponentId id, std::int64_t now_ps);
  void solve_whole(ComponentId id, std::int64_t now_ps);
  void list_ends(Component& component);
  [[nodiscard]] std::int64_t next_of_all(ComponentId id);
  [[nodiscard]] std::int64_t next_of_ends(ComponentId id);
  void rebuild(ComponentId id, EventQueue& queue);
  void gather(LinkId seed, Component& component);
  void spread(FlowId id, Component& component);

  bool ports_only_;
  std::vector<bool> port_;
  LinkTwins twins_;
  FlowTable flows_;
  bool sparse_ = true;
  SparseShares sparse_shares_;
  std::vector<SparseShares::Share> shares_;
  MaxMinSolver solver_;
  std::vector<ComponentId> component_of_;  // per link
  std::vector<LinkUse> use_;               // per link
  std::vector<LinkId> cap_links_;          // spare private links that cap one transfer
  std::vector<Component> components_;
  std::vector<ComponentId> spare_components_;
  std::vector<FlowId> joining_;
  std::vector<ComponentId> dirty_;
  std::vector<FlowId> ended_;
  std::vector<std::size_t> equal_ends_;
  std::vector<Hop> own_hops_;
  std::vector<Hop> spoken_hops_;             // with one link per class of twins
  std::uint32_t visit_ = 0;                  // mark of the current rebuild
  std::vector<std::uint32_t> visited_;       // per link
  std::vector<std::uint32_t> flow_visited_;  // per flow
  std::vector<LinkId> rebuilt_;              // links of the component being rebuilt
  std::vector<LinkId> changed_;              // of these
  std::vector<bool> is_changed_;             // per link
  std::size_t first_cap_link_;
  std::uint64_t solves_ = 0;
  // The last division: neighboring flows are mostly equal.
  Int128 memo_work_ = 0;
  std::uint64_t memo_rate_ = 0;
  Duration memo_time_;
};

}  // namespace lockstep::maxmin
