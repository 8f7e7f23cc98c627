#pragma once

namespace CLI {
class App;
}

namespace lockstep::cli {

/// Adds `strategy` to `lockstep verify`.
void add_verify_strategy(CLI::App& verify);

}  // namespace lockstep::cli
