#include "tools/lockstep/plot/figure_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "tools/app/write_file.hpp"
#include "tools/lockstep/output/errors.hpp"
#include "tools/lockstep/output/output.hpp"
#include "tools/lockstep/plot/child_process.hpp"

namespace lockstep::cli {

namespace {

std::string extension_of(const std::string& file) {
  return std::filesystem::path(file).extension().string();
}

bool is_kind(const std::vector<std::string>& kinds, const std::string& text) {
  return std::find(kinds.begin(), kinds.end(), text) != kinds.end();
}

void check_file(const FigureTarget& target, bool text) {
  const std::string extension = extension_of(target.file);
  if (extension == ".svg" || extension == ".pdf" || extension == ".png") return;
  if (text && target.is_text()) return;
  throw UsageError(fmt::format("--plot: expected a file that ends in .svg, .pdf{}, got \"{}\"",
                               text ? ", .png or .txt, or - for text on the terminal" : " or .png",
                               target.file));
}

constexpr const char* kConverter = "rsvg-convert";
constexpr const char* kEmptySvg =
    R"(<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>)";

bool needs_converter(const std::string& extension) {
  return extension == ".pdf" || extension == ".png";
}

std::string converted(const std::string& svg, const std::string& extension) {
  std::vector<std::string> command{kConverter, "--format", extension.substr(1)};
  if (extension == ".png") command.insert(command.end(), {"--zoom", "2"});
  const FinishedProcess finished = run_process(command, svg);
  if (!finished.started)
    throw Refusal(
        fmt::format("--plot: {} files are converted by {}, which is not installed; on "
                    "Debian: apt-get install librsvg2-bin. Files that end in .svg need "
                    "no converter",
                    extension.substr(1), kConverter));
  if (finished.status != 0 || finished.out.empty())
    throw Refusal(fmt::format("--plot: {} failed: {}", kConverter,
                              finished.err.empty() ? "no output" : first_line(finished.err)));
  return finished.out;
}

}  // namespace

bool FigureTarget::is_text() const {
  return file == "-" || extension_of(file) == ".txt";
}

FigureTarget parse_figure_target(const std::string& text, const FigureChoices& choices) {
  FigureTarget out;
  const std::vector<std::string>& kinds = choices.kinds;
  const std::size_t equals = text.find('=');
  if (!kinds.empty() && equals != std::string::npos && text.find('/') > equals) {
    out = {text.substr(0, equals), text.substr(equals + 1)};
    if (!is_kind(kinds, out.kind))
      throw UsageError(fmt::format("--plot: unknown figure \"{}\"; available: {}", out.kind,
                                   fmt::join(kinds, ", ")));
  } else {
    const std::string stem = std::filesystem::path(text).stem().string();
    out = {is_kind(kinds, stem) ? stem : choices.fallback, text};
  }
  if (out.kind.empty() && !kinds.empty())
    throw UsageError(
        fmt::format("--plot: expected FIGURE=FILE, such as {}=FILE.svg, with FIGURE one of {}; got "
                    "\"{}\"",
                    kinds.front(), fmt::join(kinds, ", "), text));
  check_file(out, choices.text);
  return out;
}

void check_figure_targets(const std::vector<FigureTarget>& targets) {
  std::set<std::string> files;
  for (const FigureTarget& target : targets) {
    if (!files.insert(target.file).second)
      throw UsageError(fmt::format("--plot: {} is given twice", target.file));
    if (target.file == "-") continue;
    app::check_writable(target.file);
    const std::string extension = extension_of(target.file);
    if (needs_converter(extension)) (void)converted(kEmptySvg, extension);
  }
}

void write_figure(const std::string& figure, const FigureTarget& target) {
  const std::string extension = extension_of(target.file);
  if (target.file == "-") {
    print("\n" + figure);
  } else {
    app::write_file(target.file,
                    needs_converter(extension) ? converted(figure, extension) : figure);
  }
}

}  // namespace lockstep::cli
