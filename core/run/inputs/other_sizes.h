// Sizes of a model's inputs beside those of a sample: what holds at one size only shows at others. Thread: pure
// functions.
#pragma once

#include <functional>
#include <vector>

#include "core/formats/model.h"

namespace normlens::run {

// Ways to change one thing, the best first: a model takes some of them and refuses others.
using SizeTrials = std::vector<std::vector<graph::Shape>>;

// First all free axes together, by one where the model takes that (`freeAxes` is by input and may be empty: then axis
// 0, where it agrees with that of the first input). Then, one after the other, each set of axes that have one size (a
// sequence, an image's sides), free or not as far as is known, but for the batch; at most five sets, each by a factor,
// by one (what repeats at a factor does not there; those that went by one together are passed over) and to few (what
// the sample is cut at may lie beyond those).
[[nodiscard]] std::vector<SizeTrials> otherSizes(const std::vector<graph::Shape>& shapes,
                                                 const std::vector<std::vector<int>>& freeAxes);

// Calls takes() with the shapes of each way to change one thing, the best first, until it returns true: then with those
// of the next. No shapes are tried twice. Errors: those of takes(), which end it.
[[nodiscard]] Status tryOtherSizes(const std::vector<graph::Shape>& shapes,
                                   const std::vector<std::vector<int>>& freeAxes,
                                   const std::function<Result<bool>(const std::vector<graph::Shape>&)>& takes);

// ONNX Runtime's kernels crash on some numbers of axes that a file does not declare: they are not tried there.
[[nodiscard]] bool canTryOtherRanks(const formats::Model& model);
// One axis more in front of all inputs whose number of axes is open (by input), and one less.
[[nodiscard]] SizeTrials otherRanks(const std::vector<graph::Shape>& shapes, const std::vector<bool>& open);
// One of `widths` behind one input that may have it (by input) and does not end in one of them: a mean over another
// axis is constant along the channels only where there are none.
[[nodiscard]] SizeTrials withChannels(const std::vector<graph::Shape>& shapes, const std::vector<bool>& may,
                                      const std::vector<int64_t>& widths);

// An input of one whole number may be a size or an axis as well. The sample with one such number changed: to its
// neighbors, and to each of `widths`.
[[nodiscard]] std::vector<formats::Tensors> otherNumbers(const formats::Tensors& sample,
                                                         const std::vector<int64_t>& widths);

}  // namespace normlens::run
