#include "core/run/inputs/input_spec.h"

#include <gtest/gtest.h>

#include "core/run/tensors.h"

namespace normlens::run {
namespace {

using graph::DType;
using graph::Shape;

TEST(InputSpecText, Reads) {
  const auto ids = parseInputSpec("in_0=int64[1,16]:0..199");
  ASSERT_TRUE(ids) << ids.error().message;
  EXPECT_EQ(ids->spec.name, "in_0");
  EXPECT_EQ(ids->spec.dtype, DType::Int64);
  EXPECT_EQ(ids->spec.shape, (Shape{1, 16}));
  EXPECT_EQ(ids->spec.low, 0);
  EXPECT_EQ(ids->spec.high, 199);
  EXPECT_TRUE(ids->spec.freeAxes.empty());

  const auto named = parseInputSpec("ids=int64[batch,seq]:0..199");
  ASSERT_TRUE(named);
  EXPECT_EQ(named->dimNames, (std::vector<std::string>{"batch", "seq"}));
  EXPECT_EQ(named->spec.freeAxes, (std::vector<int>{0, 1}));

  const auto image = parseInputSpec("x=float32[batch,3,32,32]");
  ASSERT_TRUE(image);
  EXPECT_FALSE(image->spec.uniform);
  EXPECT_TRUE(parseInputSpec("x=float32[2]:-1.5..2.5")->spec.uniform);
  EXPECT_EQ(parseInputSpec("scale=float32[]")->spec.shape, Shape{});
  EXPECT_EQ(parseInputSpec("m=bool[4]")->spec.dtype, DType::Bool);
}

TEST(InputSpecText, Refuses) {
  struct Row {
    const char* text;
    const char* message;
  };
  const Row rows[] = {
      {"", "it has not the form NAME=TYPE[SIZES]"},
      {"x", "it has not the form NAME=TYPE[SIZES]"},
      {"=int64[1]", "it has not the form NAME=TYPE[SIZES]"},
      {"x=int64", "it has not the form NAME=TYPE[SIZES]"},
      {"x=int64]1[", "it has not the form NAME=TYPE[SIZES]"},
      {"x=int65[1]", "'int65' is no element type (int64, float32, bool ...)"},
      {"x=[1]", "'' is no element type (int64, float32, bool ...)"},
      {"x=complex64[1]", "'complex64' is no element type (int64, float32, bool ...)"},
      {"x=int64[1,]", "a size must be a number or a name"},
      {"x=int64[-1]", "a size must be a number or a name"},
      {"x=int64[1 6]", "a size must be a number or a name"},
      {"x=int64[99999999999999999999]", "a size must be a number or a name"},
      {"x=int64[1]0..3", "the range must be written LOW..HIGH"},
      {"x=int64[1]:", "the range must be written LOW..HIGH"},
      {"x=int64[1]:3", "the range must be written LOW..HIGH"},
      {"x=int64[1]:9..3", "the range must be written LOW..HIGH"},
      {"x=int64[1]:0..x", "the range must be written LOW..HIGH"},
      {"x=float32[1]:nan..1", "the range must be written LOW..HIGH"},
  };
  for (const Row& row : rows) {
    const auto request = parseInputSpec(row.text);
    ASSERT_FALSE(request) << row.text;
    EXPECT_EQ(request.error().message, "'" + std::string(row.text) + "' describes no input: " + row.message);
    EXPECT_EQ(request.error().code, ErrorCode::Usage);
  }
}

TEST(InputSpecSizes, FreeSizesAreDifferentAndAtLeastTwo) {
  const std::vector requests = {*parseInputSpec("ids=int64[batch,seq]:0..9"), *parseInputSpec("x=float32[batch,5,w]")};
  const auto specs = sized(requests, {});
  EXPECT_EQ(specs[0].shape, (Shape{2, 7}));
  EXPECT_EQ(specs[1].shape, (Shape{2, 5, 11}));
  EXPECT_EQ(specs[1].axisNames, (std::vector<std::string>{"batch", "", "w"}));
  const auto swept = sized(requests, {{"seq", 64}});
  EXPECT_EQ(swept[0].shape, (Shape{2, 64}));
}

TEST(InputSpecMerge, ReplacesByNameOrPosition) {
  formats::InputSpec ids, mask;
  ids.name = "input_ids";
  mask.name = "mask";
  const std::vector<std::string> names{"input_ids", "mask"};
  const auto merged = mergeSpecs({ids, mask}, {parseInputSpec("in_0=int64[4]:0..9")->spec}, names);
  ASSERT_TRUE(merged);
  EXPECT_EQ((*merged)[0].name, "input_ids");
  EXPECT_EQ((*merged)[0].shape, Shape{4});
  EXPECT_TRUE(mergeSpecs({ids, mask}, {parseInputSpec("mask=bool[4]")->spec}, names));
  const auto wrong = mergeSpecs({ids, mask}, {parseInputSpec("x=bool[4]")->spec}, names);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message, "the model has no input 'x'; its inputs are input_ids, mask");
  EXPECT_FALSE(mergeSpecs({ids, mask}, {parseInputSpec("in_2=bool[4]")->spec}, names));
}

TEST(InputSpecMerge, SizesGoOnToBeCalledAsInTheFile) {
  formats::InputSpec x;
  x.name = "x";
  x.axisNames = {"batch", "length", ""};
  const auto merged = mergeSpecs({x}, sized({*parseInputSpec("x=float32[4,frames,80]")}, {}), {"x"});
  ASSERT_TRUE(merged);
  EXPECT_EQ((*merged)[0].axisNames, (std::vector<std::string>{"batch", "frames", ""}));
}

// in_2 is the third input of the model, not of those that were inferred; one that may be left out takes its place.
TEST(InputSpecMerge, InputsThatWereNotInferredMayBeGiven) {
  formats::InputSpec ids, labels;
  ids.name = "ids";
  labels.name = "labels";
  const std::vector<std::string> names{"ids", "mask", "labels"};
  const auto byNumber = mergeSpecs({ids, labels}, {parseInputSpec("in_2=int64[4]")->spec}, names);
  ASSERT_TRUE(byNumber);
  ASSERT_EQ(byNumber->size(), 2U);
  EXPECT_EQ((*byNumber)[1].name, "labels");
  EXPECT_EQ((*byNumber)[1].shape, Shape{4});
  const auto more = mergeSpecs({ids, labels}, {parseInputSpec("mask=bool[4]")->spec}, names);
  ASSERT_TRUE(more);
  ASSERT_EQ(more->size(), 3U);
  EXPECT_EQ((*more)[1].name, "mask");
  EXPECT_EQ((*more)[1].dtype, DType::Bool);
}

formats::NamedTensor array(const std::string& name, DType dtype) {
  const double values[] = {1, 2};
  return {name, fromDoubles(dtype, {2}, values)};
}

TEST(ChooseInputs, ByNumberOrNameAndCast) {
  const auto chosen =
      chooseInputs({array("out_0", DType::Float32), array("in_1", DType::Float32), array("in_0", DType::Int64)},
                   {"ids", "scale"}, DType::BFloat16);
  ASSERT_TRUE(chosen) << chosen.error().message;
  EXPECT_EQ(chosen->tensors[0].name, "ids");
  EXPECT_EQ(chosen->tensors[0].view.dtype, DType::Int64);
  EXPECT_EQ(chosen->tensors[1].view.dtype, DType::BFloat16);
  EXPECT_TRUE(chosen->unused.empty());
  EXPECT_TRUE(
      chooseInputs({array("scale", DType::Float32), array("ids", DType::Int64)}, {"ids", "scale"}, DType::Float32));
}

TEST(ChooseInputs, SomeMayBeLeftOut) {
  const std::vector<std::string> names{"x", "flag", "scale"};
  const std::vector<bool> optional{false, true, true};
  const auto chosen = chooseInputs({array("in_0", DType::Float32)}, names, DType::Float32, optional);
  ASSERT_TRUE(chosen) << chosen.error().message;
  EXPECT_EQ(chosen->tensors.size(), 1U);
  const auto behind =
      chooseInputs({array("in_0", DType::Float32), array("in_2", DType::Float32)}, names, DType::Float32, optional);
  ASSERT_TRUE(behind) << behind.error().message;
  ASSERT_EQ(behind->tensors.size(), 2U);
  EXPECT_EQ(behind->tensors[1].name, "scale");
  const auto unknown =
      chooseInputs({array("in_0", DType::Float32), array("in_5", DType::Float32)}, names, DType::Float32, optional);
  EXPECT_FALSE(unknown);
  EXPECT_FALSE(chooseInputs({array("in_0", DType::Float32)}, names, DType::Float32, {false, false, true}));
}

TEST(ChooseInputs, NamesWhatDoesNotFit) {
  const auto missing =
      chooseInputs({array("in_0", DType::Int64), array("out_0", DType::Int64)}, {"a", "b"}, DType::Float32);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message, "the file of inputs has no array for input 'b' (it holds in_0)");
  const auto extra = chooseInputs({array("in_0", DType::Int64), array("in_1", DType::Int64)}, {"a"}, DType::Float32);
  ASSERT_FALSE(extra);
  EXPECT_EQ(extra.error().message, "the file of inputs holds in_0, in_1 but the model takes 1 inputs");
}

// An exporter drops an input that nothing reads, and the others keep their names.
TEST(ChooseInputs, LeavesOverWhatNoInputIsNamedAfterWhereAllAreFoundByName) {
  const formats::Tensors arrays{array("in_0", DType::Int64), array("in_1", DType::Float32),
                                array("in_2", DType::Float32), array("out_0", DType::Float32)};
  const auto chosen = chooseInputs(arrays, {"in_0", "in_2"}, DType::Float32);
  ASSERT_TRUE(chosen) << chosen.error().message;
  ASSERT_EQ(chosen->tensors.size(), 2U);
  EXPECT_EQ(chosen->tensors[1].name, "in_2");
  EXPECT_EQ(chosen->tensors[1].view.data, arrays[2].view.data);
  EXPECT_EQ(chosen->unused, (std::vector<std::string>{"in_1"}));
  // One found by its position only: which array is too many is not known.
  EXPECT_FALSE(chooseInputs(arrays, {"in_0", "scale"}, DType::Float32));
}

TEST(ChooseInputs, WhatCannotBeReadIsMissedWhereAnInputNeedsIt) {
  const formats::Tensors arrays{array("in_0", DType::Int64), {"in_1", {}}, {"out_0", {}}};
  const std::map<std::string, Error> unreadable{{"in_1", {ErrorCode::Unreadable, "in_1 is damaged", {}}},
                                                {"out_0", {ErrorCode::Unreadable, "out_0 is damaged", {}}}};
  EXPECT_TRUE(chooseInputs(arrays, {"in_0"}, DType::Float32, {}, unreadable));
  const auto needed = chooseInputs(arrays, {"in_0", "in_1"}, DType::Float32, {}, unreadable);
  ASSERT_FALSE(needed);
  EXPECT_EQ(needed.error().message, "in_1 is damaged");
}

TEST(SweptShapes, BatchAndSeqByAxis) {
  EXPECT_EQ(*sweptShapes({{2, 7}, {2, 7}, {3}}, {{"batch", 8}, {"seq", 64}}),
            (std::vector<Shape>{{8, 64}, {8, 64}, {3}}));
  EXPECT_FALSE(sweptShapes({{2, 7}}, {{"width", 8}}));
  EXPECT_FALSE(sweptShapes({{2}}, {{"seq", 8}}));
}

}  // namespace
}  // namespace normlens::run
