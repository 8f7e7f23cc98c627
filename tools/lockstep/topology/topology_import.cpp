#include "tools/lockstep/topology/topology_import.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>

#include "tools/app/topology/topology.hpp"
#include "tools/app/write_file.hpp"
#include "tools/lockstep/options/number_option.hpp"
#include "tools/lockstep/output/errors.hpp"
#include "tools/lockstep/output/output.hpp"
#include "tools/lockstep/parser/command_parser.hpp"

namespace lockstep::cli {

namespace {

struct Options {
  std::string file;
  std::string device;
  std::string name;
  std::string nic_speed;
  std::optional<int> nvswitch_links;
  std::string fabric;
  std::string out = "-";
};

ImportRequest request_of(const Options& given) {
  ImportRequest out{given.file, given.device, {}};
  out.options.name =
      given.name.empty() ? std::filesystem::path(given.file).stem().string() : given.name;
  if (!given.nic_speed.empty()) {
    out.options.nic_speed = parse_rate(given.nic_speed);
    if (!out.options.nic_speed)
      throw UsageError(fmt::format("--nic-speed: expected a rate such as \"400 Gb/s\", got \"{}\"",
                                   given.nic_speed));
  }
  out.options.nvswitch_links = given.nvswitch_links;
  out.options.fabric = given.fabric;
  return out;
}

void run(const Options& given) {
  const ImportedCluster imported = import_cluster(request_of(given));
  for (const std::string& note : imported.notes) fmt::print(stderr, "lockstep: note: {}\n", note);
  if (given.out == "-") return print(imported.json);
  write_file(given.out, imported.json);
  print(fmt::format("{}: {}\n", given.out, imported.outline));
}

}  // namespace

void add_topology_import(const Command& topology) {
  const Command command = topology.add_subcommand(
      "import", "Convert an NCCL topology or the output of nvidia-smi topo -m to a cluster file");
  const auto given = std::make_shared<Options>();
  command
      ->add_option("file", given->file,
                   "NCCL_TOPO_FILE or NCCL_TOPO_DUMP_FILE (XML), or output of `nvidia-smi topo "
                   "-m`; detected by "
                   "content")
      ->required()
      ->type_name("FILE");
  command
      ->add_option("--device", given->device,
                   "GPU model, an id of `lockstep list devices` (default: the file's, else the "
                   "most likely one)")
      ->type_name("ID");
  command->add_option("--name", given->name, "Name of the cluster (default: the file's)")
      ->type_name("NAME");
  command
      ->add_option("--nic-speed", given->nic_speed,
                   "Speed of every NIC, such as \"400 Gb/s\" (default: the file's, else that of "
                   "its PCIe slot); adds a NIC per GPU if the file has none")
      ->type_name("RATE");
  add_whole_number(
      *command, "--nvswitch", 1, 1024,
      [given](auto n) { given->nvswitch_links = static_cast<int>(n); },
      "Number of NVLinks from each GPU to NVSwitches, if the file specifies none")
      ->type_name("LINKS");
  command
      ->add_option("--fabric", given->fabric,
                   fmt::format("Fabric between nodes: {} (default: rail_optimised if "
                               "every GPU has its own NIC, else fat_tree)",
                               fmt::join(import_fabrics(), ", ")))
      ->type_name("BUILDER");
  command->add_option("-o,--output", given->out, "File to write; - is standard output")
      ->type_name("FILE")
      ->capture_default_str();
  command->footer(
      "Bandwidths are those of NCCL's topology search. A GPU has the nearest NIC: PIX before PXB,\n"
      "PHB, NODE and SYS, then the fastest, then the one that serves the fewest GPUs. Assumptions\n"
      "and ignored parts of the input are printed to stderr.\n"
      "\n"
      "Examples:\n"
      "  lockstep topology import tests/data/topology_import/hgx-h100.xml --name hgx\n"
      "  lockstep topology import tests/data/topology_import/cloud-partial.xml --device "
      "a100-sxm4-80gb --nvswitch 12 --nic-speed \"200 Gb/s\"");
  command->resets(given);
  command->callback([given] { run(*given); });
}

}  // namespace lockstep::cli
