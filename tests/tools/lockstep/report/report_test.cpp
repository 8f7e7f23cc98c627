#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "tests/tools/new_file.hpp"
#include "tests/tools/run_command.hpp"

/// --report: pages that need nothing but themselves and carry what the command prints.
namespace lockstep {

namespace {

/// A new file whose name ends in .html.
class NewPage {
 public:
  ~NewPage() { std::filesystem::remove(path()); }
  [[nodiscard]] std::string path() const { return file_.path() + ".html"; }

 private:
  NewFile file_{};
};

std::string page_of(const std::string& command) {
  const NewPage page;
  const CommandResult result = run_command(command + " --report " + page.path());
  CAPTURE(result.err);
  REQUIRE(result.status == 0);
  return text_of(page.path());
}

std::size_t count(const std::string& text, std::string_view part) {
  std::size_t out = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size())
    ++out;
  return out;
}

/// The page without its script, which tools/page/build.sh built, and without the packed data.
std::string without_script(const std::string& page) {
  const std::size_t script = page.rfind("<script>");
  REQUIRE(script != std::string::npos);
  const std::string built = text_of(LOCKSTEP_SOURCE_DIR "/tools/page/dist/report.js");
  CHECK(page.substr(script) == "<script>" + built + "</script>\n</body>\n</html>\n");
  std::string out = page.substr(0, script) + "</body>";
  constexpr std::string_view kData = "<script type=\"text/plain\" id=\"data\">";
  const std::size_t data = out.find(kData);
  if (data == std::string::npos) return out;
  const std::size_t end = out.find('<', data + kData.size());
  CHECK(out.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=",
                              data + kData.size()) == end);
  return out.erase(data, out.find('>', end) + 1 - data);
}

/// What every page keeps: no script but its own, which alone its policy allows, no address but the
/// name space of SVG, each id once, and every tag that is opened closed.
void check_page(const std::string& whole) {
  CHECK(whole.starts_with("<!doctype html>"));
  CHECK(contains(whole,
                 "content=\"default-src 'none'; style-src 'unsafe-inline'; "
                 "script-src 'sha256-"));
  const std::string page = without_script(whole);
  CHECK_FALSE(contains(page, "<script"));
  CHECK_FALSE(contains(page, "<img"));
  CHECK_FALSE(contains(page, "<link"));
  CHECK_FALSE(contains(page, "@import"));
  CHECK(count(page, "://") == count(page, "xmlns=\"http://www.w3.org/2000/svg\""));
  for (const char* tag : {"section", "table", "figure", "svg", "dl", "ol", "main", "body", "g"})
    CHECK(count(page, std::string{"<"} + tag + " ") + count(page, std::string{"<"} + tag + ">") ==
          count(page, std::string{"</"} + tag + ">"));
  std::set<std::string> ids;
  for (std::size_t at = 0; (at = page.find(" id=\"", at)) != std::string::npos;) {
    at += 5;
    const std::string id = page.substr(at, page.find('"', at) - at);
    CAPTURE(id);
    CHECK(ids.insert(id).second);
  }
}

/// What `report` writes.
std::string reported(const std::string& arguments) {
  const NewPage page;
  const CommandResult result = run_command("lockstep report " + arguments + " -o " + page.path());
  CAPTURE(result.err);
  REQUIRE(result.status == 0);
  return text_of(page.path());
}

/// The text of the first `code` of a list.
std::string first_command(const std::string& page) {
  const std::size_t begin = page.find("<code>lockstep run");
  REQUIRE(begin != std::string::npos);
  return page.substr(begin + 6, page.find("</code>", begin) - begin - 6);
}

}  // namespace

TEST_CASE("the page of a run has its headline, eight figures and its tables") {
  const std::string command = "lockstep run llama7b-256 --set cluster.nodes=16 --set parallel.dp=4";
  const std::string page = page_of(command);
  check_page(page);
  CHECK(count(page, "<svg ") == 8);
  const std::string text = output_of(command);
  // Times of the table that a terminal gets: the step and the first rows of the breakdown.
  for (const std::string& line : lines_of(text))
    if (line.starts_with("  step time")) CHECK(contains(page, line.substr(line.rfind("  ") + 2)));
  for (const char* part : {"Where the time goes", "Critical path", "Memory", "Links",
                           "critical path; shares of the step", "MFU", "fingerprint"})
    CHECK(contains(page, part));
}

TEST_CASE("the command next to a change takes the time that the page says") {
  const std::string page =
      page_of("lockstep run llama7b-256 --set cluster.nodes=16 --set parallel.dp=4");
  CHECK(contains(page, "Changes that help most"));
  const std::string command = first_command(page);
  CHECK(contains(command, "--set cluster.nodes=16 --set parallel.dp=4 --set "));
  const std::size_t item = page.rfind("<li>", page.find("<code>lockstep run"));
  const std::string said = page.substr(item + 4, page.find(" (-", item) - item - 4);
  CHECK(contains(output_of(command), "step time"));
  for (const std::string& line : lines_of(output_of(command)))
    if (line.starts_with("  step time")) CHECK(contains(line, said));
}

TEST_CASE("a page weighs at most 700 KB without its script, and says what it leaves out") {
  // 460,000 operations of eight ranks. The budget counts SVG, tables and packed data.
  const auto size = [](const std::string& page) { return page.rfind("<script>"); };
  const std::string page = page_of("lockstep run llama3-70b-dgx-h100 --suggest 0");
  CHECK(size(page) < 700'000);
  const std::string small = reported("llama3-70b-dgx-h100 --suggest 0 --data 500K");
  CHECK(size(small) < size(page));
  // 128 ranks: figures of thousands of passes and links are drawn without tooltips.
  const std::string large =
      page_of("lockstep run llama3-70b-dgx-h100 --set cluster.nodes=16 --suggest 0");
  CHECK(size(large) < 700'000);
  CHECK(contains(large, "Times of single passes are left out to keep the page small."));
}

TEST_CASE("pages of tables and of two steps keep the same size, with notes") {
  const auto size = [](const std::string& page) { return page.rfind("<script>"); };
  // 2048 sizes of all algorithms are 14 MB as they are.
  const std::string collective = page_of(
      "lockstep collective all_reduce --cluster dgx-h100 --algorithm all -b 8 -e 64K -i 32");
  check_page(collective);
  CHECK(size(collective) < 700'000);
  CHECK(contains(collective, " of 2048 rows, to keep the page small; --format csv prints all."));
  // The first and the last size stay.
  CHECK(contains(collective, "<td>8 B</td>"));
  CHECK(contains(collective, "<td>63.98 KiB</td>"));
  const std::string both =
      "llama3-70b-dgx-h100 --change parallel.pp=2 --change parallel.dp=4 "
      "--change parallel.state.gradients=bf16";
  const std::string two = reported(both + " --data 300K");
  check_page(two);
  CHECK(size(two) < 300'000);
  CHECK(contains(two, "to keep the page small"));
  const std::string least = reported(both + " --data 100K");
  CHECK(size(least) < 102'400);  // sizes have K of 1024
  CHECK(contains(least, "--plot pipeline=FILE.svg draws it"));
}

TEST_CASE("names from files are text in a page, never markup") {
  const TemporaryFile scenario(
      R"({"name": "</title></script><img src=x onerror=alert(1)>",
          "summary": "\"><svg onload=alert(1)>",
          "cluster": {"file": "dgx-a100", "ranks": 2},
          "model": {"name": "\"><b>m</b>", "kind": "mlp", "hidden": 64, "ffn": 256},
          "parallel": {"tp": 2, "micro_batch": 64, "global_batch": 64}})");
  const NewPage file;
  const CommandResult result =
      run_command("lockstep run " + scenario.path() + " --report " + file.path());
  CAPTURE(result.err);
  REQUIRE(result.status == 0);
  const std::string page = text_of(file.path());
  check_page(page);
  CHECK_FALSE(contains(page, "<b>"));
  CHECK_FALSE(contains(page, "<svg onload"));
  CHECK(contains(page, "&lt;b&gt;m&lt;/b&gt;"));
}

TEST_CASE("the page of collectives has a figure of times, one of bandwidths, and all rows") {
  const std::string page = page_of(
      "lockstep collective all_reduce --cluster dgx-h100 --nodes 2 --algorithm ring,nvls "
      "--size 64K,64M");
  check_page(page);
  CHECK(count(page, "<svg ") == 2);
  for (const char* part : {"ring", "nvls", "64 KiB", "64 MiB", "fastest all_reduce", "busbw"})
    CHECK(contains(page, part));
  // One message size: bars instead of curves.
  check_page(page_of("lockstep collective broadcast --ranks 8 --size 1M"));
}

TEST_CASE(
    "the page of a search has its front, its heat map, the best layouts and the certificate") {
  const std::string page = page_of(
      "lockstep plan --model llama3-8b --cluster dgx-h100 --nodes 1 --global-batch 16 --seq 2048 "
      "--vary tp=2,4,8 --fix pp=1 --fix cp=1 --fix overlap=none --top 2");
  check_page(page);
  CHECK(count(page, "<svg ") == 3);
  for (const char* part : {"points", "simulated", "no layout"}) CHECK(contains(page, part));
}

TEST_CASE("the page of growth has a curve for each quantity") {
  const std::string page =
      page_of("lockstep complexity all_reduce --algorithms ring,halving_doubling --ranks 2..64");
  check_page(page);
  CHECK(count(page, "<svg ") == 5);
  for (const char* part : {"halving_doubling", "asymptotic", "O(log N)"})
    CHECK(contains(page, part));
}

TEST_CASE("a page that cannot be written is refused before anything is simulated") {
  const auto refused = [](const std::string& options, int status, std::string_view error) {
    const CommandResult result = run_command("lockstep run mlp-two-gpus " + options);
    CHECK(result.status == status);
    CHECK(result.out.empty());
    CAPTURE(result.err);
    CHECK(contains(result.err, error));
  };
  refused("--report run.pdf", 2, "--report: \"run.pdf\" does not end in .html");
  refused("--report /no/such/folder/run.html", 4, "/no/such/folder/run.html");
  // A step that does not fit is not simulated: no page, and it is said.
  const NewPage file;
  const CommandResult result = run_command("lockstep run gpt3-a100-memory --report " + file.path());
  CHECK(result.status == 1);
  CHECK(contains(result.err, "--report: not written"));
  CHECK_FALSE(std::filesystem::exists(file.path()));
}

TEST_CASE("report of a scenario is the page that run --report writes, of its result too") {
  const std::string page = reported("pipeline-1f1b --suggest 0");
  check_page(page);
  CHECK(page == page_of("lockstep run pipeline-1f1b --suggest 0"));
  // A result has its scenario and options, so that it needs no file of the time.
  const NewFile result;
  const CommandResult run =
      run_command("lockstep run pipeline-1f1b --gpu-speed 0=0.9 --format json");
  REQUIRE(run.status == 0);
  std::ofstream{result.path()} << run.out;
  const std::string again = reported(result.path() + " --suggest 0");
  const std::string first = page_of("lockstep run pipeline-1f1b --gpu-speed 0=0.9 --suggest 0");
  // The same but for what it says of defaults, which a result has written out.
  for (const char* part : {"id=\"breakdown\"", "id=\"memory\"", "fingerprint "}) {
    CAPTURE(part);
    const std::size_t at = again.find(part);
    const std::size_t there = first.find(part);
    REQUIRE(at != std::string::npos);
    REQUIRE(there != std::string::npos);
    const std::size_t end = again.find('\n', at);
    CHECK(again.substr(at, end - at) == first.substr(there, first.find('\n', there) - there));
  }
  // A shipped scenario by its name, so that the command holds in every folder.
  CHECK(contains(again, "lockstep run pipeline-1f1b --gpu-speed 0=0.9"));
}

/// The oracle is `run` with the same options.
TEST_CASE("report of a step with slow and failed parts is the page that run --report writes") {
  const std::string options[] = {
      "pipeline-1f1b --suggest 0 --set-rank 1=0.8",
      "pipeline-1f1b --suggest 0 --set-rank random:50%=0.7..0.9 --seed 3",
      "pipeline-1f1b --suggest 0 --gpu-speed all=0.95",
      "zero-7b5-3 --suggest 0 --nic 50G",
      "pipeline-1f1b --suggest 0 --set-rank 1=0.8 --network alpha-beta --ignore-memory",
      "zero-7b5-3 --suggest 0 --fidelity representatives --fail rail3 "
      "--set-link rail0 bandwidth=50%"};
  for (const std::string& each : options) {
    CAPTURE(each);
    const std::string page = reported(each);
    check_page(page);
    CHECK(page == page_of("lockstep run " + each));
    CHECK(contains(page, " without the changes of GPU speeds, links and NICs"));
  }
}

TEST_CASE("report of two steps has the slow parts in both") {
  const std::string page = reported("pipeline-gpipe pipeline-1f1b --set-rank 1=0.8");
  check_page(page);
  for (const char* step : {"A: lockstep run pipeline-gpipe", "B: lockstep run pipeline-1f1b"})
    CHECK(contains(page, std::string{"Reproduce "} + step + " --set-rank 1 compute=0.8"));
  for (const char* step : {"pipeline-gpipe", "pipeline-1f1b"}) {
    const std::string run = "lockstep run " + std::string{step} + " --set-rank 1=0.8";
    CHECK(contains(page, json_of(run + " --suggest 0").at("fingerprint").get<std::string>()));
  }
}

TEST_CASE("report notes a seed that draws nothing") {
  for (const std::string steps : {"pipeline-1f1b --suggest 0", "pipeline-gpipe pipeline-1f1b"}) {
    CAPTURE(steps);
    const auto notes = [&](const std::string& options) {
      const NewPage page;
      return run_command("lockstep report " + steps + options + " -o " + page.path()).err;
    };
    CHECK(contains(notes(" --seed 7"), "note: --seed: nothing is drawn"));
    CHECK(notes(" --seed 7 --set-rank random:50%=0.9").empty());
  }
}

TEST_CASE("report of two steps has both, the keys that differ and differences that add up") {
  const std::string page = reported("llama7b-256 --change parallel.tp=4 --change parallel.dp=16");
  check_page(page);
  CHECK(contains(page, "<th scope=\"row\">parallel.dp</th>"));
  CHECK(contains(page, "<th scope=\"row\">parallel.tp</th>"));
  CHECK_FALSE(contains(page, "<th scope=\"row\">parallel.pp</th>"));
  CHECK(count(page, "<figure") == 8);
  // The last row is the step: its difference is the sum of those above, to a microsecond a row.
  const std::size_t at = page.find("id=\"breakdown\"");
  REQUIRE(at != std::string::npos);
  const std::string table = page.substr(at, page.find("</table>", at) - at);
  std::vector<double> differences;
  for (std::size_t row = table.find("<tbody>");
       (row = table.find("</td></tr>", row + 1)) != std::string::npos;) {
    const std::size_t cell = table.rfind("<td>", row);
    differences.push_back(std::stod(table.substr(cell + 4, row - cell - 4)));
  }
  REQUIRE(differences.size() > 4);
  double sum = 0;
  for (std::size_t i = 0; i + 1 < differences.size(); ++i) sum += differences[i];
  CHECK(sum == doctest::Approx(differences.back()).epsilon(1e-4));
}

TEST_CASE("report says what it cannot take") {
  const auto error_of = [](const std::string& arguments) {
    const CommandResult result = run_command("lockstep report " + arguments);
    CHECK(result.status == 2);
    return result.err;
  };
  const NewFile other;
  std::ofstream{other.path()} << R"({"schema": "lockstep.collective/3"})";
  CHECK(contains(error_of(other.path() + " -o x.html"), "got \"lockstep.collective/3\""));
  const NewFile cut;
  std::ofstream{cut.path()} << R"({"schema": "lockstep.run/2", "config": {}})";
  CHECK(contains(error_of(cut.path() + " -o x.html"), "\"run\" is not as"));
  CHECK(contains(error_of("pipeline-1f1b -o x.pdf"), "--output: \"x.pdf\" does not end in .html"));
  CHECK(contains(error_of("pipeline-1f1b pipeline-gpipe --suggest 1 -o x.html"), "--suggest"));
  CHECK(contains(error_of("pipeline-1f1b"), "--output is required"));
  CHECK(contains(error_of("pipeline-1f1b --set-rank 99=0.5 -o x.html"), "--set-rank 99"));
  CHECK(contains(error_of("pipeline-1f1b --fail rail9 -o x.html"), "--fail"));
  CHECK(
      contains(error_of("pipeline-1f1b --data some -o x.html"), "--data: expected a size such as"));
}

TEST_CASE("sensitivity, several jobs and campaigns write pages with their figures and tables") {
  const std::string sensitivity =
      page_of("lockstep sensitivity pipeline-1f1b --elasticities --no-layout");
  check_page(sensitivity);
  CHECK(contains(sensitivity, "Which uncertain parameter dominates the step time"));
  CHECK(contains(sensitivity, "By how much of itself the step changes with each parameter"));
  CHECK(!contains(sensitivity, "#####"));

  const std::string jobs =
      page_of("lockstep run pipeline-1f1b --job pipeline-gpipe --place spread");
  check_page(jobs);
  CHECK(contains(jobs, "How much jobs slow each other down"));
  CHECK(contains(jobs, "2: pipeline-gpipe"));

  const std::string campaign = page_of(
      "lockstep campaign llama7b-256 typical-failures --replicates 30 --change parallel.zero=2");
  check_page(campaign);
  CHECK(count(campaign, "What wall time is lost to") >= 2);
  CHECK(contains(campaign, "When the training ends"));
  CHECK(contains(campaign, "How much the checkpoint interval matters"));
  CHECK(contains(campaign, "llama7b-256 with parallel.zero=2: P10"));
}

}  // namespace lockstep
