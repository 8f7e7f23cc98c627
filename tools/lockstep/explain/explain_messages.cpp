#include "tools/lockstep/explain/explain_messages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>

namespace lockstep::cli {

namespace {

bool same(const std::vector<Chunk>& a, const std::vector<Chunk>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Chunk& x, const Chunk& y) {
    return x.buffer == y.buffer && x.first == y.first && x.count == y.count;
  });
}

/// What a group of messages or local operations has in common of one side's chunks: the same ones
/// for all, or of each the part that belongs to a rank that changes from one to the next.
struct Side {
  std::vector<Chunk> runs;  // of the first
  bool alike = true;
  bool own = true;
  bool output = false;  // of the first: in the output buffer

  Side(const std::vector<Chunk>& first, bool is_own)
      : runs{first}, own{is_own}, output{!first.empty() && first[0].buffer == Buffer::output} {}

  [[nodiscard]] Side with(const std::vector<Chunk>& more, bool is_own) const {
    Side out = *this;
    out.alike = alike && same(runs, more);
    out.own = own && is_own && !more.empty() && !runs.empty() && more[0].buffer == runs[0].buffer;
    return out;
  }
  [[nodiscard]] bool usable() const { return alike || own; }
  [[nodiscard]] std::string text(const ExplainWords& words) const {
    if (alike) return words.chunks(runs);
    return output ? "its own output chunk" : "its own chunk";
  }
};

/// Messages of one round, sender and lane; or of one receiver, where `by_receiver`.
class Group {
 public:
  Group(const RoundMessage& first, const ExplainWords& words, bool by_receiver)
      : words_{&words},
        by_receiver_{by_receiver},
        first_{&first},
        sent_{first.sent, words.is_part_of(first.sent, changing(first))},
        received_{first.received, words.is_part_of(first.received, changing(first))},
        ranks_{changing(first)} {}

  /// Takes the message in where it fits.
  bool add(const RoundMessage& message) {
    if (fixed(message) != fixed(*first_) || message.combine != first_->combine ||
        message.blocks != first_->blocks || message.left != first_->left ||
        message.channel != first_->channel || message.sender.lane != first_->sender.lane)
      return false;
    Side sent = sent_.with(message.sent, words_->is_part_of(message.sent, changing(message)));
    Side received =
        received_.with(message.received, words_->is_part_of(message.received, changing(message)));
    if (!sent.usable() || !received.usable()) return false;
    sent_ = std::move(sent);
    received_ = std::move(received);
    ranks_.push_back(changing(message));
    return true;
  }

  [[nodiscard]] bool single() const { return ranks_.size() == 1; }
  [[nodiscard]] const RoundMessage& first() const { return *first_; }

  [[nodiscard]] std::string text(std::int64_t round, const RoundDetails& details) const {
    const std::string who =
        by_receiver_ ? words_->names(ranks_) + " -> " + words_->name(first_->receiver.rank)
                     : words_->name(first_->sender.rank) + " -> " + words_->names(ranks_);
    std::string out = fmt::format("{}: {}{}", who, lead(), sent_.text(*words_));
    if (first_->blocks > 0)
      out += fmt::format(" ({}{})", words_->size(first_->blocks), single() ? "" : " each");
    const bool same_place = sent_.alike == received_.alike && sent_.output == received_.output &&
                            (!sent_.alike || same(sent_.runs, received_.runs));
    if (first_->blocks > 0) out += first_->combine == Combine::reduce ? ", reduced" : ", copied";
    if (!same_place) out += " into " + received_.text(*words_);
    return out + notes(round, details);
  }

 private:
  [[nodiscard]] int changing(const RoundMessage& message) const {
    return by_receiver_ ? message.sender.rank : message.receiver.rank;
  }
  [[nodiscard]] int fixed(const RoundMessage& message) const {
    return by_receiver_ ? message.receiver.rank : message.sender.rank;
  }
  [[nodiscard]] std::string lead() const {
    if (sent_.alike) return {};
    return by_receiver_ ? "from each " : "to each ";
  }
  [[nodiscard]] std::string notes(std::int64_t round, const RoundDetails& details) const {
    std::string out;
    if (details.lanes) out += fmt::format(" [lane {}]", first_->sender.lane);
    if (details.channels) out += fmt::format(" [channel {}]", first_->channel);
    if (first_->left < round) out += fmt::format(" [sent in round {}]", first_->left);
    return out;
  }

  const ExplainWords* words_;
  bool by_receiver_;
  const RoundMessage* first_;
  Side sent_;
  Side received_;
  std::vector<int> ranks_;  // receivers, or senders
};

/// In the order of their first members. Only the last few groups are tried: what belongs together
/// comes close together.
std::vector<Group> grouped(const std::vector<const RoundMessage*>& messages,
                           const ExplainWords& words, bool by_receiver, std::size_t reach) {
  std::vector<Group> out;
  for (const RoundMessage* message : messages) {
    const auto end = out.rbegin() + static_cast<std::ptrdiff_t>(std::min(reach, out.size()));
    if (std::none_of(out.rbegin(), end, [&](Group& group) { return group.add(*message); }))
      out.emplace_back(*message, words, by_receiver);
  }
  return out;
}

std::vector<std::string> message_lines(const Round& round, const ExplainWords& words,
                                       const RoundDetails& details) {
  std::vector<const RoundMessage*> all;
  for (const RoundMessage& message : round.messages) all.push_back(&message);
  std::vector<std::string> out;
  std::vector<const RoundMessage*> singles;
  for (const Group& group : grouped(all, words, false, 4)) {
    if (group.single()) {
      singles.push_back(&group.first());
    } else {
      out.push_back(group.text(round.number, details));
    }
  }
  for (const Group& group : grouped(singles, words, true, 64))
    out.push_back(group.text(round.number, details));
  return out;
}

/// Local operations that several ranks do alike, or several of one rank.
class LocalGroup {
 public:
  LocalGroup(const RoundLocal& first, const ExplainWords& words)
      : words_{&words},
        first_{first},
        from_{{first.operation.from}, words.is_part_of({first.operation.from}, first.place.rank)},
        to_{{first.operation.to}, words.is_part_of({first.operation.to}, first.place.rank)},
        ranks_{first.place.rank} {}

  /// The same by another rank.
  bool add(const RoundLocal& local) {
    const int rank = local.place.rank;
    if (!is_like(local) || ranks_.back() >= rank) return false;
    const std::vector<Chunk> from{local.operation.from};
    const std::vector<Chunk> to{local.operation.to};
    Side more_from = from_.with(from, words_->is_part_of(from, rank));
    Side more_to = to_.with(to, words_->is_part_of(to, rank));
    if (!more_from.usable() || !more_to.usable()) return false;
    from_ = std::move(more_from);
    to_ = std::move(more_to);
    ranks_.push_back(rank);
    return true;
  }

  /// More of the same by one rank.
  bool join(const LocalGroup& next) {
    const RoundLocal& local = next.first_;
    if (ranks_.size() > 1 || next.ranks_ != ranks_ || !is_like(local)) return false;
    if (to_.runs.front().buffer != local.operation.to.buffer ||
        from_.runs.front().buffer != local.operation.from.buffer)
      return false;
    from_.runs.push_back(local.operation.from);
    to_.runs.push_back(local.operation.to);
    blocks_ += local.operation.from.count;
    return true;
  }

  [[nodiscard]] std::string text(const RoundDetails& details) const {
    const bool sum = first_.operation.combine == Combine::reduce;
    return fmt::format("{}{}: {} ({}{}) {} {}{}", words_->names(ranks_),
                       ranks_.size() > 1 ? ", each locally" : " locally", from_.text(*words_),
                       words_->size(blocks_ + first_.operation.from.count),
                       ranks_.size() > 1 ? " each" : "", sum ? "reduced into" : "copied into",
                       to_.text(*words_),
                       details.lanes ? fmt::format(" [lane {}]", first_.place.lane) : "");
  }

 private:
  [[nodiscard]] bool is_like(const RoundLocal& local) const {
    return first_.operation.combine == local.operation.combine &&
           first_.place.lane == local.place.lane;
  }

  const ExplainWords* words_;
  RoundLocal first_;
  Side from_;
  Side to_;
  std::vector<int> ranks_;
  std::int64_t blocks_ = 0;  // beyond the first operation's
};

std::vector<std::string> local_lines(const Round& round, const ExplainWords& words,
                                     const RoundDetails& details) {
  std::vector<RoundLocal> locals = round.locals;
  std::ranges::stable_sort(locals, {}, [](const RoundLocal& local) { return local.place.rank; });
  std::vector<LocalGroup> alike;
  for (const RoundLocal& local : locals) {
    constexpr std::size_t kReach = 256;  // an operation's like is among so many
    const auto end = alike.rbegin() + static_cast<std::ptrdiff_t>(std::min(kReach, alike.size()));
    if (std::none_of(alike.rbegin(), end, [&](LocalGroup& group) { return group.add(local); }))
      alike.emplace_back(local, words);
  }
  std::vector<LocalGroup> groups;
  for (const LocalGroup& group : alike)
    if (groups.empty() || !groups.back().join(group)) groups.push_back(group);
  std::vector<std::string> out;
  for (const LocalGroup& group : groups) out.push_back(group.text(details));
  return out;
}

}  // namespace

std::vector<std::string> round_lines(const Round& round, const ExplainWords& words,
                                     const RoundDetails& details) {
  std::vector<std::string> out = message_lines(round, words, details);
  for (std::string& line : local_lines(round, words, details)) out.push_back(std::move(line));
  return out;
}

}  // namespace lockstep::cli
