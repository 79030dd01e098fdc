// Defines what libnormlens_torchscript.so exports for this format.
#include "core/formats/pt2/open.h"
#include "core/formats/torchscript/library/library.h"
#include "core/formats/torchscript/run/cuda/cuda_library.h"

namespace normlens::formats::pt2 {
namespace {

Result<std::unique_ptr<Model>> open(const std::filesystem::path& path, const Task& task, const OpenChoice& choice) {
  torchscript::loadCudaIfPermitted();
  return openPt2(path, task, choice);
}

}  // namespace
}  // namespace normlens::formats::pt2

extern "C" const normlens::formats::torchscript::LibraryDoor* normlensPt2() {
  static constexpr normlens::formats::torchscript::LibraryDoor kDoor{&normlens::formats::pt2::open};
  return &kDoor;
}
