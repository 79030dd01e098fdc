// Known answers of the geometry probe: paper 002's identities, random vectors, and what has no direction.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "core/base/geometry/vector_geometry.h"
#include "core/run/compare/capture.h"
#include "core/run/geometry/norm_geometry.h"
#include "core/run/geometry/probe_norms.h"
#include "core/run/geometry/row_reader.h"
#include "core/run/inputs/draw.h"
#include "core/run/tensors.h"
#include "tests/support/fake_model.h"
#include "tests/support/must.h"

namespace normlens::run {
namespace {

using graph::DType;
using Vector = std::vector<double>;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kRad = std::numbers::pi / 180;

graph::TensorView normalRows(int64_t rows, int64_t width, uint64_t seed, double mean = 0) {
  formats::InputSpec spec;
  spec.dtype = DType::Float64;
  spec.shape = {rows, width};
  auto numbers = *graph::toDoubles(drawInputs({spec}, seed)->front().view);
  for (double& number : numbers) number += mean;
  return fromDoubles(DType::Float64, {rows, width}, numbers);
}

Result<InputGeometry> inputSums(const graph::TensorView& view, const InputQuestion& question) {
  InputSums sums(question);
  RETURN_IF_ERROR(sums.add(view));
  return sums.take();
}

Result<SideGeometry> sideSums(const graph::TensorView& view, const std::vector<int64_t>& axes) {
  SideSums sums;
  RETURN_IF_ERROR(sums.add(view, axes));
  return sums.take();
}

Result<std::vector<NormGeometry>> probeFake(const test::FakeModel& model, const formats::Tensors& inputs) {
  const auto norms = test::FakeModel::norms();
  NormProbe probe(model, norms, {});
  RETURN_IF_ERROR(probe.add(inputs, {}));
  return probe.take();
}

Vector rowOf(int64_t width, double mean, uint64_t seed = 3) {
  return *graph::toDoubles(normalRows(1, width, seed, mean));
}

int64_t total(const AngleCounts& angles) {
  return std::accumulate(angles.counts.begin(), angles.counts.end(), int64_t{0});
}

// The step that an angle is counted in.
int64_t countAt(const AngleCounts& angles, double angle) {
  return angles.counts.at(static_cast<size_t>((angle - angles.low) / angles.step));
}

TEST(AngleTally, CountsEachAngleWhereItLies) {
  AngleTally tally;
  EXPECT_TRUE(tally.take().counts.empty());
  for (const double angle : {90.0, 90.0 - 1e-9, 90.0 + 1e-9, 88.0, 91.5}) tally.add(angle);
  const AngleCounts few = tally.take();
  EXPECT_EQ(countAt(few, 90), 3) << "rounding does not part what stands at a right angle";
  EXPECT_EQ(countAt(few, 88), 1);
  EXPECT_EQ(total(few), 5);
  EXPECT_LE(few.counts.size(), 64U);
  tally.add(0);
  tally.add(180);
  const AngleCounts wide = tally.take();
  EXPECT_LE(wide.counts.size(), 64U);
  EXPECT_EQ(total(wide), 7);
  EXPECT_EQ(wide.counts.front(), 1);
  EXPECT_EQ(wide.counts.back(), 1);
  EXPECT_NEAR(std::fmod((90 - wide.low) / wide.step, 1), 0.5, 1e-9) << "90 is in the middle of a step";
}

TEST(SwapError, IsTheChordBetweenTheTwoOutputs) {
  for (const double mean : {-3.0, 0.0, 0.05, 1.0}) {
    const Vector x = rowOf(48, mean);
    const double chord = 2 * std::abs(std::cos((90 + geometry::geometryOf(x).angleDeg) / 2 * kRad));
    EXPECT_NEAR(swapError(x, {}), chord, 1e-13) << mean;
  }
}

TEST(SwapError, ACenteredInputChangesNothingWhateverGammaBetaAndEpsAre) {
  const Vector gamma = rowOf(4, 1), beta = rowOf(4, 0, 5);
  EXPECT_EQ(swapError(Vector{1, -1, 2, -2}, {gamma, beta, 1e-5}), 0);
  EXPECT_GT(swapError(Vector{2, 0, 3, -1}, {gamma, beta, 1e-5}), 0.1);
  EXPECT_EQ(swapError(Vector{0, 0, 0, 0}, {gamma, beta, 1e-5}), 0) << "both are beta";
  EXPECT_EQ(swapError(Vector{2, 2}, {{}, {}, 1e-5}), kInf) << "a zero output becomes another";
}

TEST(ForEachRow, RowsLieAlongTheAxesWhateverTheStrides) {
  Vector numbers(24);
  std::iota(numbers.begin(), numbers.end(), 0.0);
  graph::TensorView view = fromDoubles(DType::Float32, {2, 3, 4}, numbers);
  std::vector<Vector> rows;
  const auto keep = [&](std::span<const double> row) { rows.emplace_back(row.begin(), row.end()); };
  ASSERT_TRUE(forEachRow(view, {-1}, keep));
  ASSERT_EQ(rows.size(), 6U);
  EXPECT_EQ(rows[4], (Vector{16, 17, 18, 19}));
  rows.clear();
  ASSERT_TRUE(forEachRow(view, {1}, keep));
  ASSERT_EQ(rows.size(), 8U);
  EXPECT_EQ(rows[5], (Vector{13, 17, 21}));
  rows.clear();
  ASSERT_TRUE(forEachRow(view, {0, 2}, keep));
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[1], (Vector{4, 5, 6, 7, 16, 17, 18, 19}));
  rows.clear();
  std::swap(view.shape[0], view.shape[2]);
  std::swap(view.strides[0], view.strides[2]);
  ASSERT_TRUE(forEachRow(view, {2}, keep));
  ASSERT_EQ(rows.size(), 12U);
  EXPECT_EQ(rows[4], (Vector{5, 17})) << "index 1, 1";
  rows.clear();
  ASSERT_TRUE(forEachRow(view, {0, 1, 2}, keep));
  EXPECT_EQ(rows.size(), 1U);
}

TEST(ForEachRow, WhatHasNoRowsIsRefusedPlainly) {
  const auto ignore = [](std::span<const double>) {};
  const auto codeOf = [&](const graph::TensorView& view, const std::vector<int64_t>& axes) {
    const Status status = forEachRow(view, axes, ignore);
    return status ? ErrorCode::Internal : status.error().code;
  };
  const Vector six(6, 1.0);
  EXPECT_EQ(codeOf(fromDoubles(DType::Int64, {2, 3}, six), {1}), ErrorCode::Unsupported);
  EXPECT_EQ(codeOf(fromDoubles(DType::Bool, {2, 3}, six), {1}), ErrorCode::Unsupported);
  EXPECT_EQ(codeOf(fromDoubles(DType::Float32, {0, 3}, Vector()), {1}), ErrorCode::BadInput);
  EXPECT_EQ(codeOf(fromDoubles(DType::Float32, {2, 3}, six), {2}), ErrorCode::BadInput);
}

// 90 degrees with a spread of 1/sqrt(d) radians: to the uniform vector as to any other.
TEST(NormGeometry, RandomVectorsAreNearlyOrthogonal) {
  for (const int64_t width : {16, 256}) {
    const auto geometry = must(inputSums(normalRows(4000, width, 11), {{1}, 17}));
    const double expected = expectedSpreadDeg(width);
    EXPECT_NEAR(expected, 180 / std::numbers::pi / std::sqrt(static_cast<double>(width)), 1e-12);
    for (const Spread& angle : {geometry.side.angleDeg, geometry.randomDeg}) {
      EXPECT_NEAR(angle.mean, 90, 5 * expected / std::sqrt(4000.0));
      EXPECT_NEAR(angle.deviation, expected, 0.06 * expected);
    }
    EXPECT_NEAR(geometry.side.meanShare.mean, 1.0 / static_cast<double>(width), 0.1 / static_cast<double>(width));
    EXPECT_EQ(geometry.width, width);
    EXPECT_EQ(geometry.side.rows, 4000);
    EXPECT_NEAR(geometry.bareDeg.mean, 90, 1e-10) << "LayerNorm without gamma and beta";
    EXPECT_NEAR(geometry.bareDeg.deviation, 0, 1e-10);
    EXPECT_EQ(total(geometry.side.angles), 4000);
    EXPECT_EQ(total(geometry.randomAngles), 8000) << "two control vectors";
  }
}

TEST(NormGeometry, MeansAndSpreadsOverRows) {
  const auto side = must(sideSums(fromDoubles(DType::Float64, {2, 2}, Vector{1, 0, 3, 3}), {1}));
  EXPECT_NEAR(side.angleDeg.mean, 22.5, 1e-12);
  EXPECT_NEAR(side.angleDeg.deviation, 22.5, 1e-12);
  EXPECT_NEAR(side.length.mean, (1 + std::sqrt(18.0)) / 2, 1e-14);
  EXPECT_NEAR(side.meanShare.mean, 0.75, 1e-14);
}

TEST(NormGeometry, ZeroRowsHaveALengthAloneAndBadRowsNothing) {
  const double nan = std::nan("");
  const auto side = must(sideSums(fromDoubles(DType::Float32, {4, 2}, Vector{0, 0, 1, -1, nan, 1, kInf, 2}), {1}));
  EXPECT_EQ(side.rows, 4);
  EXPECT_EQ(side.zero, 1);
  EXPECT_EQ(side.notFinite, 2);
  EXPECT_EQ(side.angleDeg.mean, 90);
  EXPECT_EQ(side.angleDeg.deviation, 0);
  EXPECT_NEAR(side.length.mean, std::sqrt(2.0) / 2, 1e-7);
  const NormConstants plain;
  const auto none = must(inputSums(fromDoubles(DType::Float32, {1, 2}, Vector{nan, nan}), {{1}, 17, &plain}));
  EXPECT_TRUE(std::isnan(none.side.angleDeg.mean));
  EXPECT_TRUE(std::isnan(none.randomDeg.mean));
  EXPECT_FALSE(none.swap);
  EXPECT_TRUE(none.side.angles.counts.empty());
}

TEST(NormGeometry, BeforeGammaAndBetaAnRmsNormLeavesTheAngle) {
  InputQuestion question{{1}, 17};
  question.takesMean = false;
  const auto rms = must(inputSums(normalRows(50, 16, 11, 0.5), question));
  EXPECT_EQ(rms.bareDeg.mean, rms.side.angleDeg.mean);
  EXPECT_LT(rms.bareDeg.mean, 80);
  const auto alongOne = must(inputSums(fromDoubles(DType::Float64, {1, 3}, Vector{0.1, 0.1, 0.1}), {{1}, 17}));
  EXPECT_TRUE(std::isnan(alongOne.bareDeg.mean)) << "nothing is left of it";
}

TEST(NormGeometry, ControlVectorsAreFixedByWidthAndSeed) {
  EXPECT_EQ(controlVectors(8, 17), controlVectors(8, 17));
  EXPECT_NE(controlVectors(8, 17), controlVectors(8, 18));
  ASSERT_EQ(controlVectors(8, 17).size(), 2U);
}

TEST(CaptureTurns, ARunTakesAGigabyteOrOneValue) {
  constexpr int64_t kGigabyte = int64_t{1} << 30;
  using Turns = std::vector<std::pair<size_t, size_t>>;
  EXPECT_EQ(captureTurns({}), Turns{});
  EXPECT_EQ(captureTurns({1, 2, 3}), (Turns{{0, 3}}));
  EXPECT_EQ(captureTurns({kGigabyte, 1, 2 * kGigabyte, 1}), (Turns{{0, 1}, {1, 2}, {2, 3}, {3, 4}}));
}

// The fake model shows its output wherever it is looked at.
TEST(ProbeNorms, OfAModelOfOneLayerNorm) {
  const test::FakeModel model;
  const auto probed = must(probeFake(model, test::FakeModel::sample(5)));
  ASSERT_EQ(probed.size(), 1U);
  const NormGeometry& norm = probed.front();
  EXPECT_EQ(norm.reason, "");
  EXPECT_EQ(norm.name, "ln");
  EXPECT_TRUE(norm.layerNorm);
  EXPECT_EQ(norm.input.side.rows, 5);
  EXPECT_EQ(norm.input.width, test::FakeModel::kWidth);
  EXPECT_NEAR(norm.output.angleDeg.mean, 90, 1e-4) << "in float32";
  ASSERT_TRUE(norm.input.swap);
  EXPECT_LT(norm.input.swap->max, 1e-6) << "a centered input";
}

// Paper 002, equation 6 over a set of tokens: it does not matter in how many batches they come.
TEST(NormGeometry, BatchesAddUpToTheirWhole) {
  const Vector ones(8, 1.0), zeros(8, 0.0);
  const NormConstants plain{ones, zeros, 1e-5};
  const auto rows = normalRows(60, 8, 5, 0.4);
  const Vector numbers = *graph::toDoubles(rows);
  InputSums whole({{1}, 17, &plain}), batches({{1}, 17, &plain});
  ASSERT_TRUE(whole.add(rows));
  for (size_t first = 0; first < 60; first += 20) {
    const Vector part(numbers.begin() + static_cast<int64_t>(first) * 8,
                      numbers.begin() + static_cast<int64_t>(first + 20) * 8);
    ASSERT_TRUE(batches.add(fromDoubles(DType::Float64, {20, 8}, part)));
  }
  const auto a = whole.take(), b = batches.take();
  EXPECT_EQ(b.side.rows, 60);
  EXPECT_EQ(a.side.angleDeg.mean, b.side.angleDeg.mean);
  EXPECT_EQ(a.side.meanShare.deviation, b.side.meanShare.deviation);
  EXPECT_EQ(a.side.angles.counts, b.side.angles.counts);
  EXPECT_EQ(a.swap->max, b.swap->max);
  EXPECT_EQ(a.bareDeg.mean, b.bareDeg.mean);
}

TEST(ProbeNorms, AModelThatFailsSaysWhy) {
  const test::FakeModel model(test::Fault::OriginalFails);
  EXPECT_FALSE(probeFake(model, test::FakeModel::sample()));
}

}  // namespace
}  // namespace normlens::run
