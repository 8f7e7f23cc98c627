#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/config/json/json.hpp"

/// Overrides (`--set`), applied to a JSON document before it is read.
namespace lockstep {

class Overlay {
 public:
  /// Applies one override. `parallel.tp=4` sets member `tp` of `parallel`, creating missing
  /// members. The value after the first `=` is JSON, else a string. A number between dots is an
  /// array index. Lists such as `parallel.overlap` may be comma-separated: `dp_gradients,pp`.
  /// Members may be set after `cluster=NAME` or `model=NAME`: the name becomes {"file": NAME}.
  /// Throws ConfigError, with the override as its file, if `=` or a key is missing or the path
  /// leads through a value without members.
  void apply(const std::string& assignment, JsonValue& root);

  /// The error with problems in overridden values attributed to their override:
  ///   --set parallel.tq=4: error: /parallel/tq: unknown key "tq"; did you mean "tp"?
  [[nodiscard]] ConfigError attributed(const ConfigError& error) const;

 private:
  struct Patch {
    std::string pointer;  // of the value
    std::string file;     // "--set parallel.tp=4"
  };
  /// The last override of a value; empty if there is none.
  [[nodiscard]] std::string override_of(const std::string& pointer) const;

  std::vector<Patch> patches_{};
};

}  // namespace lockstep
