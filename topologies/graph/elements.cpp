#include "topologies/graph/elements.hpp"

#include <algorithm>

namespace lockstep {
namespace {

template <class Kind, std::size_t N>
std::optional<Kind> parse(const std::array<std::string_view, N>& names, std::string_view text) {
  const auto found = std::find(names.begin(), names.end(), text);
  if (found == names.end()) return std::nullopt;
  return static_cast<Kind>(found - names.begin());
}

}  // namespace

std::optional<VertexKind> parse_vertex_kind(std::string_view text) {
  return parse<VertexKind>(kVertexKindNames, text);
}

std::optional<LinkKind> parse_link_kind(std::string_view text) {
  if (text == "xgmi") return LinkKind::nvlink;  // AMD's name of direct links between GPUs
  return parse<LinkKind>(kLinkKindNames, text);
}

LinkFigures LinkFigures::times(int count) const {
  LinkFigures several = *this;
  several.bandwidth = bandwidth.scaled(count);
  return several;
}

}  // namespace lockstep
