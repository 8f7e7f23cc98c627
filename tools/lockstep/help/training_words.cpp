#include <array>

#include "tools/lockstep/help/words.hpp"

namespace lockstep::cli {

namespace {

constexpr std::array kWords = {
    Word{"scenario",
         "JSON file with a model, a cluster and a parallel layout; `lockstep run` simulates "
         "one training step of it.",
         "", "parallel layout, override"},
    Word{"training step", "Forward, backward and optimizer update of one global batch.", "",
         "microbatch, scenario", "step"},
    Word{"parallel layout",
         "Degrees of data (dp), tensor (tp), pipeline (pp), context (cp) and expert "
         "(ep) parallelism, with schedule, ZeRO stage and overlap.",
         "GPUs = dp * tp * pp * cp", "device mesh, ZeRO", "layout"},
    Word{"data parallelism",
         "Replicas of the model on different samples; gradients are all-reduced.", "",
         "ZeRO, bucket", "dp"},
    Word{"tensor parallelism",
         "Matrices of a layer split over ranks; activations are all-reduced or, "
         "with sequence parallelism, gathered and reduce-scattered.",
         "", "parallel layout", "tp"},
    Word{"pipeline parallelism",
         "Layers split into stages that pass activations of microbatches on. `lockstep run "
         "pipeline-1f1b --plot pipeline=FILE.svg` draws the passes of every stage.",
         "", "stage, bubble", "pp, pipeline"},
    Word{"context parallelism",
         "Sequences split over ranks; attention exchanges keys and values around "
         "a ring or by all-to-all.",
         "", "parallel layout", "cp"},
    Word{"expert parallelism",
         "Experts of a mixture-of-experts layer on different ranks; tokens travel "
         "to them by all-to-all.",
         "", "all_to_all", "ep"},
    Word{"device mesh", "Ranks arranged by dp, pp, cp and tp; an axis is one of these dimensions.",
         "", "parallel layout, sharding", "axis, mesh"},
    Word{"sharding",
         "How a tensor is split over mesh axes; redistribution is the communication from one "
         "sharding to another.",
         "", "device mesh", "redistribution"},
    Word{"ZeRO",
         "Model states sharded over data-parallel ranks: stage 1 optimizer states, 2 also "
         "gradients, 3 also weights.",
         "", "model states, data parallelism", "zero-1, zero-2, zero-3"},
    Word{"stage",
         "One pipeline partition; with interleaving (vpp) a stage has several model chunks.", "",
         "pipeline parallelism", "model chunk, vpp"},
    Word{"microbatch", "Samples of one forward and backward pass through the pipeline.",
         "microbatches = global batch / (dp * microbatch size)", "bubble"},
    Word{"bubble",
         "Idle time waiting for another pipeline stage. p stages, m microbatches, v model "
         "chunks per stage.",
         "GPipe, 1F1B: (p-1)/m of the ideal time; interleaved: (p-1)/(v m)", "stage, 1f1b"},
    Word{"1f1b",
         "Pipeline schedule that alternates one forward and one backward pass: the bubble of "
         "GPipe with activations of at most p microbatches. `lockstep run pipeline-1f1b --plot "
         "pipeline=FILE.svg` draws it.",
         "", "bubble, activation"},
    Word{
        "GPipe",
        "Pipeline schedule that runs all forward, then all backward passes: the activations of all "
        "m microbatches are kept.",
        "", "1f1b, bubble"},
    Word{
        "interleaved",
        "1F1B with v model chunks per stage (--set parallel.vpp=V): a bubble v times smaller for v "
        "times the messages between stages.",
        "", "1f1b, stage, bubble", "interleaved 1f1b"},
    Word{
        "zero bubble",
        "Pipeline schedules that split the backward pass, so that weight gradients fill the bubble "
        "(parallel.schedule zb-h1, zb-h2, zb-1p or zb-2p).",
        "", "1f1b, bubble, v schedule", "zb-h1, zb-h2, zb-1p, zb-2p"},
    Word{"V schedule",
         "Zero-bubble schedule of two model chunks per stage, the second ones from the last stage "
         "back "
         "to the first, so that all stages hold activations equally long (parallel.schedule zb-v, "
         "v-half, v-min or dualpipe-v).",
         "", "zero bubble, interleaved, dualpipe", "zb-v, v-half, v-min, dualpipe-v, v-shape"},
    Word{
        "DualPipe",
        "Pipeline schedule of DeepSeek-V3 (parallel.schedule=dualpipe): microbatches enter at both "
        "ends, and each stage has its layers and those of the stage as far from the other end, so "
        "that forward passes of one direction go in turn with backward passes of the other.",
        "", "v schedule, zero bubble", "bidirectional pipeline"},
    Word{"bucket", "Group of gradients reduced by one collective.", "", "data parallelism"},
    Word{"exposed communication", "Communication time that computation does not hide.", "",
         "critical path"},
    Word{"straggler",
         "Rank or device slower than its peers. --set-rank makes ranks slow (run, report, sweep, "
         "compare, sensitivity, plan, campaign, collective, replay), --set-link links, --fail "
         "removes them; --classes (run, report, compare) reports whom it delays.",
         "", "critical path"},
    Word{"critical path", "Chain of dependent operations that determines the step time.", "",
         "exposed communication"},
    Word{"kernel launch overhead", "Host time to issue a kernel; it limits small kernels.", "",
         "software stack", "launch overhead"},
    Word{"software stack",
         "Kernels, fusion and host costs of a framework version (configs/stacks).", "",
         "kernel launch overhead", "stack"},
    Word{"6ND",
         "Rule of thumb for training a transformer with N parameters on D tokens, without "
         "attention.",
         "FLOPs = 6 N D", "MFU", "6 n d"},
    Word{"peak memory", "Maximum of live bytes on a rank over the step.", "",
         "model states, activation"},
    Word{"model states", "Weights, gradients and optimizer states.",
         "mixed precision with Adam: 2 + 2 + 12 = 16 bytes per parameter", "ZeRO"},
    Word{"activation", "Tensor kept from the forward pass for the backward pass.", "",
         "recomputation"},
    Word{"recomputation",
         "Computing activations again in the backward pass instead of keeping them: none, "
         "selective or full.",
         "", "activation, HFU", "checkpointing"},
    Word{"FSDP",
         "ZeRO-3 as PyTorch has it (parallel.zero=3; stacks fsdp and fsdp2); HSDP shards within "
         "groups of parallel.shard_ranks ranks and replicates over them.",
         "", "ZeRO", "hsdp, fsdp2"},
    Word{
        "DiLoCo",
        "Replicas that train by themselves for many steps and then average what they changed by an "
        "outer optimizer (parallel.exchange=diloco), over a slow link between sites.",
        "", "data parallelism", "outer step, streaming diloco"},
    Word{"Muon",
         "Optimizer that makes the momentum of each matrix orthogonal, which takes whole matrices "
         "(parallel.state.optimizer=muon).",
         "", "model states", "soap, shampoo"},
    Word{"dispatcher",
         "Software that sends tokens to their experts and back (parallel.dispatcher): alltoall, or "
         "deepep, which sends each token once to a node and takes multiprocessors "
         "(parallel.dispatch_sms) from computation.",
         "", "expert parallelism", "deepep, token dispatch"},
    Word{"node-limited routing",
         "Router that chooses a token's experts from few groups of them (model.experts.groups, "
         "group_top_k), so that the token goes to few nodes.",
         "", "dispatcher, expert parallelism", "group-limited routing"},
    Word{"latent attention",
         "Attention whose keys and values are made from one compressed vector of each token "
         "(model.latent), as in DeepSeek-V3.",
         "", "activation", "mla, multi-head latent attention"},
    Word{"window attention",
         "Attention of each token to the last so many tokens (model.window), in all layers or "
         "between full ones.",
         "", "context parallelism", "sliding window, chunked attention"},
    Word{"multi-token prediction",
         "Layers behind the last one that predict the tokens after the next (model.mtp); they are "
         "in "
         "the last stage of a pipeline.",
         "", "stage", "mtp"},
    Word{"user buffers",
         "Buffers of tensor parallelism that other GPUs read and write directly, so that GEMMs go "
         "on in parts while results travel (parallel.overlap tp).",
         "", "tensor parallelism, exposed communication"},
    Word{"precision recipe",
         "Which GEMMs take numbers of 8 or 4 bits, and how operands are cast and scaled "
         "(parallel.precision; files of configs/precisions).",
         "", "software stack", "fp8, mxfp8, nvfp4"},
    Word{"allocated",
         "Bytes of live tensors; reserved bytes are what the allocator holds, including its "
         "cache.",
         "reserved >= allocated", "peak memory", "reserved"},
};

}  // namespace

std::span<const Word> training_words() {
  return kWords;
}

}  // namespace lockstep::cli
