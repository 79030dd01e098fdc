// The points of a sweep: every combination of what is varied.
//
//   batch=1,2,4   seq=64,256   any size that has a name: in --input 'ids=int64[batch,seq]:0..199', or in the file
//   dtype=float32,bfloat16   device=cpu,cuda   norm=portable,fast   (flavours of the fold that A is measured against)
// Thread: pure functions. Errors: Usage; one plain sentence.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/formats/model.h"
#include "core/run/inputs/input_spec.h"

namespace normlens::run {

struct SweepPoint {
  std::vector<std::pair<std::string, std::string>>
      at;  // The varied settings and their values, in the order of the sweeps.
  DimSizes sizes;
  formats::RunSettings settings;
  std::optional<formats::NormFlavour> norm;
};

// `base`: what is not varied. One point without a sweep. Errors: a sweep that is not NAME=VALUE,VALUE..., a size below
// 1, an unknown type, device or flavour, a name that occurs twice.
[[nodiscard]] Result<std::vector<SweepPoint>> sweepPoints(const std::vector<std::string>& sweeps,
                                                          const formats::RunSettings& base);

// The inputs at these sizes: those named in `specs`, one per input, go by their names, others by axis; see
// sweptShapes(). A sum of names follows its terms, and so does an open size in the same place that was the same: a file
// may call one size by several names. Values are drawn like those of `inputs`, which come back as they are where no
// size is given.
[[nodiscard]] Result<formats::Tensors> inputsAt(const DimSizes& sizes, const std::vector<formats::InputSpec>& specs,
                                                const formats::Tensors& inputs);

}  // namespace normlens::run
