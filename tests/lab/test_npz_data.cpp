#include <gtest/gtest.h>

#include <fstream>
#include <limits>

#include "core/lab/data/load_data.h"
#include "core/run/tensors.h"
#include "tests/support/npz_files.h"
#include "tests/support/temporary_folder.h"

namespace normlens::lab {
namespace {

using graph::DType;

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
    data.kind = "npz";
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
  settings.kind = "npz";
  settings.path = path();
  const auto data = loadData(settings);
  ASSERT_FALSE(data);
  EXPECT_NE(data.error().message.find("is larger than 256 MB"), std::string::npos) << data.error().message;
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
            "has one class only in array y: there is nothing to tell apart");
  std::vector<double> values = counting(40, 7);
  values[3] = std::numeric_limits<double>::infinity();
  EXPECT_EQ(told({array("x", {20, 2}, values), array("y", {20}, counting(20, 2))}),
            "has a number that is not finite in array x, element 3");
}

TEST_F(NpzData, WhatIsNoNpzIsTold) {
  std::ofstream(path()) << "tea";
  DataSettings data;
  data.kind = "npz";
  data.path = path();
  const auto loaded = loadData(data);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, ErrorCode::Unreadable);
  EXPECT_EQ(loaded.error().message, "cannot read the arrays of " + path() + ": it is neither an .npz nor an .npy file");
}

}  // namespace
}  // namespace normlens::lab
