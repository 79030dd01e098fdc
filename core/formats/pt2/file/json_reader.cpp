// The parser: recursive, with a bound on its depth.
#include <unordered_set>

#include "core/formats/pt2/file/json.h"

namespace normlens::formats::pt2 {

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
    std::unordered_set<std::string> names;
    if (takes('}')) return {std::move(members)};
    do {
      space();
      if (at_ == text_.size() || text_[at_] != '"') broken("a member has no name");
      std::string name = string();
      if (!names.insert(name).second) broken("'" + name.substr(0, 60) + "' is there twice");
      if (!takes(':')) broken("a member has no value");
      members.emplace_back(std::move(name), value(depth + 1));
    } while (takes(','));
    if (!takes('}')) broken("an object does not end");
    members.shrink_to_fit();
    return {std::move(members)};
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
      if (c != '\\') {
        out += c;
      } else {
        escape(out);
      }
    }
    if (at_ == text_.size()) broken("a text does not end");
    ++at_;
    return out;
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

}  // namespace normlens::formats::pt2
