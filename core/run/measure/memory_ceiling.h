// Makes an allocation that this machine cannot serve fail, instead of the system ending the process.
//
// Linux hands out memory that it does not have and later kills somebody. While a ceiling lives, the process's data may
// grow by what is available now and no further: what asks for more gets std::bad_alloc, or the framework's own error,
// and a measurement at that size fails with a sentence. Process-wide; one at a time; without effect where the kernel
// does not tell what is available. Thread: any.
#pragma once

#include <sys/resource.h>

#include <optional>

namespace normlens::run {

class MemoryCeiling {
 public:
  MemoryCeiling();
  ~MemoryCeiling();
  MemoryCeiling(const MemoryCeiling&) = delete;
  MemoryCeiling& operator=(const MemoryCeiling&) = delete;

 private:
  std::optional<rlimit> before_;  // nullopt: nothing was changed
};

}  // namespace normlens::run
