#include "sim/trace/trace_events.hpp"

#include <iterator>

#include "sim/base/check.hpp"

namespace lockstep {

namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 16U;

/// Bytes of the UTF-8 character that `text` begins with; 0 where it is none (RFC 3629, section 4).
[[nodiscard]] std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  // The second byte's range keeps out overlong forms, surrogates and what is beyond U+10FFFF.
  const unsigned low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const unsigned high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  if (byte(1) < low || byte(1) > high) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xbf) return 0;
  }
  return length;
}

}  // namespace

std::string json_string(std::string_view text) {
  std::string out{"\""};
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const char first = text.front();
    if (length == 0) {
      out += "\\ufffd";
    } else if (first == '"' || first == '\\') {
      out += {'\\', first};
    } else if (length == 1 && static_cast<unsigned char>(first) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(first));
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out += '"';
  return out;
}

std::string json_strings(const std::vector<std::string_view>& texts) {
  std::string out{"["};
  for (const std::string_view text : texts) {
    if (out.size() > 1) out += ',';
    out += json_string(text);
  }
  out += ']';
  return out;
}

std::string trace_time(std::int64_t ps) {
  LOCKSTEP_CHECK(ps >= 0);
  return fmt::format("{}.{:06}", ps / 1'000'000, ps % 1'000'000);
}

TraceEvents::TraceEvents(const TextSink& sink) : sink_{&sink} {
  fmt::format_to(std::back_inserter(buffer_), "{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
}

void TraceEvents::finish() {
  fmt::format_to(std::back_inserter(buffer_), "\n]}}\n");
  (*sink_)({buffer_.data(), buffer_.size()});
  buffer_.clear();
}

void TraceEvents::begin() {
  fmt::format_to(std::back_inserter(buffer_), "{}", first_ ? "\n" : ",\n");
  first_ = false;
}

void TraceEvents::end() {
  if (buffer_.size() < kBufferBytes) return;
  (*sink_)({buffer_.data(), buffer_.size()});
  buffer_.clear();
}

void TraceEvents::name_process(std::int64_t process, std::string_view name) {
  begin();
  fmt::format_to(
      std::back_inserter(buffer_),
      R"({{"ph":"M","name":"process_name","pid":{0},"args":{{"name":{1}}}}},)"
      "\n"
      R"({{"ph":"M","name":"process_sort_index","pid":{0},"args":{{"sort_index":{0}}}}})",
      process, json_string(name));
  end();
}

void TraceEvents::name_thread(Track track, std::string_view name) {
  begin();
  fmt::format_to(
      std::back_inserter(buffer_),
      R"({{"ph":"M","name":"thread_name","pid":{0},"tid":{1},"args":{{"name":{2}}}}},)"
      "\n"
      R"({{"ph":"M","name":"thread_sort_index","pid":{0},"tid":{1},"args":{{"sort_index":{1}}}}})",
      track.process, track.thread, json_string(name));
  end();
}

void TraceEvents::complete(Track track, std::string_view name, std::string_view category,
                           TimePoint start, TimePoint until, std::string_view args) {
  begin();
  fmt::format_to(
      std::back_inserter(buffer_),
      R"({{"ph":"X","name":{},"cat":{},"pid":{},"tid":{},"ts":{},"dur":{},"args":{{{}}}}})",
      json_string(name), json_string(category), track.process, track.thread, trace_time(start.ps()),
      trace_time((until - start).ps()), args);
  end();
}

void TraceEvents::flow_start(Track track, std::uint64_t id, TimePoint at) {
  flow(R"("s")", track, id, at);
}

void TraceEvents::flow_end(Track track, std::uint64_t id, TimePoint at) {
  flow(R"("f","bp":"e")", track, id, at);  // bp e: binds to the event around it, not the next
}

void TraceEvents::flow(std::string_view phase, Track track, std::uint64_t id, TimePoint at) {
  begin();
  fmt::format_to(
      std::back_inserter(buffer_),
      R"({{"ph":{},"name":"transfer","cat":"transfer","id":{},"pid":{},"tid":{},"ts":{}}})", phase,
      id, track.process, track.thread, trace_time(at.ps()));
  end();
}

void TraceEvents::counter(std::int64_t process, std::string_view name, TimePoint at,
                          std::string_view args) {
  begin();
  fmt::format_to(std::back_inserter(buffer_),
                 R"({{"ph":"C","name":{},"pid":{},"ts":{},"args":{{{}}}}})", json_string(name),
                 process, trace_time(at.ps()), args);
  end();
}

}  // namespace lockstep
