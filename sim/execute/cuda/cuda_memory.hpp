#pragma once

#include <cuda_runtime.h>
#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <utility>

#include "sim/execute/cuda/cuda_check.hpp"

namespace lockstep::cuda {

/// Sets CUDA's current device for a scope.
class OnDevice {
 public:
  explicit OnDevice(int device) : device_{device} {
    check(cudaGetDevice(&before_), doing("asking for the current GPU"));
    if (before_ == device) return;
    check(cudaSetDevice(device), [device] { return fmt::format("going to GPU {}", device); });
  }
  ~OnDevice() {
    if (before_ != device_) (void)cudaSetDevice(before_);
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int device_;
  int before_ = 0;
};

/// Memory of one GPU, by cudaMalloc.
class Memory {
 public:
  Memory() = default;
  /// Throws DeviceError with purpose, free and total memory.
  Memory(int device, std::size_t bytes, const std::string& what) : device_{device} {
    if (bytes == 0) return;
    const OnDevice here{device};
    const cudaError_t status = cudaMalloc(&data_, bytes);
    if (status == cudaErrorMemoryAllocation) {
      std::size_t free = 0;
      std::size_t all = 0;
      (void)cudaGetLastError();
      (void)cudaMemGetInfo(&free, &all);
      throw DeviceError{fmt::format(
          "allocating {} bytes for {} on GPU {}: out of memory: {} of {} bytes are free", bytes,
          what, device, free, all)};
    }
    check(status,
          [&] { return fmt::format("allocating {} bytes for {} on GPU {}", bytes, what, device); });
  }
  ~Memory() {
    if (data_ != nullptr) (void)cudaFree(data_);
  }
  Memory(Memory&& other) noexcept
      : device_{other.device_}, data_{std::exchange(other.data_, nullptr)} {}
  Memory& operator=(Memory&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    return *this;
  }

  [[nodiscard]] std::byte* data() const { return static_cast<std::byte*>(data_); }

 private:
  int device_ = 0;
  void* data_ = nullptr;
};

class Stream {
 public:
  explicit Stream(int device) : device_{device} {
    const OnDevice here{device};
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), doing("making a stream"));
  }
  ~Stream() {
    if (stream_ != nullptr) (void)cudaStreamDestroy(stream_);
  }
  Stream(Stream&& other) noexcept
      : device_{other.device_}, stream_{std::exchange(other.stream_, nullptr)} {}
  Stream& operator=(Stream&&) = delete;

  [[nodiscard]] cudaStream_t get() const { return stream_; }
  [[nodiscard]] int device() const { return device_; }

 private:
  int device_;
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  /// `timed`: records the time.
  explicit Event(int device, bool timed = false) {
    const OnDevice here{device};
    check(cudaEventCreateWithFlags(&event_, timed ? cudaEventDefault : cudaEventDisableTiming),
          doing("making an event"));
  }
  ~Event() {
    if (event_ != nullptr) (void)cudaEventDestroy(event_);
  }
  Event(Event&& other) noexcept : event_{std::exchange(other.event_, nullptr)} {}
  Event& operator=(Event&&) = delete;

  [[nodiscard]] cudaEvent_t get() const { return event_; }
  void record(cudaStream_t stream) const {
    check(cudaEventRecord(event_, stream), doing("recording an event"));
  }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace lockstep::cuda
