#include "tools/lockstep/explain/explain_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include "tools/lockstep/collective/setup_text.hpp"
#include "tools/lockstep/explain/explain_cost_words.hpp"
#include "tools/lockstep/explain/explain_lines.hpp"
#include "tools/lockstep/explain/explain_notes.hpp"

namespace lockstep::cli {

namespace {

constexpr std::size_t kPageWidth = 118;  // in characters, where no terminal has one

std::size_t page_width(const OutputStyle& style) {
  if (style.wide) return std::numeric_limits<std::size_t>::max();
  return style.wraps_notes && style.is_table() ? style.width : kPageWidth;
}

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
  std::vector<std::string> out = {setup_text_with_ranks(stage.setup->names()),
                                  message_text(explanation)};
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
  for (const CostTerm& term : cost.terms) {
    const TermWords words = words_of(term);
    add(words.name, words.symbol, words.amount, words.each, term.time);
  }
  if (cost.formula) add(cost.near ? "formula, about" : "formula", "", "", "", *cost.formula);
  if (cost.simulated) add("simulated", "", "", "", cost.simulated->time);
  for (const BoundTerm& bound : cost.bounds) {
    const BoundWords words = words_of(bound);
    add("bound: " + words.name, "", words.from, "", bound.time);
  }
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
  for (const std::string& line : comparison_lines(cost))
    out.push_back((out.empty() ? "comparison: " : "  ") + line);
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

/// Writes lines the way a format has them.
class Page {
 public:
  explicit Page(Format format) : markdown_{format == Format::md} {}

  void title(const std::string& text) { out_ += "# " + text + "\n"; }
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

}  // namespace

std::string render_page(const Explanation& explanation, const OutputStyle& style) {
  Page page(style.format);
  page.title(heading(explanation));
  page.gap();
  for (const std::string& line : introduction(explanation)) page.note(line);
  for (const std::string& line : notes_of(explanation)) page.note(line);
  if (!explanation.start.empty()) {
    for (const std::string& line : legend(explanation)) page.note(line);
    const HoldingTables tables(explanation, style);
    page.section("at the start");
    page.raw(tables.text(explanation.start));
    for (const ExplainedRound& round : explanation.rounds)
      write_round(explanation, round, tables, page);
    page.gap();
    if (explanation.verified) page.note(verdict_of(explanation));
  }
  page.section(fmt::format("time = {}", algorithm_of(explanation).time));
  for (const std::string& line : model_lines(explanation.cost)) page.note(line);
  page.gap();
  if (Report report = cost_report(explanation); !report.sections[0].rows.empty())
    page.raw(lockstep::cli::render(report, style));
  page.gap();
  for (const std::string& line : cost_notes(explanation)) page.note(line);
  for (const std::string& line : facts(explanation)) page.note(line);
  return page.take();
}

}  // namespace lockstep::cli
