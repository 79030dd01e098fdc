// A model in sections: cut at values of its main graph, each section a model of its own, so that what is larger than
// memory is run part by part. Thread: value types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/graph/types.h"

namespace normlens::formats {

class Model;

// A value that sections end at, and that others begin with: an input of theirs then.
struct Cut {
  std::string value;  // its name
  graph::DType dtype = graph::DType::Unknown;
  graph::Shape shape;         // of some run
  std::vector<int64_t> axes;  // counted from the end, each below 0: those that its mean is taken over
  // The mean is taken out of what is given at the cut, or of what a section returns there.
  bool centeredIn = false, centeredOut = false;
};

// Its inputs are all those of the whole, read or not, and behind them one for each of its cuts, in their order.
struct Section {
  std::unique_ptr<Model> model;
  std::vector<size_t> cuts;  // that it begins with
};

}  // namespace normlens::formats
