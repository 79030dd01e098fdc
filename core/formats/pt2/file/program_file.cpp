#include "core/formats/pt2/file/program_file.h"

#include "core/formats/pt2/file/signature.h"

namespace normlens::formats::pt2 {
namespace {

constexpr uint64_t kMostJson = uint64_t{512} << 20;
constexpr int kMostGraphDepth = 16;
constexpr int64_t kMajor = 8, kOldMajor = 7;  // torch 2.6 to 2.15; torch 2.5

// Null where the record is absent and need not be there.
Result<Json> readJson(const Archive& archive, const std::string& name, bool optional) {
  const std::string path = archive.file().path().string();
  const ZipRecord* record = archive.find(std::string(archive.prefix()) + name);
  if (record == nullptr && optional) return Json();
  if (record == nullptr) return tl::unexpected(damagedProgram(path, "the record '" + name + "' is missing"));
  ASSIGN_OR_RETURN(const auto text, archive.read(*record, kMostJson));
  auto json = parseJson(text);
  if (!json) return tl::unexpected(damagedProgram(path, "in '" + name + "' " + json.error().message));
  return json;
}

Status checkVersion(const Json& program, const std::string& path) {
  const Json& version = program.at("schema_version");
  const int64_t major = version.at("major").integer(), minor = version.at("minor").integer();
  if (major == kOldMajor || major == kMajor) return {};
  return fail(ErrorCode::Unsupported,
              path + " is a torch.export archive of schema " + std::to_string(major) + "." + std::to_string(minor) +
                  "; NormLens reads schema 8",
              "export it with torch 2.6 to 2.15");
}

template <class AnyJson>
void addGraphs(AnyJson& graph, int depth, std::vector<AnyJson*>& into) {
  if (depth > kMostGraphDepth) throw BrokenDocument("graphs are nested more than 16 deep");
  into.push_back(&graph);
  for (auto& node : graph.at("nodes").items()) {
    for (auto& input : node.at("inputs").items()) {
      auto* inner = input.at("arg").find("as_graph");
      if (inner != nullptr) addGraphs(inner->at("graph"), depth + 1, into);
    }
  }
}

}  // namespace

std::string programRecord(const std::string& model) { return "models/" + model + ".json"; }
std::string weightsRecord(const std::string& model) { return "data/weights/" + model + "_weights_config.json"; }
std::string constantsRecord(const std::string& model) { return "data/constants/" + model + "_constants_config.json"; }

bool ProgramFile::isOutdated() const { return program.at("schema_version").at("major").integer() < kMajor; }

Result<ProgramFile> readProgramFile(const Archive& archive, const std::string& model) {
  ProgramFile file{model, {}, {}, {}};
  ASSIGN_OR_RETURN(auto program, readJson(archive, programRecord(model), false));
  ASSIGN_OR_RETURN(auto weights, readJson(archive, weightsRecord(model), true));
  ASSIGN_OR_RETURN(auto constants, readJson(archive, constantsRecord(model), true));
  file.program = std::move(program);
  file.weights = std::move(weights);
  file.constants = std::move(constants);
  const std::string path = archive.file().path().string();
  try {
    RETURN_IF_ERROR(checkVersion(file.program, path));
    static_cast<void>(graphsIn(file.graph()));
  } catch (const BrokenDocument& error) {
    return tl::unexpected(damagedProgram(path, error.what()));
  }
  return file;
}

std::vector<const Json*> graphsIn(const Json& programGraph) {
  std::vector<const Json*> graphs;
  addGraphs(programGraph, 0, graphs);
  return graphs;
}

std::vector<Json*> graphsIn(Json& programGraph) {
  std::vector<Json*> graphs;
  addGraphs(programGraph, 0, graphs);
  return graphs;
}

}  // namespace normlens::formats::pt2
