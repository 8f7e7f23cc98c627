#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "tools/app/write_file.hpp"
#include "tools/lockstep/commands.hpp"
#include "tools/lockstep/options/number_option.hpp"
#include "tools/lockstep/output/errors.hpp"
#include "tools/lockstep/output/output.hpp"
#include "tools/lockstep/parser/command_parser.hpp"
#include "tools/lockstep/serve/loopback_server.hpp"
#include "tools/lockstep/teach/answer.hpp"
#include "tools/lockstep/teach/page_file.hpp"

namespace lockstep::cli {

namespace {

namespace fs = std::filesystem;

constexpr int kPort = 9010;

struct Options {
  std::string folder;
  bool serves = false;
  std::optional<int> port;
  std::vector<std::string> requests;
};

void write_page(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error || !fs::is_directory(folder))
    throw IoError(fmt::format("{}: cannot make the folder: {}", folder,
                              error ? error.message() : "a file has this name"));
  const std::string file = (fs::path(folder) / "index.html").string();
  const std::string page = teaching_page();
  write_file(file, page);
  print(fmt::format("{}: a page of {} KB, for any browser\n", file, (page.size() + 999) / 1000));
}

HttpReply page_reply(const std::string& page, const HttpRequest& request) {
  if (request.path != "/" && request.path != "/index.html") return not_found(request);
  HttpReply out;
  out.type = "text/html; charset=utf-8";
  out.body = page;
  return out;
}

void serve(int port) {
  const LoopbackServer server(port);
  print(fmt::format("{}/\n", server.address()));
  std::fflush(stdout);
  fmt::print(stderr, "lockstep: serving the page until ctrl-C\n");
  const std::string page = teaching_page();
  server.serve([&](const HttpRequest& request) { return page_reply(page, request); });
}

void teach(const Options& given) {
  const int asked =
      (given.folder.empty() ? 0 : 1) + (given.serves ? 1 : 0) + (given.requests.empty() ? 0 : 1);
  if (asked != 1)
    throw UsageError("teach: expected one of --output FOLDER, --serve and --ask REQUEST");
  if (given.port && !given.serves) throw UsageError("--port: needs --serve");
  if (!given.folder.empty()) return write_page(given.folder);
  if (given.serves) return serve(given.port.value_or(kPort));
  for (const std::string& request : given.requests) print(answer(request) + "\n");
}

}  // namespace

void add_teach(const Command& app) {
  const Command command = app.add_subcommand(
      "teach", "Write or serve a page that teaches: collectives, pipelines, memory, 12 lessons");
  const auto given = std::make_shared<Options>();
  command
      ->add_option("-o,--output", given->folder,
                   "Folder for the page, index.html: one file that needs no network")
      ->type_name("FOLDER");
  command->add_flag("--serve", given->serves,
                    "Serve the page on 127.0.0.1 and print its link, until ctrl-C");
  add_whole_number(
      *command, "--port", 0, 65535, [given](auto port) { given->port = static_cast<int>(port); },
      "Port of --serve, 0 for a free one (default: 9010)")
      ->type_name("PORT");
  command
      ->add_option("--ask", given->requests,
                   "Print what the page shows for a request, as JSON; repeatable")
      ->type_name("REQUEST")
      ->allow_extra_args(false);
  command->footer(
      "The page simulates with the same engine, compiled to WebAssembly: its numbers equal those "
      "of\nthe command line to the last digit. --ask computes them here: requests are JSON, and "
      "the page\nshows the request of each figure. \"do\" is catalog, film (a collective, message "
      "by message),\nsizes, growth, pipeline or step.\n\n"
      "Examples:\n"
      "  lockstep teach -o lectures\n"
      "  lockstep teach --ask '{\"do\": \"pipeline\", \"schedule\": \"1f1b\", \"stages\": 4, "
      "\"microbatches\": 8, \"forward_ps\": 1000000, \"backward_ps\": 1000000, \"weight_ps\": "
      "1000000, \"send_ps\": 0}'");
  command->resets(given);
  command->callback([given] { teach(*given); });
}

}  // namespace lockstep::cli
