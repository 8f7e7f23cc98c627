#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topologies/import/smi/smi_matrix.hpp"

/// Lines and columns of nvidia-smi's tables.
namespace lockstep {

/// A column of a line with its position.
struct SmiField {
  std::string text;
  std::size_t offset = 0;
};
using SmiFields = std::vector<SmiField>;

struct SmiLine {
  std::size_t offset = 0;  // in the text
  std::string_view text;   // without line end

  /// Its columns, separated by tabs if there are any, else by blanks; without color escapes and
  /// surrounding blanks.
  [[nodiscard]] SmiFields fields() const;
};

[[nodiscard]] std::vector<SmiLine> smi_lines(std::string_view text);

/// Whether it is `prefix` followed by a number, such as "GPU12".
[[nodiscard]] bool is_numbered(std::string_view text, std::string_view prefix);

/// The devices in a heading, GPU0 and so on; empty for other lines.
[[nodiscard]] std::vector<std::string> smi_heading(const SmiFields& fields);

/// "NV12", "PIX"; none if it is no cell of `nvidia-smi topo -m`.
[[nodiscard]] std::optional<SmiCell> parse_smi_cell(std::string_view text);

/// Whether it is a cell of `nvidia-smi topo -p2p`, such as "OK" or "CNS".
[[nodiscard]] bool is_p2p_cell(std::string_view text);

/// Whether a line is without information: "  PIX  = Connection traversing at most a single PCIe
/// bridge", a title, a command line, or blank.
[[nodiscard]] bool is_smi_legend(const SmiFields& fields);

}  // namespace lockstep
