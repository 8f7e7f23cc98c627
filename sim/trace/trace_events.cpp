#include "sim/trace/trace_events.hpp"

#include <iterator>

#include "sim/base/check.hpp"
#include "sim/base/json_text.hpp"

namespace lockstep {

namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 16U;

}  // namespace

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
