#include "core/formats/pt2/file/meta_algebra.h"

#include <gtest/gtest.h>

#include "tests/formats/pt2/program_text.h"

namespace normlens::formats::pt2 {
namespace {

using test::tensorMeta;

// A size of -1 is the symbol s0, 3 in the example.
Json meta(const std::vector<int>& sizes, int dtype = 7) { return parseJson(tensorMeta(sizes, dtype)).value(); }
std::string sizesAndStrides(const Json& of) { return of.at("sizes").dump() + of.at("strides").dump(); }

TEST(MetaAlgebraTest, AnElementwiseResultIsAsLargeAsBoth) {
  EXPECT_EQ(broadcastMeta(meta({-1, 4}), meta({4})), meta({-1, 4}));
  EXPECT_EQ(sizesAndStrides(broadcastMeta(meta({4}), meta({-1, 1}))), sizesAndStrides(meta({-1, 4})));
  EXPECT_EQ(sizesAndStrides(broadcastMeta(meta({-1, 1, 4}), meta({5, 1}))), sizesAndStrides(meta({-1, 5, 4})));
  EXPECT_THROW(static_cast<void>(broadcastMeta(meta({3}), meta({4}))), BrokenDocument);
  EXPECT_THROW(static_cast<void>(broadcastMeta(meta({-1}), meta({4}))), BrokenDocument);
}

TEST(MetaAlgebraTest, AReductionKeepsItsAxesOrNot) {
  EXPECT_EQ(sizesAndStrides(reducedMeta(meta({-1, 5, 4}), {-1}, true)), sizesAndStrides(meta({-1, 5, 1})));
  EXPECT_EQ(sizesAndStrides(reducedMeta(meta({-1, 5, 4}), {1, 2}, false)), sizesAndStrides(meta({-1})));
  EXPECT_THROW(static_cast<void>(reducedMeta(meta({4}), {1}, true)), BrokenDocument);
}

TEST(MetaAlgebraTest, AxesAreCutAndJoinedWhereTheirSizesAreFixed) {
  EXPECT_EQ(sizesAndStrides(unflattenedMeta(meta({-1, 12}), -1, {3, -1})), sizesAndStrides(meta({-1, 3, 4})));
  EXPECT_EQ(sizesAndStrides(flattenedMeta(meta({-1, 3, 4}), -2, -1)), sizesAndStrides(meta({-1, 12})));
  EXPECT_EQ(slicedMeta(meta({-1, 12}), 1, 3, 99).at("sizes").dump(), meta({-1, 9}).at("sizes").dump());
  const Json a = meta({-1, 3}), b = meta({-1, 9});
  EXPECT_EQ(sizesAndStrides(joinedMeta({&a, &b}, 1)), sizesAndStrides(meta({-1, 12})));
  EXPECT_THROW(static_cast<void>(unflattenedMeta(meta({-1, 12}), 0, {3, -1})), BrokenDocument);
  EXPECT_THROW(static_cast<void>(unflattenedMeta(meta({12}), 0, {5, -1})), BrokenDocument);
  EXPECT_THROW(static_cast<void>(flattenedMeta(meta({-1, 3}), 0, 1)), BrokenDocument);
}

TEST(MetaAlgebraTest, ANarrowerAxisMovesTheStridesBeyondIt) {
  EXPECT_EQ(sizesAndStrides(resizedMeta(meta({-1, 5, 12}), 2, 11)), sizesAndStrides(meta({-1, 5, 11})));
  EXPECT_EQ(sizesAndStrides(resizedMeta(meta({2, -1, 12}), 2, 11)), sizesAndStrides(meta({2, -1, 11})));
  EXPECT_EQ(sizesAndStrides(resizedMeta(meta({12, 5}), 0, 11)), sizesAndStrides(meta({11, 5})));
  EXPECT_EQ(resizedMeta(meta({-1, 12}), 1, 12), meta({-1, 12}));
  // A transposed one stays transposed.
  Json turned = meta({12, 5});
  turned.set("strides", parseJson(R"([{"as_int": 1}, {"as_int": 12}])").value());
  const Json narrow = resizedMeta(turned, 0, 11);
  EXPECT_EQ(narrow.at("strides").dump(), parseJson(R"([{"as_int": 1}, {"as_int": 11}])")->dump());
  EXPECT_THROW(static_cast<void>(resizedMeta(meta({-1, 12}), 0, 2)), BrokenDocument);
}

TEST(MetaAlgebraTest, PaddingIsCountedFromTheLastAxis) {
  EXPECT_EQ(sizesAndStrides(paddedMeta(meta({-1, 5, 11}), {0, 1})), sizesAndStrides(meta({-1, 5, 12})));
  EXPECT_EQ(sizesAndStrides(paddedMeta(meta({-1, 5, 11}), {0, 0, 2, 1})), sizesAndStrides(meta({-1, 8, 11})));
  EXPECT_THROW(static_cast<void>(paddedMeta(meta({5}), {0, 1, 0, 1})), BrokenDocument);
}

TEST(MetaAlgebraTest, AnotherTypeIsOfTheSameSizes) { EXPECT_EQ(typedMeta(meta({-1, 4}), 13), meta({-1, 4}, 13)); }

}  // namespace
}  // namespace normlens::formats::pt2
