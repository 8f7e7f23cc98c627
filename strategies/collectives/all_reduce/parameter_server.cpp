#include "strategies/collectives/row_helpers.hpp"
#include "strategies/collectives/schedules/block_schedule.hpp"

/// All-reduce through parameter servers: every worker pushes each shard to the server that owns it,
/// the servers add up, every worker pulls all shards back. Servers are further hosts, ranks
/// n .. n+shards-1; their data begins as zeros, to which pushes are added.
/// In: n >= 1 workers, S bytes on each; shards servers, 1 <= shards <= n. Chunks: a shard of
///   ceil(count/shards) elements for each server.
/// Worker w issues to servers w, w+1, ... mod shards, so that FIFO ports do not pile up.
/// Reference: Li et al. 2014 (Scaling Distributed Machine Learning with the Parameter Server).
namespace lockstep {
namespace {

class ParameterServer final : public BlockSchedule {
 public:
  ParameterServer(int n, int shards) : BlockSchedule(n, shards), shards_{shards} {}

  [[nodiscard]] int ranks() const override { return n() + shards_; }
  [[nodiscard]] std::int64_t steps(int, int) const override { return 2; }

  void step(int rank, int, std::int64_t index, ScheduleStep& step) const override {
    if (rank < n()) {
      worker_step(rank, index, step);
    } else {
      server_step(rank - n(), index, step);
    }
  }

 private:
  [[nodiscard]] static Chunk shard(int server) { return {Buffer::data, server, 1}; }

  void worker_step(int worker, std::int64_t index, ScheduleStep& step) const {
    for (int turn = 0; turn < shards_; ++turn) {
      const int server = (worker % shards_ + turn) % shards_;
      if (index == 0) {
        step.sends.push_back({n() + server, shard(server)});
      } else {
        step.receives.push_back({n() + server, shard(server), Combine::copy});
      }
    }
  }

  void server_step(int server, std::int64_t index, ScheduleStep& step) const {
    for (int turn = 0; turn < n(); ++turn) {
      const int worker = ahead(server, turn);
      if (index == 0) {
        step.receives.push_back({worker, shard(server), Combine::reduce});
      } else {
        step.sends.push_back({worker, shard(server)});
      }
    }
  }

  int shards_;
};

SchedulePtr make_parameter_server(int n, int shards) {
  return std::make_shared<ParameterServer>(n, shards);
}

CollectiveCost parameter_server_cost(int n) {
  return {.rounds = 2, .path_blocks = 2 * std::int64_t{n}, .reduced_blocks = n, .sent_blocks = n};
}

}  // namespace

CollectiveAlgorithm all_reduce_parameter_server_row() {
  return {.collective = Collective::all_reduce,
          .name = "parameter_server",
          .summary = "workers push shards to dedicated servers, which reduce and return them",
          .parameters = {{.name = "shards",
                          .meaning = "servers, each a further host that owns one shard",
                          .fallback = 1}},
          .limits = "n >= 1 workers, shards <= n",
          .rounds = "2",
          .sent_per_rank = "S by a worker, n*S/shards by a server",
          .time = "2*alpha + 2*n/shards*S*beta + n/shards*S*gamma",
          .example = "parameter_server:shards=4",
          .source = "Li et al. 2014, sections 2-3",
          .file = "parameter_server.cpp",
          .make =
              [](const AlgorithmInput& input) {
                return make_parameter_server(input.n, rows::number(input, "shards"));
              },
          .cost = [](const AlgorithmInput& input) -> std::optional<CollectiveCost> {
            return parameter_server_cost(input.n);
          },
          .auxiliary_ranks = AuxiliaryRanks::hosts};
}

}  // namespace lockstep
