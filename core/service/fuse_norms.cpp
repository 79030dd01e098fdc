#include "core/service/fuse_norms.h"

#include <algorithm>
#include <chrono>

#include "core/analysis/norms.h"
#include "core/formats/norm_fuser.h"
#include "core/run/verify.h"
#include "core/service/describe.h"

namespace normlens::service {
namespace {

Result<const formats::NormFuser*> fuserOf(const formats::Model& model) {
  if (const auto* fuser = dynamic_cast<const formats::NormFuser*>(&model)) return fuser;
  return fail(ErrorCode::Unsupported, "files of this format have no op for an add and a norm");
}

Result<std::unique_ptr<formats::Model>> fusedCopy(const formats::Model& twin, const analysis::Norms& norms,
                                                  const Task& task) {
  const auto fuser = fuserOf(twin);
  if (!fuser) return tl::unexpected(fuser.error());
  auto fused = (*fuser)->fuseNorms(norms, task);
  if (!fused) return tl::unexpected(fused.error());
  return std::move(fused->model);
}

Status prove(const formats::Model& model, const formats::Tensors& inputs, const analysis::Norms& norms, Fusing& fusing,
             const Task& task) {
  const auto again = [&](const formats::Model& twin) { return fusedCopy(twin, norms, task); };
  const auto verification =
      run::verifyChange({model, *fusing.model, again, norms.layerNorms}, inputs, run::VerifyOptions{}, task);
  if (!verification) return tl::unexpected(verification.error());
  fusing.verify = describeVerification(*verification);
  fusing.ok = verification->exact.value_or(false);
  if (!fusing.ok) {
    fusing.reason =
        verification->exact ? "the fused model gives other outputs" : "the fused model could not be verified";
  }
  return {};
}

}  // namespace

Result<Fusing> fuseNorms(const formats::Model& model, const formats::Tensors& inputs, bool verify, const Task& task) {
  const auto fuser = fuserOf(model);
  if (!fuser) return tl::unexpected(fuser.error());
  const auto start = std::chrono::steady_clock::now();
  const analysis::Norms norms = analysis::findNorms(model.graph());
  auto fused = (*fuser)->fuseNorms(norms, task);
  if (!fused) return tl::unexpected(fused.error());
  Fusing fusing;
  fusing.fuse_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  fusing.norms = static_cast<int>(norms.layerNorms.size() + static_cast<size_t>(std::ranges::count(
                                                                norms.others, "RMSNorm", &analysis::OtherNorm::kind)));
  fusing.fused = std::move(fused->fused);
  if (fusing.fused.empty()) {
    fusing.reason = "no norm of this model can be fused with a residual add before it";
    return fusing;
  }
  fusing.model = std::move(fused->model);
  fusing.ok = true;
  if (verify) {
    if (const Status proved = prove(model, inputs, norms, fusing, task); !proved) return tl::unexpected(proved.error());
  }
  return fusing;
}

}  // namespace normlens::service
