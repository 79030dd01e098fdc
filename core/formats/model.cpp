#include "core/formats/model.h"

#include "core/base/files.h"

namespace normlens::formats {

std::vector<std::filesystem::path> ModelFacts::files() const {
  std::vector<std::filesystem::path> all{path};
  all.insert(all.end(), dataFiles.begin(), dataFiles.end());
  return all;
}

bool ModelFacts::isReadFrom(const std::filesystem::path& file) const { return normlens::files::isOneOf(files(), file); }

std::vector<InputArray> Model::inputArrays(const std::vector<std::string>& given) const {
  static_cast<void>(given);
  std::vector<InputArray> arrays;
  for (const graph::ValueId id : graph().inputs()) arrays.push_back({graph().value(id).name, false});
  return arrays;
}

Result<std::vector<std::vector<std::string>>> Model::sectionsAt(const std::vector<Cut>&) const {
  return fail(ErrorCode::Unsupported, "a " + facts().format + " model cannot be run in sections");
}

Result<Section> Model::section(const std::vector<Cut>&, const std::vector<std::string>&, const std::vector<size_t>&,
                               const Task&) const {
  return fail(ErrorCode::Unsupported, "a " + facts().format + " model cannot be run in sections");
}

}  // namespace normlens::formats
