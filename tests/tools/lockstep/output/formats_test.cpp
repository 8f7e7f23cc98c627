#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

#include "tests/tools/run_command.hpp"

namespace lockstep {

namespace {

using Json = nlohmann::ordered_json;

const std::string kCommand =
    "lockstep collective all_reduce --cluster configs/clusters/dgx-h100.json --nodes 2 --algorithm "
    "ring,halving_doubling -b 8 -e 1M -f 32 --seed 7";

std::vector<std::string> keys_of(const Json& object) {
  std::vector<std::string> out;
  for (const auto& [key, value] : object.items()) out.push_back(key);
  return out;
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

std::vector<std::string> split(const std::string& line, char separator) {
  std::vector<std::string> out;
  std::istringstream in(line);
  for (std::string field; std::getline(in, field, separator);) out.push_back(field);
  return out;
}

/// A cell of the CSV form against the JSON form's value; numbers by value.
bool same(const std::string& cell, const Json& value) {
  if (value.is_null()) return cell.empty();
  if (value.is_boolean()) return cell == (value.get<bool>() ? "true" : "false");
  if (value.is_string()) return cell == value.get<std::string>();
  return std::stod(cell) == value.get<double>();
}

/// Keys of numbers, in objects of any depth, that speak of a ratio and do not end in _fraction.
void collect_ratios(const Json& value, std::vector<std::string>& out) {
  if (value.is_array())
    for (const Json& each : value) collect_ratios(each, out);
  if (!value.is_object()) return;
  for (const auto& [key, member] : value.items()) {
    collect_ratios(member, out);
    if (!member.is_number()) continue;
    for (const std::string word : {"percent", "share", "error", "median", "mean", "p90", "worst",
                                   "bias", "regret", "utili", "busy", "mfu", "hfu"})
      if (key.find(word) != std::string::npos && !key.ends_with("_fraction") &&
          !key.ends_with("_s"))
        out.push_back(key);
  }
}

}  // namespace

TEST_CASE("ratios in JSON are fractions, and their keys end in _fraction") {
  for (const std::string command :
       {"collective all_reduce -n 4 --size 1M --load", "run mlp-two-gpus",
        "topology routes dgx-h100 --to 3", "validate tests/data/validation/runs.json",
        "collective --against tests/data/nccl_tests/allreduce-2xA100.txt",
        "calibrate --from tests/data/validation/tables.json"}) {
    CAPTURE(command);
    std::vector<std::string> wrong;
    Json result = json_of("lockstep " + command);
    result.erase("config");
    result.erase("calibration");  // a file, whose keys are those of its schema
    collect_ratios(result, wrong);
    CHECK(wrong == std::vector<std::string>{});
  }
}

TEST_CASE("the JSON form is one object that says what led to it") {
  const Json result = json_of(kCommand);
  CHECK(keys_of(result) == std::vector<std::string>{"schema", "tool", "config", "seed",
                                                    "fingerprint", "rows", "fold"});
  CHECK(result["schema"] == "lockstep.collective/3");
  CHECK(result["tool"]["name"] == "lockstep");
  CHECK(result["seed"] == 7);
  CHECK(result["fingerprint"].get<std::string>().size() == 16);
  const Json& config = result["config"];
  CHECK(config["cluster"]["file"] == "configs/clusters/dgx-h100.json");
  CHECK(config["cluster"]["nodes"] == 2);
  CHECK(config["cluster"]["ranks"] == 16);
  CHECK(config["cluster"]["device"] == "h100-sxm5-80gb");
  CHECK(config["network"] == "fluid");
  CHECK(config["sizes_bytes"] == Json::array({8, 256, 8192, 262144}));
}

TEST_CASE("defaults are reported in the config of the result") {
  const Json config = json_of(
      "lockstep collective all_reduce --cluster star --algorithm "
      "parameter_server -b 8 -e 8")["config"];
  CHECK(config["algorithms"][0]["parameters"]["shards"] == 1);
  CHECK(config["type"] == "float");
  CHECK(config["cluster"]["ranks"] == 8);
}

TEST_CASE("a row has every promised key, and its figures agree with each other") {
  for (const Json& row : rows_of(kCommand)) {
    CAPTURE(row.dump());
    for (const std::string key : {"algorithm", "ranks", "size_bytes", "time_s", "algbw_Bps",
                                  "busbw_Bps", "rounds", "sent_per_rank_bytes", "bound_s"})
      CHECK(row.contains(key));
    const double size = row["size_bytes"];
    const double time = row["time_s"];
    const double algbw = row["algbw_Bps"];
    CHECK(algbw == doctest::Approx(size / time).epsilon(1e-12));
    CHECK(row["busbw_Bps"].get<double>() == doctest::Approx(algbw * 2 * 15 / 16));  // n = 16
    CHECK(row["bound_s"].get<double>() <= time);
  }
}

TEST_CASE("the same command prints the same bytes") {
  for (const std::string format : {"json", "csv", "md", "table"}) {
    CAPTURE(format);
    const std::string command = kCommand + " --format " + format;
    const std::string first = output_of(command);
    for (int i = 0; i < 5; ++i) CHECK(output_of(command) == first);
  }
}

TEST_CASE("the CSV form has the keys and the values of the JSON form") {
  const Json rows = rows_of(kCommand);
  const auto lines = lines_of(output_of(kCommand + " --format csv"));
  REQUIRE(lines.size() == rows.size() + 1);
  const auto keys = split(lines[0], ',');
  CHECK(keys == keys_of(rows[0]));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto cells = split(lines[i + 1], ',');
    REQUIRE(cells.size() == keys.size());
    for (std::size_t k = 0; k < keys.size(); ++k) {
      CAPTURE(keys[k]);
      CHECK(same(cells[k], rows[i][keys[k]]));
    }
  }
}

TEST_CASE("the Markdown form has the columns of the table and a row per row") {
  const auto lines = lines_of(output_of(kCommand + " --format md"));
  REQUIRE(lines.size() == 2 + rows_of(kCommand).size());
  const auto bars = [](const std::string& line) {
    return std::count(line.begin(), line.end(), '|');
  };
  for (const std::string& line : lines) CHECK(bars(line) == bars(lines[0]));
  CHECK(contains(lines[0], "| time (us) | algbw (GB/s) | busbw (GB/s) |"));
  CHECK(contains(lines[2], "| ring | 8 |"));
}

TEST_CASE("with --wide the table has the columns of nccl-tests, then ours") {
  const auto lines = lines_of(output_of(kCommand + " --wide"));
  // A line about the run, two of headings, four rows, a line between the algorithms, four rows,
  // which was the fastest, and averages.
  REQUIRE(lines.size() == 1 + 2 + 4 + 1 + 4 + 1 + 1);
  CHECK(lines[0] ==
        "# all_reduce: 16 ranks on dgx-h100 (h100-sxm5-80gb), network fluid, routes auto");
  const std::vector<std::string> expected = {
      "#",     "size",   "count",     "type",   "redop",     "root",  "time",   "algbw",
      "busbw", "#wrong", "algorithm", "rounds", "sent/rank", "bound", "%bound", "bound",
      "by",    "%busy",  "busiest",   "link",   "limited",   "by",    "best"};
  CHECK(words_of(lines[1]) == expected);
  CHECK(words_of(lines[2]) == std::vector<std::string>{"#", "(B)", "(elements)", "(us)", "(GB/s)",
                                                       "(GB/s)", "(B)", "(us)"});
  CHECK(words_of(lines[3])[0] == "8");
}

TEST_CASE("no line of a table ends in blanks") {
  for (const std::string& line : lines_of(output_of(kCommand)))
    CHECK((line.empty() || line.back() != ' '));
}

TEST_CASE("a file whose name is no UTF-8 can be used and is reported with a substitute") {
  const std::string folder =
      "d=$(mktemp -d) && cp configs/clusters/star.json \"$d\"/$(printf '\\377').json && ";
  const CommandResult result = run_command(
      folder +
      "lockstep collective all_reduce -b 8 -e 8 --format json --cluster \"$d\"/*; rm -r $d");
  CHECK(result.err.empty());
  CHECK(contains(result.out, "/\xEF\xBF\xBD.json\""));
}

TEST_CASE("times in JSON are as short as their picoseconds allow") {
  // Parameter server, 8 workers, 1 MiB: 2(2 us + 8 MiB * 20 ps/B) = 339544320 ps.
  const std::string text = output_of(
      "lockstep collective all_reduce --cluster star --algorithm parameter_server -b 1M -e 1M "
      "--format json");
  CHECK(contains(text, "\"time_s\": 0.00033954432,"));
}

}  // namespace lockstep
