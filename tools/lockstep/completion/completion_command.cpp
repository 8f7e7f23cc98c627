#include <fmt/format.h>

#include <memory>
#include <string>

#include "tools/lockstep/commands.hpp"
#include "tools/lockstep/completion/complete.hpp"
#include "tools/lockstep/completion/scripts.hpp"
#include "tools/lockstep/output/errors.hpp"
#include "tools/lockstep/output/output.hpp"
#include "tools/lockstep/parser/command_parser.hpp"

namespace lockstep::cli {

std::string completions(const Command& app, const std::vector<std::string>& words) {
  return completion_lines(complete(app.describe(), words));
}

void add_completion(const Command& app) {
  const Command command =
      app.add_subcommand("completion", "Print the completion script of a shell");
  const auto shell = std::make_shared<std::string>();
  command->add_option("shell", *shell, "Shell: bash, zsh or fish")
      ->required()
      ->type_name("bash|zsh|fish");
  command->footer(
      "An installed lockstep has its scripts in place. Without installation:\n"
      "  bash: source <(lockstep completion bash), in ~/.bashrc\n"
      "  zsh:  source <(lockstep completion zsh), in ~/.zshrc after compinit\n"
      "  fish: lockstep completion fish | source, in ~/.config/fish/config.fish\n\n"
      "Examples:\n"
      "  lockstep completion bash\n"
      "  lockstep completion zsh");
  command->callback([shell] {
    for (const CompletionScript& each : completion_scripts())
      if (each.shell == *shell) return print(std::string{each.text});
    throw UsageError(fmt::format("shell: expected bash, zsh or fish, got \"{}\"", *shell));
  });
}

}  // namespace lockstep::cli
