// A build without ONNX Runtime: models open and fold, but do not run.
#include "core/formats/onnx/run/runtime.h"
#include "core/formats/onnx/run/session.h"

namespace normlens::formats::onnx {
namespace {

tl::unexpected<Error> absent() {
  return fail(ErrorCode::Unsupported,
              "this build of NormLens has no ONNX Runtime: ONNX models open and fold, but do not run",
              "run packaging/setup and build again");
}

}  // namespace

struct Session::Impl {};
Session::~Session() = default;
Result<std::shared_ptr<Session>> Session::open(const OnnxSource&, const SessionOptions&) { return absent(); }
Result<Tensors> Session::run(const Tensors&, const Task&, const TapSink&) { return absent(); }

Result<std::unique_ptr<Runner>> makeRunner(const OnnxSource&, const Lowered&, bool, const Tensors&,
                                           const RunSettings&) {
  return absent();
}

Result<std::string> runtimeVersion() { return absent(); }
std::vector<std::string> runtimeProviders() { return {}; }
bool runtimeHasCuda() { return false; }

}  // namespace normlens::formats::onnx
