#include "tools/python/table/arrow.hpp"

#include <array>
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

namespace lockstep::python {

namespace {

constexpr std::int64_t kNullable = 2;  // ARROW_FLAG_NULLABLE

const char* format_of(ColumnType type) {
  switch (type) {
    case ColumnType::boolean:
      return "b";
    case ColumnType::integer:
      return "l";
    case ColumnType::real:
      return "g";
    case ColumnType::text:
      break;
  }
  return "u";
}

/// Releases what the consumer has not moved away.
template <class Struct>
void release_children(Struct& of) {
  for (std::int64_t i = 0; i < of.n_children; ++i)
    if (of.children[i]->release != nullptr) of.children[i]->release(of.children[i]);
}

/// Memory of a schema and of its children.
struct SchemaData {
  std::string name;
  std::vector<ArrowSchema> children;
  std::vector<ArrowSchema*> pointers;
};

void release_schema(ArrowSchema* schema) {
  release_children(*schema);
  delete static_cast<SchemaData*>(schema->private_data);
  schema->release = nullptr;
}

void fill(ArrowSchema& out, const char* format, std::string name, std::int64_t flags) {
  auto data = std::make_unique<SchemaData>();
  data->name = std::move(name);
  out = {format, data->name.c_str(), nullptr, flags, 0, nullptr, nullptr, release_schema, nullptr};
  out.private_data = data.release();
}

void fill(ArrowSchema& out, const Table& table) {
  fill(out, "+s", "", 0);
  auto& data = *static_cast<SchemaData*>(out.private_data);
  data.children.resize(table.columns.size());
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const Column& column = table.columns[i];
    fill(data.children[i], format_of(column.type), column.name, kNullable);
    data.pointers.push_back(&data.children[i]);
  }
  out.n_children = static_cast<std::int64_t>(data.pointers.size());
  out.children = data.pointers.data();
}

/// Memory of an array and of its children; the buffers are the table's.
struct ArrayData {
  std::shared_ptr<const Table> table;
  std::array<const void*, 3> buffers{};
  std::vector<ArrowArray> children;
  std::vector<ArrowArray*> pointers;
};

void release_array(ArrowArray* array) {
  release_children(*array);
  delete static_cast<ArrayData*>(array->private_data);
  array->release = nullptr;
}

ArrayData& fill(ArrowArray& out, std::shared_ptr<const Table> table, std::int64_t nulls,
                std::int64_t buffers) {
  auto data = std::make_unique<ArrayData>();
  data->table = std::move(table);
  ArrayData& made = *data;
  out = {static_cast<std::int64_t>(made.table->rows),
         nulls,
         0,
         buffers,
         0,
         made.buffers.data(),
         nullptr,
         nullptr,
         release_array,
         data.release()};
  return made;
}

void fill(ArrowArray& out, const std::shared_ptr<const Table>& table, const Column& column) {
  const bool is_text = column.type == ColumnType::text;
  ArrayData& data = fill(out, table, static_cast<std::int64_t>(column.nulls), is_text ? 3 : 2);
  data.buffers[0] = column.valid.empty() ? nullptr : column.valid.data();
  switch (column.type) {
    case ColumnType::boolean:
      data.buffers[1] = column.bits.data();
      break;
    case ColumnType::integer:
      data.buffers[1] = column.integers.data();
      break;
    case ColumnType::real:
      data.buffers[1] = column.reals.data();
      break;
    case ColumnType::text:
      data.buffers[1] = column.offsets.data();
      data.buffers[2] = column.texts.data();
      break;
  }
}

void fill(ArrowArray& out, const std::shared_ptr<const Table>& table) {
  ArrayData& data = fill(out, table, 0, 1);
  data.children.resize(table->columns.size());
  for (std::size_t i = 0; i < table->columns.size(); ++i) {
    fill(data.children[i], table, table->columns[i]);
    data.pointers.push_back(&data.children[i]);
  }
  out.n_children = static_cast<std::int64_t>(data.pointers.size());
  out.children = data.pointers.data();
}

struct StreamData {
  std::shared_ptr<const Table> table;
  bool is_read = false;
};

StreamData& data_of(ArrowArrayStream* stream) {
  return *static_cast<StreamData*>(stream->private_data);
}

/// No exception reaches the consumer, which may be C.
template <class Fill>
int guarded(const Fill& fill_it) noexcept {
  try {
    fill_it();
    return 0;
  } catch (...) {
    return ENOMEM;
  }
}

int get_schema(ArrowArrayStream* stream, ArrowSchema* out) {
  return guarded([&] { fill(*out, *data_of(stream).table); });
}

int get_next(ArrowArrayStream* stream, ArrowArray* out) {
  StreamData& data = data_of(stream);
  if (std::exchange(data.is_read, true)) {
    *out = {};  // a released array is the end
    return 0;
  }
  return guarded([&] { fill(*out, data.table); });
}

const char* get_last_error(ArrowArrayStream*) {
  return "out of memory";
}

void release_stream(ArrowArrayStream* stream) {
  delete &data_of(stream);
  stream->release = nullptr;
}

}  // namespace

std::unique_ptr<ArrowArrayStream> arrow_stream(std::shared_ptr<const Table> table) {
  auto data = std::make_unique<StreamData>();
  data->table = std::move(table);
  return std::make_unique<ArrowArrayStream>(
      ArrowArrayStream{get_schema, get_next, get_last_error, release_stream, data.release()});
}

}  // namespace lockstep::python
