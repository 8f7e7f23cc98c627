#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

/// A server of HTTP/1.1 for a browser on the same machine: bound to 127.0.0.1, one reply per
/// connection.
namespace lockstep::cli {

struct HttpRequest {
  std::string method;    // "GET", "HEAD", "OPTIONS"; others are refused before
  std::string path;      // "/run.json", percent-decoded, without its query
  std::string origin{};  // of a page that asks from another address
};

struct HttpReply {
  int status = 200;
  std::string type{};  // "text/html; charset=utf-8"
  std::string body{};
  std::string file{};  // instead of a body: a file, read while it is sent
  std::vector<std::pair<std::string, std::string>> headers{};  // further ones
};

/// "404 Not Found" as a reply of text.
[[nodiscard]] HttpReply not_found(const HttpRequest& request);

class LoopbackServer {
 public:
  /// Binds the port; 0 takes a free one. Throws UsageError, naming `option`, if it cannot be bound.
  explicit LoopbackServer(int port, const std::string& option = "--port");
  LoopbackServer(const LoopbackServer&) = delete;
  LoopbackServer& operator=(const LoopbackServer&) = delete;
  ~LoopbackServer();

  [[nodiscard]] int port() const { return port_; }
  /// "http://127.0.0.1:9001".
  [[nodiscard]] std::string address() const;

  /// Replies until ctrl-C, then throws Interrupted. Requests whose Host is not this address are
  /// refused, so that no page can reach the server through a name of its own.
  void serve(const std::function<HttpReply(const HttpRequest&)>& reply) const;

 private:
  int socket_ = -1;
  int port_ = 0;
};

}  // namespace lockstep::cli
