#include "core/formats/torchscript/run/captured_pass.h"

#include <c10/core/StreamGuard.h>

#include "core/formats/torchscript/program/error_text.h"

namespace normlens::formats::torchscript {
namespace {

constexpr int kRunsBefore = 3;  // the JIT compiles in the second one what it saw in the first
constexpr const char* kWithoutCapture = "measure without CUDA graphs";

}  // namespace

Status canReplay(const Program& program) {
  const auto refuse = [](const char* what, const char* start) {
    return fail(ErrorCode::Unsupported,
                std::string("the model changes ") + what + ", so replays of a CUDA graph would not start from " + start,
                kWithoutCapture);
  };
  if (program.writesState) return refuse("its own state", "the file's");
  if (program.writesInputs) return refuse("its inputs", "those that were given");
  return {};
}

Result<std::unique_ptr<CapturedPass>> CapturedPass::record(c10::Device device, const std::function<void()>& pass) {
  ASSIGN_OR_RETURN(const auto library, loadCudaGraphLibrary());
  const auto failed = [](const std::string& why) {
    return fail(ErrorCode::RunFailed, "the model cannot be captured as a CUDA graph: " + why, kWithoutCapture);
  };
  try {
    const c10::impl::VirtualGuardImpl guard(device.type());
    const c10::Stream stream = guard.getStreamFromGlobalPool(device);
    guard.synchronizeStream(guard.getStream(device));  // the weights have arrived
    const c10::StreamGuard on(stream);
    for (int run = 0; run < kRunsBefore; ++run) pass();
    guard.synchronizeStream(stream);
    std::unique_ptr<CudaGraph> graph(library.make());
    recordInto(*graph, pass);
    return std::unique_ptr<CapturedPass>(new CapturedPass(stream, std::move(graph)));
  } catch (const c10::Error& error) {
    return failed(shortText(error));
  } catch (const std::exception& error) {
    return failed(firstLine(error.what()));
  }
}

double CapturedPass::replayMs(PassTimer& timer) {
  const c10::StreamGuard on(stream_);
  return timer.time([&] { graph_->replay(); });
}

}  // namespace normlens::formats::torchscript
