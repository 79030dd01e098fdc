// Service::State: the sides of a measurement by their names.
#include "core/base/stopwatch.h"
#include "core/service/plans/fuse_norms.h"
#include "core/service/service_state.h"

namespace normlens::service {

// The last plan, written with these norms. The time is that of the analysis and of this writing.
Result<Service::State::Side> Service::State::foldedIn(formats::NormFlavour wanted, const Task& task) const {
  if (!folded) return fail(ErrorCode::Usage, "nothing has been folded yet", "fold first, then measure");
  const std::string norm(formats::normFlavourName(wanted));
  if (wanted == flavour) return Side{folded.get(), nullptr, norm, times.fold_ms};
  const Stopwatch watch;
  auto made = model->apply(toFoldPlan(plan), layerNorms(), wanted, task);
  if (!made) return tl::unexpected(made.error());
  formats::Model* other = made->get();
  return Side{other, std::move(*made), norm, times.analysis_ms + watch.ms()};
}

Result<Service::State::Side> Service::State::fusedSide(const Task& task) const {
  auto fusing = fuseNorms(*model, inputs.tensors, false, task);
  if (!fusing) return tl::unexpected(fusing.error());
  if (!fusing->model) return fail(ErrorCode::Refused, fusing->reason + ", so there is no fused form to measure");
  formats::Model* fused = fusing->model.get();
  return Side{fused, std::move(fusing->model), {}, 0};
}

Result<Service::State::Side> Service::State::side(const std::string& name, const Task& task) const {
  if (name.empty()) return Side{};
  if (name == "original") return Side{model.get(), nullptr, {}, 0};
  if (name == "fused") return fusedSide(task);
  if (const auto wanted = protocol::flavourOfFold(name)) {
    if (wanted->empty()) return foldedIn(flavour, task);
    const auto known = formats::normFlavourFromName(*wanted);
    if (!known) return fail(ErrorCode::Usage, "there is no norm flavour '" + *wanted + "'");
    return foldedIn(*known, task);
  }
  auto file = formats::openModel(name, task, strict);
  if (!file) return tl::unexpected(file.error());
  formats::Model* opened = file->get();
  return Side{opened, std::move(*file), {}, 0};
}

}  // namespace normlens::service
