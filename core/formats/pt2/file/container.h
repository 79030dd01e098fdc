// Detects what a zip of torch.export is by its central directory: nothing of its records is looked into. No torch here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/formats/archive/archive_reader.h"

namespace normlens::formats::pt2 {

enum class Container : uint8_t {
  None,      // another kind of zip
  Archive,   // torch 2.9 and later: models/NAME.json, a raw record for each storage
  Pickled,   // torch 2.8: models/NAME.json, weights in a zip of torch.save
  Flat,      // torch 2.5 to 2.7: serialized_exported_program.json beside such weights, in no folder
  Compiled,  // an AOTInductor package: machine code, no graph
};
[[nodiscard]] Container containerOf(const Archive& archive);

// The names of the models in it, sorted: "model" where torch.export.save wrote it.
[[nodiscard]] std::vector<std::string> modelsIn(const Archive& archive);

// Chooses the model of this name in a container that checkContainer() accepts; where `wanted` is empty, "model" or
// the first of any one. onlyOfSeveral: an only one is that, whatever it is called. Errors: Usage that lists the names.
[[nodiscard]] Result<std::string> modelToOpen(const Archive& archive, const std::string& wanted, bool onlyOfSeveral);
// Returns a sentence that lists the others; empty where there is none.
[[nodiscard]] std::string besideOthers(const Archive& archive, const std::string& model);

// Returns the content of a user's file that torch.export.save wrote beside the model; empty where none has that name.
[[nodiscard]] std::string extraFile(const Archive& archive, const std::string& name);

// The container whose graph NormLens reads and whose weights it takes. Errors: Unsupported and Unreadable, one plain
// sentence that states what the file is and what to export instead.
[[nodiscard]] Status checkContainer(const Archive& archive);

}  // namespace normlens::formats::pt2
