#pragma once

#include <CLI/App.hpp>
#include <memory>
#include <string>

#include "sim/execute/cuda/plan/backend.hpp"

namespace lockstep::cli {

/// Which device runs what is otherwise only simulated, or executed as a reference.
struct BackendOption {
  std::string name{};  // empty: none was asked for
  int devices = 0;     // at most; 0: all there are

  /// Null where none was asked for. Throws UsageError for a name that is none, Refusal where there
  /// is no such device, beginning with "skipped".
  [[nodiscard]] std::unique_ptr<Backend> open() const;
  /// GPUs of it to use.
  [[nodiscard]] int count(const Backend& device) const;
};

/// --backend and --devices; `says`: what it does here.
void add_backend(CLI::App& command, const std::shared_ptr<BackendOption>& option,
                 const std::string& says);

}  // namespace lockstep::cli
