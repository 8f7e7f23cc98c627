#pragma once

#include <string_view>

namespace lockstep::hugging_face {

/// Keys of config.json that change neither parameters nor operations that are counted: ids of
/// tokens, how positions are turned, scales and caps within kernels, which of the experts are
/// chosen, dtypes and versions. They are not reported.
[[nodiscard]] bool is_without_effect(std::string_view key);

}  // namespace lockstep::hugging_face
