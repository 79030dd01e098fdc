// Loads the data of a run, generated or read. Thread: any.
#pragma once

#include "core/base/result.h"
#include "core/lab/data/data_set.h"
#include "core/lab/run_settings.h"

namespace normlens::lab {

// Errors: Unreadable (no such file, not to be read, too large), BadInput (what is in it cannot be learned from): one
// sentence that names the file.
[[nodiscard]] Result<Data> loadData(const DataSettings& data);

}  // namespace normlens::lab
