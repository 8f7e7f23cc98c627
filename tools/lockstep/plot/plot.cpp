#include "tools/lockstep/plot/plot.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "tools/lockstep/errors.hpp"
#include "tools/lockstep/output.hpp"
#include "tools/lockstep/plot/plot_file.hpp"
#include "tools/lockstep/plot/plot_gnuplot.hpp"
#include "tools/lockstep/plot/plot_script.hpp"

namespace lockstep::cli {

namespace {

bool ends_in(const std::string& text, std::string_view end) {
  return text.size() > end.size() && text.ends_with(end);
}

PlotKind kind_of(const std::string& target) {
  if (target == "-" || ends_in(target, ".txt")) return PlotKind::text;
  if (ends_in(target, ".svg")) return PlotKind::svg;
  throw UsageError(fmt::format(
      "--plot: expected a file that ends in .svg or .txt, or - for the terminal, got \"{}\"",
      target));
}

/// gnuplot's text fills its lines with spaces and ends pages.
std::string without_padding(const std::string& text) {
  std::string out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    std::erase(line, '\f');
    line.erase(line.find_last_not_of(' ') + 1);
    if (!out.empty() || !line.empty()) out += line + "\n";
    begin = end + 1;
  }
  out.erase(out.find_last_not_of('\n') + 1);
  return out + "\n";
}

}  // namespace

void check_plot_target(const std::string& target) {
  (void)kind_of(target);
  require_gnuplot();
  if (target == "-") return;
  const std::filesystem::path folder = std::filesystem::path(target).parent_path();
  if (access(folder.empty() ? "." : folder.c_str(), W_OK) != 0)
    throw IoError("cannot write " + target);
}

void plot(std::span<const PlotSeries> series, const PlotAxes& axes, const std::string& target) {
  const PlotKind kind = kind_of(target);
  const std::string drawn = run_gnuplot(plot_script(series, axes, kind));
  const std::string text = kind == PlotKind::text ? without_padding(drawn) : drawn;
  if (target == "-") {
    print(text);
  } else {
    write_whole_file(target, text);
  }
}

}  // namespace lockstep::cli
