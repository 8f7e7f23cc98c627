#include "tools/app/explain/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "sim/execute/schedule/chunk_text.hpp"
#include "sim/execute/schedule/no_content.hpp"
#include "sim/execute/schedule_checks/symbolic.hpp"
#include "sim/schedule/contract.hpp"
#include "tools/app/errors.hpp"
#include "tools/app/explain/explain_board.hpp"

namespace lockstep::app {

namespace {

// Larger schedules are not executed round by round: it would take minutes and gigabytes.
constexpr std::int64_t kMostMessages = 1'000'000;
constexpr std::int64_t kMostMoved = 30'000'000;    // blocks
constexpr std::int64_t kMostHeld = 4'000'000;      // blocks of all ranks
constexpr std::int64_t kMostReplayed = 5'000'000;  // messages in the engine
// What fits a page.
constexpr std::int64_t kMostRounds = 16;
constexpr std::int64_t kFirstRounds = 6;
constexpr std::int64_t kLastRounds = 2;
constexpr std::size_t kMostPlaces = 16;  // ranks, and chunks
constexpr std::size_t kLastPlaces = 4;
constexpr std::int64_t kMostEvents = 100'000;

/// The places [0, count) that are shown; none for a gap.
std::vector<std::optional<std::size_t>> shown_of(std::size_t count, bool all) {
  std::vector<std::optional<std::size_t>> out;
  for (std::size_t i = 0; i < count; ++i) {
    const bool shown =
        all || count <= kMostPlaces || i + kLastPlaces >= count || i + kLastPlaces < kMostPlaces;
    if (shown) {
      out.emplace_back(i);
    } else if (out.back()) {
      out.emplace_back();
    }
  }
  return out;
}

class Explainer {
 public:
  explicit Explainer(const ExplainRequest& request) {
    out_.request = request;
    out_.stage = make_stage(request.stage);
    const Stage& stage = out_.stage;
    const auto distance = static_cast<int>(stage.input.number("distance").value_or(1));
    contract_ =
        contract_of(row().collective, *stage.schedule, stage.input.n, stage.input.root, distance);
  }

  Explanation run() {
    const auto traffic = count_traffic(*out_.stage.schedule, out_.stage.input.n);
    const bool replayed = traffic && traffic->messages <= kMostReplayed;
    if (can_be_played(traffic)) {
      play();
    } else {
      refuse_rounds();
    }
    out_.cost = explain_cost(out_.stage, row(), replayed);
    out_.omitted.too_many_to_simulate = !replayed;
    return std::move(out_);
  }

 private:
  [[nodiscard]] const CollectiveAlgorithm& row() const {
    return *out_.request.stage.spec.algorithm;
  }
  [[nodiscard]] const Schedule& schedule() const { return *out_.stage.schedule; }

  [[nodiscard]] bool can_be_played(const std::optional<TrafficCount>& traffic) const {
    return traffic && traffic->messages <= kMostMessages && traffic->total_blocks <= kMostMoved &&
           schedule().blocks() * schedule().ranks() <= kMostHeld;
  }

  void refuse_rounds() {
    if (out_.request.rounds)
      throw Refusal("rounds", "too large to print round by round; use fewer ranks");
    out_.omitted.rounds_too_large = true;
  }

  void play() {
    NoContent nothing;
    RoundSimulator counter(schedule(), nothing);
    ChunkColumns columns(contract_);
    Round round;
    std::int64_t messages = 0;
    while (counter.next(round)) {
      columns.note(round);
      messages += std::ssize(round.messages);
      for (const RoundMessage& message : round.messages)
        out_.details.channels = out_.details.channels || message.channel > 0;
      out_.total_rounds = round.number;
    }
    refuse_stop(counter);
    check_range();
    out_.details.lanes = schedule().lanes() > 1;
    all_events_ = messages <= kMostEvents;
    board_ = make_board(schedule(), contract_, columns.columns());
    choose_places();
    out_.start = table();
    RoundSimulator runner(schedule(), board_->memory());
    while (runner.next(round)) take(round);
    refuse_stop(runner);
    note_omissions();
    judge();
  }

  static void refuse_stop(const RoundSimulator& runner) {
    if (const auto& stop = runner.stopped())
      throw Refusal(fmt::format("round {}: {} {}", stop->round, to_text(stop->place), stop->what));
  }

  void check_range() const {
    const auto& range = out_.request.rounds;
    if (range && range->last > out_.total_rounds)
      throw RequestError("rounds",
                         fmt::format("there {} {} round{}, got {}..{}",
                                     out_.total_rounds == 1 ? "is" : "are", out_.total_rounds,
                                     out_.total_rounds == 1 ? "" : "s", range->first, range->last));
  }

  void choose_places() {
    const std::vector<std::string> names = board_->columns();
    shown_columns_ = shown_of(names.size(), out_.request.all_places);
    shown_rows_ = shown_of(static_cast<std::size_t>(schedule().ranks()), out_.request.all_places);
    for (const auto& column : shown_columns_)
      out_.columns.push_back(column ? names[*column] : "...");
    for (const auto& row : shown_rows_)
      out_.rows.push_back(row ? std::optional{static_cast<int>(*row)} : std::nullopt);
  }

  [[nodiscard]] HoldingTable table() const {
    HoldingTable out;
    for (const auto& row : shown_rows_) {
      auto& line = out.emplace_back();
      for (const auto& column : shown_columns_)
        line.push_back(row && column ? board_->cell(static_cast<int>(*row), *column) : "");
    }
    return out;
  }

  [[nodiscard]] bool in_range(std::int64_t number) const {
    const auto& range = out_.request.rounds;
    return !range || (range->first <= number && number <= range->last);
  }

  [[nodiscard]] bool is_shown(std::int64_t number) const {
    if (out_.request.rounds) return in_range(number);
    return out_.total_rounds <= kMostRounds || number <= kFirstRounds ||
           number > out_.total_rounds - kLastRounds;
  }

  void take(const Round& round) {
    if (is_shown(round.number)) out_.rounds.push_back({round, table()});
    if (in_range(round.number) && (all_events_ || is_shown(round.number)))
      out_.events.push_back(round);
  }

  void note_omissions() {
    const auto places = [&](const auto& shown, std::size_t count) -> std::optional<ShownPlaces> {
      if (count <= kMostPlaces || out_.request.all_places) return std::nullopt;
      return ShownPlaces{shown.size() - 1, count};
    };
    out_.omitted.ranks = places(shown_rows_, static_cast<std::size_t>(schedule().ranks()));
    out_.omitted.chunks = places(shown_columns_, board_->columns().size());
    if (!out_.request.rounds && out_.total_rounds > kMostRounds)
      out_.omitted.rounds = RoundRange{kFirstRounds + 1, out_.total_rounds - kLastRounds};
  }

  void judge() {
    const SymbolicVerdict verdict = check_symbols(schedule(), contract_, {.most_work = 1});
    if (!verdict.right()) throw Refusal(verdict.problem());
    out_.verified = true;
  }

  Explanation out_;
  Contract contract_;
  std::unique_ptr<ExplainBoard> board_;
  std::vector<std::optional<std::size_t>> shown_columns_;
  std::vector<std::optional<std::size_t>> shown_rows_;
  bool all_events_ = true;
};

}  // namespace

Explanation explain(const ExplainRequest& request) {
  return Explainer(request).run();
}

}  // namespace lockstep::app
