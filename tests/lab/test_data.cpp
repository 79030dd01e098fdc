#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <set>

#include "core/lab/data/load_data.h"
#include "core/run/tensors.h"
#include "tests/support/must.h"
#include "tests/support/npz_files.h"
#include "tests/support/temporary_folder.h"

namespace normlens::lab {
namespace {

using graph::DType;

DataSettings generated(DataKind kind) {
  DataSettings data;
  data.kind = kind;
  data.samples = 600;
  data.features = 5;
  data.classes = 3;
  return data;
}

TEST(GeneratedData, AreAFunctionOfTheirSettings) {
  for (const DataKind kind : {DataKind::Spirals, DataKind::Teacher, DataKind::Parity}) {
    DataSettings data = generated(kind);
    const Rows one = generatedRows(data), again = generatedRows(data);
    EXPECT_EQ(one.all.inputs, again.all.inputs) << nameOf(kind);
    EXPECT_EQ(one.all.classes, again.all.classes) << nameOf(kind);
    data.seed = 2;
    EXPECT_NE(one.all.inputs, generatedRows(data).all.inputs) << nameOf(kind);
  }
  EXPECT_EQ(generatedText(generated(DataKind::Characters)), generatedText(generated(DataKind::Characters)));
}

TEST(GeneratedData, HaveAllTheirClasses) {
  for (const DataKind kind : {DataKind::Spirals, DataKind::Teacher, DataKind::Parity}) {
    const Rows rows = generatedRows(generated(kind));
    const std::set<int64_t> classes(rows.all.classes.begin(), rows.all.classes.end());
    EXPECT_EQ(static_cast<int>(classes.size()), rows.classes) << nameOf(kind);
    EXPECT_EQ(*classes.rbegin() + 1, rows.classes) << nameOf(kind);
    EXPECT_EQ(rows.all.count(), 600) << nameOf(kind);
    EXPECT_EQ(rows.all.inputs.size(), 600 * static_cast<size_t>(rows.features)) << nameOf(kind);
  }
}

TEST(GeneratedData, ParityIsThatOfThePositiveOnes) {
  const Rows rows = generatedRows(generated(DataKind::Parity));
  for (size_t i = 0; i < rows.all.classes.size(); ++i) {
    int positive = 0;
    for (size_t feature = 0; feature < 5; ++feature) positive += rows.all.inputs[5 * i + feature] > 0 ? 1 : 0;
    EXPECT_EQ(rows.all.classes[i], positive % 2 == 0 ? 1 : 0);
  }
}

TEST(SplitData, EachExampleIsOnOneSide) {
  DataSettings data = generated(DataKind::Spirals);
  data.test_share = 0.25;
  const auto loaded = must(loadData(data));
  const auto& table = std::get<TableData>(loaded);
  EXPECT_EQ(table.test.count(), 150);
  EXPECT_EQ(table.train.count(), 450);
  std::multiset<double> all;
  for (const auto* part : {&table.train, &table.test}) all.insert(part->inputs.begin(), part->inputs.end());
  const auto rows = generatedRows(data).all.inputs;
  EXPECT_EQ(all, std::multiset<double>(rows.begin(), rows.end()));
}

TEST(SplitData, AStandardizedFeatureHasMeanZeroAndDeviationOne) {
  TableData data{2, 2, {{1, 5, 3, 5, 8, 5}, {0, 1, 0}}, {{4, 6}, {1}}};
  standardize(data);
  EXPECT_NEAR(data.train.inputs[0] + data.train.inputs[2] + data.train.inputs[4], 0, 1e-12);
  const double deviation = std::sqrt(26.0 / 3);
  EXPECT_NEAR(data.test.inputs[0], 0, 1e-12);
  EXPECT_NEAR(data.train.inputs[4], 4 / deviation, 1e-12);
  EXPECT_EQ(data.train.inputs[1], 0);  // constant
  EXPECT_EQ(data.test.inputs[1], 0);
}

TEST(SplitData, NumbersWhoseSquaresAreBeyondMeasureAreStandardizedToo) {
  for (const double scale : {1e300, 1e-300}) {
    TableData data{1, 2, {{1 * scale, 3 * scale, 8 * scale}, {0, 1, 0}}, {{4 * scale}, {1}}};
    standardize(data);
    EXPECT_NEAR(data.train.inputs[2], 4 / std::sqrt(26.0 / 3), 1e-12) << scale;
    EXPECT_NEAR(data.test.inputs[0], 0, 1e-12) << scale;
  }
}

TEST(SplitData, ATextIsItsCharacters) {
  std::string text;
  for (int i = 0; i < 500; ++i) text += "ab\n";
  DataSettings data;
  data.test_share = 0.1;
  const auto split = must(splitText(text, data));
  EXPECT_EQ(split.symbols, "\nab");
  EXPECT_EQ(split.train.size(), 1350U);
  EXPECT_EQ(split.test.size(), 150U);
  EXPECT_EQ(split.train[0], 1);
  EXPECT_EQ(split.train[1], 2);
  EXPECT_EQ(split.train[2], 0);
}

TEST(SplitData, AShortTextIsRefused) {
  EXPECT_EQ(failureOf(loadData(generated(DataKind::Characters))).message,
            "data.samples: the generated text has 600 characters: at least 1000 are needed");
}

formats::NamedTensor array(const std::string& name, graph::Shape shape, const std::vector<double>& values,
                           DType dtype = DType::Float32) {
  return {name, run::fromDoubles(dtype, std::move(shape), values)};
}

std::vector<double> counting(size_t count, int modulo) {
  std::vector<double> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<double>(i % static_cast<size_t>(modulo));
  return values;
}

class NpzData : public testing::Test {
 protected:
  Result<Data> load(const formats::Tensors& arrays, const std::string& target = {}) {
    DataSettings data;
    data.kind = DataKind::Npz;
    data.path = path();
    data.target = target;
    EXPECT_TRUE(run::writeNpz(data.path, arrays));
    return loadData(data);
  }
  std::string told(const formats::Tensors& arrays, const std::string& target = {}) {
    const auto data = load(arrays, target);
    if (data) return "nothing";
    const std::string start = "the data " + path() + " cannot be learned from: it ";
    const std::string& message = data.error().message;
    return message.starts_with(start) ? message.substr(start.size()) : message;
  }
  std::string path() { return (folder_ / "data.npz").string(); }

  TemporaryFolder folder_;
};

TEST_F(NpzData, AxesBehindTheFirstAreFeatures) {
  const auto data =
      load({array("x", {20, 2, 3}, counting(120, 7)), array("label", {20}, counting(20, 4), DType::Int64)}, "label");
  ASSERT_TRUE(data) << data.error().message;
  const auto& table = std::get<TableData>(*data);
  EXPECT_EQ(table.features, 6);
  EXPECT_EQ(table.classes, 4);
  EXPECT_EQ(table.train.count() + table.test.count(), 20);
}

TEST_F(NpzData, WhatIsMissingOrOddIsTold) {
  const auto x = array("x", {20, 2}, counting(40, 7));
  const auto y = array("y", {20}, counting(20, 2), DType::Int64);
  EXPECT_EQ(told({y}), "has no array x, only y");
  EXPECT_EQ(told({x}), "has no array y, only x");
  EXPECT_EQ(told({x, y}, "label"), "has no array label, only x, y");
  EXPECT_EQ(told({array("x", {20}, counting(20, 7)), y}),
            "has an array x of fewer than two axes: it needs [examples, features]");
  EXPECT_EQ(told({x, array("y", {20, 1}, counting(20, 2))}), "has an array y that is no list: it needs [examples]");
  EXPECT_EQ(told({x, array("y", {19}, counting(19, 2))}), "has 20 examples in array x and 19 classes in array y");
  EXPECT_EQ(told({array("x", {0, 2}, {}), array("y", {0}, {})}), "has no examples in array x");
  EXPECT_EQ(told({array("x", {20, 0}, {}), y}), "has 0 numbers for each example: it may have 1 to 65536");
  EXPECT_EQ(told({array("x", {3, 2}, counting(6, 7)), array("y", {3}, counting(3, 2))}),
            "has 3 examples: at least 16 are needed");
}

// Sparse: it takes no room.
TEST_F(NpzData, OneThatIsTooLargeIsNotRead) {
  std::ofstream(path()) << "x";
  std::filesystem::resize_file(path(), (uintmax_t{256} << 20) + 1);
  DataSettings settings;
  settings.kind = DataKind::Npz;
  settings.path = path();
  EXPECT_PRED2(contains, failureOf(loadData(settings)).message, "is larger than 256 MB");
}

TEST_F(NpzData, NumbersThatAreNoClassesAreTold) {
  const auto x = array("x", {20, 2}, counting(40, 7));
  const auto withFirst = [&](double first) {
    std::vector<double> values = counting(20, 2);
    values[0] = first;
    return told({x, array("y", {20}, values)});
  };
  EXPECT_EQ(withFirst(0.5), "has 0.500000 in array y: classes are whole numbers from 0 to 999");
  EXPECT_EQ(withFirst(-1), "has -1.000000 in array y: classes are whole numbers from 0 to 999");
  EXPECT_EQ(withFirst(1000), "has 1000.000000 in array y: classes are whole numbers from 0 to 999");
  EXPECT_EQ(withFirst(std::numeric_limits<double>::quiet_NaN()),
            "has a number that is not finite in array y, element 0");
  EXPECT_EQ(told({x, array("y", {20}, counting(20, 1))}),
            "has one class only in array y: there is nothing to distinguish");
  std::vector<double> values = counting(40, 7);
  values[3] = std::numeric_limits<double>::infinity();
  EXPECT_EQ(told({array("x", {20, 2}, values), array("y", {20}, counting(20, 2))}),
            "has a number that is not finite in array x, element 3");
}

TEST_F(NpzData, WhatIsNoNpzIsTold) {
  std::ofstream(path()) << "tea";
  DataSettings data;
  data.kind = DataKind::Npz;
  data.path = path();
  const Error loaded = failureOf(loadData(data));
  EXPECT_EQ(loaded.code, ErrorCode::Unreadable);
  EXPECT_EQ(loaded.message, "cannot read the arrays of " + path() + ": it is neither an .npz nor an .npy file");
}

}  // namespace
}  // namespace normlens::lab
