#include "core/formats/onnx/float64/window.h"

#include <algorithm>

namespace normlens::formats::onnx::float64 {

WindowAttributes::WindowAttributes(const Attributes& attributes)
    : autoPad(attributes.text("auto_pad", "NOTSET")),
      kernel(attributes.integers("kernel_shape")),
      strides(attributes.integers("strides")),
      dilations(attributes.integers("dilations")),
      pads(attributes.integers("pads")),
      ceil(attributes.integer("ceil_mode", 0) != 0) {}

Window axesOf(const WindowAttributes& given, const Shape& kernel, const Shape& spatial) {
  const size_t count = spatial.size();
  if (kernel.size() != count) throw std::runtime_error("a window of another rank than the input");
  const auto at = [](const std::vector<int64_t>& list, size_t i, int64_t otherwise) {
    return list.empty() ? otherwise : list.at(i);
  };
  Window window;
  for (size_t i = 0; i < count; ++i) {
    const bool padded = given.autoPad == "NOTSET";
    window.push_back({spatial[i], 0, kernel[i], at(given.strides, i, 1), at(given.dilations, i, 1),
                      padded ? at(given.pads, i, 0) : 0, padded ? at(given.pads, i + count, 0) : 0});
    if (window[i].stride < 1) throw std::runtime_error("a window that does not move");
  }
  return window;
}

Window windowOf(const WindowAttributes& given, const Shape& kernel, const Shape& spatial) {
  Window window = axesOf(given, kernel, spatial);
  for (Axis& axis : window) {
    if (given.autoPad.starts_with("SAME")) {
      axis.out = (axis.in + axis.stride - 1) / axis.stride;
      const int64_t total = std::max<int64_t>(0, (axis.out - 1) * axis.stride + axis.reach() - axis.in);
      axis.begin = given.autoPad == "SAME_LOWER" ? (total + 1) / 2 : total / 2;
      axis.end = total - axis.begin;
      continue;
    }
    const int64_t room = axis.in + axis.begin + axis.end - axis.reach();
    if (room < 0) continue;
    axis.out = (room + (given.ceil ? axis.stride - 1 : 0)) / axis.stride + 1;
    // A window that would start in the padding behind the input does not count.
    if (given.ceil && (axis.out - 1) * axis.stride >= axis.in + axis.begin) --axis.out;
  }
  return window;
}

int64_t product(const Window& window, int64_t Axis::*size) {
  int64_t count = 1;
  for (const Axis& axis : window) count *= axis.*size;
  return count;
}

int64_t meet(const Window& window, int64_t place, int64_t element) {
  int64_t offset = 0, scale = 1;
  for (size_t i = window.size(); i-- > 0;) {
    const Axis& axis = window[i];
    const int64_t at = place % axis.out * axis.stride - axis.begin + element % axis.kernel * axis.dilation;
    if (at < 0 || at >= axis.in) return -1;
    offset += at * scale;
    scale *= axis.in;
    place /= axis.out;
    element /= axis.kernel;
  }
  return offset;
}

Shape spatialOf(const Array& x) {
  if (x.rank() < 2) throw std::runtime_error("an input without channels");
  return {x.shape.begin() + 2, x.shape.end()};
}

Shape shapeWith(int64_t first, int64_t second, const Window& window, int64_t Axis::*size) {
  Shape shape{first, second};
  for (const Axis& axis : window) shape.push_back(axis.*size);
  return shape;
}

}  // namespace normlens::formats::onnx::float64
