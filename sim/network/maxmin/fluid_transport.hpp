#pragma once

#include <memory>
#include <vector>

#include "sim/network/maxmin/flow_table.hpp"
#include "sim/network/maxmin/max_min_solver.hpp"
#include "sim/network/maxmin/sparse_shares.hpp"
#include "sim/network/transport.hpp"
#include "sim/symmetry/reuse/link_twins.hpp"

namespace lockstep::maxmin {

/// The fluid model, and alpha-beta as the same with every link but the ports unlimited.
///
/// A flow that shares with nobody is timed by one division. Flows that share form components,
/// held as sets of links that may be wider than what is connected now and are rebuilt when as many
/// flows have left as remain; each component is solved once per instant in which it changed. As
/// long as only few flows cross any link, there are no components: SparseShares.
class FluidTransport final : public Transport {
 public:
  FluidTransport(const Network& network, bool ports_only);

  [[nodiscard]] std::unique_ptr<Transport> clone() const override;
  std::uint32_t start(TransferId transfer, const Route& route, Bytes size, TimePoint at, bool keep,
                      EventQueue& queue) override;
  void start_again(std::uint32_t kept, TimePoint at, EventQueue& queue) override;
  void drop(std::uint32_t kept) override;
  void start_eager(TransferId transfer, const Route& route, Bytes size, TimePoint at,
                   EventQueue& queue) override;
  void handle(const Event& event, EventQueue& queue, std::vector<TransferId>& arrived) override;
  void settle(EventQueue& queue) override;
  [[nodiscard]] std::uint64_t solves() const override { return solves_; }

 private:
  /// When the first flow of a link's group ends, or did when this was written down.
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
    std::vector<End> ends;        // heap; entries that hold no more are skipped at the top
    bool lists_ends = false;      // every link's is among them
    std::vector<LinkId> changed;  // since the last filling, by flows that came or went
    bool whole = false;           // more has changed than these say
    std::uint32_t pauses = 0;     // fillings to come that do not try to stay near
    std::uint32_t last_pause = 0;
    SolveCheckpoints history;
    std::uint32_t flows = 0;
    std::uint32_t left_since_built = 0;
    std::uint32_t version = 0;
    bool dirty = false;
    bool untidy = false;  // some of `links` have left
  };

  struct LinkUse {
    std::uint32_t crossing = 0;  // flows under way on the link
    FlowId alone = kNone;        // the flow that has it to itself
  };

  [[nodiscard]] FlowId create_flow(TransferId transfer, const Route& route);
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
  MaxMinSolver sharing_;
  std::vector<ComponentId> component_of_;  // per link
  std::vector<LinkUse> use_;               // per link
  std::vector<LinkId> cap_links_;          // spare private links that cap a transfer
  std::vector<Component> components_;
  std::vector<ComponentId> spare_components_;
  std::vector<FlowId> joining_;
  std::vector<ComponentId> dirty_;
  std::vector<FlowId> ended_;
  std::vector<std::size_t> equal_ends_;
  std::vector<Hop> own_hops_;
  std::vector<Hop> spoken_hops_;             // of the links that stand for their twins
  std::uint32_t visit_ = 0;                  // marks links and flows while a component is rebuilt
  std::vector<std::uint32_t> visited_;       // per link
  std::vector<std::uint32_t> flow_visited_;  // per flow
  std::vector<LinkId> rebuilt_;              // of the component that is rebuilt
  std::vector<LinkId> changed_;              // in that
  std::vector<bool> is_changed_;             // per link
  std::size_t first_cap_link_;
  bool eager_ = false;  // the flow that is starting
  std::uint64_t solves_ = 0;
  // The last division worked out: neighbouring flows are mostly equal.
  Int128 memo_work_ = 0;
  std::uint64_t memo_rate_ = 0;
  Duration memo_time_;
};

}  // namespace lockstep::maxmin
