#include "core/formats/safetensors/header.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/base/printable.h"
#include "core/formats/pt2/file/json.h"

namespace normlens::formats::safetensors {
namespace {

using graph::DType;
using pt2::BrokenDocument;
using pt2::Json;

constexpr uint64_t kLengthBytes = 8;
constexpr uint64_t kAlignment = 8;  // of the first tensor
constexpr std::string_view kMetadata = "__metadata__";

struct Type {
  std::string_view name;
  uint64_t bits;
  DType dtype;
};
constexpr std::array kTypes = {
    Type{"F32", 32, DType::Float32},    Type{"F16", 16, DType::Float16},    Type{"BF16", 16, DType::BFloat16},
    Type{"F64", 64, DType::Float64},    Type{"I64", 64, DType::Int64},      Type{"I32", 32, DType::Int32},
    Type{"I16", 16, DType::Int16},      Type{"I8", 8, DType::Int8},         Type{"U8", 8, DType::UInt8},
    Type{"BOOL", 8, DType::Bool},       Type{"C64", 64, DType::Unknown},    Type{"U16", 16, DType::Unknown},
    Type{"U32", 32, DType::Unknown},    Type{"U64", 64, DType::Unknown},    Type{"F8_E4M3", 8, DType::Unknown},
    Type{"F8_E5M2", 8, DType::Unknown}, Type{"F8_E8M0", 8, DType::Unknown}, Type{"F6_E2M3", 6, DType::Unknown},
    Type{"F6_E3M2", 6, DType::Unknown}, Type{"F4", 4, DType::Unknown},
};

[[noreturn]] void broken(const std::string& what) { throw BrokenDocument(printable(what)); }

uint64_t notNegative(const Json& number, const std::string& what) {
  const int64_t value = number.integer();
  if (value < 0) broken(what + " is negative");
  return static_cast<uint64_t>(value);
}

// A type that is not known here is not looked into: its bytes are copied as they are.
void checkSize(const Tensor& tensor) {
  const auto* const type = std::ranges::find(kTypes, tensor.type, &Type::name);
  if (type == kTypes.end()) return;
  const auto count = graph::elementCount(tensor.shape);
  uint64_t bits = 0;
  if (!count || __builtin_mul_overflow(static_cast<uint64_t>(*count), type->bits, &bits))
    broken("'" + tensor.name + "' has a shape beyond all sizes");
  if (bits % 8 != 0 || bits / 8 != tensor.end - tensor.begin)
    broken("'" + tensor.name + "' has " + std::to_string(tensor.end - tensor.begin) +
           " bytes, which is not what its shape and type say");
}

// Offsets count from the first byte behind the header.
Tensor tensorOf(const Json::Member& member, uint64_t dataBegin, uint64_t dataBytes) {
  const auto& [name, entry] = member;
  const std::string what = "'" + name + "'";
  Tensor tensor;
  tensor.name = name;
  tensor.type = entry.at("dtype").text();
  const auto* const type = std::ranges::find(kTypes, tensor.type, &Type::name);
  if (type != kTypes.end()) tensor.dtype = type->dtype;
  constexpr size_t kMostAxes = 64;
  if (entry.at("shape").items().size() > kMostAxes) broken(what + " has more axes than any tensor");
  for (const Json& size : entry.at("shape").items())
    tensor.shape.push_back(static_cast<int64_t>(notNegative(size, "a size of " + what)));
  const auto& offsets = entry.at("data_offsets").items();
  if (offsets.size() != 2) broken("the offsets of " + what + " are not two");
  const uint64_t begin = notNegative(offsets[0], "an offset of " + what);
  const uint64_t end = notNegative(offsets[1], "an offset of " + what);
  if (begin > end || end > dataBytes) broken(what + " reaches beyond the end of the file");
  tensor.begin = dataBegin + begin;
  tensor.end = dataBegin + end;
  checkSize(tensor);
  return tensor;
}

void checkMetadata(const Json& metadata) {
  for (const auto& [key, value] : metadata.members()) {
    if (!value.isString()) broken("'" + key + "' of the metadata is no text");
  }
}

// Every byte belongs to one tensor.
void checkPlaces(const std::vector<Tensor>& tensors, uint64_t begin, uint64_t end) {
  const Tensor* before = nullptr;
  for (const Tensor& tensor : tensors) {
    const uint64_t expected = before == nullptr ? begin : before->end;
    if (tensor.begin < expected) broken("'" + tensor.name + "' and '" + before->name + "' overlap");
    if (tensor.begin > expected) broken("bytes before '" + tensor.name + "' belong to no tensor");
    before = &tensor;
  }
  if ((before == nullptr ? begin : before->end) != end) broken("bytes at its end belong to no tensor");
}

Header parsed(std::string text, uint64_t fileBytes) {
  Header header;
  header.dataBegin = kLengthBytes + text.size();
  const auto document = pt2::parseJson(text);
  if (!document) broken(document.error().message);
  for (const auto& member : document->members()) {
    if (member.first == kMetadata) {
      checkMetadata(member.second);
    } else {
      header.tensors.push_back(tensorOf(member, header.dataBegin, fileBytes - header.dataBegin));
    }
  }
  std::ranges::stable_sort(header.tensors, {},
                           [](const Tensor& tensor) { return std::pair(tensor.begin, tensor.end); });
  checkPlaces(header.tensors, header.dataBegin, fileBytes);
  header.text = std::move(text);
  return header;
}

}  // namespace

Result<Header> parseHeader(std::span<const std::byte> file) {
  uint64_t length = 0;
  if (file.size() < kLengthBytes) return fail(ErrorCode::Unreadable, "it is too short for safetensors");
  for (size_t i = kLengthBytes; i-- > 0;) length = (length << 8) | std::to_integer<uint64_t>(file[i]);
  if (length > kMostHeaderBytes) return fail(ErrorCode::Unreadable, "its header would be larger than 100 MB");
  if (length > file.size() - kLengthBytes)
    return fail(ErrorCode::Unreadable, "its header would be longer than the file, which is cut off or no safetensors");
  const auto text = file.subspan(kLengthBytes, length);
  if (text.empty() || std::to_integer<char>(text[0]) != '{')
    return fail(ErrorCode::Unreadable, "its header is no JSON object");
  try {
    return parsed(std::string(reinterpret_cast<const char*>(text.data()), text.size()), file.size());
  } catch (const BrokenDocument& error) {
    return fail(ErrorCode::Unreadable, error.what());
  }
}

Header withTensor(Header header, uint64_t fileBytes, const Tensor& like, const std::string& name) {
  const uint64_t begin = fileBytes - header.dataBegin;
  Json::Array shape;
  for (const int64_t size : like.shape) shape.emplace_back(size);
  const auto offset = [](uint64_t at) { return Json(static_cast<int64_t>(at)); };
  const Json entry(Json::Object{{"dtype", like.type},
                                {"shape", std::move(shape)},
                                {"data_offsets", Json::Array{offset(begin), offset(begin + like.end - like.begin)}}});
  std::string text = header.text.substr(0, header.text.rfind('}'));
  const Json named(Json::Object{{name, entry}});
  if (!header.tensors.empty() || text.find('"') != std::string::npos) text += ',';
  text += named.dump().substr(1);
  text.append((kAlignment - text.size() % kAlignment) % kAlignment, ' ');
  const uint64_t moved = kLengthBytes + text.size();
  for (Tensor& tensor : header.tensors) {
    tensor.begin = tensor.begin - header.dataBegin + moved;
    tensor.end = tensor.end - header.dataBegin + moved;
  }
  Tensor added = like;
  added.name = name;
  added.begin = moved + begin;
  added.end = added.begin + (like.end - like.begin);
  header.tensors.push_back(std::move(added));
  header.text = std::move(text);
  header.dataBegin = moved;
  return header;
}

std::string headerBytes(const Header& header) {
  std::string bytes;
  for (size_t i = 0; i < kLengthBytes; ++i) bytes += static_cast<char>((header.text.size() >> (8 * i)) & 0xff);
  return bytes + header.text;
}

}  // namespace normlens::formats::safetensors
