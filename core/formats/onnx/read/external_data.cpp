#include "core/formats/onnx/read/external_data.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/formats/onnx/source/operators.h"
#include "core/formats/onnx/tensors/tensor_data.h"

namespace normlens::formats::onnx {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHint = "put all files of the model into one folder, or export it again";

struct Place {
  std::string location;
  std::optional<uint64_t> offset, length;
};

// A number written in decimal digits; an error where it is anything else.
Result<uint64_t> number(const std::string& text, const std::string& what, const char* name) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) return value;
  const bool negative = text.starts_with('-');
  return fail(ErrorCode::Unreadable,
              what + " has a " + (negative ? "negative" : "senseless") + " external data " + name + " (" +
                  quotedName(text.substr(0, 40)) + ")",
              kHint);
}

Result<Place> placeOf(const TensorProto& tensor, const std::string& what) {
  Place place;
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") place.location = entry.value();
    if (entry.key() != "offset" && entry.key() != "length") continue;
    const auto value = number(entry.value(), what, entry.key().c_str());
    if (!value) return tl::unexpected(value.error());
    (entry.key() == "offset" ? place.offset : place.length) = *value;
  }
  if (place.location.empty() || place.location.find('\0') != std::string::npos)
    return fail(ErrorCode::Unreadable, what + " has external data without a location", kHint);
  return place;
}

// Written for any system: a drive letter or a backslash at the start is absolute too.
bool isAbsolute(const std::string& location) {
  return location[0] == '/' || location[0] == '\\' || (location.size() > 1 && location[1] == ':');
}

bool isInside(const fs::path& folder, const fs::path& file) {
  const auto [end, _] = std::mismatch(folder.begin(), folder.end(), file.begin(), file.end());
  return end == folder.end();
}

}  // namespace

ExternalFiles::ExternalFiles(const fs::path& model) {
  std::error_code error;
  const fs::path parent = model.has_parent_path() ? model.parent_path() : fs::path(".");
  folder_ = fs::canonical(parent, error);
  if (error) folder_ = parent;
  const fs::path target = fs::canonical(model, error);
  stored_ = error ? folder_ : target.parent_path();
}

Result<std::shared_ptr<const MappedFile>> ExternalFiles::fileAt(const std::string& location, const std::string& what) {
  if (const auto known = files_.find(location); known != files_.end()) return known->second;
  const auto wrong = [&](const std::string& text) {
    return fail(ErrorCode::Unreadable, what + " wants external data in " + quotedName(location) + ", " + text, kHint);
  };
  if (isAbsolute(location)) return wrong("an absolute path, which is not allowed");
  const fs::path lexical = fs::path(location).lexically_normal();
  if (!lexical.empty() && *lexical.begin() == "..") return wrong("which leaves the model's folder");
  std::error_code error;
  const fs::path path = fs::canonical(folder_ / lexical, error);
  if (error) return wrong("which is not next to the model");
  if (!isInside(folder_, path) && !isInside(stored_, path)) return wrong("a link that leaves the model's folder");
  if (!fs::is_regular_file(path, error) || error) return wrong("which is not a file");
  auto file = MappedFile::open(path);
  if (!file) return tl::unexpected(file.error());
  files_.emplace(location, *file);
  return *file;
}

Result<Weight> ExternalFiles::load(const TensorProto& tensor, const std::string& what) {
  const auto place = placeOf(tensor, what);
  if (!place) return tl::unexpected(place.error());
  const auto expected = rawBytes(tensor);
  if (!expected) return fail(ErrorCode::Unreadable, what + " has external data of a type without a fixed size", kHint);
  if (place->length && *place->length != *expected)
    return fail(ErrorCode::Unreadable,
                what + " has " + std::to_string(*place->length) + " bytes of external data, its dimensions ask for " +
                    std::to_string(*expected),
                kHint);
  const auto file = fileAt(place->location, what);
  if (!file) return tl::unexpected(file.error());
  const uint64_t offset = place->offset.value_or(0);
  const uint64_t size = (*file)->bytes().size();
  if (offset > size || *expected > size - offset)
    return fail(ErrorCode::Unreadable,
                what + " needs bytes " + std::to_string(offset) + " to " + std::to_string(offset + *expected) + " of " +
                    quotedName(place->location) + ", which has " + std::to_string(size),
                kHint);
  Weight weight;
  weight.view = viewWithoutData(tensor, *file);
  weight.view.data = (*file)->bytes().data() + offset;
  weight.storedAt = {place->location, offset, *expected};
  return weight;
}

}  // namespace normlens::formats::onnx
