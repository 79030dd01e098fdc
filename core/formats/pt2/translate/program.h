// An exported program, read and translated: as it is in a file, or will be in one. Private to formats/pt2: includes
// torch.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "core/formats/archive/archive_reader.h"
#include "core/formats/pt2/file/input_rules.h"
#include "core/formats/pt2/file/program_file.h"
#include "core/formats/pt2/file/sample_inputs.h"
#include "core/formats/pt2/translate/translation.h"

namespace normlens::formats::pt2 {

struct Program {
  std::shared_ptr<const Archive> archive;
  ProgramFile file;
  Signature signature;
  InputRules rules{{}, {}};
  Translation translation;
  SampleInputs samples;
  graph::DType dtype = graph::DType::Unknown;  // the floating type that most of its weights have
  bool isAsInFile = true;                      // nothing of it was edited
  bool isRepacked = false;                     // the file is a container of torch 2.5 to 2.8: see file/legacy.h
  // Records that are to be written anew, by their names without the folder: each holds the elements of a tensor, dense,
  // and nothing else.
  std::map<std::string, at::Tensor> written;
};

}  // namespace normlens::formats::pt2
