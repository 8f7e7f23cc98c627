#include "sim/execute/device_program/collective_commands.hpp"

#include <algorithm>
#include <utility>

#include "sim/execute/device_program/collective_messages.hpp"
#include "sim/execute/device_program/collective_on_host.hpp"
#include "sim/execute/kernels/lowering_parts.hpp"
#include "sim/execute/program/message_form.hpp"

namespace lockstep::execution {

namespace {

template <class Real>
class CollectiveCommands {
 public:
  CollectiveCommands(const CollectiveTensors<Real>& of, const Schedule& schedule,
                     const CollectiveRoom& room)
      : of_{of},
        schedule_{schedule},
        members_{of.members.size()},
        who_{of.members, of.streams},
        // Its constructor, which sets all fields, is in another file.
        // NOLINTNEXTLINE(clang-analyzer-optin.cplusplus.UninitializedObject)
        messages_{who_,
                  schedule,
                  room,
                  type_of(of, room),
                  of.how->reduction,
                  sizeof(Real) == sizeof(double)} {}

  void run() {
    switch (message_form(*of_.how, schedule_, members_)) {
      case MessageForm::whole:
        return run_whole();
      case MessageForm::gathered:
        return run_gather();
      case MessageForm::parts:
        return run_parts();
    }
  }

 private:
  using Table = KernelLaunch::Table;

  [[nodiscard]] static NumberType type_of(const CollectiveTensors<Real>& of,
                                          const CollectiveRoom& room) {
    for (const CollectivePart& part : of.parts.front()) {
      if (part.from != nullptr) return room.builder->graph().buffers[part.brought.buffer].type;
    }
    return NumberType::fp32;
  }
  [[nodiscard]] std::int64_t padded(std::int64_t part) const {
    return padded_part(schedule_, members_, part);
  }
  [[nodiscard]] Region message(std::size_t k, Buffer which) const {
    return messages_.message(k, which);
  }

  // Everybody has the same message, or takes it as it comes.

  void run_whole() {
    std::int64_t longest = 1;
    for (std::size_t k = 0; k < members_; ++k) {
      std::int64_t own = 0;
      for (const auto& parts : of_.parts)
        own += parts[k].from == nullptr ? 0 : parts[k].brought.count;
      longest = std::max(longest, own);
    }
    check_same();
    messages_.begin(longest);
    for (std::size_t k = 0; k < members_; ++k) {
      Region to = message(k, Buffer::data);
      for (const auto& parts : of_.parts) {
        if (parts[k].from == nullptr) continue;
        to.count = parts[k].brought.count;
        messages_.move(of_.streams[k], parts[k].brought, to, false);
        to.first += to.count;
      }
    }
    messages_.transfer();
    for (std::size_t k = 0; k < members_; ++k) {
      Region from = message(k, schedule_.result());
      for (const auto& parts : of_.parts) {
        if (parts[k].to == nullptr) continue;
        from.count = parts[k].got.count;
        messages_.move(of_.streams[k], from, parts[k].got, parts[k].adds);
        from.first += from.count;
      }
    }
  }

  void check_same() const {
    for (const auto& parts : of_.parts) {
      std::vector<const PartLayout*> layouts;
      for (const CollectivePart& part : parts) {
        layouts.push_back(part.from);
        layouts.push_back(part.to);
      }
      check_same_parts(*of_.how, layouts);
    }
  }

  // Every member has a part for everyone.

  /// What `from` has of what `to` holds: places there and here.
  struct Common {
    Table from;
    Table to;
    [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(from.size()); }
  };
  [[nodiscard]] static Common common(const PartLayout& from, const PartLayout& to) {
    Common out;
    const Table places = lowering::places_of_common(from, to);
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (places[i] < 0) continue;
      out.from.push_back(places[i]);
      out.to.push_back(static_cast<std::int64_t>(i));
    }
    return out;
  }

  void run_gather() {
    std::int64_t part = 0;
    for (std::size_t k = 0; k < members_; ++k) {
      std::int64_t own = 0;
      for (const auto& parts : of_.parts) own += parts[k].brought.count;
      part = std::max(part, own);
    }
    part = padded(part);
    messages_.begin(part * static_cast<std::int64_t>(members_));
    for (std::size_t k = 0; k < members_; ++k) {
      Region to = message(k, Buffer::data);
      to.first = static_cast<std::int64_t>(k) * part;
      for (const auto& parts : of_.parts) {
        to.count = parts[k].brought.count;
        messages_.move(of_.streams[k], parts[k].brought, to, false);
        to.first += to.count;
      }
    }
    messages_.transfer();
    for (std::size_t k = 0; k < members_; ++k) take_gathered(k, part);
  }

  void take_gathered(std::size_t k, std::int64_t part) {
    zero_results(k);
    std::vector<std::int64_t> come(of_.parts.size(), 0);
    for (std::size_t other = 0; other < members_; ++other) {
      Region from = message(k, schedule_.result());
      from.first = static_cast<std::int64_t>(other) * part;
      for (std::size_t i = 0; i < of_.parts.size(); ++i) {
        const CollectivePart& own = of_.parts[i][k];
        from.count = of_.parts[i][other].brought.count;
        Common of = common(*of_.parts[i][other].from, *own.to);
        come[i] += of.count();
        const std::int64_t count = of.count();
        messages_.move(of_.streams[k], from, own.got, std::move(of.from), std::move(of.to), count,
                       own.adds);
        from.first += from.count;
      }
    }
    for (std::size_t i = 0; i < of_.parts.size(); ++i)
      check_all_come(come[i], of_.parts[i][k].to->filled());
  }

  void zero_results(std::size_t k) {
    for (const auto& parts : of_.parts) {
      if (!parts[k].adds) messages_.clear(of_.streams[k], parts[k].got);
    }
  }

  /// reduce_scatter: part r of the sum; all_to_all: from everyone what he has of one's own.
  void run_parts() {
    std::int64_t part = 0;
    for (const auto& parts : of_.parts) {
      std::int64_t longest = 0;
      for (const CollectivePart& one : parts) longest = std::max(longest, one.got.count);
      part += longest;
    }
    part = padded(part);
    messages_.begin(part * static_cast<std::int64_t>(members_));
    const bool sums = of_.how->collective == Collective::reduce_scatter;
    for (std::size_t other = 0; other < members_; ++other) pack_for(other, part, sums);
    messages_.transfer();
    for (std::size_t k = 0; k < members_; ++k) {
      zero_results(k);
      for (std::size_t other = 0; other < members_; ++other) {
        if (!sums || other == k) take_part(k, other, part);
      }
    }
  }

  void pack_for(std::size_t other, std::int64_t part, bool sums) {
    std::vector<std::int64_t> come(of_.parts.size(), 0);
    for (std::size_t k = 0; k < members_; ++k) {
      Region to = message(k, Buffer::data);
      to.first = static_cast<std::int64_t>(other) * part;
      for (std::size_t i = 0; i < of_.parts.size(); ++i) {
        Common of = common(*of_.parts[i][k].from, *of_.parts[i][other].to);
        to.count = of_.parts[i][other].got.count;
        come[i] += of.count();
        const std::int64_t count = of.count();
        messages_.move(of_.streams[k], of_.parts[i][k].brought, to, std::move(of.from),
                       std::move(of.to), count, false);
        to.first += to.count;
      }
    }
    const std::int64_t times = sums ? static_cast<std::int64_t>(members_) : 1;
    for (std::size_t i = 0; i < of_.parts.size(); ++i) {
      check_all_come(come[i], times * of_.parts[i][other].to->filled());
    }
  }

  void take_part(std::size_t k, std::size_t other, std::int64_t part) {
    Region from = message(k, schedule_.result());
    from.first = static_cast<std::int64_t>(other) * part;
    for (const auto& parts : of_.parts) {
      from.count = parts[k].got.count;
      messages_.move(of_.streams[k], from, parts[k].got, true);
      from.first += from.count;
    }
  }

  const CollectiveTensors<Real>& of_;
  const Schedule& schedule_;
  std::size_t members_;
  CollectiveMembers who_;
  CollectiveMessages messages_;
};

}  // namespace

template <class Real>
void plan_collective(const CollectiveTensors<Real>& tensors, const Schedule* schedule,
                     const CollectiveRoom& room) {
  if (schedule == nullptr) {
    run_on_host(tensors, room);
  } else {
    CollectiveCommands<Real>{tensors, *schedule, room}.run();
  }
}

template void plan_collective(const CollectiveTensors<float>&, const Schedule*,
                              const CollectiveRoom&);
template void plan_collective(const CollectiveTensors<double>&, const Schedule*,
                              const CollectiveRoom&);

}  // namespace lockstep::execution
