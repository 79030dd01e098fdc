#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "core/lab/data/generated.h"
#include "core/lab/data/load_data.h"

namespace normlens::lab {
namespace {

DataSettings generated(const std::string& kind) {
  DataSettings data;
  data.kind = kind;
  data.samples = 600;
  data.features = 5;
  data.classes = 3;
  return data;
}

TEST(GeneratedData, AreAFunctionOfTheirSettings) {
  for (const std::string kind : {"spirals", "teacher", "parity"}) {
    DataSettings data = generated(kind);
    const Rows one = generatedRows(data), again = generatedRows(data);
    EXPECT_EQ(one.all.inputs, again.all.inputs) << kind;
    EXPECT_EQ(one.all.classes, again.all.classes) << kind;
    data.seed = 2;
    EXPECT_NE(one.all.inputs, generatedRows(data).all.inputs) << kind;
  }
  EXPECT_EQ(generatedText(generated("characters")), generatedText(generated("characters")));
}

TEST(GeneratedData, HaveAllTheirClasses) {
  for (const std::string kind : {"spirals", "teacher", "parity"}) {
    const Rows rows = generatedRows(generated(kind));
    const std::set<int64_t> classes(rows.all.classes.begin(), rows.all.classes.end());
    EXPECT_EQ(static_cast<int>(classes.size()), rows.classes) << kind;
    EXPECT_EQ(*classes.rbegin() + 1, rows.classes) << kind;
    EXPECT_EQ(rows.all.count(), 600) << kind;
    EXPECT_EQ(rows.all.inputs.size(), 600 * static_cast<size_t>(rows.features)) << kind;
  }
}

TEST(GeneratedData, ParityIsThatOfThePositiveOnes) {
  const Rows rows = generatedRows(generated("parity"));
  for (size_t i = 0; i < rows.all.classes.size(); ++i) {
    int positive = 0;
    for (size_t feature = 0; feature < 5; ++feature) positive += rows.all.inputs[5 * i + feature] > 0 ? 1 : 0;
    EXPECT_EQ(rows.all.classes[i], positive % 2 == 0 ? 1 : 0);
  }
}

TEST(SplitData, EachExampleIsOnOneSide) {
  DataSettings data = generated("spirals");
  data.test_share = 0.25;
  const auto loaded = loadData(data);
  ASSERT_TRUE(loaded);
  const auto& table = std::get<TableData>(*loaded);
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
  const auto split = splitText(text, data);
  ASSERT_TRUE(split);
  EXPECT_EQ(split->symbols, "\nab");
  EXPECT_EQ(split->train.size(), 1350U);
  EXPECT_EQ(split->test.size(), 150U);
  EXPECT_EQ(split->train[0], 1);
  EXPECT_EQ(split->train[1], 2);
  EXPECT_EQ(split->train[2], 0);
}

TEST(SplitData, AShortTextIsRefused) {
  const auto refused = loadData(generated("characters"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "data.samples: the generated text has 600 characters: at least 1000 are needed");
}

}  // namespace
}  // namespace normlens::lab
