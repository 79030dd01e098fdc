// Data made from their settings alone: the same on every machine. Thread: pure functions.
#pragma once

#include <string>

#include "core/lab/data/split.h"

namespace normlens::lab {

// Precondition: data.kind is spirals, teacher or parity.
[[nodiscard]] Rows generatedRows(const DataSettings& data);
// data.samples characters: sentences of made-up words, each word drawn by the one before it.
[[nodiscard]] std::string generatedText(const DataSettings& data);

}  // namespace normlens::lab
