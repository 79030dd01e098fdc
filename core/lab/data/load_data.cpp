#include "core/lab/data/load_data.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numbers>
#include <string>

#include "core/base/geometry/random_numbers.h"
#include "core/base/plural.h"
#include "core/base/printable.h"
#include "core/lab/data/split.h"
#include "core/run/inputs/npz.h"

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

// Examples of a NumPy file: array x [n, ...] of numbers, and one of whole numbers from 0 on, the classes [n].
constexpr uintmax_t kMostBytes = uintmax_t{256} << 20;
constexpr int64_t kMostFeatures = 65536;

tl::unexpected<Error> wrong(std::string what) { return fail(ErrorCode::BadInput, std::move(what)); }

Result<graph::TensorView> arrayOf(const run::ReadableArrays& read, const std::string& name) {
  const auto found = std::ranges::find(read.arrays, name, &formats::NamedTensor::name);
  if (const auto why = read.unreadable.find(name); why != read.unreadable.end()) return tl::unexpected(why->second);
  if (found != read.arrays.end()) return found->view;
  std::string all;
  for (const auto& array : read.arrays) all += (all.empty() ? "" : ", ") + array.name;
  return wrong("has no array " + name + (all.empty() ? "" : ", only " + all));
}

Result<std::vector<double>> numbersOf(const graph::TensorView& view, const std::string& name) {
  auto numbers = graph::toDoubles(view);
  if (!numbers) return wrong("has something else than real numbers in array " + name);
  for (size_t i = 0; i < numbers->size(); ++i) {
    if (!std::isfinite((*numbers)[i]))
      return wrong("has a number that is not finite in array " + name + ", element " + std::to_string(i));
  }
  return std::move(*numbers);
}

Status readClasses(const std::vector<double>& numbers, const std::string& name, Rows& rows) {
  for (const double number : numbers) {
    if (number != std::floor(number) || number < 0 || number >= 1000)
      return wrong("has " + std::to_string(number) + " in array " + name + ": classes are whole numbers from 0 to 999");
    rows.all.classes.push_back(static_cast<int64_t>(number));
  }
  const auto [least, most] = std::ranges::minmax(rows.all.classes);
  if (least == most) return wrong("has one class only in array " + name + ": there is nothing to distinguish");
  rows.classes = static_cast<int>(most) + 1;
  return {};
}

// `target`: the name of the classes' array; empty: "y". Errors: Unreadable for the file, a whole sentence; BadInput for
// what is in it, half a sentence.
Result<Rows> readNpzTable(const std::filesystem::path& path, const std::string& target) {
  std::error_code error;
  if (const auto bytes = std::filesystem::file_size(path, error); !error && bytes > kMostBytes)
    return wrong("is larger than 256 MB");
  ASSIGN_OR_RETURN(const auto read, run::readWhatCanBeRead(path));
  const std::string name = target.empty() ? "y" : target;
  ASSIGN_OR_RETURN(const auto x, arrayOf(read, "x"), y = arrayOf(read, name));
  if (!y) return tl::unexpected(y.error());
  if (x.shape.size() < 2) return wrong("has an array x of fewer than two axes: it needs [examples, features]");
  if (y->shape.size() != 1) return wrong("has an array " + name + " that is no list: it needs [examples]");
  if (x.shape[0] != y->shape[0]) {
    return wrong("has " + std::to_string(x.shape[0]) + " examples in array x and " + std::to_string(y->shape[0]) +
                 " classes in array " + name);
  }
  if (x.shape[0] == 0) return wrong("has no examples in array x");
  ASSIGN_OR_RETURN(auto inputs, numbersOf(x, "x"));
  ASSIGN_OR_RETURN(const auto classes, numbersOf(*y, name));
  Rows rows;
  const int64_t features = static_cast<int64_t>(inputs.size()) / x.shape[0];
  if (features < 1 || features > kMostFeatures)
    return wrong("has " + std::to_string(features) + " numbers for each example: it may have 1 to 65536");
  rows.features = static_cast<int>(features);
  rows.all.inputs = std::move(inputs);
  RETURN_IF_ERROR(readClasses(classes, name, rows));
  return rows;
}

constexpr int64_t kFewestRows = 16;

// Makes a whole sentence of half a one.
Error inData(const std::string& path, Error error) {
  if (error.code == ErrorCode::BadInput)
    error.message = "the data " + path + " cannot be learned from: it " + error.message;
  error.message = printable(error.message);
  return error;
}

Result<Data> loadTable(const DataSettings& data) {
  auto rows = readNpzTable(data.path, data.target);
  if (rows && rows->all.count() < kFewestRows) {
    rows = fail(ErrorCode::BadInput, "has " + plural(rows->all.count(), "example") + ": at least " +
                                         std::to_string(kFewestRows) + " are needed");
  }
  if (!rows) return tl::unexpected(inData(data.path, rows.error()));
  TableData set = setAside(*rows, data);
  standardize(set);
  return set;
}

}  // namespace

Rows generatedRows(const DataSettings& data) {
  RandomNumbers draw(static_cast<uint64_t>(data.seed));
  return data.kind == DataKind::Teacher  ? teacher(data, draw)
         : data.kind == DataKind::Parity ? parity(data, draw)
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

Result<Data> loadData(const DataSettings& data) {
  if (data.kind == DataKind::Npz) return loadTable(data);
  if (data.kind != DataKind::Characters) return setAside(generatedRows(data), data);
  return splitText(generatedText(data), data).map([](TextData&& set) { return Data(std::move(set)); });
}

}  // namespace normlens::lab
