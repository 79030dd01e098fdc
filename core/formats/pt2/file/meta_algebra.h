// Computes the metadata of values that a fold adds to a program from that of the values that they are computed from:
// TensorMeta with symbolic sizes and strides. No torch here. Throws BrokenDocument where it cannot.
#pragma once

#include <cstdint>
#include <vector>

#include "core/formats/pt2/file/json.h"

namespace normlens::formats::pt2 {

// A dense tensor of these sizes (each {"as_int": n} or {"as_expr": ...}), else as `like`.
[[nodiscard]] Json denseMeta(const Json& like, Json::Array sizes);
// For an elementwise operator on both.
[[nodiscard]] Json broadcastMeta(const Json& a, const Json& b);
// For a reduction; axes may be negative.
[[nodiscard]] Json reducedMeta(const Json& of, const std::vector<int64_t>& axes, bool keepAxes);
// An axis of a fixed size cut into several, of which one may be -1.
[[nodiscard]] Json unflattenedMeta(const Json& of, int64_t axis, const std::vector<int64_t>& sizes);
// Axes from first to last joined, all of fixed sizes.
[[nodiscard]] Json flattenedMeta(const Json& of, int64_t first, int64_t last);
// begin to end of an axis of a fixed size.
[[nodiscard]] Json slicedMeta(const Json& of, int64_t axis, int64_t begin, int64_t end);
// Joined along an axis on which all have fixed sizes.
[[nodiscard]] Json joinedMeta(const std::vector<const Json*>& parts, int64_t axis);
// With zeros before and behind each axis of a fixed size, as torch lists them: the last axis first.
[[nodiscard]] Json paddedMeta(const Json& of, const std::vector<int64_t>& amounts);
// Another size of an axis of a fixed size, in a tensor laid out alike: strides beyond that axis follow it.
[[nodiscard]] Json resizedMeta(const Json& of, size_t axis, int64_t size);
[[nodiscard]] Json typedMeta(Json meta, int64_t dtype);

}  // namespace normlens::formats::pt2
