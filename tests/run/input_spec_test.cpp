#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "core/run/inputs/draw.h"
#include "core/run/inputs/input_spec.h"
#include "core/run/inputs/other_sizes.h"
#include "core/run/tensors.h"
#include "tests/support/must.h"

namespace normlens::run {
namespace {

using graph::DType;
using graph::Shape;
using Shapes = std::vector<Shape>;

TEST(InputSpecText, Reads) {
  const auto ids = must(parseInputSpec("in_0=int64[1,16]:0..199"));
  EXPECT_EQ(ids.spec.name, "in_0");
  EXPECT_EQ(ids.spec.dtype, DType::Int64);
  EXPECT_EQ(ids.spec.shape, (Shape{1, 16}));
  EXPECT_EQ(ids.spec.low, 0);
  EXPECT_EQ(ids.spec.high, 199);
  EXPECT_TRUE(ids.spec.freeAxes.empty());

  const auto named = must(parseInputSpec("ids=int64[batch,seq]:0..199"));
  EXPECT_EQ(named.dimNames, (std::vector<std::string>{"batch", "seq"}));
  EXPECT_EQ(named.spec.freeAxes, (std::vector<int>{0, 1}));

  const auto image = must(parseInputSpec("x=float32[batch,3,32,32]"));
  EXPECT_FALSE(image.spec.uniform);
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
  const auto merged = must(mergeSpecs({ids, mask}, {parseInputSpec("in_0=int64[4]:0..9")->spec}, names));
  EXPECT_EQ(merged[0].name, "input_ids");
  EXPECT_EQ(merged[0].shape, Shape{4});
  EXPECT_TRUE(mergeSpecs({ids, mask}, {parseInputSpec("mask=bool[4]")->spec}, names));
  EXPECT_EQ(failureOf(mergeSpecs({ids, mask}, {parseInputSpec("x=bool[4]")->spec}, names)).message,
            "the model has no input 'x'; its inputs are input_ids, mask");
  EXPECT_FALSE(mergeSpecs({ids, mask}, {parseInputSpec("in_2=bool[4]")->spec}, names));
}

TEST(InputSpecMerge, SizesGoOnToBeCalledAsInTheFile) {
  formats::InputSpec x;
  x.name = "x";
  x.axisNames = {"batch", "length", ""};
  const auto merged = must(mergeSpecs({x}, sized({*parseInputSpec("x=float32[4,frames,80]")}, {}), {"x"}));
  EXPECT_EQ(merged[0].axisNames, (std::vector<std::string>{"batch", "frames", ""}));
}

// in_2 is the third input of the model, not of those that were inferred; one that may be left out takes its place.
TEST(InputSpecMerge, InputsThatWereNotInferredMayBeGiven) {
  formats::InputSpec ids, labels;
  ids.name = "ids";
  labels.name = "labels";
  const std::vector<std::string> names{"ids", "mask", "labels"};
  const auto byNumber = must(mergeSpecs({ids, labels}, {parseInputSpec("in_2=int64[4]")->spec}, names));
  ASSERT_EQ(byNumber.size(), 2U);
  EXPECT_EQ(byNumber[1].name, "labels");
  EXPECT_EQ(byNumber[1].shape, Shape{4});
  const auto more = must(mergeSpecs({ids, labels}, {parseInputSpec("mask=bool[4]")->spec}, names));
  ASSERT_EQ(more.size(), 3U);
  EXPECT_EQ(more[1].name, "mask");
  EXPECT_EQ(more[1].dtype, DType::Bool);
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
  const auto chosen = must(chooseInputs({array("in_0", DType::Float32)}, names, DType::Float32, optional));
  EXPECT_EQ(chosen.tensors.size(), 1U);
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
  EXPECT_EQ(failureOf(chooseInputs({array("in_0", DType::Int64), array("in_1", DType::Int64)}, {"a"}, DType::Float32))
                .message,
            "the file of inputs holds in_0, in_1 but the model takes 1 inputs");
}

// An exporter drops an input that nothing reads, and the others keep their names.
TEST(ChooseInputs, LeavesOverWhatNoInputIsNamedAfterWhereAllAreFoundByName) {
  const formats::Tensors arrays{array("in_0", DType::Int64), array("in_1", DType::Float32),
                                array("in_2", DType::Float32), array("out_0", DType::Float32)};
  const auto chosen = must(chooseInputs(arrays, {"in_0", "in_2"}, DType::Float32));
  ASSERT_EQ(chosen.tensors.size(), 2U);
  EXPECT_EQ(chosen.tensors[1].name, "in_2");
  EXPECT_EQ(chosen.tensors[1].view.data, arrays[2].view.data);
  EXPECT_EQ(chosen.unused, (std::vector<std::string>{"in_1"}));
  // One found by its position only: which array is too many is not known.
  EXPECT_FALSE(chooseInputs(arrays, {"in_0", "scale"}, DType::Float32));
}

TEST(ChooseInputs, WhatCannotBeReadIsMissedWhereAnInputNeedsIt) {
  const formats::Tensors arrays{array("in_0", DType::Int64), {"in_1", {}}, {"out_0", {}}};
  const std::map<std::string, Error> unreadable{{"in_1", {ErrorCode::Unreadable, "in_1 is damaged", {}}},
                                                {"out_0", {ErrorCode::Unreadable, "out_0 is damaged", {}}}};
  EXPECT_TRUE(chooseInputs(arrays, {"in_0"}, DType::Float32, {}, unreadable));
  EXPECT_EQ(failureOf(chooseInputs(arrays, {"in_0", "in_1"}, DType::Float32, {}, unreadable)).message,
            "in_1 is damaged");
}

TEST(SweptShapes, BatchAndSeqByAxis) {
  EXPECT_EQ(*sweptShapes({{2, 7}, {2, 7}, {3}}, {{"batch", 8}, {"seq", 64}}),
            (std::vector<Shape>{{8, 64}, {8, 64}, {3}}));
  EXPECT_FALSE(sweptShapes({{2, 7}}, {{"width", 8}}));
  EXPECT_FALSE(sweptShapes({{2}}, {{"seq", 8}}));
}

formats::InputSpec spec(DType dtype, graph::Shape shape, double low, double high, bool uniform) {
  formats::InputSpec made;
  made.name = "x";
  made.dtype = dtype;
  made.shape = std::move(shape);
  made.low = low;
  made.high = high;
  made.uniform = uniform;
  return made;
}

std::vector<double> valuesOf(const Result<formats::Tensors>& tensors, size_t i = 0) {
  return *graph::toDoubles((*tensors)[i].view);
}

TEST(DrawInputs, KeepsToTheSpec) {
  const auto tensors = drawInputs({spec(DType::Int64, {50, 40}, 3, 5, true), spec(DType::Float32, {2000}, 0, 1, false),
                                   spec(DType::Float32, {2000}, -2, 2, true), spec(DType::Bool, {2000}, 0, 1, true)},
                                  7);
  ASSERT_TRUE(tensors);
  auto ids = valuesOf(tensors, 0);
  std::ranges::sort(ids);
  ids.erase(std::ranges::unique(ids).begin(), ids.end());
  EXPECT_EQ(ids, (std::vector<double>{3, 4, 5}));
  const auto normal = valuesOf(tensors, 1);
  double squares = 0;
  for (const double value : normal) squares += value * value / 2000;
  EXPECT_NEAR(squares, 1, 0.1);
  const auto [least, greatest] = std::ranges::minmax(valuesOf(tensors, 2));
  EXPECT_GE(least, -2);
  EXPECT_LE(greatest, 2);
  EXPECT_LT(least, -1.9);
  const auto bits = valuesOf(tensors, 3);
  EXPECT_NEAR(static_cast<double>(std::ranges::count(bits, 1.0)), 1000, 150);
}

TEST(DrawInputs, ABoolKeepsToItsRangeToo) {
  const auto tensors = drawInputs({spec(DType::Bool, {64}, 1, 1, true), spec(DType::Bool, {64}, 0, 0, true)}, 7);
  ASSERT_TRUE(tensors);
  EXPECT_EQ(valuesOf(tensors, 0), std::vector<double>(64, 1));
  EXPECT_EQ(valuesOf(tensors, 1), std::vector<double>(64, 0));
}

TEST(DrawInputs, IsDeterministicBySeed) {
  const std::vector specs = {spec(DType::Float64, {8}, 0, 1, false)};
  EXPECT_EQ(valuesOf(drawInputs(specs, 3)), valuesOf(drawInputs(specs, 3)));
  EXPECT_NE(valuesOf(drawInputs(specs, 3)), valuesOf(drawInputs(specs, 4)));
}

TEST(DrawInputs, RefusesWhatItCannotDraw) {
  EXPECT_FALSE(drawInputs({spec(DType::Unknown, {2}, 0, 1, false)}, 1));
  EXPECT_FALSE(drawInputs({spec(DType::Float32, {-1}, 0, 1, false)}, 1));
  EXPECT_FALSE(drawInputs({spec(DType::Float32, {int64_t{1} << 40}, 0, 1, false)}, 1));
}

formats::Tensors one(DType dtype, std::vector<double> values) {
  const auto size = static_cast<int64_t>(values.size());
  return {{"x", fromDoubles(dtype, {size}, values)}};
}

TEST(DrawLike, IntegersKeepTheirRange) {
  const auto drawn = valuesOf(drawLike(one(DType::Int64, {7, 12, 9, 8}), {{1000}}, 1));
  const auto [least, greatest] = std::ranges::minmax(drawn);
  EXPECT_EQ(least, 7);
  EXPECT_EQ(greatest, 12);
}

TEST(DrawLike, MasksKeepTheirCounts) {
  for (const DType dtype : {DType::Bool, DType::Int64, DType::Float32}) {
    auto drawn = valuesOf(drawLike(one(dtype, {1, 1, 1, 0, 0, 0, 0, 0}), {{8}}, 5));
    EXPECT_EQ(std::ranges::count(drawn, 1.0), 3);
    EXPECT_EQ(std::ranges::count(drawn, 0.0), 5);
  }
  EXPECT_EQ(valuesOf(drawLike(one(DType::Int64, {1, 1, 1}), {{6}}, 5)), std::vector<double>(6, 1));
}

TEST(DrawLike, FloatsKeepMeanAndScale) {
  std::vector<double> sample;
  for (int i = 0; i < 100; ++i) sample.push_back(50 + i % 7);
  const auto drawn = valuesOf(drawLike(one(DType::Float32, sample), {{5000}}, 1));
  double mean = 0;
  for (const double value : drawn) mean += value / 5000;
  EXPECT_NEAR(mean, 53, 0.3);
  EXPECT_NE(drawn[0], drawn[1]);
}

TEST(DrawLike, ValuesThatAreNotFiniteStay) {
  const double minusInfinity = -std::numeric_limits<double>::infinity();
  EXPECT_EQ(valuesOf(drawLike(one(DType::Float32, {0, minusInfinity, 3, 4}), {{4}}, 1)),
            (std::vector<double>{0, minusInfinity, 3, 4}));
}

TEST(DrawLike, EmptyTensorsStayEmpty) { EXPECT_TRUE(valuesOf(drawLike(one(DType::Float32, {}), {{0}}, 1)).empty()); }

TEST(OtherSizes, ChangesFreeAxesTogetherFirst) {
  const auto sets = otherSizes({{2, 7}, {2, 7, 7, 4}, {}}, {{0, 1}, {0, 1, 2}, {}});
  ASSERT_EQ(sets.size(), 4U);
  EXPECT_EQ(sets[0], (SizeTrials{{{3, 8}, {3, 8, 8, 4}, {}},
                                 {{3, 10}, {3, 10, 10, 4}, {}},
                                 {{4, 14}, {4, 14, 14, 4}, {}},
                                 {{4, 7}, {4, 7, 7, 4}, {}}}));
  EXPECT_EQ(sets[1], (SizeTrials{{{2, 14}, {2, 14, 14, 4}, {}},
                                 {{2, 3}, {2, 3, 3, 4}, {}},
                                 {{2, 8}, {2, 8, 8, 4}, {}},
                                 {{2, 6}, {2, 6, 6, 4}, {}}}));
  EXPECT_EQ(sets[2][0], (Shapes{{2, 7}, {2, 7, 7, 8}, {}})) << "perhaps that is free as well";
  EXPECT_EQ(sets[3], (SizeTrials{{{2, 7}, {2, 7, 7, 5}, {}}, {{2, 7}, {2, 7, 7, 3}, {}}}))
      << "the others went by one together";
}

TEST(OtherSizes, OtherRanksAreOfAllOpenInputs) {
  EXPECT_EQ(otherRanks({{7, 7}, {5}, {4}}, {true, true, false}),
            (SizeTrials{{{2, 7, 7}, {2, 5}, {4}}, {{7}, {}, {4}}}));
}

TEST(OtherSizes, ChannelsAreTriedBehindOneInputThatHasNone) {
  EXPECT_EQ(withChannels({{7, 7}, {5, 3}, {4}, {2000, 2000}}, {true, true, false, true}, {3}),
            (SizeTrials{{{7, 7, 3}, {5, 3}, {4}, {2000, 2000}}}));
}

TEST(OtherSizes, GuessesTheBatchWhereNothingIsKnownAndTriesTheOthersByTheirSize) {
  const auto sets = otherSizes({{2, 7}, {5}, {2, 3, 8, 8}}, {});
  ASSERT_EQ(sets.size(), 9U);
  EXPECT_EQ(sets[0][0], (Shapes{{3, 7}, {5}, {3, 3, 8, 8}}));
  EXPECT_EQ(sets[1][0], (Shapes{{2, 7}, {10}, {2, 3, 8, 8}}));
  EXPECT_EQ(sets[2][0], (Shapes{{2, 14}, {5}, {2, 3, 8, 8}}));
  EXPECT_EQ(sets[3][0], (Shapes{{2, 7}, {5}, {2, 6, 8, 8}}));
  EXPECT_EQ(sets[4], (SizeTrials{{{2, 7}, {5}, {2, 3, 4, 4}},
                                 {{2, 7}, {5}, {2, 3, 16, 16}},
                                 {{2, 7}, {5}, {2, 3, 9, 9}},
                                 {{2, 7}, {5}, {2, 3, 7, 7}}}));
}

TEST(OtherSizes, OneOfABatchGetsASecondAndSizesThatDifferStillDo) {
  EXPECT_EQ(otherSizes({{1, 3, 224, 224}}, {{0, 2, 3}})[0][0], (Shapes{{2, 3, 225, 225}}));
  EXPECT_EQ(otherSizes({{1, 2, 3, 4, 5}}, {{0, 1, 2, 3, 4}})[0][0], (Shapes{{2, 3, 4, 5, 6}}));
}

TEST(OtherSizes, OfLargeSidesTheSmallerFirst) {
  const auto sets = otherSizes({{1, 3, 224, 224}}, {});
  EXPECT_EQ(sets.at(2), (SizeTrials{{{1, 3, 112, 112}}, {{1, 3, 336, 336}}, {{1, 3, 448, 448}}, {{1, 3, 223, 223}}}));
  EXPECT_EQ(sets.back(), (SizeTrials{{{1, 3, 3, 3}}})) << "what 224 are cut at may lie beyond a few";
}

TEST(OtherSizes, WhatThereIsOneOfOrNoneGoesWithTheOthersOrHasOneMore) {
  const auto sets = otherSizes({{2, 1, 5}, {2, 4, 8}, {3, 0}}, {});
  EXPECT_EQ(sets[2], (SizeTrials{{{2, 4, 5}, {2, 4, 8}, {3, 0}}, {{2, 2, 5}, {2, 4, 8}, {3, 0}}}));
  EXPECT_EQ(sets[4].back(), (Shapes{{2, 1, 5}, {2, 4, 8}, {3, 1}}));
}

TEST(OtherSizes, ANumberAloneTakesItsNeighboursAndTheWidths) {
  const auto number = [](graph::DType dtype, const Shape& shape, double value) {
    return fromDoubles(dtype, shape, std::vector(static_cast<size_t>(graph::elementCount(shape).value()), value));
  };
  const formats::Tensors sample{{"x", number(graph::DType::Float32, {}, 1)},
                                {"n", number(graph::DType::Int64, {1}, 1)},
                                {"ids", number(graph::DType::Int64, {2}, 1)},
                                {"k", number(graph::DType::Int32, {}, 7)}};
  std::vector<std::vector<double>> tried;
  for (const auto& inputs : otherNumbers(sample, {2, 8})) {
    ASSERT_EQ(inputs.size(), 4U);
    EXPECT_EQ(inputs[1].view.shape, (Shape{1}));
    tried.push_back({graph::toDoubles(inputs[1].view)->front(), graph::toDoubles(inputs[3].view)->front()});
  }
  EXPECT_EQ(tried, (std::vector<std::vector<double>>{{2, 7}, {0, 7}, {8, 7}, {1, 8}, {1, 6}, {1, 2}}));
}

TEST(OtherSizes, AreBounded) {
  EXPECT_EQ(otherSizes({{2, 3, 4, 5, 6, 7, 8, 9}}, {}).size(), 11U);
  EXPECT_TRUE(otherSizes({{}}, {}).empty());
  EXPECT_TRUE(otherSizes({}, {}).empty());
}

}  // namespace
}  // namespace normlens::run
