// Describing model inputs: on the command line, by arrays in a file, and at another size.
//
//   --input 'in_0=int64[1,16]:0..199'      integers from 0 to 199, both included
//   --input 'ids=int64[batch,seq]:0..199'  sizes by name: chosen here, changed by a sweep
//   --input 'x=float32[1,3,32,32]'         normal(0, 1); with a range: uniform in it
// Thread: pure functions. Errors: Usage for the text form, BadInput for arrays; one plain sentence.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/formats/model.h"

namespace normlens::run {

// One --input. A dim with a name has size -1 in spec.shape until sized() has chosen it.
struct InputRequest {
  formats::InputSpec spec;
  std::vector<std::string> dimNames;  // one per axis, empty where the size is a number
};
[[nodiscard]] Result<InputRequest> parseInputSpec(std::string_view text);

using DimSizes = std::map<std::string, int64_t>;

// Specs with every size chosen: from `sizes` where the name is there, else "batch" = 2 and small primes for the others,
// pairwise different and different from the sizes written as numbers. Named axes become freeAxes
// and keep their names.
[[nodiscard]] std::vector<formats::InputSpec> sized(const std::vector<InputRequest>& requests, const DimSizes& sizes);

// The inferred specs with the user's in their place. `inputs`: the names of all that the model takes, in its order; the
// user may give some that were not inferred. Error: a name that the model has not.
[[nodiscard]] Result<std::vector<formats::InputSpec>> mergeSpecs(const std::vector<formats::InputSpec>& inferred,
                                                                 const std::vector<formats::InputSpec>& given,
                                                                 const std::vector<std::string>& inputs);

struct ChosenArrays {
  formats::Tensors tensors;         // one for each input
  std::vector<std::string> unused;  // names of arrays that are no input
};

// The arrays that are inputs, in the order of the model: by the names in `inputs`, or in_0, in_1 ...; out_* are left
// out. Others are left over only where every input is found by its own name: exporters drop inputs that nothing reads.
// Inputs marked in `optional` (by input; may be shorter) need no array. Float arrays are cast to `modelType`.
// Errors: an input without array, an array that is no input, the one of `unreadable` (by name) that an input needs.
[[nodiscard]] Result<ChosenArrays> chooseInputs(const formats::Tensors& arrays, const std::vector<std::string>& inputs,
                                                graph::DType modelType, const std::vector<bool>& optional = {},
                                                const std::map<std::string, Error>& unreadable = {});

// Shapes at one point of a sweep: "batch" is axis 0 and "seq" axis 1 of the inputs whose size there agrees with that of
// the first input that has this axis. Error: another name.
[[nodiscard]] Result<std::vector<graph::Shape>> sweptShapes(std::vector<graph::Shape> shapes, const DimSizes& sizes);

}  // namespace normlens::run
