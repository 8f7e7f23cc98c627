#pragma once

#include <pybind11/numpy.h>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace lockstep::python {

/// A numpy array over memory that `owner` keeps; read-only, without a copy.
template <class Number, class Owner>
[[nodiscard]] pybind11::array view(const Number* first, const std::vector<std::size_t>& shape,
                                   const std::vector<std::size_t>& strides,
                                   std::shared_ptr<const Owner> owner) {
  const pybind11::capsule keeper{new std::shared_ptr<const Owner>(std::move(owner)), [](void* of) {
                                   delete static_cast<std::shared_ptr<const Owner>*>(of);
                                 }};
  pybind11::array_t<Number> out({shape.begin(), shape.end()}, {strides.begin(), strides.end()},
                                first, keeper);
  out.attr("setflags")(pybind11::arg("write") = false);
  return out;
}

}  // namespace lockstep::python
