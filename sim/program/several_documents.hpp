#pragma once

#include <cstdint>

#include "sim/program/packed_documents.hpp"

namespace lockstep {

/// Whether some sequence of so many tokens may hold several documents.
[[nodiscard]] bool may_hold_several(const PackedDocuments& packed, std::int64_t tokens);

}  // namespace lockstep
