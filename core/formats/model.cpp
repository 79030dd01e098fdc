#include "core/formats/model.h"

namespace normlens::formats {

std::vector<InputArray> Model::inputArrays(const std::vector<std::string>& given) const {
  static_cast<void>(given);
  std::vector<InputArray> arrays;
  for (const graph::ValueId id : graph().inputs()) arrays.push_back({graph().value(id).name, false});
  return arrays;
}

}  // namespace normlens::formats
