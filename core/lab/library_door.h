// The training in a library of its own, which LibTorch comes with: only a process that trains pays for it. No torch
// here. Thread: any.
#pragma once

#include "core/lab/data/data_set.h"
#include "core/lab/train.h"

namespace normlens::lab {

// LibraryDoor is what the library exports, under the name kLibraryDoor.
struct LibraryDoor {
  Result<RunResult> (*train)(const RunSettings& settings, const Data& data, const RunPlace& place,
                             const RunControl& control);
};
inline constexpr const char* kLibraryDoor = "normlensLaboratory";

// Does train() once the data are there; defined in the library.
[[nodiscard]] Result<RunResult> trainHere(const RunSettings& settings, const Data& data, const RunPlace& place,
                                          const RunControl& control);

}  // namespace normlens::lab
