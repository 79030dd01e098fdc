#include <array>
#include <utility>

#include "core/formats/model.h"

namespace normlens::formats {
namespace {

constexpr std::array<std::pair<NormFlavour, std::string_view>, 5> kNames = {{{NormFlavour::Portable, "portable"},
                                                                             {NormFlavour::Standard, "standard"},
                                                                             {NormFlavour::Ort, "ort"},
                                                                             {NormFlavour::Primitives, "primitives"},
                                                                             {NormFlavour::Fast, "fast"}}};

}  // namespace

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
