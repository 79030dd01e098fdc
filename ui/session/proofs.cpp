#include "ui/session/proofs.h"

#include <algorithm>

#include "ui/words/plan_rows.h"

namespace normlens::ui {

namespace {

auto isOf(const protocol::PlanParams& params, const std::string& flavour) {
  return [&](const Proof& proof) { return proof.flavour == flavour && samePlan(proof.params, params); };
}

}  // namespace

void Proofs::keep(Proof proof, const protocol::InputsParams& inputs) {
  constexpr size_t kMostProofs = 32;
  provedWith_ = inputs;
  if (const Proof* older = of(proof.params, proof.flavour)) proofs_.erase(proofs_.begin() + (older - proofs_.data()));
  if (proofs_.size() == kMostProofs) proofs_.erase(proofs_.begin());
  proofs_.push_back(std::move(proof));
}

Proof* Proofs::of(const protocol::PlanParams& params, const std::string& flavour) {
  const auto found = std::ranges::find_if(proofs_, isOf(params, flavour));
  return found == proofs_.end() ? nullptr : &*found;
}

bool Proofs::has(const protocol::PlanParams& params, const std::string& flavour) const {
  return std::ranges::any_of(proofs_, isOf(params, flavour));
}

bool Proofs::areOf(const protocol::InputsParams& inputs) const {
  return protocol::toJson(provedWith_) == protocol::toJson(inputs);
}

bool sameEdits(const protocol::PlanInfo& a, const protocol::PlanInfo& b) {
  return std::ranges::equal(a.edits, b.edits, sameEdit);
}

}  // namespace normlens::ui
