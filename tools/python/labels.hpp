#pragma once

#include <cstdint>
#include <string>

#include "tools/python/session.hpp"

namespace lockstep::python {

/// Where a text has its names.
enum class Spelling : std::uint8_t { plain, json, html };

/// Documents of a call are files with a hash in their name. `text` with what users know instead: a
/// file is "cluster (dict)", an id what the document's own "name" says, such as that of a device.
[[nodiscard]] std::string with_labels(std::string text, const Documents& documents,
                                      Spelling spelling);

}  // namespace lockstep::python
