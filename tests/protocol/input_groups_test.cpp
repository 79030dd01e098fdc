#include "core/protocol/input_groups.h"

#include <gtest/gtest.h>

namespace normlens::protocol {
namespace {

InputSpec input(const std::string& name, std::vector<int64_t> shape, const std::string& assumed = "which runs") {
  InputSpec spec;
  spec.name = name;
  spec.dtype = "float32";
  spec.shape = std::move(shape);
  spec.assumed = assumed;
  return spec;
}

std::vector<std::string> namesOf(const std::vector<InputSpec>& inputs) {
  std::vector<std::string> names;
  for (const InputGroup& group : inputGroups(inputs)) names.push_back(group.names);
  return names;
}

using Names = std::vector<std::string>;

TEST(InputGroups, ArraysOfOneContainerStandTogetherWhereTheyAreAlike) {
  EXPECT_EQ(namesOf({input("x", {2}), input("past.0.0", {3}), input("past.0.1", {3}), input("past.1.0", {3})}),
            (Names{"x", "past.0.0 to past.1.0"}));
  EXPECT_EQ(namesOf({input("past.0", {3}), input("past.1", {4}), input("past.2", {4})}),
            (Names{"past.0", "past.1 to past.2"}));
}

TEST(InputGroups, OthersStandAlone) {
  EXPECT_EQ(namesOf({input("a", {2}), input("b", {2})}), (Names{"a", "b"}));
  EXPECT_EQ(namesOf({input("a.0", {2}), input("b.0", {2})}), (Names{"a.0", "b.0"}));
  EXPECT_EQ(namesOf({input("a.0", {2}), input("a.1", {2}, "another reason")}), (Names{"a.0", "a.1"}));
}

}  // namespace
}  // namespace normlens::protocol
