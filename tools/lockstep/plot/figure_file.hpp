#pragma once

#include <string>
#include <vector>

namespace lockstep::cli {

/// "pipeline=steps.svg": which figure, and where to. The kind of a bare file name is empty.
struct FigureTarget {
  std::string kind;
  std::string file;  // "-": standard output

  /// Text instead of a picture: "-" or a file that ends in .txt.
  [[nodiscard]] bool is_text() const;
};

struct FigureChoices {
  std::vector<std::string> kinds;  // may be empty: one unnamed figure
  std::string fallback{};
  bool text = false;
};

/// Parses a value of --plot. The kind of a bare file name is its stem ("pipeline.svg"), else
/// `fallback`. With `text`, .txt and "-" are allowed besides .svg, .pdf and .png. Throws UsageError
/// for an unknown or missing kind and any other file.
[[nodiscard]] FigureTarget parse_figure_target(const std::string& text,
                                               const FigureChoices& choices);

/// Checks before a long computation what write_figure() would throw: UsageError for a file given
/// twice, IoError, Refusal if a converter is missing.
void check_figure_targets(const std::vector<FigureTarget>& targets);

/// Writes a figure, as a whole or not at all: SVG and text as they are, PDF and PNG (twice the
/// figure's pixels) by rsvg-convert. Throws IoError, Refusal.
void write_figure(const std::string& figure, const FigureTarget& target);

}  // namespace lockstep::cli
