#include "core/run/inputs/input_spec.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <set>

#include "core/run/tensors.h"

namespace normlens::run {
namespace {

using graph::DType;
using graph::Shape;

tl::unexpected<Error> badSpec(std::string_view text, const std::string& why) {
  return fail(ErrorCode::Usage, "'" + std::string(text) + "' describes no input: " + why,
              "write it like 'in_0=int64[1,16]:0..199' or 'x=float32[batch,3,32,32]'");
}

template <class T>
std::optional<T> number(std::string_view text) {
  T value{};
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool isName(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !text.empty() && letter(text.front()) &&
         std::ranges::all_of(text, [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

// "1,16" or "batch,seq"; empty text is a scalar.
bool readDims(std::string_view text, InputRequest& request) {
  if (text.empty()) return true;
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    const std::string_view dim = text.substr(at, comma - at);
    const auto size = number<int64_t>(dim);
    if (!(size ? *size >= 0 : isName(dim))) return false;
    if (!size) request.spec.freeAxes.push_back(static_cast<int>(request.spec.shape.size()));
    request.spec.shape.push_back(size.value_or(-1));
    request.dimNames.emplace_back(size ? "" : dim);
    at = comma + 1;
  }
  return true;
}

bool readRange(std::string_view text, formats::InputSpec& spec) {
  const size_t dots = text.find("..");
  if (dots == std::string_view::npos) return false;
  const auto low = number<double>(text.substr(0, dots));
  const auto high = number<double>(text.substr(dots + 2));
  if (!low || !high || !(*low <= *high)) return false;
  spec.low = *low;
  spec.high = *high;
  spec.uniform = true;
  return true;
}

// in_12 -> 12
std::optional<int64_t> inputNumber(std::string_view name) {
  constexpr std::string_view kPrefix = "in_";
  return name.starts_with(kPrefix) ? number<int64_t>(name.substr(kPrefix.size())) : std::nullopt;
}

const formats::NamedTensor* findArray(const formats::Tensors& arrays, std::string_view name) {
  const auto found = std::ranges::find(arrays, name, &formats::NamedTensor::name);
  return found == arrays.end() ? nullptr : &*found;
}

std::string joined(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return list.empty() ? "nothing" : list;
}

std::string nameList(const formats::Tensors& arrays) {
  std::vector<std::string> names;
  for (const auto& array : arrays) names.push_back(array.name);
  return joined(names);
}

// Finds an input by name, or by in_0, in_1 ..., which name inputs by position in every format; else one past the end.
size_t positionOf(const std::string& name, const std::vector<std::string>& inputs) {
  const auto named = static_cast<size_t>(std::ranges::find(inputs, name) - inputs.begin());
  if (named < inputs.size()) return named;
  const auto number = inputNumber(name);
  return number && *number >= 0 ? static_cast<size_t>(*number) : inputs.size();
}

// The spec of the input at this position; one that was not inferred is put in its place.
std::vector<formats::InputSpec>::iterator placeFor(std::vector<formats::InputSpec>& specs, size_t at,
                                                   const std::vector<std::string>& inputs) {
  if (specs.size() == inputs.size()) return specs.begin() + static_cast<std::ptrdiff_t>(at);
  const auto found = std::ranges::find(specs, inputs[at], &formats::InputSpec::name);
  if (found != specs.end()) return found;
  const auto next = std::ranges::find_if(specs, [&](const auto& spec) { return positionOf(spec.name, inputs) > at; });
  formats::InputSpec blank;
  blank.name = inputs[at];
  return specs.insert(next, std::move(blank));
}

// An axis to which the user gives a size and no name keeps the file's name.
void keepAxisNames(const formats::InputSpec& before, formats::InputSpec& now) {
  if (before.axisNames.size() != now.shape.size()) return;
  now.axisNames.resize(now.shape.size());
  for (size_t axis = 0; axis < now.axisNames.size(); ++axis) {
    if (now.axisNames[axis].empty()) now.axisNames[axis] = before.axisNames[axis];
  }
}

}  // namespace

Result<InputRequest> parseInputSpec(std::string_view text) {
  const size_t equals = text.find('='), open = text.find('['), close = text.find(']');
  if (equals == std::string_view::npos || open == std::string_view::npos || close == std::string_view::npos ||
      !(0 < equals && equals < open && open < close)) {
    return badSpec(text, "it has not the form NAME=TYPE[SIZES]");
  }
  InputRequest request;
  request.spec.name = text.substr(0, equals);
  const std::string_view type = text.substr(equals + 1, open - equals - 1);
  request.spec.dtype = graph::dtypeFromName(type);
  const bool integer = request.spec.dtype >= DType::Bool && request.spec.dtype <= DType::Int64;
  if (!integer && !graph::isFloat(request.spec.dtype)) {
    return badSpec(text, "'" + std::string(type) + "' is no element type (int64, float32, bool ...)");
  }
  if (!readDims(text.substr(open + 1, close - open - 1), request)) {
    return badSpec(text, "a size must be a number or a name");
  }
  const std::string_view rest = text.substr(close + 1);
  if (!rest.empty() && (rest.front() != ':' || !readRange(rest.substr(1), request.spec))) {
    return badSpec(text, "the range must be written LOW..HIGH");
  }
  if (integer) request.spec.uniform = true;
  return request;
}

std::vector<formats::InputSpec> sized(const std::vector<InputRequest>& requests, const DimSizes& sizes) {
  static constexpr std::array<int64_t, 12> kSizes = {2, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41};
  std::set<int64_t> taken;
  DimSizes chosen = sizes;
  for (const auto& request : requests) taken.insert(request.spec.shape.begin(), request.spec.shape.end());
  for (const auto& [name, size] : chosen) taken.insert(size);
  const auto choose = [&](const std::string& name) {
    if (chosen.contains(name)) return;
    const auto* free = std::ranges::find_if(kSizes, [&](int64_t size) { return !taken.contains(size); });
    const int64_t size = name == "batch" ? 2 : free == kSizes.end() ? *taken.rbegin() + 1 : *free;
    chosen[name] = size;
    taken.insert(size);
  };
  for (const auto& request : requests) {
    if (std::ranges::find(request.dimNames, "batch") != request.dimNames.end()) choose("batch");
  }
  std::vector<formats::InputSpec> specs;
  for (const auto& request : requests) {
    specs.push_back(request.spec);
    specs.back().axisNames = request.dimNames;
    for (size_t axis = 0; axis < request.dimNames.size(); ++axis) {
      if (request.dimNames[axis].empty()) continue;
      choose(request.dimNames[axis]);
      specs.back().shape[axis] = chosen[request.dimNames[axis]];
    }
  }
  return specs;
}

Result<std::vector<formats::InputSpec>> mergeSpecs(const std::vector<formats::InputSpec>& inferred,
                                                   const std::vector<formats::InputSpec>& given,
                                                   const std::vector<std::string>& inputs) {
  std::vector<formats::InputSpec> merged = inferred;
  for (const formats::InputSpec& spec : given) {
    auto place = std::ranges::find(merged, spec.name, &formats::InputSpec::name);
    if (place == merged.end()) {
      const size_t at = positionOf(spec.name, inputs);
      if (at >= inputs.size()) {
        return fail(ErrorCode::BadInput,
                    "the model has no input '" + spec.name + "'; its inputs are " + joined(inputs));
      }
      place = placeFor(merged, at, inputs);
    }
    const formats::InputSpec before = std::move(*place);
    *place = spec;
    place->name = before.name;
    keepAxisNames(before, *place);
  }
  return merged;
}

Result<ChosenArrays> chooseInputs(const formats::Tensors& arrays, const std::vector<std::string>& inputs,
                                  DType modelType, const std::vector<bool>& optional,
                                  const std::map<std::string, Error>& unreadable) {
  ChosenArrays chosen;
  formats::Tensors given;
  bool allByName = true;
  std::ranges::copy_if(arrays, std::back_inserter(given), [](const auto& a) { return !a.name.starts_with("out_"); });
  for (size_t i = 0; i < inputs.size(); ++i) {
    const formats::NamedTensor* array = findArray(given, inputs[i]);
    if (!array) {
      array = findArray(given, "in_" + std::to_string(i));
      if (!array && i < optional.size() && optional[i]) continue;
      allByName = false;
    }
    if (!array) {
      return fail(ErrorCode::BadInput,
                  "the file of inputs has no array for input '" + inputs[i] + "' (it holds " + nameList(given) + ")",
                  "name the arrays in_0, in_1 ... in the order of the inputs");
    }
    const auto failed = unreadable.find(array->name);
    if (failed != unreadable.end()) return tl::unexpected(failed->second);
    chosen.tensors.push_back({inputs[i], castFloat(array->view, modelType)});
  }
  if (!allByName && chosen.tensors.size() < given.size()) {
    return fail(ErrorCode::BadInput, "the file of inputs holds " + nameList(given) + " but the model takes " +
                                         std::to_string(inputs.size()) + " inputs");
  }
  for (const auto& array : given) {
    if (allByName && !findArray(chosen.tensors, array.name)) chosen.unused.push_back(array.name);
  }
  return chosen;
}

Result<std::vector<Shape>> sweptShapes(std::vector<Shape> shapes, const DimSizes& sizes) {
  for (const auto& [name, size] : sizes) {
    if (name != "batch" && name != "seq") {
      return fail(ErrorCode::Usage, "no input has a size named '" + name + "'",
                  {"sweep batch (axis 0) or seq (axis 1), or name it", HintKey::Inputs});
    }
    const size_t axis = name == "batch" ? 0 : 1;
    const auto first = std::ranges::find_if(shapes, [&](const Shape& s) { return s.size() > axis; });
    if (first == shapes.end())
      return fail(ErrorCode::Usage, "no input has an axis " + std::to_string(axis) + " to sweep");
    const int64_t old = (*first)[axis];
    for (Shape& shape : shapes) {
      if (shape.size() > axis && shape[axis] == old) shape[axis] = size;
    }
  }
  return shapes;
}

}  // namespace normlens::run
