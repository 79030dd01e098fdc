// Of a build without ONNX Runtime.
#include "core/formats/onnx/run/session.h"

#ifndef NORMLENS_HAVE_ONNXRUNTIME

namespace normlens::formats::onnx {

struct Session::Impl {};
Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::~Session() = default;

Result<std::shared_ptr<Session>> Session::open(const OnnxSource&, const SessionOptions&) {
  return fail(ErrorCode::Unsupported,
              "this build of NormLens has no ONNX Runtime: ONNX models open and fold, but do not run",
              "run packaging/setup and build again");
}

Result<Tensors> Session::run(const Tensors&, const Task&, const TapSink&) {
  return fail(ErrorCode::Unsupported, "this build of NormLens has no ONNX Runtime");
}

Result<std::function<Result<double>()>> Session::prepare(const Tensors&, Session*) {
  return fail(ErrorCode::Unsupported, "this build of NormLens has no ONNX Runtime");
}

Result<std::string> Session::endProfile() {
  return fail(ErrorCode::Unsupported, "this build of NormLens has no ONNX Runtime");
}

}  // namespace normlens::formats::onnx

#endif
