// libFuzzer target: a file of NumPy arrays, .npz or .npy, and what is read of it written again.
#include "core/run/inputs/npz.h"
#include "tests/fuzz/fuzz_support.h"
#include "tests/support/npz_files.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace normlens;
  static const fuzz::Folder folder;
  const auto path = folder.write("inputs.npz", {data, size});
  const auto read = run::readWhatCanBeRead(path);
  if (!read) {
    fuzz::expectRefusal(read.error());
    return 0;
  }
  for (const auto& [name, error] : read->unreadable) fuzz::expectRefusal(error);
  if (const auto arrays = run::readArrays(path)) {
    const auto written = folder.write("written.npz", {});
    if (run::writeNpz(written, *arrays) && !run::readArrays(written)) fuzz::found("written and not read");
  }
  return 0;
}
