// Protobuf's wire format, read without building messages: fields of a message as ranges of bytes.
//
// Private to formats/onnx. Thread: value types over memory that the caller keeps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace normlens::formats::onnx {

using Bytes = std::span<const std::byte>;

enum class WireType : uint8_t { Varint = 0, Fixed64 = 1, Delimited = 2, Fixed32 = 5 };

struct WireField {
  uint32_t number = 0;
  WireType type = WireType::Varint;
  uint64_t value = 0;  // A varint's.
  Bytes payload;       // Other fields'.
  Bytes whole;         // tag, length and payload
};

// Walks the fields of one message. next() is nullopt at the end and where the bytes are no protobuf: then broken().
class WireReader {
 public:
  explicit WireReader(Bytes message) : message_(message) {}
  [[nodiscard]] std::optional<WireField> next();
  [[nodiscard]] bool broken() const { return broken_; }

 private:
  std::optional<uint64_t> varint();
  std::optional<WireField> fail();

  Bytes message_;
  size_t at_ = 0;
  bool broken_ = false;
};

void appendVarint(uint64_t value, std::string& to);
void appendBytes(Bytes bytes, std::string& to);
// Tag, length, payload.
void appendDelimited(uint32_t number, const std::string& payload, std::string& to);

}  // namespace normlens::formats::onnx
