// Rotary embeddings: of the standard operators, and of ONNX Runtime's own domain.
#include <algorithm>

#include "core/formats/onnx/float64/kernel.h"

namespace normlens::formats::onnx::float64 {
namespace {

struct Rotary {
  bool interleaved;
  int64_t heads, width;  // width 0: all of a head
  double scale;

  explicit Rotary(const Attributes& attributes)
      : interleaved(attributes.integer("interleaved", 0) != 0),
        heads(attributes.integer("num_heads", 0)),
        width(attributes.integer("rotary_embedding_dim", 0)),
        scale(attributes.number("scale", 1)) {}
};

void rotateRow(const Rotary& how, const double* x, const double* cos, const double* sin, int64_t width, int64_t rotated,
               double* y) {
  const int64_t half = rotated / 2;
  for (int64_t i = 0; i < half; ++i) {
    const int64_t a = how.interleaved ? 2 * i : i, b = how.interleaved ? 2 * i + 1 : i + half;
    y[a] = cos[i] * x[a] - sin[i] * x[b];
    y[b] = sin[i] * x[a] + cos[i] * x[b];
  }
  std::copy(x + rotated, x + width, y + rotated);
}

// positions: by [batch][sequence], a single first position, or empty where the caches are by batch already.
void rotate(Call& call, const Rotary& how, const Array& cos, const Array& sin, const std::vector<int64_t>& positions) {
  const Array x = call.array(0);
  const bool split = x.rank() == 4;  // [B][N][S][H], else [B][S][N H]
  const int64_t batch = x.dim(0), length = split ? x.dim(2) : x.dim(1);
  const int64_t cacheWidth = cos.dim(-1);
  const int64_t guess = how.width > 0 ? 0 : 2 * cacheWidth;
  const int64_t heads = split ? x.dim(1) : how.heads > 0 ? how.heads : guess > 0 ? x.dim(2) / guess : 0;
  if (heads < 1) throw std::runtime_error("an unknown number of heads");
  const int64_t width = split ? x.dim(3) : x.dim(2) / heads, rotated = how.width > 0 ? how.width : width;
  if (rotated / 2 != cacheWidth || rotated > width) throw std::runtime_error("tables that do not fit the heads");
  double* const y = call.output(0, x.shape);
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t s = 0; s < length; ++s) {
      int64_t row = b * length + s;
      if (positions.size() == 1) row = positions[0] + s;
      if (positions.size() > 1) row = positions.at(static_cast<size_t>(row));
      if (row < 0 || (row + 1) * cacheWidth > cos.count()) throw std::runtime_error("a position outside its table");
      for (int64_t n = 0; n < heads; ++n) {
        const int64_t at = split ? ((b * heads + n) * length + s) * width : ((b * length + s) * heads + n) * width;
        rotateRow(how, x.data + at, cos.data + row * cacheWidth, sin.data + row * cacheWidth, width, rotated, y + at);
      }
    }
  }
}

// input, position_ids, cos_cache, sin_cache
Kernel makeContribRotary(const Attributes& attributes) {
  if (attributes.integer("is_packed_batching", 0) != 0) throw std::runtime_error("packed batches are not supported");
  return [how = Rotary(attributes)](Call& call) { rotate(call, how, call.array(2), call.array(3), call.integers(1)); };
}

// X, cos_cache, sin_cache, position_ids?
Kernel makeRotary(const Attributes& attributes) {
  return [how = Rotary(attributes)](Call& call) {
    rotate(call, how, call.array(1), call.array(2), call.optionalIntegers(3));
  };
}

const KernelRow kRotaryKernels[] = {
    {"FusedRotaryEmbedding", "dadd", "d", makeContribRotary, "com.microsoft.RotaryEmbedding"},
    {"RotaryEmbedding", "dddA", "d", makeRotary},
};

}  // namespace

std::span<const KernelRow> rotaryKernels() { return kRotaryKernels; }

}  // namespace normlens::formats::onnx::float64
