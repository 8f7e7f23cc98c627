#include "strategies/interop/nccl_tests/nccl_tests_json.hpp"

#include "sim/config/reader.hpp"
#include "strategies/interop/nccl_tests/nccl_tests_words.hpp"

namespace lockstep {

namespace {

constexpr double kMostMicroseconds = 9.2e12;  // 106 days
constexpr double kMostGbPerS = 1e12;

/// A number; a text such as "N/A", or null, where it was not checked.
std::optional<double> wrong_of(ObjectReader& in) {
  const auto found = in.optional("nwrong");
  if (!found || found->is_string()) return std::nullopt;
  if (found->value()->get_if<std::nullptr_t>() != nullptr) return std::nullopt;
  return found->number(0, 1e300);
}

NcclMeasurement measurement(ObjectReader& in) {
  (void)in.all();
  NcclMeasurement out;
  out.time = from_microseconds(in.number("time", 0, kMostMicroseconds)).value_or(Duration{});
  out.algbw_gb_per_s = in.number("alg_bw", 0, kMostGbPerS);
  out.busbw_gb_per_s = in.number("bus_bw", 0, kMostGbPerS);
  out.wrong = wrong_of(in);
  return out;
}

/// null as where the key is absent.
std::optional<NcclMeasurement> half(ObjectReader& in, std::string_view key) {
  const auto found = in.optional(key);
  if (!found || found->value()->get_if<std::nullptr_t>() != nullptr) return std::nullopt;
  return found->object([](ObjectReader& object) { return measurement(object); });
}

NcclRow row(ObjectReader& in) {
  (void)in.all();
  NcclRow out;
  out.at = in.self().value() != nullptr ? in.self().value()->at : Position{};
  out.size = Bytes{in.integer("size", 0, INT64_MAX)};
  out.count = in.integer("count", 0, INT64_MAX);
  out.type = in.string("type");
  out.redop = in.optional_string("redop").value_or("");
  out.root = static_cast<int>(in.integer("root", -1, INT32_MAX, -1));
  out.out_of_place = half(in, "out_of_place");
  out.in_place = half(in, "in_place");
  return out;
}

NcclDevice device(ObjectReader& in) {
  (void)in.all();
  NcclDevice out;
  out.rank = static_cast<int>(in.integer("rank", 0, INT32_MAX));
  out.host = in.optional_string("hostname").value_or("");
  out.device = static_cast<int>(in.integer("device", 0, INT32_MAX, 0));
  for (const std::string_view key : {"device_name", "name"})
    if (const auto name = in.optional_string(key)) out.name = *name;
  return out;
}

/// The words of the command, of which one is the program.
void read_arguments(ObjectReader& in, NcclRun& run) {
  const auto take = [&run](const ValueReader& word) {
    const auto* text = word.value()->get_if<std::string>();
    if (text == nullptr) return;
    for (const NcclWord& each : words_of(*text))
      if (const auto name = collective_of(each.text)) run.collective = *name;
  };
  const auto found = in.optional("args");
  if (!found) return;
  if (found->is_array()) {
    found->array(take);
  } else {
    take(*found);
  }
}

std::optional<int> small_number(ObjectReader& in, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys)
    if (const auto found = in.optional_integer(key, 0, INT32_MAX)) return static_cast<int>(*found);
  return std::nullopt;
}

void read_config(ObjectReader& in, NcclRun& run) {
  (void)in.all();
  run.threads = small_number(in, {"nthreads", "nThreads"});
  run.gpus_per_thread = small_number(in, {"ngpus", "nGpus"});
}

std::optional<double> average_of(const ValueReader& value) {
  if (!value.is_object()) return value.number(0, kMostGbPerS);
  return value.object([](ObjectReader& in) {
    (void)in.all();
    return in.optional_number("bandwidth", 0, kMostGbPerS);
  });
}

NcclRun read_run(ObjectReader& in) {
  (void)in.all();
  NcclRun run;
  run.version = in.optional_string("version").value_or("");
  read_arguments(in, run);
  if (const auto config = in.optional("config"); config && config->is_object())
    config->object([&run](ObjectReader& object) { read_config(object, run); });
  in.optional_array("devices", [&run](const ValueReader& value) {
    run.devices.push_back(value.object([](ObjectReader& object) { return device(object); }));
  });
  in.array(
      "results",
      [&run](const ValueReader& value) {
        run.rows.push_back(value.object([](ObjectReader& object) { return row(object); }));
      },
      1);
  if (const auto average = in.optional("average_bus_bandwidth"))
    run.average_busbw_gb_per_s = average_of(*average);
  return run;
}

}  // namespace

NcclRun parse_nccl_tests_json(std::string_view text, const std::string& file) {
  return read_document(parse_json(text, file), read_run);
}

}  // namespace lockstep
