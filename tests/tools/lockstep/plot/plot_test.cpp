#include <doctest/doctest.h>

#include <pugixml.hpp>
#include <set>
#include <sstream>
#include <string>

#include "tests/tools/new_file.hpp"
#include "tests/tools/run_command.hpp"

namespace lockstep {

namespace {

/// A new file with an extension; gone when the test is over.
class NewFigure {
 public:
  explicit NewFigure(const std::string& extension) : path_{file_.path() + extension} {}
  NewFigure(const NewFigure&) = delete;
  NewFigure& operator=(const NewFigure&) = delete;
  ~NewFigure() { std::filesystem::remove(path_); }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] pugi::xml_document parsed() const {
    pugi::xml_document out;
    REQUIRE(out.load_file(path_.c_str()));
    return out;
  }

 private:
  NewFile file_;
  std::string path_;
};

std::size_t count(const pugi::xml_document& document, const std::string& kind) {
  return document.select_nodes(("//*[@class='" + kind + "']").c_str()).size();
}

const std::string kRing =
    "lockstep collective all_reduce --cluster star --ranks 8 --algorithm ring,direct ";

void check_refused(const std::string& command, int status, std::string_view part) {
  CAPTURE(command);
  const CommandResult result = run_command(command);
  CHECK(result.status == status);
  CAPTURE(result.err);
  CHECK(contains(result.err, part));
}

}  // namespace

TEST_CASE("the curves of a collective are the numbers of its table") {
  const NewFigure figure(".svg");
  const auto rows = rows_of(kRing + "--sizes 64K,1M,64M --plot busbw=" + figure.path());
  const pugi::xml_document svg = figure.parsed();
  CHECK(count(svg, "curve") == 2);
  CHECK(count(svg, "curve bound") == 1);
  for (const auto& found : svg.select_nodes("//*[@class='curve']")) {
    std::vector<double> table;
    for (const auto& row : rows)
      if (row["algorithm"] == found.node().child_value("title"))
        table.push_back(row["busbw_Bps"].get<double>());
    REQUIRE(table.size() == 3);
    std::istringstream points(found.node().child("polyline").attribute("points").value());
    std::vector<double> heights;
    double x = 0;
    double y = 0;
    char comma = 0;
    while (points >> x >> comma >> y) heights.push_back(y);
    REQUIRE(heights.size() == 3);
    // A linear axis: differences are proportional.
    const double part = (heights[0] - heights[1]) / (heights[0] - heights[2]);
    CHECK(part == doctest::Approx((table[1] - table[0]) / (table[2] - table[0])).epsilon(1e-3));
  }
}

TEST_CASE("a figure of several collectives names them and what all of them use") {
  const NewFigure figure(".svg");
  (void)output_of(
      "lockstep collective all_reduce,all_gather --cluster star --ranks 8 --algorithm ring "
      "--size 64K,1M --plot " +
      figure.path());
  const std::string text = text_of(figure.path());
  CHECK(contains(text, ">all_reduce, all_gather: time by message size, ring<"));
}

TEST_CASE("a single size is drawn as bars with the bound as a line") {
  const NewFigure figure(".svg");
  (void)output_of(kRing + "--sizes 1M --plot " + figure.path());
  const pugi::xml_document svg = figure.parsed();
  CHECK(count(svg, "bar") == 2);
  CHECK(count(svg, "line") == 1);
}

TEST_CASE("bounds that hide one another are one curve") {
  // On a star an all-gather and a reduce-scatter have the same bound: (n-1)/n of the message
  // through each port, and the latency between two ranks.
  const NewFigure figure(".svg");
  (void)output_of(
      "lockstep collective all_gather,reduce_scatter --cluster star --ranks 8 --algorithm ring "
      "--sizes 64K,1M --plot " +
      figure.path());
  const pugi::xml_document svg = figure.parsed();
  REQUIRE(count(svg, "curve bound") == 1);
  CHECK(std::string{svg.select_node("//*[@class='curve bound']/title").node().text().get()} ==
        "all_gather, reduce_scatter lower bound");
}

TEST_CASE("crossovers and measured times are drawn, too") {
  const NewFigure crossed(".svg");
  const auto rows = rows_of(kRing + "--crossover -b 8 -e 16M --plot " + crossed.path());
  CHECK(count(crossed.parsed(), "crossing") == rows.size());
  const NewFigure compared(".svg");
  (void)run_command(
      "lockstep collective --against tests/data/nccl_tests/allreduce-2xA100.txt --plot " +
      compared.path());
  CHECK(count(compared.parsed(), "curve measured") == 1);
}

TEST_CASE("a pipeline figure has every pass of every schedule") {
  struct Case {
    std::string scenario;
    std::size_t passes;  // of a stage: microbatches, times chunks, times halves of a microbatch
  };
  // 16 microbatches, but one of 16 sequences in the naive schedule; two chunks interleaved; zero
  // bubble splits the backward pass.
  for (const Case& each :
       {Case{"pipeline-naive", 2}, Case{"pipeline-gpipe", 32}, Case{"pipeline-1f1b", 32},
        Case{"pipeline-interleaved", 64}, Case{"pipeline-zb", 48}}) {
    CAPTURE(each.scenario);
    const NewFigure figure(".svg");
    (void)output_of("lockstep run " + each.scenario + " --plot pipeline=" + figure.path());
    const pugi::xml_document svg = figure.parsed();
    CHECK(svg.select_nodes("(//*[@class='panel'])[1]/*[@class='stage']").size() == 4);
    // On all lines of the step; a pass that goes over the end of one is drawn on both.
    for (int stage = 0; stage < 4; ++stage) {
      std::set<std::string> passes;
      for (const auto& slice : svg.select_nodes("//*[@class='stage']/g/title")) {
        const std::string title = slice.node().text().get();
        if (title.starts_with("stage " + std::to_string(stage) + ":") &&
            contains(title, "microbatch"))
          passes.insert(title);
      }
      CHECK(passes.size() == each.passes);
    }
  }
}

TEST_CASE("all figures of a step are drawn at once, kinds by file name") {
  const NewFigure memory(".svg");
  const NewFigure breakdown(".svg");
  const NewFigure links(".svg");
  const std::string table =
      output_of("lockstep run pipeline-1f1b --plot memory=" + memory.path() +
                " --plot breakdown=" + breakdown.path() + " --plot links=" + links.path());
  CHECK(table == output_of("lockstep run pipeline-1f1b"));
  CHECK(count(memory.parsed(), "peak") == 1);
  CHECK(count(memory.parsed(), "capacity") == 1);
  CHECK(count(breakdown.parsed(), "bar") == 4);
  CHECK(count(links.parsed(), "bar") > 0);
}

TEST_CASE("a file without a figure's name is the pipeline of a step, the front of a search") {
  const NewFigure step(".svg");
  (void)output_of("lockstep run pipeline-1f1b --no-variants --suggest 0 --plot " + step.path());
  CHECK(contains(text_of(step.path()), "Training step by stage and microbatch"));
  const NewFigure front(".svg");
  (void)output_of(
      "lockstep plan --model llama3-8b --cluster dgx-h100 --nodes 1 --global-batch 8 --fix "
      "overlap=none --fix pp=1 --fix vpp=1 --top 1 --plot " +
      front.path());
  CHECK(contains(text_of(front.path()), "Layouts: step time over peak memory"));
}

TEST_CASE("curves of complexity that hide one another are named together") {
  // Each sends and receives 2(n-1)/n of the message, in powers of two of ranks.
  const NewFigure figure(".svg");
  const std::string command = "lockstep complexity all_reduce --ranks 2..64 --plot-of busiest ";
  (void)output_of(command + "--algorithm ring,direct --plot " + figure.path());
  CHECK(contains(text_of(figure.path()), "ring = direct"));
  CHECK(contains(text_of(figure.path()), "bytes of the busiest node, message of 64 MiB"));
  (void)output_of(command + "--algorithm ring,direct,halving_doubling --plot " + figure.path());
  CHECK(contains(text_of(figure.path()), "ring (and 2 equal)"));
  CHECK(contains(text_of(figure.path()), "Equal to ring: direct, halving_doubling."));
}

TEST_CASE("a step that does not fit is not drawn, and the reason is printed") {
  const NewFigure figure(".svg");
  const CommandResult result =
      run_command("lockstep run gpt3-a100-memory --plot memory=" + figure.path());
  CHECK(result.status == 1);
  CHECK(contains(result.err, "--plot: nothing drawn, the step was not simulated"));
  CHECK_FALSE(std::filesystem::exists(figure.path()));
}

TEST_CASE("PDF and PNG are made from the same figure") {
  const NewFigure pdf(".pdf");
  const NewFigure png(".png");
  (void)output_of(kRing + "--sizes 1M,2M --plot " + pdf.path() + " --plot busbw=" + png.path());
  CHECK(text_of(pdf.path()).substr(0, 5) == "%PDF-");
  CHECK(text_of(png.path()).substr(1, 3) == "PNG");
  check_refused(
      "LOCKSTEP=$(command -v lockstep); PATH=/nonexistent $LOCKSTEP list algorithms "
      ">/dev/null; PATH=/nonexistent $LOCKSTEP collective all_reduce --cluster star "
      "--ranks 4 --algorithm ring --sizes 1M --plot " +
          pdf.path(),
      1, "librsvg2-bin");
}

TEST_CASE("text is drawn below a table, and only there") {
  const std::string text = output_of(kRing + "--sizes 1M,2M --plot -");
  CHECK(contains(text, "all_reduce: time by message size"));
  check_refused(kRing + "--sizes 1M --plot - --format csv", 2,
                "--plot -: draws below a table only");
}

TEST_CASE("figures that cannot be are refused before anything is simulated") {
  check_refused(kRing + "--plot tome=x.svg", 2, "unknown figure \"tome\"; available: time, busbw");
  check_refused(kRing + "--plot x.gif", 2, "expected a file that ends in .svg, .pdf, .png or .txt");
  check_refused(kRing + "--plot /no/such/folder/x.svg", 4, "cannot write /no/such/folder/x.svg");
  check_refused(kRing + "--plot x.svg --plot busbw=x.svg", 2, "x.svg is given twice");
  check_refused(
      "lockstep collective --concurrent tests/data/concurrent/two-jobs.json --cluster "
      "dgx-h100 --plot x.svg",
      2, "cannot be combined with --concurrent");
  check_refused("lockstep run pipeline-1f1b --plot pipeline=x.txt", 2, ".svg, .pdf or .png");
  check_refused(kRing + "--sizes 0 --plot x.svg", 1, "no size above 0");
}

}  // namespace lockstep
