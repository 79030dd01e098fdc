// Chooses how a file is opened. Thread: a value type.
#pragma once

#include <string>

namespace normlens::formats {

struct OpenChoice {
  // For a process that is not confined. Code of the file that runs while it is loaded is then refused, and a model that
  // prints is not run.
  bool strict = false;
  // Chooses the model of this name in a file that holds several; empty: as the format chooses.
  std::string model;
  bool isBeside = false;  // it is compared with another file: `model` counts only where it holds several
};

}  // namespace normlens::formats
