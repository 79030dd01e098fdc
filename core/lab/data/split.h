// Sets examples aside for the test. Thread: pure functions.
#pragma once

#include "core/base/result.h"
#include "core/lab/data/data_set.h"
#include "core/protocol/run_settings.h"

namespace normlens::lab {

// All of a table, before some are set aside.
struct Rows {
  int features = 0, classes = 0;
  Examples all;
};

// data.seed draws which examples.
[[nodiscard]] TableData setAside(const Rows& rows, const DataSettings& data);
// Standardizes numbers of a user's file: each feature gets mean 0 and deviation 1 over the training examples; one that
// is constant there becomes 0.
void standardize(TableData& data);

// A generated text by its characters, which are ASCII. Error: BadInput where it is too short.
[[nodiscard]] Result<TextData> splitText(const std::string& text, const DataSettings& data);

}  // namespace normlens::lab
