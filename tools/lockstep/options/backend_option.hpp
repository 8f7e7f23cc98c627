#pragma once

#include <CLI/App.hpp>
#include <memory>
#include <string>

#include "tools/lockstep/parser/command_parser.hpp"

#include "sim/execute/command_graph/backend.hpp"

namespace lockstep::cli {

/// Which device runs what is otherwise only simulated, or executed as a reference.
struct BackendOption {
  std::string name{};       // empty: none was asked for
  int devices = 0;          // at most; 0: all there are
  std::string transport{};  // copies, nccl; empty: copies

  /// With so many GPUs as were asked for, and that transport. Null where none was asked for. Throws
  /// UsageError for what is none, Refusal where there is no such device, beginning with "skipped".
  [[nodiscard]] std::unique_ptr<Backend> open() const;
};

/// --backend, --devices and --transport; `says`: what it does here.
void add_backend(const Command& command, const std::shared_ptr<BackendOption>& option,
                 const std::string& says);

}  // namespace lockstep::cli
