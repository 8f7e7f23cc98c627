#include "tools/lockstep/serve/http_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

namespace lockstep::cli {

namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

bool same_word(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

/// The text up to `end`, which is removed with it.
std::string_view cut(std::string_view& text, std::string_view end) {
  const std::size_t at = text.find(end);
  const std::string_view out = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + end.size());
  return out;
}

std::string_view reason_of(int status) {
  constexpr std::array<std::pair<int, std::string_view>, 7> kReasons = {
      {{200, "OK"},
       {204, "No Content"},
       {400, "Bad Request"},
       {403, "Forbidden"},
       {404, "Not Found"},
       {405, "Method Not Allowed"},
       {500, "Internal Server Error"}}};
  const auto* const found =
      std::ranges::find(kReasons, status, &std::pair<int, std::string_view>::first);
  return found == kReasons.end() ? "OK" : found->second;
}

}  // namespace

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    unsigned int code = 0;
    const std::string_view digits = text.substr(i + 1, 2);
    const char* end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, code, 16);
    if (digits.size() < 2 || error != std::errc{} || stop != end) return std::nullopt;
    out += static_cast<char>(code);
    i += 2;
  }
  return out;
}

std::string percent_encoded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = byte < 0x80 && (std::isalnum(byte) != 0 ||
                                       std::string_view{"-._~/"}.find(c) != std::string_view::npos);
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return out;
}

std::optional<HttpHead> parse_head(std::string_view text) {
  std::string_view line = trimmed(cut(text, "\n"));
  HttpHead out;
  out.request.method = cut(line, " ");
  std::string_view target = cut(line, " ");
  if (!line.starts_with("HTTP/1.") || !target.starts_with("/")) return std::nullopt;
  const auto path = percent_decoded(cut(target, "?"));
  if (!path) return std::nullopt;
  out.request.path = *path;
  while (!text.empty()) {
    std::string_view header = trimmed(cut(text, "\n"));
    const std::string_view name = cut(header, ":");
    if (same_word(name, "host")) out.host = trimmed(header);
    if (same_word(name, "origin")) out.request.origin = trimmed(header);
  }
  return out;
}

std::string head_of(const HttpReply& reply, std::uint64_t length) {
  std::string out = fmt::format("HTTP/1.1 {} {}\r\nConnection: close\r\nContent-Length: {}\r\n",
                                reply.status, reason_of(reply.status), length);
  if (!reply.type.empty()) out += fmt::format("Content-Type: {}\r\n", reply.type);
  out += "X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n";
  for (const auto& [name, value] : reply.headers) out += fmt::format("{}: {}\r\n", name, value);
  return out + "\r\n";
}

}  // namespace lockstep::cli
