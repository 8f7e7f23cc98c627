#include "tools/lockstep/options/backend_option.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/execute/command_graph/open_backend.hpp"
#include "tools/lockstep/options/number_option.hpp"
#include "tools/lockstep/output/errors.hpp"
#include "tools/lockstep/parser/command_parser.hpp"

namespace lockstep::cli {

namespace {

/// A device of which only some GPUs are used, and one way between them.
class ChosenBackend final : public Backend {
 public:
  ChosenBackend(std::unique_ptr<Backend> all, int devices, bool nccl)
      : all_{std::move(all)}, devices_{devices}, nccl_{nccl} {}

  [[nodiscard]] std::string name() const override { return all_->name(); }
  [[nodiscard]] int count() const override {
    return devices_ == 0 ? all_->count() : std::min(devices_, all_->count());
  }
  [[nodiscard]] DeviceFacts facts() const override { return all_->facts(); }
  [[nodiscard]] std::unique_ptr<LoadedCommandGraph> load(const CommandGraph& graph,
                                                         const LoadOptions& options) override {
    LoadOptions chosen = options;
    chosen.nccl = chosen.nccl || nccl_;
    return all_->load(graph, chosen);
  }
  [[nodiscard]] std::vector<double> host_copy_seconds(std::int64_t bytes, bool to_device,
                                                      int repeats) override {
    return all_->host_copy_seconds(bytes, to_device, repeats);
  }
  [[nodiscard]] std::vector<double> library_seconds(Collective collective, std::int64_t bytes,
                                                    int devices, int repeats) override {
    return all_->library_seconds(collective, bytes, devices, repeats);
  }

 private:
  std::unique_ptr<Backend> all_;
  int devices_;
  bool nccl_;
};

void check(const BackendOption& of) {
  const auto names = backend_names();
  if (of.name.empty() && of.devices > 0) throw UsageError("--devices requires --backend");
  if (of.name.empty() && !of.transport.empty()) throw UsageError("--transport requires --backend");
  if (!of.name.empty() && std::find(names.begin(), names.end(), of.name) == names.end())
    throw UsageError(fmt::format("--backend: expected host or cuda, got \"{}\"", of.name));
  if (!of.transport.empty() && of.transport != "copies" && of.transport != "nccl")
    throw UsageError(fmt::format("--transport: expected copies or nccl, got \"{}\"", of.transport));
  if (of.name == "host" && of.transport == "nccl")
    throw UsageError("--transport nccl requires --backend cuda");
}

}  // namespace

std::unique_ptr<Backend> BackendOption::open() const {
  check(*this);
  if (name.empty()) return nullptr;
  try {
    return std::make_unique<ChosenBackend>(open_backend(name), devices, transport == "nccl");
  } catch (const NoDevice& error) {
    throw Refusal(fmt::format("skipped: {}", error.what()));
  }
}

void add_backend(const Command& command, const std::shared_ptr<BackendOption>& option,
                 const std::string& says) {
  command.add_option("--backend", option->name, says)->type_name("host|cuda");
  constexpr int kMostDevices = 1024;
  add_whole_number(
      command, "--devices", 1, kMostDevices,
      [option](auto n) { option->devices = static_cast<int>(n); },
      "Maximum number of GPUs, with --backend (default: all)");
  command
      .add_option("--transport", option->transport,
                  "Transport between GPUs, with --backend cuda: peer-to-peer copies, or NCCL send "
                  "and receive (default: copies)")
      ->type_name("copies|nccl");
}

}  // namespace lockstep::cli
