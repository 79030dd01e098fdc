// Holds what the scan of a pickle knows of an object. Private to pickle_scan.cpp. No torch here.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace normlens::formats {

// Containers other than tuples are not kept: they may be filled later.
struct Thing {
  // Absent: LibTorch may have left nothing at all (an enum class called with a value that is none of its own).
  enum class Kind : uint8_t {
    Other,
    Absent,
    Mark,
    String,
    Int,
    Global,
    Tuple,
    Dict,
    Storage,
    Tensor
  } kind = Kind::Other;
  std::string text;
  int64_t number = 0;                               // Int; of a Storage: its number of elements; of a Tensor that is
                                                    // only looked at: its index in PickleScan::tensors
  int depth = 0;                                    // nesting of containers below
  int32_t container = -1;                           // its number in PickleNesting; -1: it holds nothing
  int64_t push = -1;                                // A short String's index in PickleScan::strings.
  std::vector<std::shared_ptr<const Thing>> items;  // Hold a Tuple's items, or a Tensor's sizes.
};
using ThingPtr = std::shared_ptr<const Thing>;

inline ThingPtr makeThing(Thing::Kind kind, std::string text = {}, int64_t number = 0) {
  auto thing = std::make_shared<Thing>();
  thing->kind = kind;
  thing->text = std::move(text);
  thing->number = number;
  return thing;
}

// Thrown inside the scan only.
struct BrokenPickle {
  std::string why;
};

}  // namespace normlens::formats
