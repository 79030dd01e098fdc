#include "core/lab/data/npz_table.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "core/run/inputs/npz.h"

namespace normlens::lab {
namespace {

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
  if (least == most) return wrong("has one class only in array " + name + ": there is nothing to tell apart");
  rows.classes = static_cast<int>(most) + 1;
  return {};
}

}  // namespace

Result<Rows> readNpzTable(const std::filesystem::path& path, const std::string& target) {
  std::error_code error;
  if (const auto bytes = std::filesystem::file_size(path, error); !error && bytes > kMostBytes)
    return wrong("is larger than 256 MB");
  const auto read = run::readWhatCanBeRead(path);
  if (!read) return tl::unexpected(read.error());
  const std::string name = target.empty() ? "y" : target;
  const auto x = arrayOf(*read, "x"), y = arrayOf(*read, name);
  if (!x) return tl::unexpected(x.error());
  if (!y) return tl::unexpected(y.error());
  if (x->shape.size() < 2) return wrong("has an array x of fewer than two axes: it needs [examples, features]");
  if (y->shape.size() != 1) return wrong("has an array " + name + " that is no list: it needs [examples]");
  if (x->shape[0] != y->shape[0]) {
    return wrong("has " + std::to_string(x->shape[0]) + " examples in array x and " + std::to_string(y->shape[0]) +
                 " classes in array " + name);
  }
  if (x->shape[0] == 0) return wrong("has no examples in array x");
  auto inputs = numbersOf(*x, "x");
  if (!inputs) return tl::unexpected(inputs.error());
  const auto classes = numbersOf(*y, name);
  if (!classes) return tl::unexpected(classes.error());
  Rows rows;
  const int64_t features = static_cast<int64_t>(inputs->size()) / x->shape[0];
  if (features < 1 || features > kMostFeatures)
    return wrong("has " + std::to_string(features) + " numbers for each example: it may have 1 to 65536");
  rows.features = static_cast<int>(features);
  rows.all.inputs = std::move(*inputs);
  if (const Status good = readClasses(*classes, name, rows); !good) return tl::unexpected(good.error());
  return rows;
}

}  // namespace normlens::lab
