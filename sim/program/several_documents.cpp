#include "sim/program/several_documents.hpp"

#include <algorithm>

namespace lockstep {

bool may_hold_several(const PackedDocuments& packed, std::int64_t tokens) {
  if (const auto& drawn = packed.drawn) {
    if (drawn->kind == DocumentDraw::Kind::uniform) return drawn->shortest < tokens;
    return drawn->sigma > 0 || drawn->mean < static_cast<double>(tokens);
  }
  return std::any_of(packed.lists.begin(), packed.lists.end(),
                     [tokens](const auto& lengths) { return lengths.front() < tokens; });
}

}  // namespace lockstep
