// Writes the changed tensors of a program into its archive. Private to formats/pt2: includes torch.
#pragma once

#include <torch/script.h>

#include <map>
#include <string>
#include <vector>

#include "core/formats/pt2/translate/program.h"

namespace normlens::formats::pt2 {

struct ChangedTensor {
  HeldTensor held;
  at::Tensor tensor;
  std::string like;  // of one that is new: the FQN of the tensor whose entry it gets a copy of; else empty
};

// TensorMeta of a tensor that is all that its record holds: dense in its own order of axes.
[[nodiscard]] Json metaOfRecord(const Json& meta, const at::Tensor& tensor);

// A record whose tensors have all become one is written anew; where others read it, the changed tensor gets a record of
// its own. Changes the tables of `file`. Gives what is to be written, by the record's name. Throws EditRefused.
[[nodiscard]] std::map<std::string, at::Tensor> placeTensors(const Program& program,
                                                             const std::vector<ChangedTensor>& changed,
                                                             ProgramFile& file);

}  // namespace normlens::formats::pt2
