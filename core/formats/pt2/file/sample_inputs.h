// Reads what the example inputs that an archive keeps show of values: how far the integers of each input go. They are a
// pickle in a zip in the zip; it is scanned, and never unpickled. No torch here.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/formats/archive/archive_reader.h"
#include "core/formats/pt2/file/signature.h"

namespace normlens::formats::pt2 {

struct ValueRange {
  double low = 0, high = 0;
};
// By user input; empty where the example shows nothing, or is not there.
using SampleInputs = std::vector<std::optional<ValueRange>>;

[[nodiscard]] SampleInputs readSampleInputs(const Archive& archive, const std::string& model,
                                            const std::vector<UserInput>& inputs);

}  // namespace normlens::formats::pt2
