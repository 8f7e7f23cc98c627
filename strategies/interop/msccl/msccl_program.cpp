#include "strategies/interop/msccl/msccl_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "sim/execute/schedule/step_problem.hpp"
#include "strategies/interop/msccl/msccl_collective.hpp"
#include "strategies/interop/text/xml_reader.hpp"

namespace lockstep {

namespace {

constexpr std::int64_t kMostProgramRanks = std::int64_t{1} << 20U;

constexpr std::int64_t kMostSlots = std::int64_t{1} << 16U;
constexpr int kUnreadable = -2;  // a peer that has been noted as a problem
constexpr IntegerRange kId{0, std::numeric_limits<std::int32_t>::max()};
constexpr IntegerRange kIdOrNone{-1, std::numeric_limits<std::int32_t>::max()};
constexpr IntegerRange kChunks{0, kMostMscclChunks};
constexpr IntegerRange kFlag{0, 1};
constexpr IntegerRange kByteCount{0, std::numeric_limits<std::int64_t>::max()};

std::int32_t as_int(std::optional<std::int64_t> value, std::int32_t fallback) {
  return value ? static_cast<std::int32_t>(*value) : fallback;
}

template <class T, std::size_t kCount>
std::vector<std::string_view> listed(const std::array<T, kCount>& names) {
  return {names.begin(), names.end()};
}

class ProgramReader {
 public:
  ProgramReader(const XmlDocument& document, MscclProgram& out)
      : document_{document}, problems_{document.file()}, out_{out} {}

  void read() {
    const XmlElement& root = document_.root();
    const XmlReader in{document_, root, problems_, copies_};
    if (root.name != "algo") {
      in.complain(fmt::format("expected the element \"algo\", got {}", in_quotes(root.name)));
      problems_.throw_if_any();
    }
    out_.at = root.at;
    read_names(in);
    read_numbers(in);
    in.children("gpu", [this](const XmlElement& element) { read_gpu(element); });
    finish_gpus(in);
    out_.ignored_copies = copies_.count;
    problems_.throw_if_any();
  }

 private:
  void read_names(const XmlReader& in) {
    if (const XmlAttribute* name = in.find("name")) out_.name = name->value;
    const XmlAttribute* protocol = in.find("proto");
    out_.protocol = protocol == nullptr ? "Simple" : protocol->value;
    if (protocol != nullptr) (void)in.one_of(*protocol, "protocol", {"Simple", "LL", "LL128"});
    if (const XmlAttribute* collective = in.required("coll")) {
      out_.collective = collective->value;
      (void)in.one_of(*collective, "collective", msccl_collective_names());
    }
    if (const XmlAttribute* ours = in.find("collective")) {
      const auto which = in.one_of(*ours, "collective", listed(kCollectiveNames));
      if (which) out_.our_collective = static_cast<Collective>(*which);
    }
  }

  void read_numbers(const XmlReader& in) {
    ranks_ = in.integer_if_any("ngpus", {1, kMostProgramRanks});
    out_.channels = as_int(in.integer_if_any("nchannels", {1, kMostChannels}), 0);
    if (const auto chunks = in.integer_if_any("nchunksperloop", {1, kMostMscclChunks}))
      out_.chunks_per_loop = static_cast<std::int32_t>(*chunks);
    out_.in_place = flag(in, "inplace");
    out_.out_of_place = flag(in, "outofplace");
    out_.min_bytes = in.integer_if_any("minBytes", kByteCount);
    out_.max_bytes = in.integer_if_any("maxBytes", kByteCount);
    if (out_.max_bytes == 0) out_.max_bytes.reset();  // which RCCL takes for no limit
    out_.root = as_int(in.integer_if_any("root", {0, ranks_.value_or(kMostProgramRanks) - 1}), 0);
    out_.distance =
        as_int(in.integer_if_any("distance", {-kMostProgramRanks, kMostProgramRanks}), 1);
    if (const auto slots = in.integer_if_any("slots", {0, kMostSlots}))
      out_.slots = static_cast<int>(*slots);
  }

  static std::optional<bool> flag(const XmlReader& in, std::string_view name) {
    const auto value = in.integer_if_any(name, kFlag);
    return value ? std::optional{*value == 1} : std::nullopt;
  }

  /// The GPUs that a number may name.
  [[nodiscard]] IntegerRange peers() const { return {-1, ranks_.value_or(kMostProgramRanks) - 1}; }

  void read_gpu(const XmlElement& element) {
    MscclGpu gpu;
    gpu.at = element.at;
    gpu_ = -1;
    const XmlReader in{document_, element, problems_, copies_, [this] { return gpu_text(); }};
    gpu.id = as_int(in.integer("id", {0, peers().most}), -1);
    gpu_ = gpu.id;
    gpu.input_chunks = as_int(in.integer_if_any("i_chunks", kChunks), 0);
    gpu.output_chunks = as_int(in.integer_if_any("o_chunks", kChunks), 0);
    gpu.scratch_chunks = as_int(in.integer_if_any("s_chunks", kChunks), 0);
    in.children("tb", [&](const XmlElement& child) { read_block(child, gpu); });
    put_in_order(gpu.blocks, "tb", [&] { return gpu_text(); });
    out_.gpus.push_back(std::move(gpu));
  }

  void read_block(const XmlElement& element, MscclGpu& gpu) {
    MscclThreadBlock block;
    block.at = element.at;
    block_ = -1;
    const XmlReader in{document_, element, problems_, copies_, [this] { return block_text(); }};
    block.id = as_int(in.integer("id", kId), -1);
    block_ = block.id;
    block.send = as_int(in.integer("send", peers()), kUnreadable);
    block.receive = as_int(in.integer("recv", peers()), kUnreadable);
    block.channel = as_int(in.integer("chan", {0, kMostChannels - 1}), 0);
    if (gpu.id >= 0 && (block.send == gpu.id || block.receive == gpu.id))
      in.complain("a tb connects with another GPU, not with its own");
    in.children("step", [&](const XmlElement& child) { read_step(child, block); });
    put_in_order(block.steps, "step", [this] { return block_text(); });
    gpu.blocks.push_back(std::move(block));
  }

  void read_step(const XmlElement& element, MscclThreadBlock& block) {
    MscclStep step;
    step.at = element.at;
    step_ = -1;
    const XmlReader in{document_, element, problems_, copies_, [this] { return step_text(); }};
    step.id = as_int(in.integer("s", kId), -1);
    step_ = step.id;
    const XmlAttribute* type = in.required("type");
    const auto operation = type == nullptr
                               ? std::nullopt
                               : in.one_of(*type, "step type", listed(kMscclOperationNames));
    if (operation) {
      step.operation = static_cast<MscclOperation>(*operation);
      read_operands(in, step);
      check_connection(in, block, step);
    }
    step.waits_for_tb = as_int(in.integer_if_any("depid", kIdOrNone), -1);
    step.waits_for_step = as_int(in.integer_if_any("deps", kIdOrNone), -1);
    step.has_dependents = flag(in, "hasdep").value_or(false);
    in.no_children();
    block.steps.push_back(step);
  }

  static void read_operands(const XmlReader& in, MscclStep& step) {
    if (step.operation == MscclOperation::nop) return;
    step.count = as_int(in.integer("cnt", {1, kMostMscclChunks}), 1);
    if (has_source(step.operation)) step.source = operand(in, "srcbuf", "srcoff");
    if (has_destination(step.operation)) step.destination = operand(in, "dstbuf", "dstoff");
  }

  static MscclOperand operand(const XmlReader& in, std::string_view buffer,
                              std::string_view offset) {
    MscclOperand out;
    if (const XmlAttribute* name = in.required(buffer)) {
      const auto which = in.one_of(*name, "buffer", listed(kMscclBufferNames));
      if (which) out.buffer = static_cast<MscclBuffer>(*which);
    }
    out.offset = as_int(in.integer(offset, kChunks), 0);
    return out;
  }

  static void check_connection(const XmlReader& in, const MscclThreadBlock& block,
                               const MscclStep& step) {
    const std::string_view type = to_string(step.operation);
    if (sends(step.operation) && block.send == -1)
      in.complain(fmt::format("a step of type \"{}\" sends, but its tb has send=\"-1\"", type));
    if (receives(step.operation) && block.receive == -1)
      in.complain(fmt::format("a step of type \"{}\" receives, but its tb has recv=\"-1\"", type));
  }

  /// Sorts by id and notes what stands twice or is left out. Ids that could not be read have been
  /// noted already.
  template <class T, class Where>
  void put_in_order(std::vector<T>& items, std::string_view noun, const Where& where) {
    const auto by_id = [](const T& a, const T& b) { return a.id < b.id; };
    if (!std::is_sorted(items.begin(), items.end(), by_id))
      std::stable_sort(items.begin(), items.end(), by_id);
    if (!items.empty() && items.front().id < 0) return;
    std::int32_t next = 0;
    for (const T& item : items) {
      if (item.id < next) {
        note(item.at, where(), fmt::format("there is a {} {} already", noun, item.id));
      } else if (item.id > next) {
        note(item.at, where(),
             fmt::format("there is no {} {} before {} {}; they count from 0", noun, next, noun,
                         item.id));
      }
      next = std::max(next, item.id + (item.id < kId.most ? 1 : 0));
    }
  }

  void finish_gpus(const XmlReader& in) {
    put_in_order(out_.gpus, "gpu", [] { return std::string{}; });
    const std::int64_t wanted = ranks_.value_or(std::ssize(out_.gpus));
    if (std::ssize(out_.gpus) < wanted) {
      in.complain(
          fmt::format("ngpus is {}, but there are {} elements \"gpu\"", wanted, out_.gpus.size()));
    }
    if (out_.gpus.empty()) in.complain("there is no element \"gpu\"");
    if (!out_.gpus.empty() && out_.root >= std::ssize(out_.gpus))
      in.complain(fmt::format("root is {}, but there are {} GPUs", out_.root, out_.gpus.size()));
    for (const MscclGpu& gpu : out_.gpus) {
      for (const MscclThreadBlock& block : gpu.blocks) check_peers(gpu, block);
    }
  }

  /// Where ngpus does not say how many there are, the elements do.
  void check_peers(const MscclGpu& gpu, const MscclThreadBlock& block) {
    const auto gpus = std::ssize(out_.gpus);
    for (const int peer : {block.send, block.receive}) {
      if (peer < gpus || ranks_) continue;
      note(block.at, fmt::format("gpu {}, tb {}", gpu.id, block.id),
           fmt::format("names gpu {}, but there are {}", peer, gpus));
    }
  }

  void note(Position at, std::string where, std::string message) {
    problems_.note(at, std::move(where), std::move(message));
  }

  /// As much of the place as is known.
  [[nodiscard]] std::string gpu_text() const { return gpu_ < 0 ? "" : fmt::format("gpu {}", gpu_); }
  [[nodiscard]] std::string block_text() const {
    return block_ < 0 ? gpu_text() : fmt::format("{}, tb {}", gpu_text(), block_);
  }
  [[nodiscard]] std::string step_text() const {
    return step_ < 0 ? block_text() : fmt::format("{}, step {}", block_text(), step_);
  }

  const XmlDocument& document_;
  Problems problems_;
  MscclProgram& out_;
  std::optional<std::int64_t> ranks_;
  IgnoredElements copies_{"copy"};  // which MSCCL's tools once wrote and no interpreter reads
  std::int32_t gpu_ = -1;           // where reading is
  std::int32_t block_ = -1;
  std::int32_t step_ = -1;
};

}  // namespace

bool sends(MscclOperation operation) {
  return operation == MscclOperation::send || operation == MscclOperation::receive_copy_send ||
         operation == MscclOperation::receive_reduce_send ||
         operation == MscclOperation::receive_reduce_copy_send;
}

bool receives(MscclOperation operation) {
  return MscclOperation::receive <= operation &&
         operation <= MscclOperation::receive_reduce_copy_send;
}

bool has_source(MscclOperation operation) {
  return operation != MscclOperation::receive && operation != MscclOperation::receive_copy_send &&
         operation != MscclOperation::nop;
}

bool has_destination(MscclOperation operation) {
  return operation != MscclOperation::send && operation != MscclOperation::receive_reduce_send &&
         operation != MscclOperation::nop;
}

std::string name_of(const MscclGpu& gpu, const MscclThreadBlock& block, const MscclStep& step) {
  return fmt::format("gpu {}, tb {}, step {} ({})", gpu.id, block.id, step.id,
                     to_string(step.operation));
}

MscclProgram read_msccl_program(std::string_view text, const std::string& file) {
  const XmlDocument document{text, file};
  MscclProgram program;
  ProgramReader{document, program}.read();
  return program;
}

}  // namespace lockstep
