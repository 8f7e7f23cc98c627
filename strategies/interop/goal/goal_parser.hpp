#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "strategies/interop/goal/goal.hpp"
#include "strategies/interop/goal/goal_tokens.hpp"

namespace lockstep {

/// Parses GOAL text statement by statement; resumes after an error at the next line.
class GoalParser {
 public:
  GoalParser(std::string_view text, Problems& problems) : tokens_{text}, problems_{&problems} {}

  /// The valid part; problems have been reported.
  [[nodiscard]] GoalSchedule parse();

 private:
  struct Dependency {
    GoalToken waiting;
    GoalToken done;
    bool on_start = false;
  };

  // The file.
  void parse_number_of_ranks();
  void parse_rank();
  void parse_block(GoalRank& program);

  // Statements. false: the problem has been reported.
  bool parse_statement(GoalRank& program);
  bool parse_dependency(const GoalToken& waiting);
  bool parse_operation(GoalRank& program, const GoalToken& label, const GoalToken& word);
  bool parse_message(GoalOperation& operation);
  bool parse_calc(GoalOperation& operation);
  bool parse_options(GoalOperation& operation);
  bool parse_option(std::string_view name, std::uint64_t most, bool& given, std::uint32_t& value);
  void label_operation(const GoalToken& label, GoalOperation& operation, std::size_t index);
  void skip_statement();

  // Labels, resolved after a rank has been read.
  void resolve(GoalRank& program);
  [[nodiscard]] std::optional<std::uint32_t> find(const GoalToken& label);
  void complain_of_label(const GoalToken& label);

  // Words and numbers. Empty: the problem has been reported.
  bool expect(std::string_view wanted);
  std::optional<std::uint64_t> number(std::string_view what, std::uint64_t most);
  std::optional<std::int64_t> size();
  void refuse(const GoalToken& got, std::string_view expected);

  GoalTokens tokens_;
  Problems* problems_;
  GoalSchedule schedule_;
  std::unordered_map<int, Position> ranks_given_;
  std::unordered_map<std::string_view, std::uint32_t> labels_;  // of the rank being read
  std::vector<std::string_view> labels_in_order_;
  std::vector<Dependency> dependencies_;
  std::size_t suggestions_left_ = ConfigError::kMostPrinted;
};

}  // namespace lockstep
