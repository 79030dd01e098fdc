// Windows that slide over the spatial axes of an image: of convolutions and pools. Private to formats/onnx.
#pragma once

#include <string>
#include <vector>

#include "core/formats/onnx/float64/kernel.h"

namespace normlens::formats::onnx::float64 {

struct WindowAttributes {
  std::string autoPad;
  std::vector<int64_t> kernel, strides, dilations, pads;
  bool ceil = false;

  explicit WindowAttributes(const Attributes& attributes);
};

// One spatial axis: `out` places of the window over `in` elements with `begin` and `end` in the padding around them.
struct Axis {
  int64_t in = 0, out = 0, kernel = 1, stride = 1, dilation = 1, begin = 0, end = 0;

  [[nodiscard]] int64_t reach() const { return (kernel - 1) * dilation + 1; }
};
using Window = std::vector<Axis>;

// The axes as the attributes give them, without any places yet.
[[nodiscard]] Window axesOf(const WindowAttributes& given, const Shape& kernel, const Shape& spatial);
// The places by auto_pad, pads and ceil_mode.
[[nodiscard]] Window windowOf(const WindowAttributes& given, const Shape& kernel, const Shape& spatial);

// Multiplies the sizes of all axes: product(window, &Axis::out) is the number of places.
[[nodiscard]] int64_t product(const Window& window, int64_t Axis::*size);

// Returns which element of the image an element of the window meets at a place, all in row-major order; -1: it is in
// the padding.
[[nodiscard]] int64_t meet(const Window& window, int64_t place, int64_t element);

// The axes behind batch and channels.
[[nodiscard]] Shape spatialOf(const Array& x);
// [first][second] and the sizes of all axes.
[[nodiscard]] Shape shapeWith(int64_t first, int64_t second, const Window& window, int64_t Axis::*size);

}  // namespace normlens::formats::onnx::float64
