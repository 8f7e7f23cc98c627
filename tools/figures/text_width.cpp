#include "tools/figures/text_width.hpp"

#include <array>

namespace lockstep::figures {

namespace {

/// Of U+0020 to U+007E in thousandths of the font size (DejaVu Sans 2.37, table hmtx).
constexpr std::array<short, 95> kAdvances = {
    318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361,  318, 337, 636, 636, 636,
    636, 636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632,
    575, 775, 752, 295, 295, 656, 557, 863, 748, 787, 603, 787, 695, 635,  611, 732, 684, 989, 685,
    611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550, 635, 615, 352,  635, 634, 278, 278, 579,
    278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592,  525, 636, 337, 636, 838};
/// The same of DejaVu Sans Bold.
constexpr std::array<short, 95> kBoldAdvances = {
    348,  456, 521, 838, 696, 1002, 872, 306,  457, 457, 523, 838, 380, 415,  380, 365,
    696,  696, 696, 696, 696, 696,  696, 696,  696, 696, 400, 400, 838, 838,  838, 580,
    1000, 774, 762, 734, 830, 683,  683, 821,  837, 372, 372, 775, 637, 995,  837, 850,
    733,  850, 770, 720, 682, 812,  774, 1103, 771, 724, 725, 457, 365, 457,  838, 500,
    500,  675, 716, 593, 716, 678,  435, 716,  712, 343, 343, 665, 343, 1042, 712, 687,
    716,  716, 493, 595, 478, 712,  652, 924,  645, 652, 582, 712, 365, 712,  838};
constexpr int kOther = 838;  // of any other character; arrows and signs have it

bool continues_character(char c) {
  return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U;
}

}  // namespace

double text_width(std::string_view text, double size, bool bold) {
  const auto& advances = bold ? kBoldAdvances : kAdvances;
  int thousandths = 0;
  for (const char c : text) {
    if (continues_character(c)) continue;
    const bool plain = c >= 0x20 && c <= 0x7e;
    thousandths += plain ? advances.at(static_cast<std::size_t>(c - 0x20)) : kOther;
  }
  return thousandths * size / 1000;
}

std::vector<std::string> wrapped(std::string_view text, double size, double width, bool bold) {
  std::vector<std::string> out;
  std::string line;
  while (!text.empty()) {
    const std::size_t space = text.find(' ');
    const std::string word{text.substr(0, space)};
    text.remove_prefix(space == std::string_view::npos ? text.size() : space + 1);
    if (!line.empty() && text_width(line + " " + word, size, bold) > width) {
      out.push_back(line);
      line.clear();
    }
    line += line.empty() ? word : " " + word;
  }
  if (!line.empty()) out.push_back(line);
  return out;
}

std::string shortened(std::string_view text, double size, double width) {
  if (text_width(text, size) <= width) return std::string{text};
  while (!text.empty() && text_width(text, size) + kOther * size / 1000 > width) {
    while (text.size() > 1 && continues_character(text.back())) text.remove_suffix(1);
    text.remove_suffix(1);
  }
  return std::string{text} + "…";
}

}  // namespace lockstep::figures
