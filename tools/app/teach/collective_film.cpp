#include "tools/app/teach/collective_film.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/engine/replay.hpp"
#include "sim/execute/schedule/host_memory.hpp"
#include "sim/execute/schedule/no_content.hpp"
#include "sim/execute/schedule_checks/rounds.hpp"
#include "tools/app/errors.hpp"
#include "tools/app/explain/explain_holding.hpp"

namespace lockstep::app {

namespace {

constexpr std::int64_t kMostFilmMessages = 20'000;
constexpr std::int64_t kMostFilmBlocks = 300'000;  // of all ranks

/// Contributions of up to 64 ranks to one block.
struct Held {
  std::uint64_t ranks = 0;
  std::int64_t origin = 0;
  bool written = false;

  friend bool operator==(const Held&, const Held&) = default;
};

/// Contents of all buffers of all members.
class HeldBlocks {
 public:
  HeldBlocks(const Schedule& schedule, const Contract& contract)
      : schedule_{schedule}, buffers_(static_cast<std::size_t>(schedule.ranks()) * 3) {
    // A barrier moves no data: one block stands for the ranks known to have arrived.
    const std::int64_t blocks = std::max<std::int64_t>(1, schedule.blocks());
    for (int rank = 0; rank < schedule.ranks(); ++rank)
      for (std::int64_t block = 0; block < blocks; ++block)
        at(rank, Buffer::data, block) = first_content(contract, rank, block);
  }

  Held& at(int rank, Buffer buffer, std::int64_t block) {
    auto& blocks =
        buffers_[(static_cast<std::size_t>(rank) * 3) + static_cast<std::size_t>(buffer)];
    if (blocks.empty())
      blocks.resize(static_cast<std::size_t>(
          std::max<std::int64_t>(1, held_blocks(schedule_, rank, buffer))));
    return blocks.at(static_cast<std::size_t>(block));
  }

 private:
  static Held first_content(const Contract& contract, int rank, std::int64_t block) {
    if (rank >= contract.ranks) return {0, block, true};
    const bool arrived = contract.collective == Collective::barrier;
    if (!arrived && !contract.holds(rank, block)) return {};
    return {std::uint64_t{1} << static_cast<unsigned>(rank), block, true};
  }

  const Schedule& schedule_;
  std::vector<std::vector<Held>> buffers_;
};

class FilmMaker {
 public:
  explicit FilmMaker(const StageRequest& request) {
    out_.algorithm = request.spec.algorithm;
    out_.stage = make_stage(request);
    const Stage& stage = out_.stage;
    if (stage.input.n > kMostFilmRanks)
      throw RequestError("ranks", fmt::format("at most {} ranks can be shown, got {}",
                                              kMostFilmRanks, stage.input.n));
    const auto distance = static_cast<int>(stage.input.number("distance").value_or(1));
    contract_ = contract_of(out_.algorithm->collective, schedule(), stage.input.n, stage.input.root,
                            distance);
    is_barrier_ = contract_.collective == Collective::barrier;
    refuse_large();
  }

  CollectiveFilm run() {
    collect_rounds();
    time_messages();
    out_.columns = columns();
    begin_states();
    run_in_time();
    if (!is_barrier_) check_contract();
    note_transfers();
    out_.cost = explain_cost(out_.stage, *out_.algorithm, true);
    LOCKSTEP_CHECK(out_.cost.simulated->time == out_.time);
    return std::move(out_);
  }

 private:
  using Place = std::tuple<int, int, std::int64_t>;  // rank, lane, step

  /// A message, or a local operation, of one round.
  struct Message {
    std::int64_t round = 0;
    RoundMessage of;
    TimePoint start;
    TimePoint end;
    std::vector<Held> payload{};
  };
  struct Local {
    std::int64_t round = 0;
    RoundLocal of;
  };
  struct Action {
    enum class Kind : std::uint8_t { read, write, local } kind = Kind::read;
    TimePoint at;
    std::int64_t round = 0;
    std::size_t index = 0;
  };

  [[nodiscard]] const Schedule& schedule() const { return *out_.stage.schedule; }
  static Place place_of(const ScheduleStepIndex& index) {
    return {index.rank, index.lane, index.step};
  }

  void refuse_large() const {
    const auto traffic = count_traffic(schedule(), out_.stage.input.n);
    const std::int64_t blocks = schedule().blocks() * schedule().ranks();
    if (!traffic || traffic->messages > kMostFilmMessages || blocks > kMostFilmBlocks)
      throw Refusal("algorithm", fmt::format("{} on {} ranks has too many messages to be shown one "
                                             "by one; use fewer ranks or chunks",
                                             out_.algorithm->name, out_.stage.input.n));
  }

  void collect_rounds() {
    NoContent nothing;
    RoundSimulator rounds(schedule(), nothing);
    seen_.emplace(contract_);
    Round round;
    while (rounds.next(round)) {
      seen_->note(round);
      for (const RoundMessage& message : round.messages)
        messages_.push_back({round.number, message, {}, {}});
      for (const RoundLocal& local : round.locals) locals_.push_back({round.number, local});
      out_.rounds = round.number;
    }
    if (const auto& stop = rounds.stopped())
      throw Refusal(fmt::format("round {}: {}", stop->round, stop->what));
  }

  void time_messages() {
    std::vector<LoggedTransfer> log = replayed();
    std::map<EndpointId, int> member;
    for (std::size_t i = 0; i < out_.stage.members.size(); ++i)
      member[out_.stage.members[i]] = static_cast<int>(i);
    for (std::size_t i = 0; i < messages_.size(); ++i) {
      const RoundMessage& of = messages_[i].of;
      waiting_[{of.sender.rank, of.receiver.rank}][of.channel].push_back(i);
      ++untimed_[place_of(of.sender)];
      ++untimed_[place_of(of.receiver)];
    }
    std::stable_sort(log.begin(), log.end(),
                     [](const auto& a, const auto& b) { return a.start < b.start; });
    for (const LoggedTransfer& each : log) {
      Message& message = messages_[take_ready(member.at(each.from), member.at(each.to), each)];
      message.start = each.start;
      message.end = each.end;
      finish_part(place_of(message.of.sender), each.end);
      finish_part(place_of(message.of.receiver), each.end);
    }
  }

  [[nodiscard]] std::vector<LoggedTransfer> replayed() {
    Workload workload;
    workload.calls.push_back(
        {"the collective", out_.stage.schedule, out_.stage.members, out_.stage.layout.block, {}});
    workload.logs_transfers = true;
    ReplayResult result = replay(out_.stage.setup->network(), workload, out_.stage.setup->model());
    if (!result.unfinished.empty()) throw Refusal("deadlock: " + result.unfinished.front().text);
    out_.time = result.end.since_start();
    LOCKSTEP_CHECK(result.log.size() == messages_.size());
    return std::move(result.log);
  }

  /// Messages of a channel are in order; of several channels between the same members, a transfer
  /// is the message that both ends have waited for longest.
  std::size_t take_ready(int from, int to, const LoggedTransfer& transfer) {
    std::deque<std::size_t>* best = nullptr;
    TimePoint since;
    for (auto& [channel, queue] : waiting_[{from, to}]) {
      if (queue.empty()) continue;
      const RoundMessage& of = messages_[queue.front()].of;
      if (out_.stage.layout.block * of.blocks != transfer.size) continue;
      const auto sender = known_begin(of.sender);
      const auto receiver = known_begin(of.receiver);
      if (!sender || !receiver) continue;
      const TimePoint ready = std::max(*sender, *receiver);
      if (ready > transfer.start || (best != nullptr && ready >= since)) continue;
      best = &queue;
      since = ready;
    }
    LOCKSTEP_CHECK(best != nullptr);
    const std::size_t out = best->front();
    best->pop_front();
    return out;
  }

  [[nodiscard]] std::vector<ChunkColumn> columns() const {
    if (is_barrier_) return {{Buffer::data, 0, 1}};
    return seen_->columns();
  }

  // ---- Contents in the order of time.

  void begin_states() {
    held_.emplace(schedule(), contract_);
    shown_.assign(static_cast<std::size_t>(schedule().ranks()), {});
    for (int rank = 0; rank < schedule().ranks(); ++rank)
      for (const ChunkColumn& column : out_.columns)
        shown_[static_cast<std::size_t>(rank)].push_back(content_of(rank, column));
    out_.initial = shown_;
  }

  [[nodiscard]] std::int64_t content_of(int rank, const ChunkColumn& column) {
    if (!is_barrier_ && column.first + column.count > blocks_in(rank, column.buffer)) return -1;
    const Held held = held_->at(rank, column.buffer, column.first);
    if (!held.written) return -1;
    FilmContent content{ranks_of(held.ranks), held.origin, {}};
    content.text = is_uniform(rank, column) ? text_of(content, column) : "varies";
    const auto [found, fresh] =
        known_.try_emplace(std::tuple{held.ranks, held.origin, content.text}, out_.contents.size());
    if (fresh) out_.contents.push_back(std::move(content));
    return static_cast<std::int64_t>(found->second);
  }

  /// Whether all blocks of a column hold the same contributions, each to its own place.
  [[nodiscard]] bool is_uniform(int rank, const ChunkColumn& column) {
    const Held first = held_->at(rank, column.buffer, column.first);
    for (std::int64_t i = 1; i < column.count; ++i)
      if (held_->at(rank, column.buffer, column.first + i) !=
          Held{first.ranks, first.origin + i, first.written})
        return false;
    return true;
  }

  /// As HoldingText writes it.
  [[nodiscard]] std::string text_of(const FilmContent& content, const ChunkColumn& column) const {
    if (content.ranks.empty()) return "zeros";
    const bool sums = is_barrier_ || reduces(contract_.collective);
    std::string text = rank_set_text(content.ranks, contract_.ranks, sums);
    const std::int64_t place = column.buffer == Buffer::scratch ? -1 : column.first;
    if (!is_barrier_ && content.origin != place)
      text += ":" + chunk_name('c', content.origin, column.count);
    return text;
  }

  [[nodiscard]] std::int64_t blocks_in(int rank, Buffer buffer) const {
    return held_blocks(schedule(), rank, buffer);
  }

  static std::vector<int> ranks_of(std::uint64_t mask) {
    std::vector<int> out;
    for (int rank = 0; rank < kMostFilmRanks; ++rank)
      if ((mask >> static_cast<unsigned>(rank) & 1U) != 0) out.push_back(rank);
    return out;
  }

  void run_in_time() {
    std::vector<Action> actions;
    for (std::size_t i = 0; i < messages_.size(); ++i) {
      const Message& message = messages_[i];
      // The data leave as they are when the sender's step begins.
      const TimePoint from = std::min(message.start, known_begin(message.of.sender).value());
      actions.push_back(
          {Action::Kind::read, from, message.of.left > 0 ? message.of.left : message.round, i});
      actions.push_back({Action::Kind::write, message.end, message.round, i});
    }
    for (std::size_t i = 0; i < locals_.size(); ++i)
      actions.push_back(
          {Action::Kind::local, known_finish(locals_[i].of.place).value(), locals_[i].round, i});
    std::stable_sort(actions.begin(), actions.end(), [](const Action& a, const Action& b) {
      return std::tuple{a.at, a.round, a.kind} < std::tuple{b.at, b.round, b.kind};
    });
    for (const Action& action : actions) act(action);
  }

  void act(const Action& action) {
    if (action.kind == Action::Kind::local) {
      const auto& [place, operation] = locals_[action.index].of;
      write(action.at, place.rank, {operation.to}, read(place.rank, {operation.from}),
            operation.combine);
      return;
    }
    Message& message = messages_[action.index];
    if (action.kind == Action::Kind::read) {
      message.payload = read(message.of.sender.rank, message.of.sent);
    } else {
      write(action.at, message.of.receiver.rank, message.of.received, message.payload,
            message.of.combine);
    }
  }

  [[nodiscard]] std::vector<Held> read(int rank, const std::vector<Chunk>& runs) {
    if (is_barrier_) return {held_->at(rank, Buffer::data, 0)};
    std::vector<Held> out;
    for (const Chunk& run : runs)
      for (std::int64_t i = 0; i < run.count; ++i)
        out.push_back(held_->at(rank, run.buffer, run.first + i));
    return out;
  }

  void write(TimePoint at, int rank, const std::vector<Chunk>& runs,
             const std::vector<Held>& payload, Combine combine) {
    if (is_barrier_) {
      held_->at(rank, Buffer::data, 0).ranks |= payload.front().ranks;
      note_change(at, rank, 0);
      return;
    }
    std::size_t next = 0;
    for (const Chunk& run : runs)
      for (std::int64_t i = 0; i < run.count; ++i)
        put(held_->at(rank, run.buffer, run.first + i), payload.at(next++), combine);
    for (const ColumnRun& run : column_runs(runs))
      for (std::size_t c = run.first; c < run.first + run.count; ++c) note_change(at, rank, c);
  }

  static void put(Held& into, const Held& arrived, Combine combine) {
    if (combine == Combine::copy || !into.written) {
      into = arrived;
      return;
    }
    if ((into.ranks & arrived.ranks) != 0)
      throw Refusal("a contribution would be added twice to the same chunk");
    if (into.ranks == 0) into.origin = arrived.origin;
    into.ranks |= arrived.ranks;
  }

  void note_change(TimePoint at, int rank, std::size_t column) {
    const std::int64_t content = content_of(rank, out_.columns[column]);
    auto& shown = shown_[static_cast<std::size_t>(rank)][column];
    if (content < 0 || content == shown) return;
    shown = content;
    out_.writes.push_back({at, rank, column, static_cast<std::size_t>(content)});
  }

  // ---- When steps begin and finish.

  /// One of the messages of a step has its time.
  void finish_part(const Place& place, TimePoint end) {
    --untimed_[place];
    TimePoint& known = last_end_[place];
    known = std::max(known, end);
  }

  /// None: not all of its messages have their times.
  [[nodiscard]] std::optional<TimePoint> known_finish(const ScheduleStepIndex& index) {
    const auto untimed = untimed_.find(place_of(index));
    if (untimed != untimed_.end() && untimed->second > 0) return std::nullopt;
    const auto begin = known_begin(index);
    const auto end = last_end_.find(place_of(index));
    return !begin || end == last_end_.end() ? begin : std::max(*begin, end->second);
  }

  /// When the steps before it are over; none: not known yet.
  [[nodiscard]] std::optional<TimePoint> known_begin(const ScheduleStepIndex& index) {
    auto& begins = begins_[{index.rank, index.lane}];
    while (std::ssize(begins) <= index.step) {
      const auto step = std::ssize(begins);
      TimePoint begin;
      ScheduleStep content;
      schedule().step(index.rank, index.lane, step, content);
      std::vector<ScheduleStepRef> before = content.after;
      if (step > 0) before.push_back({index.lane, step - 1});
      for (const ScheduleStepRef& each : before) {
        const auto end = known_finish({index.rank, each.lane, each.step});
        if (!end) return std::nullopt;
        begin = std::max(begin, *end);
      }
      begins.push_back(begin);
    }
    return begins[static_cast<std::size_t>(index.step)];
  }

  // ---- The result.

  void check_contract() {
    const std::uint64_t all =
        contract_.ranks == 64 ? ~std::uint64_t{0}
                              : (std::uint64_t{1} << static_cast<unsigned>(contract_.ranks)) - 1;
    for (int rank = 0; rank < contract_.ranks; ++rank)
      for (std::int64_t block = 0; block < contract_.blocks; ++block) {
        const Expected expected = contract_.expected(rank, block);
        if (expected.anything) continue;
        const std::uint64_t ranks =
            expected.all_ranks ? all : std::uint64_t{1} << static_cast<unsigned>(expected.rank);
        if (held_->at(rank, contract_.result, block) == Held{ranks, expected.block, true}) continue;
        throw Refusal(fmt::format("rank {} ends without its result in chunk {}", rank, block));
      }
  }

  void note_transfers() {
    std::map<std::pair<int, int>, std::size_t> routes;
    for (const Message& message : messages_) {
      const int from = message.of.sender.rank;
      const int to = message.of.receiver.rank;
      const auto [found, fresh] = routes.try_emplace(std::pair{from, to}, out_.routes.size());
      if (fresh) out_.routes.push_back(route(from, to));
      FilmTransfer transfer;
      transfer.from = from;
      transfer.to = to;
      transfer.round = message.round;
      transfer.channel = message.of.channel;
      transfer.size = out_.stage.layout.block * message.of.blocks;
      transfer.start = message.start;
      transfer.end = message.end;
      transfer.combine = message.of.combine;
      if (!is_barrier_) {
        transfer.sent = column_runs(message.of.sent);
        transfer.received = column_runs(message.of.received);
      }
      transfer.route = found->second;
      out_.transfers.push_back(std::move(transfer));
    }
    std::stable_sort(out_.transfers.begin(), out_.transfers.end(),
                     [](const auto& a, const auto& b) { return a.start < b.start; });
  }

  [[nodiscard]] FilmRoute route(int from, int to) const {
    Route found;
    const auto& members = out_.stage.members;
    const bool exists = out_.stage.setup->network().router->route(
        members[static_cast<std::size_t>(from)], members[static_cast<std::size_t>(to)], found);
    LOCKSTEP_CHECK(exists);
    FilmRoute out{from, to, {}, found.latency, found.paths};
    for (const Hop& hop : found.hops) out.links.push_back(hop.link);
    return out;
  }

  [[nodiscard]] std::vector<ColumnRun> column_runs(const std::vector<Chunk>& runs) const {
    std::vector<ColumnRun> out;
    for (const Chunk& run : runs) {
      ColumnRun columns;
      for (std::size_t c = 0; c < out_.columns.size(); ++c) {
        const ChunkColumn& column = out_.columns[c];
        const bool inside = column.buffer == run.buffer && column.first >= run.first &&
                            column.first + column.count <= run.first + run.count;
        if (!inside) continue;
        if (columns.count == 0) columns.first = c;
        ++columns.count;
      }
      if (columns.count > 0) out.push_back(columns);
    }
    return out;
  }

  CollectiveFilm out_;
  Contract contract_;
  bool is_barrier_ = false;
  std::optional<ChunkColumns> seen_;
  std::vector<Message> messages_;
  std::vector<Local> locals_;
  std::optional<HeldBlocks> held_;
  std::vector<std::vector<std::int64_t>> shown_;  // [member][column]
  std::map<std::tuple<std::uint64_t, std::int64_t, std::string>, std::size_t> known_;
  std::map<std::pair<int, int>, std::map<int, std::deque<std::size_t>>> waiting_;  // by channel
  std::map<Place, int> untimed_;  // ends of messages without a time
  std::map<Place, TimePoint> last_end_;
  std::map<std::pair<int, int>, std::vector<TimePoint>> begins_;
};

}  // namespace

CollectiveFilm make_film(const StageRequest& request) {
  return FilmMaker(request).run();
}

}  // namespace lockstep::app
