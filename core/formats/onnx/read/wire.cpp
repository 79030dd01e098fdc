#include "core/formats/onnx/read/wire.h"

namespace normlens::formats::onnx {

std::optional<uint64_t> WireReader::varint() {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && at_ < message_.size(); shift += 7) {
    const auto byte = std::to_integer<uint64_t>(message_[at_++]);
    value |= (byte & 127) << shift;
    if ((byte & 128) == 0) return value;
  }
  return std::nullopt;
}

std::optional<WireField> WireReader::fail() {
  broken_ = true;
  return std::nullopt;
}

std::optional<WireField> WireReader::next() {
  if (broken_ || at_ == message_.size()) return std::nullopt;
  const size_t start = at_;
  const auto tag = varint();
  if (!tag || *tag > UINT32_MAX || (*tag >> 3) == 0) return fail();
  WireField field;
  field.number = static_cast<uint32_t>(*tag >> 3);
  field.type = static_cast<WireType>(*tag & 7);
  uint64_t length = 0;
  switch (field.type) {
    case WireType::Varint:
    case WireType::Delimited: {
      const auto value = varint();
      if (!value) return fail();
      (field.type == WireType::Varint ? field.value : length) = *value;
      break;
    }
    case WireType::Fixed64:
      length = 8;
      break;
    case WireType::Fixed32:
      length = 4;
      break;
    default:
      return fail();  // groups, which ONNX never had
  }
  if (length > message_.size() - at_) return fail();
  field.payload = message_.subspan(at_, static_cast<size_t>(length));
  at_ += static_cast<size_t>(length);
  field.whole = message_.subspan(start, at_ - start);
  return field;
}

void appendVarint(uint64_t value, std::string& to) {
  while (value >= 128) {
    to += static_cast<char>((value & 127) | 128);
    value >>= 7;
  }
  to += static_cast<char>(value);
}

void appendBytes(Bytes bytes, std::string& to) { to.append(reinterpret_cast<const char*>(bytes.data()), bytes.size()); }

void appendDelimited(uint32_t number, const std::string& payload, std::string& to) {
  appendVarint((uint64_t{number} << 3) | 2, to);
  appendVarint(payload.size(), to);
  to += payload;
}

}  // namespace normlens::formats::onnx
