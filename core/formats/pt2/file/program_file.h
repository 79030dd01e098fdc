// One exported program of an archive, as documents: models/NAME.json and the two tables of tensors. No torch here.
//
// A value type: an edited copy is what a fold writes. What is in it was checked in its form only; every size, name and
// record is looked at where it is used (signature.h, payloads.h, the translation).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/formats/archive/archive_reader.h"
#include "core/formats/pt2/file/json.h"

namespace normlens::formats::pt2 {

struct ProgramFile {
  std::string name;  // The model's name in the archive: "model".
  Json program;      // models/NAME.json
  Json weights;      // data/weights/NAME_weights_config.json: parameters and persistent buffers; null: there is none
  Json constants;    // data/constants/NAME_constants_config.json: lifted constants, other buffers; null: there is none

  [[nodiscard]] const Json& graphModule() const { return program.at("graph_module"); }
  [[nodiscard]] const Json& graph() const { return graphModule().at("graph"); }
  [[nodiscard]] const Json& signature() const { return graphModule().at("signature"); }
  // Returns whether torch 2.5 wrote it: no newer torch loads it.
  [[nodiscard]] bool isOutdated() const;
};

// Return where they lie in the archive, its folder left out.
[[nodiscard]] std::string programRecord(const std::string& model);
[[nodiscard]] std::string weightsRecord(const std::string& model);
[[nodiscard]] std::string constantsRecord(const std::string& model);

// Reads and checks the versions. Errors: Unreadable, Unsupported, one sentence that names the file.
[[nodiscard]] Result<ProgramFile> readProgramFile(const Archive& archive, const std::string& model);

// The program's own graph and, behind it, every graph that a node of it or of one of those has for an argument, in the
// order in which they are there. Throws BrokenDocument where they are nested too deep.
[[nodiscard]] std::vector<const Json*> graphsIn(const Json& programGraph);
[[nodiscard]] std::vector<Json*> graphsIn(Json& programGraph);

}  // namespace normlens::formats::pt2
