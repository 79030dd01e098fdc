// json.dumps(document): ", " between items, ": " after names, everything beyond ASCII escaped.
#include <array>

#include "core/formats/pt2/file/json.h"

namespace normlens::formats::pt2 {
namespace {

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
