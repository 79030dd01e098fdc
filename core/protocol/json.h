// Messages to JSON and back.
//
//   nlohmann::json text = toJson(params);
//   Result<FoldResult> result = decode<FoldResult>(reply);   // error: "verify.noise_floor must be a number"
//
// An object with the struct's field names. A missing field takes the struct's default, an unknown one is ignored, a
// wrong type is an error that names the field by its path. Numbers that JSON cannot say are the strings "inf", "-inf"
// and "nan", both ways. std::optional maps to null, std::pair to a list of two, an enum to its name
// (core/base/words/words.h).
//
// Thread: pure functions.
#pragma once

#include <concepts>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/base/words/words.h"
#include "core/protocol/messages.h"

namespace normlens::protocol {

// Thrown while decoding, inside this module only; what() is the whole sentence.
class FieldError : public std::runtime_error {
 public:
  FieldError(std::string path, std::string problem)
      : std::runtime_error((path.empty() ? "the message" : path) + " " + problem),
        path_(std::move(path)),
        problem_(std::move(problem)) {}
  // Returns the same error seen from one level up: "inputs" + "[3].low".
  [[nodiscard]] FieldError under(const std::string& parent) const;

 private:
  std::string path_;
  std::string problem_;
};

// "is \"x\", and must be one of a, b": what is wrong with a field that holds this word.
[[nodiscard]] std::string notOneOf(std::string_view word, std::span<const std::string_view> words);

namespace detail {

nlohmann::json encodeValue(double value);
nlohmann::json encodeValue(const IndexRanges& ranges);  // a list of pairs: first and last of each range
void decodeValue(const nlohmann::json& in, bool& out);
void decodeValue(const nlohmann::json& in, int& out);
void decodeValue(const nlohmann::json& in, int64_t& out);
void decodeValue(const nlohmann::json& in, double& out);
void decodeValue(const nlohmann::json& in, std::string& out);
void decodeValue(const nlohmann::json& in, IndexRanges& out);
void requireObject(const nlohmann::json& in);
void requireList(const nlohmann::json& in, std::optional<size_t> size);

template <class T>
nlohmann::json encodeValue(const T& value);
template <class T>
nlohmann::json encodeValue(const std::vector<T>& values);
template <class T>
nlohmann::json encodeValue(const std::optional<T>& value);
template <class A, class B>
nlohmann::json encodeValue(const std::pair<A, B>& value);
template <Named E>
void decodeValue(const nlohmann::json& in, E& out);
template <class T>
void decodeValue(const nlohmann::json& in, std::vector<T>& out);
template <class T>
void decodeValue(const nlohmann::json& in, std::optional<T>& out);
template <class A, class B>
void decodeValue(const nlohmann::json& in, std::pair<A, B>& out);
template <Message T>
void decodeValue(const nlohmann::json& in, T& out);

template <class T>
nlohmann::json encodeValue(const T& value) {
  if constexpr (Message<T>) {
    nlohmann::json object = nlohmann::json::object();
    visitFields(value,
                [&](std::string_view name, const auto& field) { object[std::string(name)] = encodeValue(field); });
    return object;
  } else if constexpr (Named<T>) {
    return nameOf(value);
  } else {
    return value;
  }
}
template <class T>
nlohmann::json encodeValue(const std::vector<T>& values) {
  nlohmann::json list = nlohmann::json::array();
  for (const T& value : values) list.push_back(encodeValue(value));
  return list;
}
template <class T>
nlohmann::json encodeValue(const std::optional<T>& value) {
  return value ? encodeValue(*value) : nlohmann::json(nullptr);
}
template <class A, class B>
nlohmann::json encodeValue(const std::pair<A, B>& value) {
  return nlohmann::json::array({encodeValue(value.first), encodeValue(value.second)});
}

// Decodes one member or element; an error below it gets `path` put in front.
template <class T>
void decodeAt(const nlohmann::json& in, T& out, const std::string& path) {
  try {
    decodeValue(in, out);
  } catch (const FieldError& error) {
    throw error.under(path);
  }
}

template <Named E>
void decodeValue(const nlohmann::json& in, E& out) {
  std::string name;
  decodeValue(in, name);
  const auto known = fromName<E>(name);
  if (!known) throw FieldError("", notOneOf(name, namesOf(E{})));
  out = *known;
}

template <class T>
void decodeValue(const nlohmann::json& in, std::vector<T>& out) {
  requireList(in, std::nullopt);
  out.clear();
  out.reserve(in.size());
  for (size_t i = 0; i < in.size(); ++i) decodeAt(in[i], out.emplace_back(), "[" + std::to_string(i) + "]");
}

template <class T>
void decodeValue(const nlohmann::json& in, std::optional<T>& out) {
  out.reset();
  if (!in.is_null()) decodeValue(in, out.emplace());
}

template <class A, class B>
void decodeValue(const nlohmann::json& in, std::pair<A, B>& out) {
  requireList(in, 2);
  decodeAt(in[0], out.first, "[0]");
  decodeAt(in[1], out.second, "[1]");
}

template <Message T>
void decodeValue(const nlohmann::json& in, T& out) {
  requireObject(in);
  out = T{};
  visitFields(out, [&](std::string_view name, auto& field) {
    const auto found = in.find(name);
    if (found != in.end()) decodeAt(*found, field, std::string(name));
  });
}

}  // namespace detail

// Encodes a message, or what one may hold: a number, a list, an optional.
template <class T>
[[nodiscard]] nlohmann::json toJson(const T& value) {
  return detail::encodeValue(value);
}

// Error code: BadInput, one sentence that names the field.
template <Message T>
[[nodiscard]] Result<T> decode(const nlohmann::json& in) {
  try {
    T message;
    detail::decodeValue(in, message);
    return message;
  } catch (const FieldError& error) {
    return fail(ErrorCode::BadInput, error.what());
  }
}

// The limits of one document. A document is parsed without recursion, but copied and destroyed with one call a level.
struct JsonLimits {
  size_t depth = 64;
  size_t values = size_t{1} << 25;
  size_t textBytes = size_t{1} << 24;
};
// Error code: BadInput, with half a sentence: which limit it is beyond, or that it is not JSON.
[[nodiscard]] Result<nlohmann::json> parseJson(std::string_view text, const JsonLimits& limits = {});

// One line of text. Bytes that are not UTF-8 (names from a hostile file) become U+FFFD instead of an exception.
[[nodiscard]] std::string dumpJson(const nlohmann::json& value);

}  // namespace normlens::protocol
