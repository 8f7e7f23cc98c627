#include "tests/bench/simgrid_run.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>
#include <map>
#include <stdexcept>

#include "tests/simgrid/simgrid_platform.hpp"

namespace lockstep {
namespace {

namespace s4u = simgrid::s4u;

/// What an actor does: one rank of the schedule.
class Rank {
 public:
  Rank(const CollectiveCall& call, int rank) : call_{call}, rank_{rank} {}

  void operator()() {
    if (!call_.starts.empty()) {
      const TimePoint start = call_.starts[static_cast<std::size_t>(rank_)];
      s4u::this_actor::sleep_until(start.since_start().seconds());
    }
    const std::int64_t steps = call_.schedule->steps(rank_, 0);
    for (std::int64_t index = 0; index < steps; ++index) run(index);
  }

 private:
  void run(std::int64_t index) {
    step_.clear();
    call_.schedule->step(rank_, 0, index, step_);
    std::vector<s4u::CommPtr> comms;
    for (const Receive& receive : step_.receives) {
      comms.push_back(mailbox(receive.peer, rank_).get_async(&received_));
    }
    for (const Send& send : step_.sends) {
      const Bytes size = call_.block * send.chunk.count;
      comms.push_back(
          mailbox(rank_, send.peer).put_async(&step_, static_cast<std::uint64_t>(size.count())));
    }
    for (const s4u::CommPtr& comm : comms) comm->wait();
  }

  s4u::Mailbox& mailbox(int from, int to) {
    s4u::Mailbox*& known = mailboxes_[{from, to}];
    if (known == nullptr) known = s4u::Mailbox::by_name(fmt::format("{} {}", from, to));
    return *known;
  }

  const CollectiveCall& call_;
  int rank_;
  ScheduleStep step_;
  ScheduleStep* received_ = nullptr;
  std::map<std::pair<int, int>, s4u::Mailbox*> mailboxes_;
};

void add_routes(const CollectiveCall& call, SimgridPlatform& platform) {
  ScheduleStep step;
  for (int rank = 0; rank < call.schedule->ranks(); ++rank) {
    for (std::int64_t index = 0; index < call.schedule->steps(rank, 0); ++index) {
      step.clear();
      call.schedule->step(rank, 0, index, step);
      for (const Send& send : step.sends) {
        platform.add_route(static_cast<EndpointId>(rank), static_cast<EndpointId>(send.peer));
      }
    }
  }
}

double cpu_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

SimgridRun run_here(const Network& network, const CollectiveCall& call) {
  start_simgrid();
  SimgridPlatform platform{"bench", network, SimgridLatency::on_links, nullptr};
  add_routes(call, platform);
  platform.seal();
  const double begin = cpu_seconds();
  for (int rank = 0; rank < call.schedule->ranks(); ++rank) {
    s4u::Actor::create("rank", platform.host(static_cast<EndpointId>(rank)), Rank{call, rank});
  }
  s4u::Engine::get_instance()->run();
  return {s4u::Engine::get_clock(), cpu_seconds() - begin};
}

[[noreturn]] void child(const Network& network, const CollectiveCall& call, int out) {
  const SimgridRun run = run_here(network, call);
  const bool written = write(out, &run, sizeof run) == ssize_t{sizeof run};
  _exit(written ? 0 : 1);
}

}  // namespace

SimgridRun run_in_simgrid(const Network& network, const CollectiveCall& call) {
  int ends[2] = {};
  if (pipe(ends) != 0) throw std::runtime_error("no pipe to SimGrid's process");
  const pid_t process = fork();
  if (process == 0) child(network, call, ends[1]);
  close(ends[1]);
  SimgridRun run;
  const bool whole = read(ends[0], &run, sizeof run) == ssize_t{sizeof run};
  close(ends[0]);
  waitpid(process, nullptr, 0);
  if (!whole) throw std::runtime_error("SimGrid's process ended without a result");
  return run;
}

}  // namespace lockstep
