#include "core/lab/library_door.h"

extern "C" const normlens::lab::LibraryDoor* normlensLaboratory() {
  static constexpr normlens::lab::LibraryDoor kDoor{&normlens::lab::trainHere};
  return &kDoor;
}
