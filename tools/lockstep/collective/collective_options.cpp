#include "tools/lockstep/collective/collective_options.hpp"

#include "tools/lockstep/options/number_option.hpp"
#include "tools/lockstep/parser/command_parser.hpp"

namespace lockstep::cli {

void add_candidate_options(const Command& command, CandidateNames& names) {
  command.group("Algorithm");
  command
      .add_option("collective", names.collectives,
                  "One or several, separated by commas: all_reduce, reduce_scatter, all_gather, "
                  "broadcast, reduce, scatter, gather, all_to_all, send_recv, barrier")
      ->type_name("NAME,...");
  command
      .add_option(
          "--algorithm,--algorithms,-a", names.algorithms,
          "One or several, separated by commas, with parameters as in parameter_server:shards=4; "
          "`lockstep list algorithms` names them. all: all that the cluster allows; auto:by=nccl: "
          "NCCL's choice, with windows=symmetric that of registered buffers, with cta_policy=zero "
          "of copy engines, and with collnet=enable of SHARP; auto:by=replay: the fastest in the "
          "simulation; auto: "
          "both (default: ring)")
      ->type_name("NAME,...");
  command
      .add_option("--schedule", names.schedules,
                  "MSCCL XML file with a schedule to compare; repeatable")
      ->type_name("FILE");
  add_whole_number(
      command, "--slots", 0, 1 << 20, [&names](auto n) { names.slots = static_cast<int>(n); },
      "Messages in flight per connection of imported schedules; 0: rendezvous (default: the "
      "protocol's)");
  command.group("");
}

void add_nccl_options(const Command& command, NcclRequest& request) {
  command.group("NCCL's choice");
  command
      .add_option("--nccl", request.version, "Version of NCCL whose tuning auto:by=nccl follows")
      ->type_name("VERSION")
      ->capture_default_str();
  command
      .add_option("--nccl-algo", request.algorithms,
                  "Algorithms NCCL may choose from, as in NCCL_ALGO: \"ring,tree;allreduce:^tree\"")
      ->type_name("LIST");
  command
      .add_option("--nccl-proto", request.protocols,
                  "Protocols NCCL may choose from, as in NCCL_PROTO")
      ->type_name("LIST");
  command
      .add_option("--calibration", request.calibration,
                  "Calibration file with the costs of collectives that auto:by=nccl compares")
      ->type_name("FILE");
  command.group("");
}

}  // namespace lockstep::cli
