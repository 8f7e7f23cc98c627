// What the command can do and the page cannot: reading schedules of XML, which needs pugixml,
// writing traces, and machine calibrations. No request leads here; the functions exist for the
// linker and say so.
#include "sim/execute/command_graph/backend.hpp"
#include "strategies/interop/msccl/msccl.hpp"
#include "tools/app/errors.hpp"
#include "tools/app/trace_stream.hpp"

namespace lockstep {

MscclImport read_msccl(const std::filesystem::path& path, const MscclOptions& options) {
  (void)path, (void)options;
  throw app::RequestError("schedule", "the page reads no schedules; use `lockstep collective`");
}

std::optional<Contract> MscclImport::contract() const {
  throw app::RequestError("schedule", "the page reads no schedules; use `lockstep collective`");
}

// As it is declared. NOLINTNEXTLINE(performance-unnecessary-value-param)
double median(std::vector<double> values) {
  (void)values;
  throw app::RequestError("calibration", "the page takes no machine calibrations");
}

namespace app {

void write_trace_file(const std::string& path, const std::function<void(const TextSink&)>& write,
                      const OnTraceSize& on_size) {
  (void)path, (void)write, (void)on_size;
  throw RequestError("trace", "the page writes no traces; use `lockstep run --trace`");
}

}  // namespace app

}  // namespace lockstep
