#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tools/lockstep/serve/loopback_server.hpp"

/// The text of requests and replies.
namespace lockstep::cli {

/// The head of a request, up to its empty line.
struct HttpHead {
  HttpRequest request;
  std::string host;
};

/// None if it is no request of HTTP/1.0 or 1.1.
[[nodiscard]] std::optional<HttpHead> parse_head(std::string_view text);

/// "%20" and such as the bytes that they stand for; none if a code is cut or not hexadecimal.
[[nodiscard]] std::optional<std::string> percent_decoded(std::string_view text);
/// All but letters, digits and "-._~/" as codes.
[[nodiscard]] std::string percent_encoded(std::string_view text);

/// Status line and headers, with the length of the body.
[[nodiscard]] std::string head_of(const HttpReply& reply, std::uint64_t length);

}  // namespace lockstep::cli
