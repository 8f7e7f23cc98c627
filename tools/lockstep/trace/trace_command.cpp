#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

#include "tools/lockstep/commands.hpp"
#include "tools/lockstep/options/number_option.hpp"
#include "tools/lockstep/output/errors.hpp"
#include "tools/lockstep/output/output.hpp"
#include "tools/lockstep/parser/command_parser.hpp"
#include "tools/lockstep/serve/http_text.hpp"
#include "tools/lockstep/serve/loopback_server.hpp"

namespace lockstep::cli {

namespace {

/// The page may read from this port of the machine that shows it and from no other: `connect-src`
/// of its content security policy (google/perfetto, ui/src/frontend/index.ts).
constexpr int kPerfettoPort = 9001;
constexpr std::string_view kPerfetto = "https://ui.perfetto.dev";

struct Options {
  std::string file;
  int port = kPerfettoPort;
};

/// The beginning of a trace that `--trace` writes, or of a compressed one.
bool looks_like_trace(std::string_view begin) {
  constexpr std::string_view kGzip = "\x1f\x8b";
  return begin.starts_with("{\"displayTimeUnit\"") || begin.starts_with(kGzip);
}

void check_trace(const std::string& file) {
  std::error_code error;
  if (std::filesystem::is_directory(file, error))
    throw UsageError(fmt::format("{}: is a folder; expected a trace of --trace FILE", file));
  std::ifstream in(file, std::ios::binary);
  if (!in)
    throw UsageError(
        fmt::format("{}: cannot read: {}", file, std::generic_category().message(errno)));
  std::array<char, 32> begin{};
  in.read(begin.data(), begin.size());
  if (!looks_like_trace({begin.data(), static_cast<std::size_t>(in.gcount())}))
    throw UsageError(fmt::format(
        "{}: is not a trace as --trace writes it: it begins neither with {{\"displayTimeUnit\" "
        "nor as a gzip file",
        file));
}

/// Readable by ui.perfetto.dev alone.
HttpReply trace_reply(const Options& given, const std::string& path, const HttpRequest& request) {
  if (request.path != path) return not_found(request);
  HttpReply out;
  out.headers = {{"Access-Control-Allow-Origin", std::string{kPerfetto}}, {"Vary", "Origin"}};
  if (request.method == "OPTIONS") {  // a preflight of a public page that reads from this machine
    out.status = 204;
    out.headers.emplace_back("Access-Control-Allow-Methods", "GET, HEAD");
    out.headers.emplace_back("Access-Control-Allow-Private-Network", "true");
    return out;
  }
  out.type = given.file.ends_with(".gz") ? "application/gzip" : "application/json";
  out.file = given.file;
  return out;
}

void serve(const Options& given) {
  check_trace(given.file);
  const LoopbackServer server(given.port);
  const std::string path = "/" + std::filesystem::path(given.file).filename().string();
  print(fmt::format("{}/#!/?url={}{}\n", kPerfetto, server.address(), percent_encoded(path)));
  std::fflush(stdout);
  if (server.port() != kPerfettoPort)
    fmt::print(stderr,
               "lockstep: note: {} reads from port {} alone; port {} is for a copy of it that you "
               "host\n",
               kPerfetto, kPerfettoPort, server.port());
  fmt::print(stderr, "lockstep: serving {} until ctrl-C\n", given.file);
  server.serve([&](const HttpRequest& request) { return trace_reply(given, path, request); });
}

}  // namespace

void add_trace_serve(const Command& app) {
  const Command trace = app.add_subcommand("trace", "Open a trace of --trace in a browser");
  trace->require_subcommand(1);
  const std::string examples =
      "Examples:\n"
      "  lockstep trace serve run.json\n"
      "  lockstep trace serve run.json.gz --port 9002";
  trace->footer(examples);
  const auto given = std::make_shared<Options>();
  const Command serving = trace->add_subcommand(
      "serve", "Serve a trace to ui.perfetto.dev from this machine and print its link");
  serving->add_option("file", given->file, "Trace that --trace FILE wrote")
      ->required()
      ->type_name("FILE");
  add_whole_number(
      *serving, "--port", 0, 65535, [given](auto port) { given->port = static_cast<int>(port); },
      "Port on 127.0.0.1, 0 for a free one; ui.perfetto.dev reads from 9001 alone (default: 9001)")
      ->type_name("PORT");
  serving->footer(
      "Open the link in a browser on this machine. Only 127.0.0.1 is listened on, and only a page "
      "of\nui.perfetto.dev may read the trace, which stays in the browser. Ctrl-C ends the "
      "server.\n\n" +
      examples);
  serving->resets(given);
  serving->callback([given] { serve(*given); });
}

}  // namespace lockstep::cli
