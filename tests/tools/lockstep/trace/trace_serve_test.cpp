#include <doctest/doctest.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>

#include "tests/tools/new_file.hpp"
#include "tests/tools/run_command.hpp"

/// `trace serve`: one file, for one page, on this machine alone.
namespace lockstep {

namespace {

/// Ends with what the server printed and its exit code.
class Server {
 public:
  explicit Server(const std::string& file) {
    // Prints its process id first, so that only it is interrupted.
    start("lockstep trace serve " + file + " --port 0");
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server() {
    if (pipe_ != nullptr) (void)interrupt();
  }

  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] const std::string& link() const { return link_; }
  /// The exit code after ctrl-C.
  int interrupt() {
    ::kill(process_, SIGINT);
    const int status = ::pclose(pipe_);
    pipe_ = nullptr;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  /// The whole reply to a request.
  [[nodiscard]] std::string reply(const std::string& method, const std::string& path,
                                  const std::string& host = {}) const {
    const int connection = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port_));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(connection, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    const std::string request = method + " " + path + " HTTP/1.1\r\nHost: " +
                                (host.empty() ? "127.0.0.1:" + std::to_string(port_) : host) +
                                "\r\n\r\n";
    REQUIRE(::send(connection, request.data(), request.size(), 0) ==
            static_cast<ssize_t>(request.size()));
    std::string out;
    std::string buffer(4096, '\0');
    for (ssize_t got = 0; (got = ::recv(connection, buffer.data(), buffer.size(), 0)) > 0;)
      out.append(buffer, 0, static_cast<std::size_t>(got));
    ::close(connection);
    return out;
  }

 private:
  void start(const std::string& command) {
    const std::string binary = LOCKSTEP_BINARY;
    const std::string folder = binary.substr(0, binary.rfind('/'));
    pipe_ = ::popen(("cd " LOCKSTEP_SOURCE_DIR "; PATH=" + folder + ":$PATH; echo $$; exec " +
                     command + " 2>/dev/null")
                        .c_str(),
                    "r");
    REQUIRE(pipe_ != nullptr);
    process_ = std::stoi(line());
    link_ = line();
    port_ = std::stoi(link_.substr(link_.rfind(':') + 1));
  }
  std::string line() {
    std::string out;
    for (int c = 0; (c = std::fgetc(pipe_)) != EOF && c != '\n';) out += static_cast<char>(c);
    return out;
  }

  std::FILE* pipe_ = nullptr;
  int process_ = 0;
  int port_ = 0;
  std::string link_;
};

std::string body_of(const std::string& reply) {
  return reply.substr(reply.find("\r\n\r\n") + 4);
}

/// A trace that is removed with its folder's entry.
class TraceFile {
 public:
  explicit TraceFile(const std::string& ending) : path_{file_.path() + ending} {
    (void)output_of("lockstep run mlp-two-gpus --trace " + path_);
  }
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;
  ~TraceFile() { (void)std::remove(path_.c_str()); }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string name() const { return path_.substr(path_.rfind('/')); }

 private:
  NewFile file_{};
  std::string path_;
};

}  // namespace

TEST_CASE("trace serve gives the file to ui.perfetto.dev alone, until ctrl-C") {
  for (const std::string ending : {".json", ".json.gz"}) {
    const TraceFile trace(ending);
    Server server(trace.path());
    CHECK(server.link() == "https://ui.perfetto.dev/#!/?url=http://127.0.0.1:" +
                               std::to_string(server.port()) + trace.name());
    const std::string reply = server.reply("GET", trace.name());
    CHECK(reply.starts_with("HTTP/1.1 200 OK\r\n"));
    CHECK(contains(reply, "\r\nAccess-Control-Allow-Origin: https://ui.perfetto.dev\r\n"));
    CHECK(body_of(reply) == text_of(trace.path()));
    CHECK(body_of(server.reply("HEAD", trace.name())).empty());
    // A preflight of a public page that reads from the machine's own network.
    CHECK(contains(server.reply("OPTIONS", trace.name()),
                   "\r\nAccess-Control-Allow-Private-Network: true\r\n"));
    CHECK(server.interrupt() == 130);
  }
}

TEST_CASE("trace serve has one file, reads only, and refuses other names of itself") {
  const TraceFile trace(".json");
  Server server(trace.path());
  CHECK(server.reply("GET", "/").starts_with("HTTP/1.1 404"));
  CHECK(server.reply("GET", "/../../../etc/passwd").starts_with("HTTP/1.1 404"));
  CHECK(server.reply("GET", "/%2e%2e/etc/passwd").starts_with("HTTP/1.1 404"));
  CHECK(server.reply("POST", trace.name()).starts_with("HTTP/1.1 405"));
  CHECK(server.reply("GET", "no path").starts_with("HTTP/1.1 400"));
  // DNS rebinding: a page whose name is made to mean 127.0.0.1.
  CHECK(server.reply("GET", trace.name(), "evil.example").starts_with("HTTP/1.1 403"));
  CHECK(server.reply("GET", trace.name()).starts_with("HTTP/1.1 200"));
}

TEST_CASE("trace serve names what is wrong with a file or a port") {
  const auto refused = [](const std::string& arguments, std::string_view error) {
    const CommandResult result = run_command("lockstep trace serve " + arguments);
    CHECK(result.status == 2);
    CHECK(result.out.empty());
    CAPTURE(result.err);
    CHECK(contains(result.err, error));
  };
  refused("/no/such/trace.json", "/no/such/trace.json: cannot read: No such file");
  refused("README.md", "README.md: is not a trace as --trace writes it");
  refused("configs", "configs: is a folder");
  const TraceFile trace(".json");
  refused(trace.path() + " --port 65536", "expected an integer from 0 to 65535");
  const Server server(trace.path());
  refused(trace.path() + " --port " + std::to_string(server.port()),
          "cannot be bound on 127.0.0.1: Address already in use");
}

}  // namespace lockstep
