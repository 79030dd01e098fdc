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

}  // namespace normlens::formats::pt2
