// Loads the data of a run, generated or read. Thread: any.
#pragma once

#include <string>

#include "core/base/result.h"
#include "core/lab/data/data_set.h"
#include "core/lab/data/split.h"
#include "core/protocol/run_settings.h"

namespace normlens::lab {

// Data made from their settings alone: the same on every machine.

// Precondition: data.kind is spirals, teacher or parity.
[[nodiscard]] Rows generatedRows(const DataSettings& data);
// data.samples characters: sentences of made-up words, each word drawn by the one before it.
[[nodiscard]] std::string generatedText(const DataSettings& data);

// Errors: Unreadable (no such file, not to be read, too large), BadInput (what is in it cannot be learned from): one
// sentence that names the file.
[[nodiscard]] Result<Data> loadData(const DataSettings& data);

}  // namespace normlens::lab
