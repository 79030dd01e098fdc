#include "core/lab/data/split.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

#include "core/base/geometry/random_numbers.h"

namespace normlens::lab {
namespace {

constexpr size_t kMostSymbols = 1000;
constexpr size_t kFewestCharacters = 1000;

void take(const Rows& rows, size_t row, Examples& into) {
  const auto width = static_cast<size_t>(rows.features);
  const auto begin = rows.all.inputs.begin() + static_cast<std::ptrdiff_t>(row * width);
  into.inputs.insert(into.inputs.end(), begin, begin + rows.features);
  into.classes.push_back(rows.all.classes[row]);
}

// Bytes of the character that begins at `at`; nullopt: that is not UTF-8.
std::optional<size_t> characterAt(const std::string& text, size_t at) {
  const auto byte = static_cast<unsigned char>(text[at]);
  const size_t size = byte < 0x80 ? 1 : byte < 0xC2 ? 0 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : byte < 0xF5 ? 4 : 0;
  if (size == 0 || at + size > text.size()) return std::nullopt;
  for (size_t i = 1; i < size; ++i) {
    if ((static_cast<unsigned char>(text[at + i]) & 0xC0) != 0x80) return std::nullopt;
  }
  return size;
}

}  // namespace

TableData setAside(const Rows& rows, const DataSettings& data) {
  std::vector<size_t> order(rows.all.classes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  RandomNumbers draw(static_cast<uint64_t>(data.seed) ^ 0x5E7A51DEU);
  draw.shuffle(order);
  const auto count = static_cast<double>(order.size());
  const auto tests = static_cast<size_t>(std::clamp(std::round(count * data.test_share), 1.0, count - 1));
  TableData set;
  set.features = rows.features;
  set.classes = rows.classes;
  for (size_t i = 0; i < order.size(); ++i) take(rows, order[i], i < tests ? set.test : set.train);
  return set;
}

void standardize(TableData& data) {
  const auto width = static_cast<size_t>(data.features);
  const auto count = static_cast<double>(data.train.count());
  for (size_t feature = 0; feature < width; ++feature) {
    // Squares of 1e200 are not finite: by a power of two first, which rounds nothing.
    double largest = 0;
    for (size_t i = feature; i < data.train.inputs.size(); i += width)
      largest = std::max(largest, std::abs(data.train.inputs[i]));
    const int exponent = largest > 0 ? std::ilogb(largest) : 0;
    for (Examples* part : {&data.train, &data.test}) {
      for (size_t i = feature; i < part->inputs.size(); i += width)
        part->inputs[i] = std::ldexp(part->inputs[i], -exponent);
    }
    double sum = 0, squares = 0;
    for (size_t i = feature; i < data.train.inputs.size(); i += width) sum += data.train.inputs[i];
    const double mean = sum / count;
    for (size_t i = feature; i < data.train.inputs.size(); i += width)
      squares += (data.train.inputs[i] - mean) * (data.train.inputs[i] - mean);
    const double deviation = std::sqrt(squares / count);
    const bool constant = !(deviation > 1e-12 * std::abs(mean));
    for (Examples* part : {&data.train, &data.test}) {
      for (size_t i = feature; i < part->inputs.size(); i += width)
        part->inputs[i] = constant ? 0 : (part->inputs[i] - mean) / deviation;
    }
  }
}

Result<TextData> splitText(const std::string& text, const DataSettings& data) {
  std::vector<std::string> characters;
  for (size_t at = 0; at < text.size();) {
    const auto size = characterAt(text, at);
    if (!size || text[at] == '\0')
      return fail(ErrorCode::BadInput, "is no UTF-8 text (its byte " + std::to_string(at + 1) + ")");
    characters.push_back(text.substr(at, *size));
    at += *size;
  }
  if (characters.size() < kFewestCharacters) {
    return fail(ErrorCode::BadInput, "has " + std::to_string(characters.size()) + " characters: at least " +
                                         std::to_string(kFewestCharacters) + " are needed");
  }
  std::map<std::string, int64_t> known;
  for (const std::string& character : characters) known.emplace(character, 0);
  if (known.size() < 2)
    return fail(ErrorCode::BadInput, "has one character again and again: there is nothing to learn");
  if (known.size() > kMostSymbols) {
    return fail(ErrorCode::BadInput, "has " + std::to_string(known.size()) +
                                         " different characters: " + std::to_string(kMostSymbols) + " are the most");
  }
  TextData set;
  for (auto& [symbol, index] : known) {
    index = static_cast<int64_t>(set.symbols.size());
    set.symbols.push_back(symbol);
  }
  const auto trained = static_cast<size_t>(static_cast<double>(characters.size()) * (1 - data.test_share));
  for (size_t i = 0; i < characters.size(); ++i)
    (i < trained ? set.train : set.test).push_back(known.at(characters[i]));
  return set;
}

}  // namespace normlens::lab
