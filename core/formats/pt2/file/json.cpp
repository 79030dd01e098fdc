#include "core/formats/pt2/file/json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace normlens::formats::pt2 {
namespace {

template <class Content>
Content& held(auto& content, const char* what) {
  auto* found = std::get_if<std::remove_const_t<Content>>(&content);
  if (found == nullptr) throw BrokenDocument(std::string("it has another thing where ") + what + " should be");
  return *found;
}

template <class Members>
auto* memberOf(Members* members, std::string_view name) {
  using Found = decltype(&members->front().second);
  if (members == nullptr) return Found{nullptr};
  const auto found = std::ranges::find(*members, name, &Json::Member::first);
  return found == members->end() ? Found{nullptr} : &found->second;
}

// repr(float): the shortest digits that read back, in scientific form below 1e-4 and from 1e16 on.
std::string pythonRepr(double value) {
  char buffer[40];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific);
  const std::string_view made(buffer, static_cast<size_t>(end - buffer));
  const size_t e = made.find('e');
  const int exponent = std::atoi(std::string(made.substr(e + 1)).c_str());
  if (exponent < -4 || exponent >= 16) return std::string(made);
  const auto plain = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed);
  std::string text(buffer, plain.ptr);
  return text.find('.') == std::string::npos ? text + ".0" : text;
}

}  // namespace

Json::Json(int64_t value) : content_(Number{std::to_string(value)}) {}

Json::Json(double value) {
  if (std::isfinite(value)) {
    content_ = Number{pythonRepr(value)};
  } else {
    content_ = std::string(std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
  }
}

bool Json::boolean() const { return held<const bool>(content_, "a truth value"); }

int64_t Json::integer() const {
  const std::string& text = held<const Number>(content_, "a whole number").text;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    throw BrokenDocument("'" + text.substr(0, 40) + "' stands where a whole number of 64 bits should be");
  return value;
}

double Json::real() const {
  if (const auto* text = std::get_if<std::string>(&content_)) {
    if (*text == "Infinity") return std::numeric_limits<double>::infinity();
    if (*text == "-Infinity") return -std::numeric_limits<double>::infinity();
    if (*text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  }
  const std::string& text = held<const Number>(content_, "a number").text;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) throw BrokenDocument("the number '" + text.substr(0, 40) + "' is out of range");
  return value;
}

const std::string& Json::text() const { return held<const std::string>(content_, "a text"); }
const Json::Array& Json::items() const { return held<const Array>(content_, "a list"); }
const Json::Object& Json::members() const { return held<const Object>(content_, "an object"); }
Json::Array& Json::items() { return held<Array>(content_, "a list"); }
Json::Object& Json::members() { return held<Object>(content_, "an object"); }

const Json* Json::find(std::string_view name) const { return memberOf(std::get_if<Object>(&content_), name); }
Json* Json::find(std::string_view name) { return memberOf(std::get_if<Object>(&content_), name); }

const Json& Json::at(std::string_view name) const {
  if (const Json* found = find(name)) return *found;
  throw BrokenDocument("'" + std::string(name) + "' is missing");
}
Json& Json::at(std::string_view name) { return const_cast<Json&>(std::as_const(*this).at(name)); }

Json& Json::set(std::string_view name, Json value) {
  if (Json* found = find(name)) return *found = std::move(value);
  return members().emplace_back(std::string(name), std::move(value)).second;
}

const Json::Member& Json::only() const {
  const Object& all = members();
  if (all.size() != 1)
    throw BrokenDocument("it has " + std::to_string(all.size()) + " members where one says the kind");
  return all.front();
}

}  // namespace normlens::formats::pt2
