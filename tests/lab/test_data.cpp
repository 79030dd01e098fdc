#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <set>

#include "core/lab/data/csv.h"
#include "core/lab/data/generated.h"
#include "core/lab/data/load_data.h"
#include "tests/support/temporary_folder.h"

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
  for (int i = 0; i < 500; ++i) text += "aé\n";
  DataSettings data;
  data.test_share = 0.1;
  const auto split = splitText(text, data);
  ASSERT_TRUE(split);
  EXPECT_EQ(split->symbols, (std::vector<std::string>{"\n", "a", "é"}));
  EXPECT_EQ(split->train.size(), 1350U);
  EXPECT_EQ(split->test.size(), 150U);
  EXPECT_EQ(split->train[0], 1);
  EXPECT_EQ(split->train[1], 2);
  EXPECT_EQ(split->train[2], 0);
}

TEST(Csv, IsReadWithItsClassAnywhere) {
  const auto rows = readCsv("a;kind;b\r\n1; cat ;-2.5\r\n\r\n+3e1;\"d\"\"og\";.5\r\n", "kind");
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_EQ(rows->features, 2);
  EXPECT_EQ(rows->classes, 2);
  EXPECT_EQ(rows->all.inputs, (std::vector<double>{1, -2.5, 30, 0.5}));
  EXPECT_EQ(rows->all.classes, (std::vector<int64_t>{0, 1}));
}

TEST(Csv, ItsClassIsTheLastColumnUnlessToldElse) {
  const auto rows = readCsv(
      "\xEF\xBB\xBF"
      "a,b\n1,2\n3,4\n",
      "");
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_EQ(rows->all.inputs, (std::vector<double>{1, 3}));
}

struct WrongFile {
  const char* name;
  std::string content;
  const char* target;
  const char* told;
};

class WrongCsv : public testing::TestWithParam<WrongFile> {};

TEST_P(WrongCsv, IsTold) {
  const auto rows = readCsv(GetParam().content, GetParam().target);
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().code, ErrorCode::BadInput);
  EXPECT_EQ(rows.error().message, GetParam().told);
}

std::string manyClasses() {
  std::string text = "x,y\n";
  for (int i = 0; i < 1001; ++i) text += "1," + std::to_string(i) + ".5\n";
  return text;
}

const WrongFile kWrongCsv[] = {
    {"empty", "", "", "is empty"},
    {"blank", "\n \n", "", "is empty"},
    {"binary", std::string("a,b\n\0,1\n", 8), "", "is no text"},
    {"headless", "1,2\n3,4\n", "", "has numbers only in its first line, which must name the columns"},
    {"head_only", "a,b\n", "", "has a first line and no rows below it"},
    {"one_column", "a\n1\n", "", "has one column: it needs numbers and a class in each row"},
    {"short_row", "a,b,c\n1,2,3\n1,2\n", "", "has 2 cells in line 3, and its first line names 3 columns"},
    {"long_row", "a,b\n1,2,3\n", "", "has 3 cells in line 2, and its first line names 2 columns"},
    {"word", "a,b\n1,x\ntall,y\n", "", R"(has no number in line 3, column "a": "tall")"},
    {"half_number", "a,b\n1.5kg,y\n", "", R"(has no number in line 2, column "a": "1.5kg")"},
    {"missing", "a,b\n,y\n", "", R"(has no number in line 2, column "a": "")"},
    {"not_finite", "a,b\ninf,y\n", "", R"(has a number that is not finite in line 2, column "a": "inf")"},
    {"no_class", "a,b\n1,\n", "", "has no class in line 2, column \"b\""},
    {"no_target", "a,b\n1,2\n", "kind", "has no column \"kind\""},
    {"one_class", "a,b\n1,x\n2,x\n", "", "has one class only in column \"b\": there is nothing to tell apart"},
    {"many_classes", manyClasses(), "",
     "has 1001 different classes in column \"y\": 1000 are the most, and a measured number is no class"},
    {"quote", "a,b\n\"1,2\n", "", "has a quote in line 2 that is not closed"},
};
INSTANTIATE_TEST_SUITE_P(All, WrongCsv, testing::ValuesIn(kWrongCsv), [](const auto& test) { return test.param.name; });

class DataFiles : public testing::Test {
 protected:
  std::string written(const std::string& name, const std::string& content) {
    const std::string path = (folder_.path() / name).string();
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }
  static std::string told(const std::string& kind, const std::string& path) {
    DataSettings data;
    data.kind = kind;
    data.path = path;
    const auto loaded = loadData(data);
    return loaded ? "nothing" : loaded.error().message;
  }

  TemporaryFolder folder_;
};

TEST_F(DataFiles, WhatCannotBeReadIsTold) {
  const std::string none = (folder_.path() / "none").string();
  EXPECT_EQ(told("csv", none), "the data " + none + " cannot be read: No such file or directory");
  EXPECT_EQ(told("text", folder_.path().string()),
            "the data " + folder_.path().string() + " cannot be read: Is a directory");
  EXPECT_EQ(told("text", "/dev/null"), "the data /dev/null cannot be read: it is no plain file");
}

TEST_F(DataFiles, AFewExamplesAreTooFew) {
  const std::string path = written("few.csv", "a,b\n1,x\n2,y\n");
  EXPECT_EQ(told("csv", path),
            "the data " + path + " cannot be learned from: it has 2 examples: at least 16 are needed");
}

TEST_F(DataFiles, TextsThatTeachNothingAreTold) {
  const auto toldOf = [&](const std::string& content) {
    const std::string path = written("text.txt", content);
    std::string message = told("text", path);
    const std::string start = "the data " + path + " cannot be learned from: it ";
    return message.starts_with(start) ? message.substr(start.size()) : message;
  };
  EXPECT_EQ(toldOf("tea"), "has 3 characters: at least 1000 are needed");
  EXPECT_EQ(toldOf(""), "has 0 characters: at least 1000 are needed");
  EXPECT_EQ(toldOf(std::string(2000, 'a')), "has one character again and again: there is nothing to learn");
  EXPECT_EQ(toldOf("ab\xFF"), "is no UTF-8 text (its byte 3)");
  EXPECT_EQ(toldOf(std::string("ab\0c", 4)), "is no UTF-8 text (its byte 3)");
  EXPECT_EQ(toldOf("a\xC3"), "is no UTF-8 text (its byte 2)");
  std::string many;
  for (int i = 0; i < 1200; ++i) {
    const int code = 0x4E00 + i;  // three bytes each
    many += static_cast<char>(0xE0 | (code >> 12));
    many += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    many += static_cast<char>(0x80 | (code & 0x3F));
  }
  EXPECT_EQ(toldOf(many), "has 1200 different characters: 1000 are the most");
}

TEST_F(DataFiles, AGoodCsvIsSplitAndStandardized) {
  std::string text = "x,kind\n";
  for (int i = 0; i < 100; ++i) text += std::to_string(i) + (i % 2 == 0 ? ",even\n" : ",odd\n");
  DataSettings data;
  data.kind = "csv";
  data.path = written("good.csv", text);
  const auto loaded = loadData(data);
  ASSERT_TRUE(loaded) << loaded.error().message;
  const auto& table = std::get<TableData>(*loaded);
  EXPECT_EQ(table.train.count(), 80);
  double sum = 0;
  for (const double value : table.train.inputs) sum += value;
  EXPECT_NEAR(sum, 0, 1e-9);
}

}  // namespace
}  // namespace normlens::lab
