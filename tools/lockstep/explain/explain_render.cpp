#include "tools/lockstep/explain/explain_render.hpp"
#include "tools/app/fingerprint.hpp"
#include "tools/app/json.hpp"
#include "tools/lockstep/explain/explain_messages.hpp"
#include "tools/lockstep/output/text_width.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

namespace lockstep::cli {

namespace {

constexpr std::size_t kPageWidth = 118;  // in characters, where no terminal has one

std::size_t page_width(const OutputStyle& style) {
  if (style.wide) return std::numeric_limits<std::size_t>::max();
  return style.wraps_notes && style.is_table() ? style.width : kPageWidth;
}

const CollectiveAlgorithm& algorithm_of(const Explanation& explanation) {
  return *explanation.request.stage.spec.algorithm;
}

// --- what is said in tables and in Markdown

std::string heading(const Explanation& explanation) {
  const CollectiveAlgorithm& row = algorithm_of(explanation);
  return fmt::format("{} by {}: {}", to_string(row.collective),
                     explanation.request.stage.spec.text(), row.summary);
}

std::string parameters(const Explanation& explanation) {
  std::string out;
  const CollectiveAlgorithm& row = algorithm_of(explanation);
  for (const auto& [name, value] : complete(row, explanation.stage.input).arguments)
    out += fmt::format("{}{} = {}", out.empty() ? "" : ", ", name, to_string(value));
  return out;
}

std::string message_text(const Explanation& explanation) {
  const Stage& stage = explanation.stage;
  const std::int64_t chunks = stage.schedule->blocks();
  if (algorithm_of(explanation).collective == Collective::barrier) return "messages without data";
  std::string out = fmt::format("message of {} ({} {})", to_string(stage.layout.size),
                                stage.layout.count, explanation.request.stage.type->name);
  if (chunks > 0)
    out += fmt::format(", {} chunk{} of {}", chunks, chunks == 1 ? "" : "s",
                       to_string(stage.layout.block));
  if (stage.layout.padded > stage.layout.size && stage.layout.size.count() > 0)
    out += fmt::format(" (timed with full chunks: {})", to_string(stage.layout.padded));
  return out;
}

std::vector<std::string> introduction(const Explanation& explanation) {
  const Stage& stage = explanation.stage;
  std::vector<std::string> out = {stage.setup->text(), message_text(explanation)};
  if (has_root(algorithm_of(explanation).collective))
    out.push_back(fmt::format("root: rank {}", stage.input.root));
  if (const std::string text = parameters(explanation); !text.empty()) out.push_back(text);
  if (stage.schedule->lanes() > 1)
    out.push_back(fmt::format("{} lanes per rank run in parallel", stage.schedule->lanes()));
  return out;
}

bool occurs(const Explanation& explanation, std::string_view part) {
  const auto in_table = [&](const HoldingTable& table) {
    return std::any_of(table.begin(), table.end(), [&](const auto& row) {
      return std::any_of(row.begin(), row.end(), [&](const std::string& cell) {
        return cell.find(part) != std::string::npos;
      });
    });
  };
  return in_table(explanation.start) ||
         std::any_of(explanation.rounds.begin(), explanation.rounds.end(),
                     [&](const ExplainedRound& round) { return in_table(round.after); });
}

/// How to read the tables, as far as they need it.
std::vector<std::string> legend(const Explanation& explanation) {
  const Collective collective = algorithm_of(explanation).collective;
  if (collective == Collective::barrier)
    return {"tables list the ranks whose arrival each rank knows of"};
  std::vector<std::string> out = {"2: data of rank 2 in this chunk; blank: uninitialized"};
  const auto add = [&](std::string_view part, const char* text) {
    if (occurs(explanation, part)) out.emplace_back(text);
  };
  if (reduces(collective))
    out.emplace_back("0+3 is a sum, 0..3 the sum over ranks 0 to 3; ranges wrap around (6..1)");
  add("/", "0..6/2: sum over every 2nd rank from 0 to 6");
  add(" of ", "9 of 16: sum over 9 of the 16 ranks");
  add("all", "all: sum over all ranks");
  add(":", "0:c5: data of rank 0 in chunk 5");
  add("zeros", "zeros: initial value of servers and switches");
  add("varies", "varies: the chunks of this column differ");
  const auto has = [&](char prefix) {
    return std::any_of(explanation.columns.begin(), explanation.columns.end(),
                       [&](const std::string& name) { return name.front() == prefix; });
  };
  if (has('o')) out.emplace_back("columns: c data, o output");
  if (has('s')) out.back() += has('o') ? ", s scratch" : "; columns: c data, s scratch";
  return out;
}

std::string round_heading(const Explanation& explanation, const ExplainedRound& round) {
  if (round.round.number == 0) return "before the first round";
  return fmt::format("round {} of {}", round.round.number, explanation.total_rounds);
}

// --- names

ExplainWords words_of(const Explanation& explanation) {
  const Stage& stage = explanation.stage;
  return ExplainWords({stage.input.n, algorithm_of(explanation).auxiliary_ranks,
                       stage.schedule->blocks(), stage.layout.block});
}

std::vector<std::string> row_labels(const Explanation& explanation) {
  const ExplainWords words = words_of(explanation);
  std::vector<std::string> out;
  for (const auto& rank : explanation.rows) out.push_back(rank ? words.label(*rank) : "...");
  return out;
}

/// What happens in a round, as many lines as fit a page.
struct ShownLines {
  std::vector<std::string> lines;
  std::size_t left_out = 0;
};

ShownLines lines_of(const Explanation& explanation, const Round& round) {
  constexpr std::size_t kMostLines = 24;
  ShownLines out{round_lines(round, words_of(explanation), explanation.details), 0};
  if (out.lines.size() > kMostLines) {
    out.left_out = out.lines.size() - kMostLines;
    out.lines.resize(kMostLines);
  }
  return out;
}

// --- the tables of chunks

/// Widths of the columns over all rounds, so that they stay where they are.
std::vector<std::size_t> widths(const Explanation& explanation) {
  std::vector<std::size_t> out;
  for (const std::string& name : explanation.columns) out.push_back(name.size());
  const auto widen = [&](const HoldingTable& table) {
    for (const auto& row : table)
      for (std::size_t i = 0; i < row.size(); ++i) out[i] = std::max(out[i], row[i].size());
  };
  widen(explanation.start);
  for (const ExplainedRound& round : explanation.rounds) widen(round.after);
  return out;
}

/// The columns of a table, in as many pieces of equally many as it takes to fit the page.
std::vector<std::pair<std::size_t, std::size_t>> pieces(const Explanation& explanation,
                                                        const std::vector<std::size_t>& width,
                                                        std::size_t page) {
  std::size_t label = 6;
  for (const std::string& row : row_labels(explanation)) label = std::max(label, row.size() + 2);
  std::vector<std::pair<std::size_t, std::size_t>> out;
  for (std::size_t count = 1; count <= width.size(); ++count) {
    out.clear();
    bool fits = true;
    for (std::size_t i = 0; i < count; ++i) {
      out.emplace_back(i * width.size() / count, (i + 1) * width.size() / count);
      std::size_t used = label;
      for (std::size_t c = out.back().first; c < out.back().second; ++c) used += width[c] + 2;
      fits = fits && used <= page;
    }
    if (fits) break;
  }
  return out;
}

class HoldingTables {
 public:
  HoldingTables(const Explanation& explanation, const OutputStyle& style)
      : explanation_{explanation},
        format_{style.format},
        labels_{row_labels(explanation)},
        widths_{widths(explanation)},
        pieces_{pieces(explanation, widths_, page_width(style))} {}

  [[nodiscard]] std::string text(const HoldingTable& table) const {
    std::string out;
    for (const auto& [begin, end] : pieces_) {
      if (!out.empty() && format_ == Format::md) out += "\n";
      out += lockstep::cli::render(piece(table, begin, end), format_);
    }
    return out;
  }

 private:
  [[nodiscard]] Report piece(const HoldingTable& table, std::size_t begin, std::size_t end) const {
    Report out;
    out.columns.push_back({"rank", "rank", ""});
    for (std::size_t i = begin; i < end; ++i) {
      std::string name = explanation_.columns[i];
      name.resize(std::max(name.size(), widths_[i]), ' ');
      out.columns.push_back({explanation_.columns[i], name, "", true});
    }
    Section section;
    for (std::size_t r = 0; r < table.size(); ++r) {
      auto& row = section.rows.emplace_back();
      row.emplace_back(labels_[r]);
      for (std::size_t i = begin; i < end; ++i) row.emplace_back(table[r][i]);
    }
    out.sections.push_back(std::move(section));
    return out;
  }

  const Explanation& explanation_;
  Format format_;
  std::vector<std::string> labels_;
  std::vector<std::size_t> widths_;
  std::vector<std::pair<std::size_t, std::size_t>> pieces_;
};

// --- the cost

std::string microseconds(Duration time) {
  return fmt::format("{:.3f}", time.seconds() * 1e6);
}

Report cost_report(const Explanation& explanation) {
  const ExplainedCost& cost = explanation.cost;
  Report out;
  out.columns = {{"what", "what", "", true},
                 {"symbol", "in the formula", "", true},
                 {"amount", "how much", "", true, 100},
                 {"each", "each", "", true},
                 {"time", "time", "(us)"}};
  out.left_out_first = {"symbol", "each"};
  Section section;
  const auto add = [&](const std::string& what, const std::string& symbol,
                       const std::string& amount, const std::string& each, Duration time) {
    section.rows.push_back({Cell{what}, Cell{symbol}, Cell{amount}, Cell{each},
                            Cell{time.seconds(), microseconds(time)}});
  };
  for (const CostTerm& term : cost.terms)
    add(term.name, term.symbol, term.amount, term.each, term.time);
  if (cost.formula) add(cost.near ? "formula, about" : "formula", "", "", "", *cost.formula);
  if (cost.simulated) add("simulated", "", "", "", cost.simulated->time);
  for (const BoundTerm& bound : cost.bounds)
    add("bound: " + bound.name, "", bound.from, "", bound.time);
  out.sections.push_back(std::move(section));
  return out;
}

Duration bound_of(const ExplainedCost& cost) {
  Duration out;
  for (const BoundTerm& bound : cost.bounds) out = std::max(out, bound.time);
  return out;
}

std::vector<std::string> cost_notes(const Explanation& explanation) {
  const ExplainedCost& cost = explanation.cost;
  std::vector<std::string> out;
  for (const std::string& line : cost.comparison)
    out.push_back((&line == &cost.comparison.front() ? "comparison: " : "  ") + line);
  if (cost.simulated && !cost.bounds.empty() && cost.simulated->time > Duration{})
    out.push_back(fmt::format("lower bound: {}, {:.1f} % of the simulated time",
                              to_string(bound_of(cost)),
                              100 * (bound_of(cost).seconds() / cost.simulated->time.seconds())));
  return out;
}

std::vector<std::string> facts(const Explanation& explanation) {
  const CollectiveAlgorithm& row = algorithm_of(explanation);
  std::vector<std::string> out = {fmt::format("rounds: {}", row.rounds),
                                  fmt::format("sent per rank: {}", row.sent_per_rank)};
  if (const auto& traffic = explanation.cost.traffic) {
    const auto size = [&](std::int64_t blocks) { return words_of(explanation).size(blocks); };
    const std::int64_t shown = explanation.total_rounds;
    if (shown > 0 || traffic->rounds)
      out[0] += fmt::format("; here {}", shown > 0 ? shown : *traffic->rounds);
    out[1] += fmt::format("; here at most {}; {} in total in {} message{}",
                          size(traffic->sent_blocks), size(traffic->total_blocks),
                          traffic->messages, traffic->messages == 1 ? "" : "s");
  }
  out.push_back(fmt::format("limits: {}", row.limits));
  out.push_back(fmt::format("source: {}", row.source));
  return out;
}

// --- tables and Markdown

/// Writes lines the way a format has them.
class Page {
 public:
  explicit Page(Format format) : markdown_{format == Format::md} {}

  void title(const std::string& text) { out_ += (markdown_ ? "# " : "# ") + text + "\n"; }
  void section(const std::string& text) {
    out_ += markdown_ ? "\n## " + text + "\n\n" : "#\n# " + text + "\n";
  }
  void note(const std::string& text) { out_ += (markdown_ ? "- " : "# ") + text + "\n"; }
  void line(const std::string& text) { out_ += (markdown_ ? "- " : "  ") + text + "\n"; }
  void gap() { out_ += markdown_ ? "\n" : ""; }
  void raw(const std::string& text) { out_ += text; }
  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  bool markdown_;
  std::string out_;
};

void write_round(const Explanation& explanation, const ExplainedRound& round,
                 const HoldingTables& tables, Page& page) {
  page.section(round_heading(explanation, round));
  const ShownLines shown = lines_of(explanation, round.round);
  for (const std::string& line : shown.lines) page.line(line);
  if (shown.lines.empty()) page.line("messages are sent; none is received");
  if (shown.left_out > 0)
    page.line(fmt::format("... {} more lines; --format json prints all", shown.left_out));
  page.gap();
  page.raw(tables.text(round.after));
}

std::string render_page(const Explanation& explanation, const OutputStyle& style) {
  Page page(style.format);
  page.title(heading(explanation));
  page.gap();
  for (const std::string& line : introduction(explanation)) page.note(line);
  for (const std::string& line : explanation.notes) page.note(line);
  if (!explanation.start.empty()) {
    for (const std::string& line : legend(explanation)) page.note(line);
    const HoldingTables tables(explanation, style);
    page.section("at the start");
    page.raw(tables.text(explanation.start));
    for (const ExplainedRound& round : explanation.rounds)
      write_round(explanation, round, tables, page);
    page.gap();
    page.note(explanation.verdict);
  }
  page.section(fmt::format("time = {}", algorithm_of(explanation).time));
  for (const std::string& line : explanation.cost.model) page.note(line);
  page.gap();
  if (Report report = cost_report(explanation); !report.sections[0].rows.empty())
    page.raw(lockstep::cli::render(report, style));
  page.gap();
  for (const std::string& line : cost_notes(explanation)) page.note(line);
  for (const std::string& line : facts(explanation)) page.note(line);
  return page.take();
}

// --- JSON and CSV

std::vector<Cell> event(const Explanation& explanation, std::int64_t round, const char* kind,
                        const ScheduleStepIndex& from, const ScheduleStepIndex& to, int channel,
                        const std::vector<Chunk>& sent, const std::vector<Chunk>& received,
                        std::int64_t blocks, Combine combine) {
  const ExplainWords words = words_of(explanation);
  return {Cell{round},
          Cell{std::string{kind}},
          Cell{std::int64_t{from.rank}},
          Cell{std::int64_t{to.rank}},
          Cell{std::int64_t{from.lane}},
          Cell{std::int64_t{to.lane}},
          Cell{from.step},
          Cell{to.step},
          Cell{std::int64_t{channel}},
          Cell{words.chunks(sent)},
          Cell{words.chunks(received)},
          Cell{blocks},
          Cell{explanation.stage.layout.block.count() * blocks},
          Cell{std::string{combine == Combine::reduce ? "reduced" : "copied"}}};
}

Report event_report(const Explanation& explanation) {
  Report out;
  out.columns = {{"round", "round", ""},          {"kind", "kind", "", true},
                 {"from_rank", "from", ""},       {"to_rank", "to", ""},
                 {"from_lane", "lane", ""},       {"to_lane", "lane", ""},
                 {"from_step", "step", ""},       {"to_step", "step", ""},
                 {"channel", "channel", ""},      {"from_chunks", "chunks", "", true},
                 {"to_chunks", "into", "", true}, {"chunk_count", "count", ""},
                 {"size_bytes", "size", "(B)"},   {"combine", "how", "", true}};
  Section section;
  for (const Round& round : explanation.events) {
    for (const RoundMessage& message : round.messages)
      section.rows.push_back(event(explanation, round.number, "message", message.sender,
                                   message.receiver, message.channel, message.sent,
                                   message.received, message.blocks, message.combine));
    for (const RoundLocal& local : round.locals)
      section.rows.push_back(event(explanation, round.number, "local", local.place, local.place, 0,
                                   {local.operation.from}, {local.operation.to},
                                   local.operation.from.count, local.operation.combine));
  }
  out.sections.push_back(std::move(section));
  return out;
}

Json config_of(const Explanation& explanation) {
  const StageRequest& request = explanation.request.stage;
  const Stage& stage = explanation.stage;
  const CollectiveSetup& setup = *stage.setup;
  Json out;
  out["collective"] = to_string(algorithm_of(explanation).collective);
  out["algorithm"] = {{"name", request.spec.algorithm->name}, {"parameters", Json::object()}};
  for (const auto& [name, value] : complete(*request.spec.algorithm, stage.input).arguments) {
    const auto* number = std::get_if<std::int64_t>(&value);
    out["algorithm"]["parameters"][name] =
        number != nullptr ? Json(*number) : Json(to_string(value));
  }
  out["cluster"] = {{"file", request.cluster.path()},
                    {"name", setup.loaded().name},
                    {"device", setup.loaded().device.id},
                    {"nodes", setup.cluster().nodes()},
                    {"ranks", setup.ranks()}};
  out["network"] = request.network.model;
  out["protocol"] = setup.protocol() ? Json(setup.protocol()->id) : Json();
  out["routes"] = kRoutePolicyNames.at(static_cast<std::size_t>(setup.policy()));
  out["root"] = stage.input.root;
  out["ranks_per_node"] = stage.input.layout.per_node;
  out["dimensions"] = stage.input.layout.dimensions;
  out["size_bytes"] = stage.layout.size.count();
  out["type"] = request.type->name;
  return out;
}

Json cost_json(const Explanation& explanation) {
  const ExplainedCost& cost = explanation.cost;
  Json out;
  out["formula"] = algorithm_of(explanation).time;
  out["terms"] = Json::array();
  for (const CostTerm& term : cost.terms)
    out["terms"].push_back({{"name", term.name},
                            {"symbol", term.symbol},
                            {"amount", term.amount},
                            {"each", term.each},
                            {"time_s", term.time.seconds()}});
  const auto time = [](const auto& value) { return value ? Json(value->seconds()) : Json(); };
  out["formula_s"] = time(cost.formula);
  out["formula_is_estimate"] = cost.near;
  out["simulated_s"] = cost.simulated ? Json(cost.simulated->time.seconds()) : Json();
  out["ports_only_s"] = time(cost.ports_only);
  out["comparison"] = cost.comparison;
  out["bounds"] = Json::array();
  for (const BoundTerm& bound : cost.bounds)
    out["bounds"].push_back(
        {{"name", bound.name}, {"from", bound.from}, {"time_s", bound.time.seconds()}});
  if (cost.traffic) {
    const std::int64_t block = explanation.stage.layout.block.count();
    out["sent_per_rank_bytes"] = cost.traffic->sent_blocks * block;
    out["sent_in_total_bytes"] = cost.traffic->total_blocks * block;
    out["messages"] = cost.traffic->messages;
  }
  return out;
}

Json tables_json(const Explanation& explanation) {
  Json out;
  out["columns"] = explanation.columns;
  out["ranks"] = row_labels(explanation);
  out["start"] = explanation.start;
  out["rounds"] = Json::array();
  for (const ExplainedRound& round : explanation.rounds)
    out["rounds"].push_back({{"round", round.round.number},
                             {"lines", lines_of(explanation, round.round).lines},
                             {"after", round.after}});
  return out;
}

std::string fingerprint_of(const Explanation& explanation) {
  Fingerprint out;
  for (const Round& round : explanation.events)
    for (const RoundMessage& message : round.messages)
      for (const std::int64_t number : {round.number, std::int64_t{message.sender.rank},
                                        std::int64_t{message.receiver.rank}, message.blocks})
        out.add(number);
  if (explanation.cost.simulated) out.add(explanation.cost.simulated->time.ps());
  return out.text();
}

/// The printer's object, with the cost and the tables before its rows.
std::string render_json(const Explanation& explanation) {
  Report report = event_report(explanation);
  report.schema = "lockstep.explain/2";
  report.config = config_of(explanation).dump();
  report.seed = explanation.request.stage.cluster.seed;
  report.fingerprint = fingerprint_of(explanation);
  Json whole = Json::parse(lockstep::cli::render(report, Format::json));
  Json rows = std::move(whole["rows"]);
  whole.erase("rows");
  whole["rounds"] = explanation.total_rounds;
  whole["notes"] = explanation.notes;
  whole["cost"] = cost_json(explanation);
  whole["chunks"] = tables_json(explanation);
  whole["rows"] = std::move(rows);
  return whole.dump(2) + "\n";
}

}  // namespace

std::string render(const Explanation& explanation, const OutputStyle& style) {
  switch (style.format) {
    case Format::json:
      return render_json(explanation);
    case Format::csv:
      return lockstep::cli::render(event_report(explanation), Format::csv);
    case Format::table:
    case Format::md:
      break;
  }
  const std::string text = render_page(explanation, style);
  const bool wraps = style.is_table() && style.wraps_notes && !style.wide;
  return wraps ? with_wrapped_notes(text, style.width) : text;
}

}  // namespace lockstep::cli
