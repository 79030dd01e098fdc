#include "core/formats/model.h"

#include <array>
#include <utility>

#include "core/base/files.h"

namespace normlens::formats {
namespace {

constexpr std::array<std::pair<NormFlavour, std::string_view>, 5> kNames = {{{NormFlavour::Portable, "portable"},
                                                                             {NormFlavour::Standard, "standard"},
                                                                             {NormFlavour::Ort, "ort"},
                                                                             {NormFlavour::Primitives, "primitives"},
                                                                             {NormFlavour::Fast, "fast"}}};

}  // namespace

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

std::string_view normFlavourName(NormFlavour flavour) {
  for (const auto& [known, name] : kNames) {
    if (known == flavour) return name;
  }
  return "?";
}

std::optional<NormFlavour> normFlavourFromName(std::string_view name) {
  for (const auto& [known, text] : kNames) {
    if (text == name) return known;
  }
  return std::nullopt;
}

bool addsShift(NormFlavour flavour, std::string_view format) {
  return flavour == NormFlavour::Fast && format != "onnx";
}

}  // namespace normlens::formats
