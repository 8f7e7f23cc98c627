#pragma once

/// The command line is a skin over the use cases, whose names need no prefix here.
namespace lockstep::app {}
namespace lockstep::cli {
using namespace app;
}
