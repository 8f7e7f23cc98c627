#include "tools/app/trace_stream.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <system_error>

#include "sim/base/check.hpp"
#include "tools/app/errors.hpp"
#include "tools/app/write_file.hpp"

namespace lockstep::app {

namespace {

/// Text as a gzip member (RFC 1952), without name and time: the same text gives the same bytes.
class Gzip {
 public:
  explicit Gzip(std::ostream& out) : out_{&out} {
    constexpr int kGzipWindow = 15 + 16;  // 16: a gzip header
    LOCKSTEP_CHECK(deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindow, 8,
                                Z_DEFAULT_STRATEGY) == Z_OK);
  }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;
  ~Gzip() { deflateEnd(&stream_); }

  void write(std::string_view text) { pass(text, Z_NO_FLUSH); }
  void finish() { pass({}, Z_FINISH); }

 private:
  void pass(std::string_view text, int flush) {
    stream_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(text.data()));
    stream_.avail_in = static_cast<uInt>(text.size());
    do {
      stream_.next_out = buffer_.data();
      stream_.avail_out = static_cast<uInt>(buffer_.size());
      (void)deflate(&stream_, flush);
      const std::size_t made = buffer_.size() - stream_.avail_out;
      out_->write(reinterpret_cast<const char*>(buffer_.data()),
                  static_cast<std::streamsize>(made));
    } while (stream_.avail_out == 0);
  }

  std::ostream* out_;
  z_stream stream_{};
  std::array<Bytef, 65536> buffer_{};
};

[[noreturn]] void give_up_trace(const std::string& path, const std::string& beside, int error) {
  if (beside != path) std::remove(beside.c_str());
  throw IoError(fmt::format("cannot write {}: {}", path, std::generic_category().message(error)));
}

void write_to(std::ostream& out, bool compressed,
              const std::function<void(const TextSink&)>& write) {
  if (!compressed) {
    write([&out](std::string_view text) { out << text; });
    return;
  }
  Gzip gzip(out);
  // Pieces are at most some hundred kilobytes; zlib counts in 32 bits.
  write([&gzip](std::string_view text) { gzip.write(text); });
  gzip.finish();
}

}  // namespace

void write_trace_file(const std::string& path, const std::function<void(const TextSink&)>& write,
                      const OnTraceSize& on_size) {
  if (on_size) {
    std::int64_t bytes = 0;
    write([&bytes](std::string_view text) { bytes += static_cast<std::int64_t>(text.size()); });
    on_size(Bytes{bytes});
  }
  const std::string beside = place_to_write(path);
  {
    std::ofstream out(beside, std::ios::binary);
    if (out) write_to(out, path.ends_with(".gz"), write);
    out.flush();
    if (!out) give_up_trace(path, beside, errno);
  }
  if (beside != path && std::rename(beside.c_str(), path.c_str()) != 0)
    give_up_trace(path, beside, errno);
}

}  // namespace lockstep::app
