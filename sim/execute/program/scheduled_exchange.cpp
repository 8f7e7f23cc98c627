#include "sim/execute/program/scheduled_exchange.hpp"

#include <algorithm>
#include <limits>

#include "sim/base/math.hpp"
#include "sim/execute/program/message_form.hpp"
#include "sim/execute/program/real_blocks.hpp"
#include "sim/execute/schedule/execute.hpp"

namespace lockstep {

namespace {

/// Messages of one collective, packed and unpacked.
template <class Real>
class Message {
 public:
  using Values = std::vector<Real>;

  Message(const Schedule& schedule, const Communication& how, std::uint64_t seed,
          std::vector<std::vector<ExchangePart<Real>>>& tensors)
      : schedule_{schedule},
        how_{how},
        seed_{seed},
        tensors_{tensors},
        members_{tensors.front().size()} {}

  void run() {
    switch (message_form(how_, schedule_, members_)) {
      case MessageForm::whole:
        return run_whole();
      case MessageForm::gathered:
        return run_gather();
      case MessageForm::parts:
        return run_parts();
    }
  }

 private:
  [[nodiscard]] Real nothing() const {
    return how_.reduction == Reduction::maximum ? -std::numeric_limits<Real>::infinity() : 0;
  }

  /// What lies in the members' results once the schedule has moved their messages.
  [[nodiscard]] std::vector<Values> moved(const std::vector<Values>& messages) const {
    std::size_t longest = 1;
    for (const Values& message : messages) longest = std::max(longest, message.size());
    const auto blocks = static_cast<std::size_t>(schedule_.blocks());
    const auto length = static_cast<std::int64_t>(ceil_div(longest, blocks));
    RealBlocks<Real> memory{schedule_, length, how_.reduction};
    for (int rank = 0; rank < schedule_.ranks(); ++rank) {
      Values& data = memory.buffer(rank, Buffer::data);
      std::fill(data.begin(), data.end(), nothing());
      if (static_cast<std::size_t>(rank) < members_) {
        const Values& message = messages[static_cast<std::size_t>(rank)];
        std::copy(message.begin(), message.end(), data.begin());
      }
    }
    ExecuteOptions options;
    options.order = ExecuteOrder::shuffled;
    options.seed = seed_;
    const ExecuteOutcome outcome = execute(schedule_, memory, options);
    if (!outcome.finished()) refuse_unfinished(outcome.problem);
    std::vector<Values> out;
    for (std::size_t k = 0; k < members_; ++k) {
      out.push_back(memory.buffer(static_cast<int>(k), schedule_.result()));
    }
    return out;
  }

  /// Elements of a part, so that it fills its share of the blocks.
  [[nodiscard]] std::size_t padded(std::size_t part) const {
    return static_cast<std::size_t>(
        padded_part(schedule_, members_, static_cast<std::int64_t>(part)));
  }

  // Everybody has the same message, or takes it as it comes.

  void run_whole() {
    std::vector<Values> messages(members_);
    for (auto& parts : tensors_) {
      check_same(parts);
      for (std::size_t k = 0; k < members_; ++k) {
        if (parts[k].from == nullptr) continue;
        messages[k].insert(messages[k].end(), parts[k].brought->begin(), parts[k].brought->end());
      }
    }
    const std::vector<Values> results = moved(messages);
    for (std::size_t k = 0; k < members_; ++k) {
      auto from = results[k].begin();
      for (auto& parts : tensors_) {
        if (parts[k].to == nullptr) continue;
        const auto end = from + parts[k].to->elements();
        parts[k].got.assign(from, end);
        from = end;
      }
    }
  }

  void check_same(const std::vector<ExchangePart<Real>>& parts) const {
    std::vector<const PartLayout*> layouts;
    for (const ExchangePart<Real>& part : parts) {
      layouts.push_back(part.from);
      layouts.push_back(part.to);
    }
    check_same_parts(how_, layouts);
  }

  // Every member has a part for everyone.

  void run_gather() {
    std::vector<Values> own(members_);
    std::size_t part = 0;
    for (const auto& parts : tensors_) {
      for (std::size_t k = 0; k < members_; ++k) {
        own[k].insert(own[k].end(), parts[k].brought->begin(), parts[k].brought->end());
        part = std::max(part, own[k].size());
      }
    }
    part = padded(part);
    std::vector<Values> messages(members_, Values(part * members_, 0));
    for (std::size_t k = 0; k < members_; ++k) {
      std::copy(own[k].begin(), own[k].end(),
                messages[k].begin() + static_cast<std::ptrdiff_t>(k * part));
    }
    const std::vector<Values> results = moved(messages);
    for (std::size_t k = 0; k < members_; ++k) {
      for (std::size_t other = 0; other < members_; ++other) {
        take_from(k, other, results[k].begin() + static_cast<std::ptrdiff_t>(other * part));
      }
    }
    check_filled();
  }

  void take_from(std::size_t k, std::size_t other, typename Values::const_iterator from) {
    for (auto& parts : tensors_) {
      const auto end = from + parts[other].from->elements();
      come_ +=
          copy_common(*parts[other].from, Values{from, end}, *parts[k].to, parts[k].got, false);
      from = end;
    }
  }

  /// reduce_scatter: part r of the sum; all_to_all: from everyone what he has of one's own.
  void run_parts() {
    std::size_t part = 0;
    for (const auto& parts : tensors_) {
      std::size_t longest = 0;
      for (const ExchangePart<Real>& one : parts) {
        longest = std::max(longest, static_cast<std::size_t>(one.to->elements()));
      }
      part += longest;
    }
    part = padded(part);
    std::vector<Values> messages(members_, Values(part * members_, 0));
    for (std::size_t k = 0; k < members_; ++k) {
      for (std::size_t other = 0; other < members_; ++other) pack(k, other, part, messages[k]);
    }
    check_filled();
    const std::vector<Values> results = moved(messages);
    const bool sums = how_.collective == Collective::reduce_scatter;
    for (std::size_t k = 0; k < members_; ++k) {
      for (std::size_t other = 0; other < members_; ++other) {
        if (sums && other != k) continue;
        std::size_t at = other * part;
        for (auto& parts : tensors_) {
          for (Real& value : parts[k].got) value += results[k][at++];
        }
      }
    }
  }

  /// What member k has of what `other` wants; zeros where it has none of it.
  void pack(std::size_t k, std::size_t other, std::size_t part, Values& message) {
    auto at = message.begin() + static_cast<std::ptrdiff_t>(other * part);
    for (const auto& parts : tensors_) {
      Values wanted(static_cast<std::size_t>(parts[other].to->elements()), 0);
      come_ += copy_common(*parts[k].from, *parts[k].brought, *parts[other].to, wanted, false);
      at = std::copy(wanted.begin(), wanted.end(), at);
    }
  }

  /// All that was to come has come, once, or from everyone who has a summand.
  void check_filled() const {
    const bool sums = how_.collective == Collective::reduce_scatter;
    std::int64_t wanted = 0;
    for (const auto& parts : tensors_) {
      for (const ExchangePart<Real>& one : parts) {
        wanted += one.to->filled() * (sums ? static_cast<std::int64_t>(members_) : 1);
      }
    }
    check_all_come(come_, wanted);
  }

  const Schedule& schedule_;
  const Communication& how_;
  std::uint64_t seed_;
  std::vector<std::vector<ExchangePart<Real>>>& tensors_;
  std::size_t members_;
  std::int64_t come_ = 0;
};

}  // namespace

template <class Real>
void exchange_by(const Schedule& schedule, const Communication& how, std::uint64_t seed,
                 std::vector<std::vector<ExchangePart<Real>>>& tensors) {
  Message<Real>{schedule, how, seed, tensors}.run();
}

template void exchange_by(const Schedule&, const Communication&, std::uint64_t,
                          std::vector<std::vector<ExchangePart<float>>>&);
template void exchange_by(const Schedule&, const Communication&, std::uint64_t,
                          std::vector<std::vector<ExchangePart<double>>>&);

}  // namespace lockstep
