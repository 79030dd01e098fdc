#include "core/formats/onnx/float64/moments.h"

#include <algorithm>
#include <cmath>

namespace normlens::formats::onnx::float64 {
namespace {

constexpr int64_t kRowsPerPiece = 64;

}  // namespace

Moments momentsOf(const double* x, int64_t count, double epsilon, bool centred) {
  Moments moments;
  const auto n = static_cast<double>(count);
  if (centred) {
    for (int64_t i = 0; i < count; ++i) moments.mean += x[i];
    moments.mean /= n;
  }
  double squares = 0;
  for (int64_t i = 0; i < count; ++i) squares += (x[i] - moments.mean) * (x[i] - moments.mean);
  moments.inverse = 1 / std::sqrt(squares / n + epsilon);
  return moments;
}

void eachRow(Call& call, int64_t rows, const std::function<void(int64_t)>& body) {
  call.parallel((rows + kRowsPerPiece - 1) / kRowsPerPiece, [&](int64_t piece) {
    const int64_t end = std::min(rows, (piece + 1) * kRowsPerPiece);
    for (int64_t row = piece * kRowsPerPiece; row < end; ++row) body(row);
  });
}

}  // namespace normlens::formats::onnx::float64
