#include "tools/lockstep/report/page_data.hpp"

#include <zlib.h>

#include <vector>

#include "sim/base/check.hpp"

namespace lockstep::cli {

namespace {

std::string deflated(std::string_view text) {
  constexpr int kNoHeader = -15;
  z_stream stream{};
  LOCKSTEP_CHECK(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kNoHeader, 8,
                              Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int result = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  LOCKSTEP_CHECK(result == Z_STREAM_END);
  return out;
}

std::string base64_of(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve(bytes.size() * 4 / 3 + 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t three = 0;
    for (std::size_t k = 0; k < 3; ++k)
      three =
          (three << 8U) | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k)
      out += i + k <= bytes.size() ? kDigits[(three >> (18U - 6U * k)) & 63U] : '=';
  }
  return out;
}

}  // namespace

std::string packed(std::string_view text) {
  return base64_of(deflated(text));
}

std::size_t packed_size(std::string_view text) {
  return (deflated(text).size() + 2) / 3 * 4;
}

}  // namespace lockstep::cli
