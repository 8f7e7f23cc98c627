#pragma once

#include <string_view>

namespace lockstep::hugging_face {

/// Keys of config.json that affect neither parameters nor counted operations: token ids, rotary
/// scaling, scales and caps inside kernels, expert selection, dtypes and versions. Not reported.
[[nodiscard]] bool is_without_effect(std::string_view key);

}  // namespace lockstep::hugging_face
