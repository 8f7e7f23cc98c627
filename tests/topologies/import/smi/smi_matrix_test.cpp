#include "topologies/import/smi/smi_matrix.hpp"

#include <doctest/doctest.h>

#include "tests/topologies/import/import_helpers.hpp"

namespace lockstep {
namespace {

const std::string kTwo =
    "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\n"
    "GPU0\t X \tNV4\t0-7\t0\n"
    "GPU1\tNV4\t X \t8-15\t1\n";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

std::string refused(const std::string& text) {
  const std::string all = refusal_of(text);
  return all.substr(0, all.find('\n'));
}

TEST_CASE("the matrix is read cell by cell, with or without tabs and colours") {
  const SmiMatrix matrix = read_smi_matrix(kTwo, "t");
  REQUIRE(matrix.devices.size() == 2);
  CHECK(matrix.devices[1].name == "GPU1");
  CHECK(matrix.devices[1].numa == "1");
  CHECK(matrix.cell(0, 1).path == SmiPath::nvlink);
  CHECK(matrix.cell(0, 1).links == 4);
  CHECK(matrix.cell(1, 1).path == SmiPath::self);
  std::string blanks = kTwo;
  for (char& c : blanks) c = c == '\t' ? ' ' : c;
  CHECK(read_smi_matrix(blanks, "t").devices[1].numa == "1");
  const std::string coloured = replaced(replaced(kTwo, "GPU0", "\x1b[4mGPU0\x1b[0m"), "\n", "\r\n");
  CHECK(read_smi_matrix(coloured, "t").cell(1, 0).links == 4);
  CHECK(looks_like_smi(coloured));
  // Copied from a terminal, where the escape character itself is not seen.
  const std::string copied = replaced(kTwo, "GPU0", "[4mGPU0");
  CHECK(read_smi_matrix(copied, "t").cell(1, 0).links == 4);
  CHECK(looks_like_smi(copied));
  CHECK_FALSE(looks_like_smi("GPU 0: NVIDIA A100 (UUID: ...)\n"));
}

TEST_CASE("what is wrong with a matrix, at its place") {
  CHECK(refused(replaced(kTwo, "NV4", "NX4")) ==
        "t:2:10: error: GPU0 to GPU1: expected X, NV#, PIX, PXB, PHB, NODE or SYS, got \"NX4\"");
  CHECK(
      refused(replaced(kTwo, "NV4", "PIXX")) ==
      "t:2:10: error: GPU0 to GPU1: expected X, NV#, PIX, PXB, PHB, NODE or SYS, got \"PIXX\"; did "
      "you mean PIX?");
  CHECK(refused(replaced(kTwo, "NV4", "NV0")).find("got \"NV0\"") != std::string::npos);
  CHECK(refused(replaced(kTwo, "NV4", "X")) ==
        "t:2:10: error: GPU0 to GPU1: expected X only where a device meets itself, got \"X\"");
  CHECK(refused(replaced(kTwo, " X ", "PIX")) ==
        "t:2:6: error: GPU0 to GPU0: expected X, a device itself, got \"PIX\"");
  CHECK(refused(replaced(kTwo, "NV4", "NV2")) ==
        "t:3:6: error: GPU1 to GPU0: expected the same as from GPU0 to GPU1");
  CHECK(refused("\tGPU0\tGPU1\nGPU0\t X \n") ==
        "t:2:1: error: row of GPU0: expected 2 cells, one per device of the heading, got 1");
  CHECK(refused("\tGPU0\tGPU1\nGPU0\t X \tSYS\n") ==
        "t:3:1: error: expected a row of \"GPU1\" before the end");
  CHECK(refused(kTwo + "GPU1\tNV4\t X \n") == "t:4:1: error: there is a row of \"GPU1\" already");
  CHECK(refused("\tGPU0\tGPU0\nGPU0\t X \tX\n") == "t:1:1: error: \"GPU0\" stands there twice");
}

}  // namespace
}  // namespace lockstep
