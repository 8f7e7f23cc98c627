#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/config/json.hpp"

/// Values laid over a JSON document before it is read: those of `--set`.
namespace lockstep {

class Overlay {
 public:
  /// `parallel.tp=4`: the member `tp` of `parallel` becomes 4; members that are not there are made.
  /// What is behind the first `=` is JSON, or else a text. A number between dots is the place in an
  /// array. Lists, such as `parallel.overlap`, may be items with commas between: `dp_gradients,pp`.
  /// `cluster=NAME` and `model=NAME` may stand before members of theirs: a name becomes
  /// {"file": NAME}.
  /// Errors: ConfigError, with the override as its file, where it has no `=`, an empty key, or
  /// leads into what has no members.
  void apply(const std::string& assignment, JsonValue& root);

  /// The error with what concerns values that were laid over reported as of where they come from:
  ///   --set parallel.tq=4: error: /parallel/tq: unknown key "tq"; did you mean "tp"?
  [[nodiscard]] ConfigError attributed(const ConfigError& error) const;

 private:
  struct Patch {
    std::string pointer;  // of the value
    std::string file;     // "--set parallel.tp=4"
  };
  std::vector<Patch> patches_{};
};

}  // namespace lockstep
