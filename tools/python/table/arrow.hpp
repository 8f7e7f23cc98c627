#pragma once

#include <cstdint>
#include <memory>

#include "tools/python/table/table.hpp"

/// The Arrow C data and C stream interfaces (arrow.apache.org/docs/format/CDataInterface.html), by
/// their structs alone.
extern "C" {

struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  std::int64_t flags;
  std::int64_t n_children;
  struct ArrowSchema** children;
  struct ArrowSchema* dictionary;
  void (*release)(struct ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  std::int64_t length;
  std::int64_t null_count;
  std::int64_t offset;
  std::int64_t n_buffers;
  std::int64_t n_children;
  const void** buffers;
  struct ArrowArray** children;
  struct ArrowArray* dictionary;
  void (*release)(struct ArrowArray*);
  void* private_data;
};

struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream*, struct ArrowSchema* out);
  int (*get_next)(struct ArrowArrayStream*, struct ArrowArray* out);
  const char* (*get_last_error)(struct ArrowArrayStream*);
  void (*release)(struct ArrowArrayStream*);
  void* private_data;
};
}

namespace lockstep::python {

/// A stream of one struct array whose children are the columns. Consumers get the table's own
/// buffers, which live until the last of them is released.
[[nodiscard]] std::unique_ptr<ArrowArrayStream> arrow_stream(std::shared_ptr<const Table> table);

}  // namespace lockstep::python
