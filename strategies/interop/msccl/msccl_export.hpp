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
  std::string problem;                // why it cannot be had; text is then empty
  std::vector<std::string> warnings;  // limits of MSCCL's that the program exceeds
};

/// A schedule as an MSCCL algorithm.
///
/// A rank sends to a peer on a channel from one tb, and receives from it in another. Every transfer
/// of a lane's step waits for all of the lane's step before and for the steps that it names; of
/// these dependencies those are written that no other implies. Local operations, and what only
/// waits for several at once, have a tb without connections for every lane.
///
/// MSCCL lets the transfers of a step run side by side. So what arrives where the same step sends
/// from or receives something else goes into scratch and is copied or added once the other is over.
/// A message of several runs of blocks is gathered in scratch, and taken apart on arrival.
///
/// Messages that one step sends to one peer on one channel travel on channels of their own. The
/// attribute `slots` of `algo` says what the schedule's slots() does, and `collective` what MSCCL
/// has no name for; both are our own. Read again, the program sends the same messages at the same
/// times where copies within a rank take none.
[[nodiscard]] MscclExport write_msccl(const Schedule& schedule, const MscclExportOptions& options);

}  // namespace lockstep
