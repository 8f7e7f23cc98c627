#pragma once

#include "sim/config/json.hpp"

namespace lockstep {

/// Writes the parameters of kernel_fields.hpp into configs/schema/kernels.schema.json, whose other
/// parts are left as they are.
void write_kernel_schema(JsonValue& schema);
/// The same for configs/schema/box.schema.json, the schema of machine calibrations.
void write_machine_schema(JsonValue& schema);

}  // namespace lockstep
