#include "core/service/fuse_norms.h"

#include <algorithm>

#include "core/analysis/norms/norms.h"
#include "core/base/stopwatch.h"
#include "core/formats/norm_fuser.h"
#include "core/run/proof/verify.h"
#include "core/service/describe/describe.h"

namespace normlens::service {
namespace {

Result<const formats::NormFuser*> fuserOf(const formats::Model& model) {
  if (const auto* fuser = dynamic_cast<const formats::NormFuser*>(&model)) return fuser;
  return fail(ErrorCode::Unsupported, "files of this format have no op for an add and a norm");
}

struct Made {
  std::unique_ptr<formats::Model> model;
  std::vector<std::string> joined, fused;
};

// Works in two steps: norms that are written out become one op each, then all take their adds in. The shapes that the
// second one needs come from a probe of what the first one made.
Result<Made> makeFused(const formats::Model& model, const analysis::Norms& norms, const formats::Tensors& inputs,
                       const Task& task) {
  ASSIGN_OR_RETURN(const auto fuser, fuserOf(model));
  ASSIGN_OR_RETURN(auto joined, fuser->joinNorms(norms, task));
  const bool any = !joined.fused.empty();
  if (any) {
    RETURN_IF_ERROR(joined.model->probe(inputs, task));
  }
  const auto second = fuserOf(any ? *joined.model : model);
  auto fused = (*second)->fuseNorms(any ? analysis::findNorms(joined.model->graph()) : norms, task);
  if (!fused) return tl::unexpected(fused.error());
  Made made{nullptr, std::move(joined.fused), std::move(fused->fused)};
  if (any || !made.fused.empty()) made.model = std::move(made.fused.empty() ? joined.model : fused->model);
  return made;
}

// Keeps the norms that one of the steps could do something to: the proof in float64 is of the same change.
analysis::Norms onlyJoined(analysis::Norms norms, const std::vector<std::string>& joined) {
  const auto leave = [&](const auto& norm) {
    return norm.form == analysis::NormForm::Decomposed && std::ranges::find(joined, norm.name) == joined.end();
  };
  std::erase_if(norms.layerNorms, leave);
  std::erase_if(norms.others, leave);
  return norms;
}

Status prove(const formats::Model& model, const formats::Tensors& inputs, const analysis::Norms& norms, Fusing& fusing,
             const Task& task) {
  const auto again = [&, same = onlyJoined(norms, fusing.joined)](
                         const formats::Model& twin) -> Result<std::unique_ptr<formats::Model>> {
    ASSIGN_OR_RETURN(auto made, makeFused(twin, same, inputs, task));
    if (made.joined != fusing.joined || made.fused != fusing.fused)
      return fail(ErrorCode::Refused, "other norms of it can be fused than of the model");
    return std::move(made.model);
  };
  ASSIGN_OR_RETURN(const auto verification, run::verifyChange({model, *fusing.model, again, norms.layerNorms}, inputs,
                                                              run::VerifyOptions{}, task));
  fusing.verify = describeVerification(verification);
  fusing.ok = verification.exact.value_or(false);
  if (!fusing.ok) fusing.reason = whyNotProved(verification, "fused");
  return {};
}

}  // namespace

Result<Fusing> fuseNorms(const formats::Model& model, const formats::Tensors& inputs, bool verify, const Task& task) {
  const Stopwatch watch;
  const analysis::Norms norms = analysis::findNorms(model.graph());
  ASSIGN_OR_RETURN(auto made, makeFused(model, norms, inputs, task));
  Fusing fusing;
  fusing.fuse_ms = watch.ms();
  fusing.norms = static_cast<int>(
      norms.layerNorms.size() +
      static_cast<size_t>(std::ranges::count(norms.others, OtherNormKind::RmsNorm, &analysis::OtherNorm::kind)));
  fusing.joined = std::move(made.joined);
  fusing.fused = std::move(made.fused);
  if (!made.model) {
    fusing.reason = "no norm of this model can be fused with a residual add before it";
    return fusing;
  }
  fusing.model = std::move(made.model);
  fusing.ok = true;
  if (verify) {
    RETURN_IF_ERROR(prove(model, inputs, norms, fusing, task));
  }
  return fusing;
}

}  // namespace normlens::service
