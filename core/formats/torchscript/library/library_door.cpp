// What libnormlens_torchscript.so shows to who loads it.
#include "core/formats/torchscript/library/library.h"
#include "core/formats/torchscript/program/open.h"

extern "C" const normlens::formats::torchscript::LibraryDoor* normlensTorchScript() {
  static constexpr normlens::formats::torchscript::LibraryDoor kDoor{&normlens::formats::torchscript::openTorchScript};
  return &kDoor;
}
