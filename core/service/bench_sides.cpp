// Service::State: the sides of a measurement by their names.
#include "core/base/stopwatch.h"
#include "core/service/plans/fuse_norms.h"
#include "core/service/service_state.h"

namespace normlens::service {

namespace {

BenchModel kept(std::unique_ptr<formats::Model> made, std::string norm = {}, double foldMs = 0) {
  formats::Model* const model = made.get();
  return {model, std::move(made), std::move(norm), foldMs};
}

}  // namespace

// The last plan, written with these norms. The time is that of the analysis and of this writing.
Result<BenchModel> Service::State::foldedIn(formats::NormFlavour wanted, const Task& task) const {
  if (!folded) return fail(ErrorCode::Usage, "nothing has been folded yet", "fold first, then measure");
  const std::string norm(formats::normFlavourName(wanted));
  if (wanted == flavour) return BenchModel{folded.get(), nullptr, norm, times.fold_ms};
  const Stopwatch watch;
  auto made = model->apply(toFoldPlan(plan), layerNorms(), wanted, task);
  if (!made) return tl::unexpected(made.error());
  return kept(std::move(*made), norm, times.analysis_ms + watch.ms());
}

Result<BenchModel> Service::State::fusedSide(const Task& task) const {
  auto fusing = fuseNorms(*model, inputs.tensors, false, task);
  if (!fusing) return tl::unexpected(fusing.error());
  if (!fusing->model) return fail(ErrorCode::Refused, fusing->reason + ", so there is no fused form to measure");
  return kept(std::move(fusing->model));
}

Result<BenchModel> Service::State::other(const std::string& path, const Task& task) const {
  if (path.empty() && !folded) return fail(ErrorCode::Usage, "nothing has been folded yet", "fold first");
  if (path.empty()) return BenchModel{folded.get(), nullptr, {}, 0};
  return formats::openModel(path, task, besides).map([](std::unique_ptr<formats::Model>&& opened) {
    return kept(std::move(opened));
  });
}

Result<BenchModel> Service::State::side(const std::string& name, const Task& task) const {
  if (name.empty()) return BenchModel{};
  if (name == "original") return BenchModel{model.get(), nullptr, {}, 0};
  if (name == "fused") return fusedSide(task);
  const auto wanted = protocol::flavourOfFold(name);
  if (!wanted) return other(name, task);
  const auto known = wanted->empty() ? flavour : formats::normFlavourFromName(*wanted);
  if (!known) return fail(ErrorCode::Usage, "there is no norm flavour '" + *wanted + "'");
  return foldedIn(*known, task);
}

}  // namespace normlens::service
