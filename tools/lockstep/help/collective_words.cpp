#include <array>

#include "tools/lockstep/help/words.hpp"

namespace lockstep::cli {

namespace {

constexpr std::array kWords = {
    Word{"rank", "One participant of a job, normally one GPU; counted from 0.", "",
         "communicator, endpoint"},
    Word{"communicator", "Ordered set of ranks that execute a collective together.", "", "rank"},
    Word{"all_reduce", "Every rank ends with the element-wise sum of the buffers of all ranks.",
         "traffic per rank at least 2(n-1)/n * S", "reduce_scatter, all_gather, busbw"},
    Word{"reduce_scatter", "Each rank ends with one of n blocks of the sum of all buffers.",
         "traffic per rank at least (n-1)/n * S", "all_reduce, all_gather"},
    Word{"all_gather", "Every rank ends with the blocks of all ranks.",
         "traffic per rank at least (n-1)/n * S", "all_reduce, reduce_scatter"},
    Word{"all_to_all", "Each rank sends a different block to every other rank.", "",
         "expert parallelism"},
    Word{"algorithm",
         "A named method of executing a collective, such as ring or halving_doubling; "
         "`lockstep list algorithms` lists them, `lockstep explain` shows their steps. One that is "
         "named is timed at link rates; auto:by=nccl adds the measured costs of NCCL's kernels.",
         "", "schedule, channel"},
    Word{"schedule",
         "The rank-by-rank steps that an algorithm produces: sends, receives and reductions "
         "of chunks, with their dependencies.",
         "", "lane, chunk, rounds"},
    Word{"lane", "Sequential list of steps on a rank; each step is one send, one receive or both.",
         "", "schedule, rounds"},
    Word{"block", "One of the n equal parts of a message.", "block = ceil(count / n) elements",
         "chunk"},
    Word{"chunk",
         "The unit of data that a schedule moves; a block may be split into several chunks so "
         "that their messages overlap.",
         "", "block, schedule"},
    Word{"channel",
         "One of several parallel copies of an algorithm, each on its own slice of the data; "
         "NCCL uses several to load all NICs and NVLinks. Set with ring:channels=N.",
         "", "NCCL's model, rail", "channels"},
    Word{"crossover", "Message size at which the fastest algorithm changes (--crossover).", "",
         "best"},
    Word{"closed form",
         "Analytic completion time of an algorithm; tests compare simulations with it.", "",
         "alpha-beta model"},
    Word{"in-network reduction",
         "Reduction or multicast performed by switches: NVLink SHARP (nvls) or "
         "InfiniBand SHARP (sharp). A named nvls is timed at link rates; auto:by=nccl adds the "
         "measured costs of NCCL's kernel.",
         "", "all_reduce", "sharp, nvls"},
    Word{"slots",
         "Messages that a connection can buffer; 0 means rendezvous: sender and receiver wait "
         "for each other.",
         "", "schedule"},
    Word{"deadlock",
         "Operations that can never complete because each waits for another; the wait cycle "
         "is the chain of their dependencies.",
         "", "schedule", "wait cycle"},
    Word{"asymptotic class",
         "How a quantity grows with the number of ranks N for large N, such as O(N) or O(log N); "
         "from "
         "the definition of the algorithm, for any range of N.",
         "", "fitted exponent, rounds"},
    Word{"fitted exponent",
         "Slope of a measured quantity over N on logarithmic axes, over the upper half of the "
         "range of "
         "`complexity`; it may differ from the asymptotic class while another term dominates.",
         "y = c * N^x", "asymptotic class"},
};

}  // namespace

std::span<const Word> collective_words() {
  return kWords;
}

}  // namespace lockstep::cli
