#pragma once

#include <string>
#include <vector>

#include "sim/schedule/contract.hpp"
#include "sim/schedule/schedule.hpp"

namespace lockstep {

struct MscclExportOptions {
  Collective collective = Collective::all_reduce;
  int ranks = 1;  // that hold data
  int root = 0;
  int distance = 1;  // of send_recv
  std::string name{};
  std::string protocol = "Simple";  // or LL, LL128
};

struct MscclExport {
  std::string text;
  std::string problem;                // why the export is impossible; text is then empty
  std::vector<std::string> warnings;  // exceeded limits of MSCCL
};

/// A schedule as an MSCCL algorithm.
/// A rank uses one thread block per peer and channel for sending and another for receiving. Every
/// transfer of a step depends on the lane's previous step and the step's named dependencies;
/// implied dependencies are omitted. Every lane has a thread block without connections for local
/// operations and for joining several dependencies.
/// MSCCL executes the transfers of a step concurrently. So data that arrives where the same step
/// sends from, or receives more, goes to scratch and is copied or added after the other transfer. A
/// message of several runs of blocks is gathered in scratch and scattered on arrival.
/// Several messages of one step to one peer on one channel use channels of their own. Two
/// attributes of `algo` are extensions: `slots`, the schedule's slots(), and `collective` with
/// names that MSCCL lacks. When read again, the program sends the same messages at the same times
/// if copies within a rank take no time.
[[nodiscard]] MscclExport write_msccl(const Schedule& schedule, const MscclExportOptions& options);

}  // namespace lockstep
