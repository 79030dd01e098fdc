#include "core/lab/data/generated.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/base/geometry/random_numbers.h"

namespace normlens::lab {
namespace {

constexpr int kTeacherWidth = 32;
constexpr int kWords = 60, kFollowers = 4;

// Draws `classes` arms that turn one and a half times around the middle.
Rows spirals(const DataSettings& data, RandomNumbers& draw) {
  Rows rows{2, data.classes, {}};
  for (int64_t i = 0; i < data.samples; ++i) {
    const int64_t arm = i % data.classes;
    const double along = std::sqrt(draw.unit());
    const double angle = 3 * std::numbers::pi * along + 2 * std::numbers::pi * static_cast<double>(arm) / data.classes;
    rows.all.inputs.push_back(2 * along * std::cos(angle) + data.noise * draw.normal());
    rows.all.inputs.push_back(2 * along * std::sin(angle) + data.noise * draw.normal());
    rows.all.classes.push_back(arm);
  }
  return rows;
}

std::vector<double> normals(size_t count, RandomNumbers& draw) {
  std::vector<double> values(count);
  for (double& value : values) value = draw.normal();
  return values;
}

std::vector<double> product(const std::vector<double>& matrix, const std::vector<double>& vector) {
  std::vector<double> result(matrix.size() / vector.size());
  for (size_t i = 0; i < matrix.size(); ++i) result[i / vector.size()] += matrix[i] * vector[i % vector.size()];
  return result;
}

// Draws rows, each of the class that a random network of one hidden layer finds the likeliest.
Rows teacher(const DataSettings& data, RandomNumbers& draw) {
  const auto features = static_cast<size_t>(data.features);
  const auto first = normals(kTeacherWidth * features, draw);
  const auto second = normals(static_cast<size_t>(data.classes) * kTeacherWidth, draw);
  Rows rows{data.features, data.classes, {}};
  for (int64_t i = 0; i < data.samples; ++i) {
    const auto input = normals(features, draw);
    auto hidden = product(first, input);
    for (double& value : hidden) value = std::tanh(value / std::sqrt(static_cast<double>(features)));
    const auto scores = product(second, hidden);
    rows.all.classes.push_back(std::ranges::max_element(scores) - scores.begin());
    rows.all.inputs.insert(rows.all.inputs.end(), input.begin(), input.end());
  }
  return rows;
}

Rows parity(const DataSettings& data, RandomNumbers& draw) {
  Rows rows{data.features, 2, {}};
  for (int64_t i = 0; i < data.samples; ++i) {
    int positive = 0;
    for (int feature = 0; feature < data.features; ++feature) {
      const bool up = draw.unit() < 0.5;
      positive += up ? 1 : 0;
      rows.all.inputs.push_back(up ? 1 : -1);
    }
    rows.all.classes.push_back(positive % 2 == 0 ? 1 : 0);
  }
  return rows;
}

std::string word(RandomNumbers& draw) {
  constexpr std::string_view kConsonants = "bdfgklmnprstvz", kVowels = "aeiou";
  const auto letter = [&](std::string_view of) {
    return of[static_cast<size_t>(draw.whole(0, static_cast<double>(of.size() - 1)))];
  };
  std::string made;
  const int syllables = static_cast<int>(draw.whole(1, 3));
  for (int i = 0; i < syllables; ++i) {
    made += letter(kConsonants);
    made += letter(kVowels);
  }
  return draw.unit() < 0.4 ? made + letter(kConsonants) : made;
}

}  // namespace

Rows generatedRows(const DataSettings& data) {
  RandomNumbers draw(static_cast<uint64_t>(data.seed));
  return data.kind == "teacher"  ? teacher(data, draw)
         : data.kind == "parity" ? parity(data, draw)
                                 : spirals(data, draw);
}

std::string generatedText(const DataSettings& data) {
  RandomNumbers draw(static_cast<uint64_t>(data.seed));
  std::vector<std::string> words(kWords);
  for (std::string& made : words) made = word(draw);
  std::vector<std::vector<size_t>> followers(kWords, std::vector<size_t>(kFollowers));
  for (auto& some : followers) {
    for (size_t& next : some) next = static_cast<size_t>(draw.whole(0, kWords - 1));
  }
  std::string text;
  size_t now = 0;
  for (int inSentence = 1; text.size() < static_cast<size_t>(data.samples); ++inSentence) {
    text += words[now];
    const bool ends = inSentence > 3 && draw.unit() < 0.25;
    text += ends ? ".\n" : " ";
    if (ends) inSentence = 0;
    now = followers[now][static_cast<size_t>(draw.whole(0, kFollowers - 1))];
  }
  text.resize(static_cast<size_t>(data.samples));
  return text;
}

}  // namespace normlens::lab
