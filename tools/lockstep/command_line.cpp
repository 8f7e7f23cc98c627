#include "tools/lockstep/command_line.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/lockstep/commands.hpp"
#include "tools/lockstep/output/errors.hpp"
#include "tools/lockstep/output/output.hpp"
#include "tools/lockstep/output/version.hpp"
#include "tools/lockstep/parser/command_parser.hpp"
#include "tools/lockstep/parser/parser_pool.hpp"

namespace lockstep::cli {

namespace {

using Add = void (*)(const Command&);
constexpr std::array<std::pair<std::string_view, Add>, 24> kCommands{{
    {"collective", add_collective},
    {"topology", add_topology},
    {"explain", add_explain},
    {"complexity", add_complexity},
    {"schedule", add_schedule},
    {"replay", add_replay},
    {"run", add_run},
    {"compare", add_compare},
    {"sensitivity", add_sensitivity},
    {"campaign", add_campaign},
    {"report", add_report},
    {"trace", add_trace_serve},
    {"sweep", add_sweep},
    {"plan", add_plan},
    {"merge", add_merge},
    {"query", add_query},
    {"calibrate", add_calibrate},
    {"teach", add_teach},
    {"list", add_list},
    {"validate", add_validate},
    {"verify", add_verify},
    {"completion", add_completion},
    {"man", add_man},
    {"help", add_help},
}};

/// A parser of one command.
void add_only(const std::string& name, const Command& app) {
  for (const auto& [known, add] : kCommands)
    if (known == name) return add(app);
  throw UsageError(fmt::format("no command \"{}\"", name));
}

std::unique_ptr<CommandParser> parser_of(const std::string& command) {
  auto out = std::make_unique<CommandParser>("lockstep", "", "", "");
  add_only(command, out->root());
  return out;
}

/// Parses and executes, with every complaint of the parser.
void parse_and_run(const CommandParser& parser, const std::vector<std::string>& words) {
  std::vector<std::string> all = words;
  all.insert(all.begin(), "lockstep");
  std::vector<char*> argv;
  for (std::string& word : all) argv.push_back(word.data());
  if (const std::string text = parser.parse(static_cast<int>(argv.size()), argv.data());
      !text.empty())
    print(text);
}

}  // namespace

int run_command_line(int argc, char** argv) {
  const CommandParser parser(
      "lockstep",
      "Simulate distributed training clusters: training steps and collectives, every transfer on "
      "every link.",
      std::string{"lockstep "} + kVersion,
      "Examples:\n"
      "  lockstep collective all_reduce --cluster configs/clusters/star.json --ranks 8 --algorithm "
      "ring -b 64M -e 64M\n"
      "  lockstep list algorithms\n"
      "\n"
      "Environment:\n"
      "  LOCKSTEP_CONFIGS       Folder of the configs, instead of the installed one\n"
      "  LOCKSTEP_CUDA_LIBRARY  CUDA backend to load, instead of the installed one\n"
      "\n"
      "Exit codes: 0 success, 1 negative result (does not fit, verification failed), 2 invalid "
      "input, 3 internal error, 4 failed write, 130 interrupted. `lockstep help WORD` explains "
      "commands, columns and concepts.");
  const Command app = parser.root();
  for (const auto& [name, add] : kCommands) add(app);
  if (argc > 1 && std::string_view{argv[1]} == "__complete") {  // for the scripts of `completion`
    print(completions(app, {argv + 2, argv + argc}));
    return kDone;
  }
  if (const std::string text = parser.parse(argc, argv); !text.empty()) print(text);
  return kDone;
}

double run_command(const std::vector<std::string>& words) {
  static auto& parsers = *new ParserPool{parser_of};  // commands may still run at the very end
  const auto begun = std::chrono::steady_clock::now();
  {
    const ParserPool::Lease parser(parsers, words.front());
    const std::function<void()>* act = parser->action_of(words);
    if (act == nullptr) {
      parse_and_run(*parser_of(words.front()), words);
      return 0;
    }
    (*act)();
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}

CommandInfo describe_command(const std::string& name) {
  return parser_of(name)->root().describe().commands.front();
}

}  // namespace lockstep::cli
