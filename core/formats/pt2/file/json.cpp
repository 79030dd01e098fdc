#include "core/formats/pt2/file/json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <unordered_set>

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

void putEscape(uint32_t unit, std::string& out) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  out += "\\u";
  for (const int shift : {12, 8, 4, 0}) out += kDigits[(unit >> shift) & 15];
}

// One character of more than a byte, moved past it. What is no UTF-8 is written byte by byte.
uint32_t codeAt(std::string_view text, size_t& at) {
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(text[i])); };
  const uint32_t first = byte(at++);
  const size_t more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : first >= 0xc0 ? 1 : 0;
  constexpr std::array<uint32_t, 4> kMask = {0xff, 0x1f, 0x0f, 0x07};
  if (more == 0 || text.size() - at < more) return first;
  uint32_t code = first & kMask[more];
  for (size_t i = 0; i < more; ++i) {
    if ((byte(at + i) & 0xc0) != 0x80) return first;
    code = (code << 6) | (byte(at + i) & 0x3f);
  }
  at += more;
  return code;
}

void putText(std::string_view text, std::string& out) {
  out += '"';
  for (size_t at = 0; at < text.size();) {
    const auto c = static_cast<unsigned char>(text[at]);
    constexpr std::string_view kFrom = "\"\\\b\f\n\r\t", kTo = "\"\\bfnrt";
    if (const size_t known = kFrom.find(text[at]); known != std::string_view::npos) {
      out += '\\';
      out += kTo[known];
      ++at;
    } else if (c >= 0x20 && c < 0x7f) {
      out += text[at++];
    } else if (const uint32_t code = codeAt(text, at); code < 0x10000) {
      putEscape(code, out);
    } else {
      putEscape(0xd800 + ((code - 0x10000) >> 10), out);
      putEscape(0xdc00 + ((code - 0x10000) & 0x3ff), out);
    }
  }
  out += '"';
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

// The parser: recursive, with a bound on its depth.
class JsonReader {
 public:
  explicit JsonReader(std::string_view text) : text_(text) {}

  Json whole() {
    Json made = value(0);
    space();
    if (at_ != text_.size()) broken("something follows its end");
    return made;
  }

 private:
  [[noreturn]] void broken(const std::string& what) const {
    throw BrokenDocument("the JSON is broken at byte " + std::to_string(at_) + ": " + what);
  }
  void space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t'))
      ++at_;
  }
  [[nodiscard]] bool takes(char c) {
    space();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  [[nodiscard]] bool takes(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  Json value(int depth) {
    if (depth > kMostJsonDepth) broken("it is nested more than " + std::to_string(kMostJsonDepth) + " deep");
    if (++values_ > kMostJsonValues) broken("it has more than " + std::to_string(kMostJsonValues) + " values");
    space();
    if (at_ == text_.size()) broken("it ends too early");
    const char c = text_[at_];
    if (c == '{') return object(depth);
    if (c == '[') return array(depth);
    if (c == '"') return {string()};
    if (takes("true")) return {true};
    if (takes("false")) return {false};
    if (takes("null")) return {};
    return number();
  }

  Json array(int depth) {
    ++at_;
    Json::Array items;
    if (takes(']')) return {std::move(items)};
    do items.push_back(value(depth + 1));
    while (takes(','));
    if (!takes(']')) broken("a list does not end");
    items.shrink_to_fit();
    return {std::move(items)};
  }

  Json object(int depth) {
    ++at_;
    Json::Object members;
    if (takes('}')) return {std::move(members)};
    do {
      space();
      if (at_ == text_.size() || text_[at_] != '"') broken("a member has no name");
      std::string name = string();
      if (!takes(':')) broken("a member has no value");
      members.emplace_back(std::move(name), value(depth + 1));
    } while (takes(','));
    if (!takes('}')) broken("an object does not end");
    checkNames(members);
    members.shrink_to_fit();
    return {std::move(members)};
  }

  // Which of two members of one name is meant, readers do not agree on.
  void checkNames(const Json::Object& members) const {
    constexpr size_t kFew = 12;
    if (members.size() > kFew) {
      std::unordered_set<std::string_view> names;
      for (const auto& [name, value] : members) {
        if (!names.insert(name).second) broken("'" + name.substr(0, 60) + "' is there twice");
      }
      return;
    }
    for (size_t i = 1; i < members.size(); ++i) {
      for (size_t k = 0; k < i; ++k) {
        if (members[k].first == members[i].first) broken("'" + members[i].first.substr(0, 60) + "' is there twice");
      }
    }
  }

  // Python writes NaN and Infinity without quotes where a program left them in.
  Json number() {
    const size_t start = at_;
    for (const std::string_view word : {"NaN", "Infinity", "-Infinity"}) {
      if (takes(word)) return made(start);
    }
    static_cast<void>(takes("-"));
    digits();
    if (takes(".")) digits();
    if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      ++at_;
      if (!takes("+")) static_cast<void>(takes("-"));
      digits();
    }
    return made(start);
  }
  void digits() {
    const size_t start = at_;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
    if (at_ == start) broken("a value is none that JSON knows");
  }
  [[nodiscard]] Json made(size_t start) const {
    Json number;
    number.content_ = Json::Number{std::string(text_.substr(start, at_ - start))};
    return number;
  }

  std::string string() {
    ++at_;
    std::string out;
    while (at_ < text_.size() && text_[at_] != '"') {
      const char c = text_[at_++];
      if (static_cast<unsigned char>(c) < 0x20) broken("a text has a control character");
      if (c == '\\') {
        escape(out);
        continue;
      }
      const size_t length = characterAt(at_ - 1);
      if (length == 0) broken("a text is no UTF-8");
      out += text_.substr(at_ - 1, length);
      at_ += length - 1;
    }
    if (at_ == text_.size()) broken("a text does not end");
    ++at_;
    return out;
  }

  // Counts the bytes of the character there; 0: it is none of UTF-8 (RFC 3629: no surrogates, none longer than needed).
  [[nodiscard]] size_t characterAt(size_t at) const {
    const auto byte = [&](size_t i) {
      return at + i < text_.size() ? static_cast<uint32_t>(static_cast<unsigned char>(text_[at + i])) : 0U;
    };
    const uint32_t first = byte(0);
    if (first < 0x80) return 1;
    const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    uint32_t code = first & (length == 4 ? 0x07U : length == 3 ? 0x0fU : 0x1fU);
    for (size_t i = 1; i < length; ++i) {
      if ((byte(i) & 0xc0) != 0x80) return 0;
      code = (code << 6) | (byte(i) & 0x3f);
    }
    constexpr uint32_t kLeast[] = {0x80, 0x800, 0x10000};
    const bool surrogate = code >= 0xd800 && code < 0xe000;
    return first < 0xc2 || first > 0xf4 || code < kLeast[length - 2] || code > 0x10ffff || surrogate ? 0 : length;
  }

  void escape(std::string& out) {
    if (at_ == text_.size()) broken("a text does not end");
    const char c = text_[at_++];
    constexpr std::string_view kFrom = "\"\\/bfnrt", kTo = "\"\\/\b\f\n\r\t";
    if (const size_t known = kFrom.find(c); known != std::string_view::npos) {
      out += kTo[known];
      return;
    }
    if (c != 'u') broken("a text has an escape that JSON does not know");
    uint32_t code = hex();
    if (code >= 0xd800 && code < 0xdc00 && text_.substr(at_).starts_with("\\u")) {
      const size_t back = at_;
      at_ += 2;
      const uint32_t low = hex();
      if (low >= 0xdc00 && low < 0xe000) {
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
      } else {
        at_ = back;  // half of a pair: kept as it is, as Python does
      }
    }
    utf8(code, out);
  }
  uint32_t hex() {
    uint32_t code = 0;
    for (int i = 0; i < 4; ++i) {
      constexpr std::string_view kDigits = "0123456789abcdef";
      const char c = at_ < text_.size() ? text_[at_++] : '?';
      const size_t digit = kDigits.find(static_cast<char>(c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c));
      if (digit == std::string_view::npos) broken("a text has an escape that JSON does not know");
      code = code * 16 + static_cast<uint32_t>(digit);
    }
    return code;
  }
  static void utf8(uint32_t code, std::string& out) {
    const auto put = [&](uint32_t byte) { out += static_cast<char>(byte); };
    const auto tail = [&](int shift) { put(0x80 | ((code >> shift) & 0x3f)); };
    if (code < 0x80) return put(code);
    if (code < 0x800) return put(0xc0 | (code >> 6)), tail(0);
    if (code < 0x10000) return put(0xe0 | (code >> 12)), tail(6), tail(0);
    put(0xf0 | (code >> 18)), tail(12), tail(6), tail(0);
  }

  std::string_view text_;
  size_t at_ = 0;
  size_t values_ = 0;
};

Result<Json> parseJson(std::string_view text) {
  try {
    return JsonReader(text).whole();
  } catch (const BrokenDocument& error) {
    return fail(ErrorCode::Unreadable, error.what());
  }
}

// As json.dumps(document): ", " between items, ": " after names, everything beyond ASCII escaped.
void Json::dumpTo(std::string& out) const {
  if (isNull()) {
    out += "null";
  } else if (const auto* truth = std::get_if<bool>(&content_)) {
    out += *truth ? "true" : "false";
  } else if (const auto* number = std::get_if<Number>(&content_)) {
    out += number->text;
  } else if (const auto* text = std::get_if<std::string>(&content_)) {
    putText(*text, out);
  } else if (const auto* array = std::get_if<Array>(&content_)) {
    out += '[';
    for (size_t i = 0; i < array->size(); ++i) {
      if (i > 0) out += ", ";
      (*array)[i].dumpTo(out);
    }
    out += ']';
  } else {
    const auto& members = std::get<Object>(content_);
    out += '{';
    for (size_t i = 0; i < members.size(); ++i) {
      if (i > 0) out += ", ";
      putText(members[i].first, out);
      out += ": ";
      members[i].second.dumpTo(out);
    }
    out += '}';
  }
}

std::string Json::dump() const {
  std::string out;
  dumpTo(out);
  return out;
}

}  // namespace normlens::formats::pt2
