#include "core/protocol/json.h"

#include <cmath>
#include <limits>

#include "core/base/printable.h"

namespace normlens::protocol {

FieldError FieldError::under(const std::string& parent) const {
  const bool index = path_.empty() || path_.front() == '[';
  return {parent + (index ? "" : ".") + path_, problem_};
}

std::string notOneOf(std::string_view word, std::span<const std::string_view> words) {
  std::string all;
  for (const auto each : words) {
    if (!each.empty()) all += (all.empty() ? "" : ", ") + std::string(each);
  }
  return printable("is \"" + std::string(word.substr(0, 80)) + "\", and must be one of " + all);
}

namespace detail {

nlohmann::json encodeValue(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

namespace {

void decodeWhole(const nlohmann::json& in, int64_t low, int64_t high, int64_t& out) {
  if (!in.is_number_integer()) throw FieldError("", "must be a whole number");
  const bool above = in.is_number_unsigned() && in.get<uint64_t>() > static_cast<uint64_t>(high);
  if (above || in.get<int64_t>() < low || in.get<int64_t>() > high) {
    throw FieldError("", "must lie between " + std::to_string(low) + " and " + std::to_string(high));
  }
  out = in.get<int64_t>();
}

}  // namespace

void decodeValue(const nlohmann::json& in, bool& out) {
  if (!in.is_boolean()) throw FieldError("", "must be true or false");
  out = in.get<bool>();
}

void decodeValue(const nlohmann::json& in, int& out) {
  int64_t wide = 0;
  decodeWhole(in, std::numeric_limits<int>::min(), std::numeric_limits<int>::max(), wide);
  out = static_cast<int>(wide);
}

void decodeValue(const nlohmann::json& in, int64_t& out) {
  decodeWhole(in, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max(), out);
}

void decodeValue(const nlohmann::json& in, double& out) {
  if (in.is_number()) {
    out = in.get<double>();
    return;
  }
  const std::string text = in.is_string() ? in.get<std::string>() : std::string();
  if (text == "inf") {
    out = std::numeric_limits<double>::infinity();
  } else if (text == "-inf") {
    out = -std::numeric_limits<double>::infinity();
  } else if (text == "nan") {
    out = std::numeric_limits<double>::quiet_NaN();
  } else {
    throw FieldError("", "must be a number");
  }
}

void decodeValue(const nlohmann::json& in, std::string& out) {
  if (!in.is_string()) throw FieldError("", "must be a text");
  out = in.get<std::string>();
}

nlohmann::json encodeValue(const IndexRanges& ranges) {
  nlohmann::json list = nlohmann::json::array();
  for (const IndexRange& range : ranges.ranges()) list.push_back({range.first, range.last});
  return list;
}

void decodeValue(const nlohmann::json& in, IndexRanges& out) {
  std::vector<std::pair<int, int>> pairs;
  decodeValue(in, pairs);
  out = {};
  for (size_t i = 0; i < pairs.size(); ++i) {
    if (out.append({pairs[i].first, pairs[i].second})) continue;
    throw FieldError("[" + std::to_string(i) + "]", "must be a range behind the one before it");
  }
}

void requireObject(const nlohmann::json& in) {
  if (!in.is_object()) throw FieldError("", "must be an object");
}

void requireList(const nlohmann::json& in, std::optional<size_t> size) {
  if (!in.is_array()) throw FieldError("", "must be a list");
  if (size && in.size() != *size) throw FieldError("", "must be a list of " + std::to_string(*size));
}

}  // namespace detail

namespace {

// Returns the end of the text that opens before `from`; the end of `json` where it has no end.
size_t endOfText(std::string_view json, size_t from) {
  for (size_t at = json.find('"', from); at != std::string_view::npos; at = json.find('"', at + 1)) {
    size_t backslashes = 0;
    while (at > from + backslashes && json[at - backslashes - 1] == '\\') ++backslashes;
    if (backslashes % 2 == 0) return at;
  }
  return json.size();
}

// Empty: it is within them. One look at each byte, of which the parser takes many.
std::string beyond(std::string_view json, const JsonLimits& limits) {
  size_t depth = 0, values = 0;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (c == '"') {
      const size_t end = endOfText(json, i + 1);
      if (end - i > limits.textBytes) return "holds a text of more than " + std::to_string(limits.textBytes) + " bytes";
      i = end;
    } else if (c == '[' || c == '{') {
      if (++depth > limits.depth) return "is nested more than " + std::to_string(limits.depth) + " deep";
      ++values;
    } else if (c == ']' || c == '}') {
      depth -= depth > 0 ? 1 : 0;
    } else if (c == ',') {
      ++values;
    }
    if (values > limits.values) return "holds more than " + std::to_string(limits.values) + " values";
  }
  return {};
}

}  // namespace

Result<nlohmann::json> parseJson(std::string_view text, const JsonLimits& limits) {
  if (std::string problem = beyond(text, limits); !problem.empty())
    return fail(ErrorCode::BadInput, std::move(problem));
  nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_discarded()) return fail(ErrorCode::BadInput, "is not JSON");
  return json;
}

std::string dumpJson(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace normlens::protocol
