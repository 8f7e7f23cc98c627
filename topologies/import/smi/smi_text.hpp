#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topologies/import/smi/smi_matrix.hpp"

/// Lines of nvidia-smi's tables: what stands in their columns.
namespace lockstep {

/// A column of a line and where it stands in the text.
struct SmiField {
  std::string text;
  std::size_t offset = 0;
};
using SmiFields = std::vector<SmiField>;

struct SmiLine {
  std::size_t offset = 0;  // in the text
  std::string_view text;   // without its end

  /// Its columns, between tabs where it has any, else between blanks; escape sequences of colors
  /// and blanks at the edges are taken off.
  [[nodiscard]] SmiFields fields() const;
};

[[nodiscard]] std::vector<SmiLine> smi_lines(std::string_view text);

/// Whether it is `prefix` and a number, such as "GPU12".
[[nodiscard]] bool is_numbered(std::string_view text, std::string_view prefix);

/// The devices that a heading names, GPU0 and so on; empty where the line is none.
[[nodiscard]] std::vector<std::string> smi_heading(const SmiFields& fields);

/// "NV12", "PIX"; nothing where it is no cell of `nvidia-smi topo -m`.
[[nodiscard]] std::optional<SmiCell> parse_smi_cell(std::string_view text);

/// A cell of `nvidia-smi topo -p2p`, such as "OK" or "CNS", which is none of the other table.
[[nodiscard]] bool is_p2p_cell(std::string_view text);

/// "  PIX  = Connection traversing at most a single PCIe bridge", a title, a command line or
/// nothing at all: text without information on a machine.
[[nodiscard]] bool is_smi_legend(const SmiFields& fields);

}  // namespace lockstep
