// Scales and shifts that move into weights and biases, against the obvious loops.
#include "tests/fold/weight_tensors.h"

namespace normlens::fold {
namespace {

TEST(Scale, MultipliesAndAddsPerChannelInAnyLayout) {
  std::mt19937_64 random(7);
  for (const Layout layout : {Layout::RowMajor, Layout::Permuted, Layout::Padded}) {
    const Shape shape = {4, 3, 5};
    const Tensor tensor = makeTensor(shape, stridesFor(shape, layout, random), DType::Float32, random);
    for (int dim = 0; dim < 3; ++dim) {
      const auto axis = static_cast<size_t>(dim);
      std::vector<double> factor(static_cast<size_t>(shape[axis]));
      std::vector<double> addend(factor.size());
      for (size_t i = 0; i < factor.size(); ++i) {
        factor[i] = 0.5 + static_cast<double>(i);
        addend[i] = 1.0 - static_cast<double>(i);
      }
      auto out = bufferFor(tensor.view);
      ASSERT_TRUE(fill(scale({tensor.view, nullptr}, {factor, addend, dim}), out, 2));
      std::vector<double> want;
      for (size_t i = 0; i < tensor.numbers.size(); ++i) {
        const size_t channel = dim == 0 ? i / 15 : dim == 1 ? i / 5 % 3 : i % 5;
        want.push_back(tensor.numbers[i] * factor[channel] + addend[channel]);
      }
      expectClose(outputView(tensor.view, out), want, "dim " + std::to_string(dim));
    }
  }
}

class ShiftRandom : public testing::TestWithParam<std::tuple<DType, Layout>> {};

TEST_P(ShiftRandom, AddsTheProductToTheBias) {
  const auto [dtype, layout] = GetParam();
  std::mt19937_64 random(30 + static_cast<uint64_t>(dtype) * 10 + static_cast<uint64_t>(layout));
  for (const Shape& shape : {Shape{1, 1}, Shape{3, 5}, Shape{40, 70}, Shape{1500, 33}, Shape{33, 1500}}) {
    for (const int inputDim : {0, 1}) {
      const auto in = static_cast<size_t>(inputDim), out = 1 - in;
      const Tensor weight = makeTensor(shape, stridesFor(shape, layout, random), dtype, random);
      const Tensor shift = makeTensor({shape[in]}, {1}, dtype, random);
      const Tensor bias = makeTensor({1, shape[out]}, {shape[out], 1}, dtype, random);
      auto bytes = bufferFor(bias.view);
      const auto made = fold::shift({bias.view, nullptr}, {weight.view, nullptr}, inputDim, shift.numbers);
      const auto status = fill(made, bytes, 2);
      ASSERT_TRUE(status) << status.error().message;
      std::vector<double> want = bias.numbers;
      for (size_t i = 0; i < weight.numbers.size(); ++i) {
        const auto columns = static_cast<size_t>(shape[1]);
        const size_t at[] = {i / columns, i % columns};
        want[at[out]] += weight.numbers[i] * shift.numbers[at[in]];
      }
      expectClose(outputView(bias.view, bytes), want, "input axis " + std::to_string(inputDim), 1e-11);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, ShiftRandom,
                         testing::Combine(testing::Values(DType::Float32, DType::Float64, DType::Float16,
                                                          DType::BFloat16),
                                          testing::Values(Layout::RowMajor, Layout::Permuted, Layout::Padded)));

TEST(Shift, WhatDoesNotFitIsRefused) {
  std::mt19937_64 random(5);
  const Tensor weight = makeTensor({4, 6}, {6, 1}, DType::Float16, random);
  const Tensor six = makeTensor({6}, {1}, DType::Float16, random), four = makeTensor({4}, {1}, DType::Float16, random);
  auto out = bufferFor(four.view);
  const auto swapped = fold::shift({four.view, nullptr}, {weight.view, nullptr}, 0, six.numbers);
  EXPECT_EQ(fill(swapped, out, 1).error().code, ErrorCode::Internal);
  const auto overflowing =
      fold::shift({four.view, nullptr}, {weight.view, nullptr}, 1, std::vector<double>(6, 60000.0));
  EXPECT_EQ(fill(overflowing, out, 1).error().code, ErrorCode::Refused) << "no float16 is as large as that";
}

}  // namespace
}  // namespace normlens::fold
