# LOCKSTEP_PYTHON: build the Python module; on where Python's headers and pybind11 are found.
# Debian's Python comes first, since a `python3` on PATH may be another one, without numpy;
# -DPython3_EXECUTABLE=... names another.
if(NOT Python3_EXECUTABLE AND NOT SKBUILD AND EXISTS /usr/bin/python3)
  set(Python3_EXECUTABLE /usr/bin/python3 CACHE FILEPATH "Python that the module is for")
endif()
if(NOT DEFINED LOCKSTEP_PYTHON OR LOCKSTEP_PYTHON)
  find_package(Python3 3.9 QUIET COMPONENTS Interpreter Development.Module)
  if(Python3_FOUND)
    set(PYBIND11_FINDPYTHON ON)  # takes the Python3 that was found
    find_package(pybind11 2.10 QUIET)
  endif()
endif()
set(default OFF)
# A module under sanitizers would need a Python under them.
if(Python3_FOUND AND pybind11_FOUND AND NOT LOCKSTEP_SANITIZE)
  set(default ON)
endif()
option(LOCKSTEP_PYTHON "Build the Python module (needs pybind11 2.10 and Python's headers)" ${default})
if(LOCKSTEP_PYTHON AND NOT (Python3_FOUND AND pybind11_FOUND))
  message(FATAL_ERROR "LOCKSTEP_PYTHON: pybind11 2.10 and the headers of Python 3.9 or later are needed (Debian: pybind11-dev, python3-dev); -DLOCKSTEP_PYTHON=OFF builds without the module")
endif()
if(LOCKSTEP_PYTHON)
  message(STATUS "Python module: for ${Python3_EXECUTABLE} ${Python3_VERSION}, pybind11 ${pybind11_VERSION}")
else()
  message(STATUS "Python module: left out (no pybind11 or Python headers, sanitizers, or not wanted)")
endif()
