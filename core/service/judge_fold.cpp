#include "core/service/judge_fold.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

#include "core/analysis/claims/held_means.h"
#include "core/base/formatted.h"
#include "core/run/compare/compare_models.h"
#include "core/run/compare/norm_order.h"
#include "core/run/tensors.h"
#include "core/service/describe/certificate.h"

namespace normlens::service {
namespace {

using run::EitherNorm;
using run::NormPartner;

constexpr int kBatches = 3;
constexpr double kRoundings = 2;  // of the mean magnitude: rounded numbers have half of one at most

// Names the part of the norm itself that explains outputs that differ.
std::string differenceOf(const graph::Graph& a, const EitherNorm& normA, const graph::Graph& b,
                         const EitherNorm& normB) {
  const auto numbers = [](const graph::Graph& graph, graph::ValueId value) -> std::vector<double> {
    const auto constant = value == graph::kNoValue ? graph::kNone : graph.value(value).constant;
    return constant == graph::kNone ? std::vector<double>()
                                    : graph::toDoubles(graph.constant(constant).view).value_or(std::vector<double>());
  };
  const auto &partsA = normA.parts(), &partsB = normB.parts();
  constexpr double kSameEps = 1e-6;
  if (std::abs(partsA.eps - partsB.eps) > kSameEps * partsA.eps)
    return formatted("its epsilon is %.3g, not %.3g", partsB.eps, partsA.eps);
  if (!partsA.axes.empty() && !partsB.axes.empty() && partsA.axes != partsB.axes) return "it is taken over other axes";
  const auto gammaA = numbers(a, partsA.gamma), gammaB = numbers(b, partsB.gamma);
  if (!gammaA.empty() && gammaA.size() == gammaB.size() && gammaA != gammaB) return "its scale is another";
  return "its outputs differ";
}

JudgedNorm judge(const NormPartner& partner, const graph::Graph& a, const graph::Graph& b,
                 const analysis::HeldMean* held, std::optional<double> maxRel, double limit) {
  JudgedNorm judged{partner.norm->title, {}, FoldJudgement::Missing, {}, {}, maxRel};
  if (!partner.exists()) {
    judged.reason = "the models have different numbers of norms, and none there has its name";
    return judged;
  }
  judged.partner = partner.other.name();
  const bool differs = maxRel && !(*maxRel <= limit);
  const std::string mean = held == nullptr || held->isZero ? "" : "its input is not zero-mean: " + held->reason;
  if (differs) {
    judged.judgement = FoldJudgement::Wrong;
    judged.reason = !mean.empty() ? mean : differenceOf(a, {partner.norm, nullptr}, b, partner.other);
  } else if (!maxRel || !mean.empty()) {
    judged.judgement = FoldJudgement::NotShown;
    judged.reason = mean.empty() ? "the inputs do not reach it, or its outputs have nothing to compare" : mean;
  } else if (held == nullptr) {
    judged.judgement = FoldJudgement::Kept;
  } else {
    judged.judgement = FoldJudgement::Right;
    for (const auto constant : held->centered) judged.tensors.push_back(b.constant(constant).name);
  }
  return judged;
}

}  // namespace

const char* nameOf(FoldJudgement judgement) {
  constexpr std::array<const char*, 5> kNames = {"right", "kept", "not_shown", "wrong", "missing"};
  return kNames[static_cast<size_t>(judgement)];
}

bool JudgedFold::isRight() const {
  const bool folds = std::ranges::count(norms, FoldJudgement::Right, &JudgedNorm::judgement) > 0;
  return folds && isTelling && !outputsDiffer && firstWrong() == nullptr;
}

const JudgedNorm* JudgedFold::firstWrong() const {
  const auto first = std::ranges::find_if(norms, [](const JudgedNorm& norm) {
    return norm.judgement != FoldJudgement::Right && norm.judgement != FoldJudgement::Kept;
  });
  return first == norms.end() ? nullptr : &*first;
}

Result<JudgedFold> judgeFold(const formats::Model& original, formats::Model& folded, const formats::Tensors& inputs,
                             const Task& task) {
  RETURN_IF_ERROR(folded.probe(inputs, task));
  const graph::Graph &a = original.graph(), &b = folded.graph();
  const analysis::Norms normsOfA = analysis::findNorms(a), normsOfB = analysis::findNorms(b);
  const auto partners = run::normPartners(a, normsOfA, b, normsOfB);
  std::vector<analysis::NormParts> folds;
  for (const NormPartner& partner : partners) {
    if (partner.other.rms != nullptr) folds.push_back(*partner.other.rms);
  }
  const auto tolerance = [](graph::DType dtype) { return kRoundings * run::machineEpsilon(dtype); };
  ASSIGN_OR_RETURN(const auto held, analysis::heldMeans(b, folds, tolerance, task));
  ASSIGN_OR_RETURN(const auto exact, run::inType(original, folded, graph::DType::Float64));
  ASSIGN_OR_RETURN(const auto batches, run::batchesLike(inputs, kBatches, 1));
  ASSIGN_OR_RETURN(const auto diff, run::diffModels(*exact.a, normsOfA.layerNorms, *exact.b, batches, {}, task));
  JudgedFold judged;
  judged.limit = exact.limit;
  judged.batches = diff.batches;
  std::unordered_map<int, double> byNorm;
  for (const run::DiffRow& row : diff.rows) {
    const bool compared = !row.diff.vacuous && row.diff.telling;  // else nothing, or flags, which agree by chance
    if (row.kind == run::SiteKind::NormOutput && compared) byNorm.emplace(row.norm, row.diff.maxRel);
    if (row.kind != run::SiteKind::Output) continue;
    judged.isTelling = judged.isTelling || compared;
    judged.maxRel = std::max(judged.maxRel, row.diff.maxRel);
    judged.outputsDiffer = judged.outputsDiffer || !(row.diff.maxRel <= judged.limit);
  }
  int fold = 0;
  std::vector<CertifiedNorm> certified;
  for (const NormPartner& partner : partners) {
    const int place = partner.other.rms != nullptr ? fold++ : -1;
    const analysis::HeldMean* const mean = place >= 0 ? &held.norms[static_cast<size_t>(place)] : nullptr;
    const auto seen = byNorm.find(partner.norm->index);
    const auto maxRel = seen == byNorm.end() ? std::nullopt : std::optional(seen->second);
    judged.norms.push_back(judge(partner, a, b, mean, maxRel, judged.limit));
    if (judged.norms.back().judgement == FoldJudgement::Right)
      certified.push_back({partner.norm->title, partner.other.rms, held.claims.root(place)});
  }
  for (const std::string& name : run::unpaired(a, normsOfA, b, normsOfB)) {
    judged.norms.push_back(
        {name, {}, FoldJudgement::NotShown, "no norm of the other model is known to be its partner", {}, {}});
  }
  judged.files = folded.facts().files();
  ASSIGN_OR_RETURN(judged.certificate, certificateOf(folded, certified, held.claims));
  return judged;
}

}  // namespace normlens::service
