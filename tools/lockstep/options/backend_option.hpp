#pragma once

#include <CLI/App.hpp>
#include <memory>
#include <string>

#include "tools/lockstep/parser/command_parser.hpp"

#include "sim/execute/command_graph/backend.hpp"

namespace lockstep::cli {

/// The device that executes what is otherwise simulated or executed by the reference.
struct BackendOption {
  std::string name{};       // empty: no backend
  int devices = 0;          // maximum; 0: all
  std::string transport{};  // copies, nccl; empty: copies

  /// Opens it with the given number of GPUs and transport. Null if no backend is set. Throws
  /// UsageError for an unknown name, Refusal (starting with "skipped") if there is no such device.
  [[nodiscard]] std::unique_ptr<Backend> open() const;
};

/// --backend, --devices and --transport; `says` describes the effect in this command.
void add_backend(const Command& command, const std::shared_ptr<BackendOption>& option,
                 const std::string& says);

}  // namespace lockstep::cli
