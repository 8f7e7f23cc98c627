#include "tools/lockstep/serve/loopback_server.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>

#include "tools/lockstep/output/descriptor.hpp"
#include "tools/lockstep/output/errors.hpp"
#include "tools/lockstep/output/interrupt.hpp"
#include "tools/lockstep/serve/http_text.hpp"

namespace lockstep::cli {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostHead = 16384;
constexpr std::size_t kMostConnections = 64;
constexpr std::size_t kPiece = 65536;
constexpr std::chrono::seconds kPatience{10};  // for a peer that neither sends nor receives
constexpr int kPollMilliseconds = 200;

/// A browser's connection until its request is complete.
struct Connection {
  Descriptor socket;
  Clock::time_point since = Clock::now();
  std::string text{};
};

/// Sends all of it; false if the peer has gone, does not read, or ctrl-C came.
bool send_all(int socket, std::string_view text) {
  Clock::time_point moved = Clock::now();
  while (!text.empty()) {
    if (was_interrupted() || Clock::now() - moved > kPatience) return false;
    pollfd ready{socket, POLLOUT, 0};
    if (::poll(&ready, 1, kPollMilliseconds) <= 0) continue;
    const ssize_t sent = ::send(socket, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) return false;
    if (sent <= 0) continue;
    moved = Clock::now();
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

void send_file(int socket, const HttpReply& reply, bool with_body) {
  std::error_code error;
  const std::uintmax_t length = std::filesystem::file_size(reply.file, error);
  std::ifstream in(reply.file, std::ios::binary);
  if (error || !in) {
    const HttpReply failed{500, "text/plain; charset=utf-8", "cannot read the file\n"};
    send_all(socket, head_of(failed, failed.body.size()) + failed.body);
    return;
  }
  if (!send_all(socket, head_of(reply, length)) || !with_body) return;
  std::string piece(kPiece, '\0');
  for (std::uintmax_t left = length; left > 0;) {
    in.read(piece.data(), static_cast<std::streamsize>(std::min<std::uintmax_t>(left, kPiece)));
    const auto got = static_cast<std::size_t>(in.gcount());
    if (got == 0 || !send_all(socket, std::string_view{piece}.substr(0, got))) return;
    left -= got;
  }
}

void send_reply(int socket, const HttpReply& reply, bool with_body) {
  if (!reply.file.empty()) {
    send_file(socket, reply, with_body);
    return;
  }
  send_all(socket, head_of(reply, reply.body.size()) + (with_body ? reply.body : ""));
}

HttpReply refused(int status, std::string why) {
  return {status, "text/plain; charset=utf-8", std::move(why) + "\n", {}, {}};
}

class Serving {
 public:
  Serving(int listener, std::string host, const std::function<HttpReply(const HttpRequest&)>& reply)
      : listener_{listener}, host_{std::move(host)}, reply_{reply} {}

  void run() {
    const InterruptGuard guard;
    while (!was_interrupted()) round();
    throw Interrupted();
  }

 private:
  /// Waits for the listener and all connections, then serves those that have something.
  void round() {
    std::vector<pollfd> ready{{listener_, POLLIN, 0}};
    for (const Connection& each : open_) ready.push_back({each.socket.number(), POLLIN, 0});
    if (::poll(ready.data(), ready.size(), kPollMilliseconds) < 0) return;  // a signal
    const Clock::time_point now = Clock::now();
    std::vector<Connection> kept;
    for (std::size_t i = 0; i < open_.size(); ++i) {
      const bool done =
          ready[i + 1].revents != 0 ? read(open_[i]) : now - open_[i].since > kPatience;
      if (!done) kept.push_back(std::move(open_[i]));
    }
    open_ = std::move(kept);
    if (ready[0].revents != 0) accept();
  }

  void accept() {
    const int socket = ::accept(listener_, nullptr, nullptr);
    if (socket < 0) return;
    Connection added{Descriptor{socket}};
    if (open_.size() < kMostConnections) open_.push_back(std::move(added));
  }

  /// Whether the connection is over: replied to, closed or too long.
  bool read(Connection& connection) const {
    std::array<char, 4096> buffer{};
    const int socket = connection.socket.number();
    const ssize_t got = ::recv(socket, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got < 0) return errno != EAGAIN && errno != EINTR;
    if (got == 0 || connection.text.size() > kMostHead) return true;
    connection.text.append(buffer.data(), static_cast<std::size_t>(got));
    if (connection.text.find("\r\n\r\n") == std::string::npos) return false;
    answer(socket, parse_head(connection.text));
    return true;
  }

  void answer(int socket, const std::optional<HttpHead>& head) const {
    if (!head) {
      send_reply(socket, refused(400, "not a request of HTTP/1.1"), true);
      return;
    }
    const std::string& method = head->request.method;
    const bool with_body = method != "HEAD";
    if (head->host != host_ && head->host != "localhost" + host_.substr(host_.find(':')))
      send_reply(socket, refused(403, "expected the host " + host_), with_body);
    else if (method != "GET" && method != "HEAD" && method != "OPTIONS")
      send_reply(socket, refused(405, "expected GET, HEAD or OPTIONS"), with_body);
    else
      send_reply(socket, reply_(head->request), with_body);
    ::shutdown(socket, SHUT_WR);
  }

  int listener_;
  std::string host_;
  const std::function<HttpReply(const HttpRequest&)>& reply_;
  std::vector<Connection> open_{};
};

/// Throws UsageError with the reason of the system.
[[noreturn]] void refuse_port(const std::string& option, int port, int error) {
  throw UsageError(fmt::format(
      "{} {}: cannot be bound on 127.0.0.1: {}{}", option, port,
      std::generic_category().message(error),
      error == EADDRINUSE ? "; end the program that has it, or give another port" : ""));
}

}  // namespace

HttpReply not_found(const HttpRequest& request) {
  return refused(404, fmt::format("nothing is served at {}", request.path));
}

LoopbackServer::LoopbackServer(int port, const std::string& option) {
  Descriptor made{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  if (made.number() < 0) refuse_port(option, port, errno);
  const int on = 1;
  ::setsockopt(made.number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(made.number(), generic, length) != 0) refuse_port(option, port, errno);
  if (::listen(made.number(), SOMAXCONN) != 0) refuse_port(option, port, errno);
  if (::getsockname(made.number(), generic, &length) != 0) refuse_port(option, port, errno);
  port_ = ntohs(address.sin_port);
  socket_ = ::dup(made.number());
}

LoopbackServer::~LoopbackServer() {
  if (socket_ >= 0) ::close(socket_);
}

std::string LoopbackServer::address() const {
  return fmt::format("http://127.0.0.1:{}", port_);
}

void LoopbackServer::serve(const std::function<HttpReply(const HttpRequest&)>& reply) const {
  Serving{socket_, fmt::format("127.0.0.1:{}", port_), reply}.run();
}

}  // namespace lockstep::cli
