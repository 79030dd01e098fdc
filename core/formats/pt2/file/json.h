// A JSON document as Python's json module writes it: read, changed in places, and written again byte for byte.
//
// Numbers are kept as they are written, members in their order, so that what nobody touched stays what it was. No
// library's document does that: they sort, round 1e-05 to their own shortest form, or lose integers beyond 64 bits.
// Thread: value types. Errors inside the module: BrokenDocument.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/result.h"

namespace normlens::formats::pt2 {

// Reports in words what is wrong with a document ("'sizes' is missing"). Thrown inside formats/pt2 only.
struct BrokenDocument : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Json {
 public:
  using Array = std::vector<Json>;
  using Member = std::pair<std::string, Json>;
  using Object = std::vector<Member>;

  Json() = default;  // null
  Json(bool value) : content_(value) {}
  Json(int64_t value);
  Json(double value);  // as Python writes it: 1e-05, Infinity as the string torch's serializer makes of it
  Json(std::string text) : content_(std::move(text)) {}
  Json(const char* text) : Json(std::string(text)) {}
  Json(Array items) : content_(std::move(items)) {}
  Json(Object members) : content_(std::move(members)) {}

  [[nodiscard]] bool isNull() const { return std::holds_alternative<std::monostate>(content_); }
  [[nodiscard]] bool isBool() const { return std::holds_alternative<bool>(content_); }
  [[nodiscard]] bool isNumber() const { return std::holds_alternative<Number>(content_); }
  [[nodiscard]] bool isString() const { return std::holds_alternative<std::string>(content_); }
  [[nodiscard]] bool isArray() const { return std::holds_alternative<Array>(content_); }
  [[nodiscard]] bool isObject() const { return std::holds_alternative<Object>(content_); }

  // Return the content as this type, or throw BrokenDocument.
  [[nodiscard]] bool boolean() const;
  [[nodiscard]] int64_t integer() const;
  [[nodiscard]] double real() const;  // torch's "Infinity", "-Infinity" and "NaN" too
  [[nodiscard]] const std::string& text() const;
  [[nodiscard]] const Array& items() const;
  [[nodiscard]] const Object& members() const;
  [[nodiscard]] Array& items();
  [[nodiscard]] Object& members();

  // A member; null where this is no object or has none of that name.
  [[nodiscard]] const Json* find(std::string_view name) const;
  [[nodiscard]] Json* find(std::string_view name);
  // The same, or BrokenDocument.
  [[nodiscard]] const Json& at(std::string_view name) const;
  [[nodiscard]] Json& at(std::string_view name);
  // A member's value, which is made where it is not there.
  Json& set(std::string_view name, Json value);

  // The only member of an object, which is how torch writes a union: {"as_tensor": {...}}. BrokenDocument otherwise.
  [[nodiscard]] const Member& only() const;

  // As json.dumps(document) writes it: ", " and ": ", ASCII with escapes.
  [[nodiscard]] std::string dump() const;

  bool operator==(const Json& other) const = default;

 private:
  friend class JsonReader;
  struct Number {
    std::string text;
    bool operator==(const Number&) const = default;
  };
  void dumpTo(std::string& out) const;

  std::variant<std::monostate, bool, Number, std::string, Array, Object> content_;
};

// Nested deeper than this, or with more values: refused.
inline constexpr int kMostJsonDepth = 200;
inline constexpr size_t kMostJsonValues = 20'000'000;

// Errors: Unreadable with what is wrong, in words, without a file name.
[[nodiscard]] Result<Json> parseJson(std::string_view text);

}  // namespace normlens::formats::pt2
