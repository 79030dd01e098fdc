// Finds which bytes of an archive a tensor of a program is: the table of weights and that of constants, checked against
// the records before anybody makes a tensor of it. No torch here.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/formats/archive/archive_reader.h"
#include "core/formats/pt2/file/signature.h"

namespace normlens::formats::pt2 {

// A tensor inside a record that holds a whole storage.
struct Payload {
  std::string record;  // in the archive, its folder left out: "data/weights/weight_3"
  graph::DType dtype = graph::DType::Unknown;
  graph::Shape sizes;
  std::vector<int64_t> strides;  // in elements, as the offset
  int64_t offset = 0;
  bool requiresGrad = false;
  bool isEmpty = false;  // no element: its record may be of no bytes
};

// By FQN. Parameters and persistent buffers are found in `weights`, the others in `constants`.
struct Payloads {
  std::map<std::string, Payload> weights, constants;

  // BrokenDocument where the tables have no such tensor.
  [[nodiscard]] const Payload& of(const HeldTensor& held) const;
};

// Throws BrokenDocument for what does not fit its record, UnsupportedProgram for pickled tensors and for an export
// without weights.
[[nodiscard]] Payloads readPayloads(const ProgramFile& file, const Archive& archive);

// Throws BrokenDocument where an element lies outside a record of so many bytes, or the whole is beyond all measure.
void checkPayload(const Payload& payload, uint64_t recordBytes);

}  // namespace normlens::formats::pt2
