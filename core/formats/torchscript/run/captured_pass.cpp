#include "core/formats/torchscript/run/captured_pass.h"

#include <c10/core/StreamGuard.h>
#include <dlfcn.h>

#include <filesystem>

#include "core/formats/torchscript/program/error_text.h"

namespace normlens::formats::torchscript {
namespace {

constexpr int kRunsBefore = 3;  // the JIT compiles in the second one what it saw in the first
constexpr const char* kWithoutCapture = "measure without CUDA graphs";

// Beside the program, or in lib/ beside its folder.
Result<MakeCudaGraph> loadGraphs() {
  std::error_code ignored;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  const char* name = "libnormlens_cuda_graph.so";
  for (const auto& place : {folder / name, folder.parent_path() / "lib" / name, std::filesystem::path(name)}) {
    void* library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) continue;
    if (void* make = dlsym(library, kMakeCudaGraph)) return reinterpret_cast<MakeCudaGraph>(make);
  }
  return fail(ErrorCode::Unsupported, "CUDA graphs need libnormlens_cuda_graph.so, which is not here",
              "build with -DNORMLENS_CUDA=ON and the CUDA toolkit");
}

// A recording that was broken off is ended before the error is told.
void recordInto(CudaGraph& graph, const std::function<void()>& pass) {
  graph.begin();
  try {
    pass();
  } catch (const std::exception&) {
    const std::exception_ptr why = std::current_exception();
    try {
      graph.end();
    } catch (const std::exception&) {  // it was spoilt: that is what `why` says
    }
    std::rethrow_exception(why);
  }
  graph.end();
}

}  // namespace

Result<std::unique_ptr<CapturedPass>> CapturedPass::record(c10::Device device, const std::function<void()>& pass) {
  const auto make = loadGraphs();
  if (!make) return tl::unexpected(make.error());
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
    std::unique_ptr<CudaGraph> graph((*make)());
    recordInto(*graph, pass);
    return std::unique_ptr<CapturedPass>(new CapturedPass(stream, std::move(graph)));
  } catch (const c10::Error& error) {
    return failed(shortText(error));
  } catch (const std::exception& error) {
    return failed(firstLine(error.what()));
  }
}

double CapturedPass::replayMs(const PassTimer& timer) {
  const c10::StreamGuard on(stream_);
  return timer.time([&] { graph_->replay(); });
}

}  // namespace normlens::formats::torchscript
