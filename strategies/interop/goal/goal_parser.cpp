#include "strategies/interop/goal/goal_parser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "sim/config/complaint.hpp"
#include "sim/config/did_you_mean.hpp"

namespace lockstep {

namespace {

constexpr std::uint64_t kMostGoalRanks = 1U << 24U;           // what a cluster may have
constexpr std::uint64_t kMostNanoseconds = INT64_MAX / 1000;  // 106 days in picoseconds
constexpr std::uint64_t kMostBytes = INT64_MAX;
constexpr std::uint64_t kMostCpu = (1U << 20U) - 1;
constexpr std::size_t kMostSuggested = 10'000;  // labels that a wrong one is compared with

const std::vector<std::string_view> kKinds = {"send", "recv", "calc"};

std::string shown(const GoalToken& token) {
  if (token.kind == GoalToken::Kind::end) return "the end of the file";
  const auto first = static_cast<unsigned char>(token.text.front());
  if (first < 0x80 && first >= 0x20) return in_quotes(token.text);
  return fmt::format("the byte 0x{:02x}", static_cast<unsigned>(first));
}

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

/// Digits alone, of a number no larger than `most`.
std::optional<std::uint64_t> digits(std::string_view text, std::uint64_t most) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value > most) return std::nullopt;
  return value;
}

}  // namespace

GoalSchedule GoalParser::parse() {
  parse_number_of_ranks();
  while (tokens_.next().kind != GoalToken::Kind::end) parse_rank();
  if (const auto at = tokens_.open_comment()) problems_->note(*at, "", "this comment never ends");
  std::sort(schedule_.programs.begin(), schedule_.programs.end(),
            [](const GoalRank& a, const GoalRank& b) { return a.rank < b.rank; });
  return std::move(schedule_);
}

/// A text that does not begin as GOAL does is something else: its other words say nothing.
void GoalParser::parse_number_of_ranks() {
  if (tokens_.next().is("num_ranks")) {
    tokens_.take();
  } else {
    refuse(tokens_.next(), "\"num_ranks\", with which GOAL begins");
    problems_->throw_if_any();
  }
  const auto ranks = number("a number of ranks", kMostGoalRanks);
  if (ranks && *ranks == 0) problems_->note(tokens_.next().at, "", "there are no ranks");
  if (!ranks || *ranks == 0) problems_->throw_if_any();
  schedule_.ranks = static_cast<int>(ranks.value_or(1));
}

void GoalParser::parse_rank() {
  if (!expect("rank")) {
    tokens_.take();
    return skip_statement();
  }
  const Position number_at = tokens_.next().at;
  const auto rank = number("a rank", static_cast<std::uint64_t>(schedule_.ranks - 1));
  if (!expect("{")) return skip_statement();
  GoalRank program{static_cast<int>(rank.value_or(0)), {}};
  parse_block(program);
  if (!rank) return;
  const auto [given, fresh] = ranks_given_.try_emplace(program.rank, number_at);
  if (!fresh)
    problems_->note(
        number_at, "",
        fmt::format("rank {} was given before, at line {}", program.rank, given->second.line));
  schedule_.programs.push_back(std::move(program));
}

void GoalParser::parse_block(GoalRank& program) {
  labels_.clear();
  labels_in_order_.clear();
  dependencies_.clear();
  while (!tokens_.next().is("}")) {
    if (tokens_.next().kind == GoalToken::Kind::end) {
      refuse(tokens_.next(), "\"}\"");
      break;
    }
    if (!parse_statement(program)) skip_statement();
    if (tokens_.next().is(";")) tokens_.take();
  }
  tokens_.take();
  resolve(program);
}

bool GoalParser::parse_statement(GoalRank& program) {
  const GoalToken first = tokens_.take();
  if (first.is("rank") && is_digits(tokens_.next().text)) {
    problems_->note(first.at, "", fmt::format("rank {} is not closed with \"}}\"", program.rank));
    problems_->throw_if_any();  // what follows belongs to another rank
  }
  if (tokens_.next().is(":") && first.kind == GoalToken::Kind::word) {
    tokens_.take();
    return parse_operation(program, first, tokens_.take());
  }
  if (tokens_.next().is("requires") || tokens_.next().is("irequires"))
    return parse_dependency(first);
  return parse_operation(program, {}, first);
}

bool GoalParser::parse_dependency(const GoalToken& waiting) {
  const bool on_start = tokens_.take().is("irequires");
  if (tokens_.next().kind != GoalToken::Kind::word) {
    refuse(tokens_.next(), "a label");
    return false;
  }
  dependencies_.push_back({waiting, tokens_.take(), on_start});
  return true;
}

/// An operation that is no good is kept anyway, so that its label is known.
bool GoalParser::parse_operation(GoalRank& program, const GoalToken& label, const GoalToken& word) {
  GoalOperation operation;
  operation.at = label.text.empty() ? word.at : label.at;
  label_operation(label, operation, program.operations.size());
  const auto kind = std::find(kKinds.begin(), kKinds.end(), word.text);
  bool good = kind != kKinds.end();
  if (good) {
    operation.kind = static_cast<GoalOperation::Kind>(kind - kKinds.begin());
    good = word.is("calc") ? parse_calc(operation) : parse_message(operation);
    good = good && parse_options(operation);
  } else if (word.kind == GoalToken::Kind::word) {
    problems_->note(word.at, "", complain_of_name("operation", word.text, kKinds));
  } else {
    refuse(word, label.text.empty() ? "an operation or a dependency" : "send, recv or calc");
  }
  program.operations.push_back(std::move(operation));
  return good;
}

void GoalParser::label_operation(const GoalToken& label, GoalOperation& operation,
                                 std::size_t index) {
  if (label.text.empty()) return;
  operation.label = std::string{label.text};
  const auto [given, fresh] = labels_.try_emplace(label.text, static_cast<std::uint32_t>(index));
  labels_in_order_.push_back(label.text);
  if (!fresh)
    problems_->note(
        label.at, "",
        fmt::format("{} labels an operation of this rank already", in_quotes(label.text)));
}

bool GoalParser::parse_message(GoalOperation& operation) {
  const auto bytes = size();
  if (!bytes) return false;
  operation.size = Bytes{*bytes};
  if (!expect(operation.kind == GoalOperation::Kind::send ? "to" : "from")) return false;
  const auto peer = number("a rank", static_cast<std::uint64_t>(schedule_.ranks - 1));
  operation.peer = static_cast<int>(peer.value_or(0));
  return peer.has_value();
}

bool GoalParser::parse_calc(GoalOperation& operation) {
  const auto nanoseconds = number("nanoseconds", kMostNanoseconds);
  if (nanoseconds) operation.duration = 1_ns * static_cast<std::int64_t>(*nanoseconds);
  return nanoseconds.has_value();
}

bool GoalParser::parse_options(GoalOperation& operation) {
  bool tag = operation.kind == GoalOperation::Kind::calc;  // which has none
  bool cpu = false;
  bool nic = false;
  for (;;) {
    if (tokens_.next().is("tag") && !tag) {
      if (!parse_option("a tag", UINT32_MAX, tag, operation.tag)) return false;
    } else if (tokens_.next().is("cpu") && !cpu) {
      if (!parse_option("a cpu", kMostCpu, cpu, operation.cpu)) return false;
    } else if (tokens_.next().is("nic") && !nic) {
      if (!parse_option("a nic", kMostCpu, nic, operation.nic)) return false;
    } else {
      return true;
    }
  }
}

bool GoalParser::parse_option(std::string_view name, std::uint64_t most, bool& given,
                              std::uint32_t& value) {
  tokens_.take();
  given = true;
  const auto read = number(name, most);
  value = static_cast<std::uint32_t>(read.value_or(0));
  return read.has_value();
}

/// To what stands on a later line, after a semicolon, or closes the rank.
void GoalParser::skip_statement() {
  while (tokens_.next().kind != GoalToken::Kind::end &&
         tokens_.next().at.line == tokens_.last_line() && !tokens_.next().is(";") &&
         !tokens_.next().is("}"))
    tokens_.take();
}

void GoalParser::resolve(GoalRank& program) {
  for (const Dependency& dependency : dependencies_) {
    const auto waiting = find(dependency.waiting);
    const auto done = find(dependency.done);
    if (!waiting || !done) continue;
    GoalOperation& operation = program.operations[*waiting];
    (dependency.on_start ? operation.after_start : operation.after).push_back(*done);
  }
}

std::optional<std::uint32_t> GoalParser::find(const GoalToken& label) {
  const auto found = labels_.find(label.text);
  if (found != labels_.end()) return found->second;
  complain_of_label(label);
  return std::nullopt;
}

void GoalParser::complain_of_label(const GoalToken& label) {
  std::string text = fmt::format("no operation of this rank is labeled {}", shown(label));
  if (suggestions_left_ > 0 && labels_in_order_.size() <= kMostSuggested) {
    --suggestions_left_;
    if (const auto near = did_you_mean(label.text, labels_in_order_))
      text += fmt::format("; did you mean {}?", in_quotes(*near));
  }
  problems_->note(label.at, "", std::move(text));
}

bool GoalParser::expect(std::string_view wanted) {
  if (tokens_.next().is(wanted)) {
    tokens_.take();
    return true;
  }
  refuse(tokens_.next(), in_quotes(wanted));
  return false;
}

std::optional<std::uint64_t> GoalParser::number(std::string_view what, std::uint64_t most) {
  const auto value = digits(tokens_.next().text, most);
  if (!value) refuse(tokens_.next(), fmt::format("{} from 0 to {}", what, most));
  if (is_digits(tokens_.next().text)) tokens_.take();
  return value;
}

/// `1024b`.
std::optional<std::int64_t> GoalParser::size() {
  const std::string_view text = tokens_.next().text;
  const bool has_unit = !text.empty() && text.back() == 'b';
  const auto value = has_unit ? digits(text.substr(0, text.size() - 1), kMostBytes) : std::nullopt;
  if (!value) {
    refuse(tokens_.next(), "a size in bytes such as 1024b");
    return std::nullopt;
  }
  tokens_.take();
  return static_cast<std::int64_t>(*value);
}

void GoalParser::refuse(const GoalToken& got, std::string_view expected) {
  problems_->note(got.at, "", fmt::format("expected {}, got {}", expected, shown(got)));
}

}  // namespace lockstep
