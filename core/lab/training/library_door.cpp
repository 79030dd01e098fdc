// Defines what libnormlens_lab.so exports to its loader.
#include "core/lab/library_door.h"

#include "core/base/plain_error.h"
#include "core/formats/torchscript/run/cuda/cuda_library.h"
#include "core/lab/training/run.h"

namespace normlens::lab {

Result<RunResult> trainHere(const RunSettings& settings, const Data& data, const RunPlace& place,
                            const RunControl& control) {
  formats::torchscript::loadCudaIfPermitted();
  try {
    return Run(settings, data, place, control).carryOut();
  } catch (const c10::Error& error) {
    return fail(ErrorCode::RunFailed, std::string("the training failed: ") + error.what_without_backtrace());
  } catch (const std::exception& error) {
    return fail(ErrorCode::RunFailed, "the training failed: " + plainError(error));
  }
}

}  // namespace normlens::lab
