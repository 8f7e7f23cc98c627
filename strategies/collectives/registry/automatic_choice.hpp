#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// What may stand in place of an algorithm, in `collective --algorithm` and `parallel.algorithms`.
namespace lockstep {

/// Who chooses an algorithm at each size:
///   auto:by=nccl                                    NCCL's tuning model
///   auto:by=nccl,windows=symmetric                  NCCL with both buffers in windows registered
///                                                   with NCCL_WIN_COLL_SYMMETRIC
///   auto:by=nccl,windows=symmetric,cta_policy=zero  and NCCL_CTA_POLICY_ZERO
///   auto:by=nccl,collnet=enable                     NCCL with NCCL_COLLNET_ENABLE=1 (default: 0)
///                                                   and a plugin that reduces in the network
///   auto:by=replay                                  the fastest of a replay alone
/// Parameters are separated by commas or colons.
struct AutomaticChoice {
  enum class By : std::uint8_t { nccl, replay };
  By by = By::nccl;
  bool symmetric_windows = false;
  bool zero_ctas = false;
  bool collnet = false;

  /// With commas.
  [[nodiscard]] std::string text() const;

  friend bool operator==(const AutomaticChoice&, const AutomaticChoice&) = default;
};

/// Whether the text is meant as a choice: `auto`, or `auto:` and more.
[[nodiscard]] bool is_automatic(std::string_view text);

struct ParsedAutomaticChoice {
  std::optional<AutomaticChoice> choice;
  std::string problem;  // why there is none
};

/// Parses one choice; `auto` alone, which is several, is none.
[[nodiscard]] ParsedAutomaticChoice parse_automatic_choice(std::string_view text);

}  // namespace lockstep
