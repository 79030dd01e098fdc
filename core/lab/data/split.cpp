#include "core/lab/data/split.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "core/base/geometry/random_numbers.h"

namespace normlens::lab {
namespace {

constexpr size_t kFewestCharacters = 1000;

void take(const Rows& rows, size_t row, Examples& into) {
  const auto width = static_cast<size_t>(rows.features);
  const auto begin = rows.all.inputs.begin() + static_cast<std::ptrdiff_t>(row * width);
  into.inputs.insert(into.inputs.end(), begin, begin + rows.features);
  into.classes.push_back(rows.all.classes[row]);
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
  if (text.size() < kFewestCharacters) {
    return fail(ErrorCode::BadInput, "data.samples: the generated text has " + std::to_string(text.size()) +
                                         " characters: at least " + std::to_string(kFewestCharacters) + " are needed");
  }
  TextData set;
  const std::set<char> known(text.begin(), text.end());
  set.symbols.assign(known.begin(), known.end());
  const auto trained = static_cast<size_t>(static_cast<double>(text.size()) * (1 - data.test_share));
  for (size_t i = 0; i < text.size(); ++i)
    (i < trained ? set.train : set.test).push_back(static_cast<int64_t>(set.symbols.find(text[i])));
  return set;
}

}  // namespace normlens::lab
