#include "core/service/judge_fold.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "core/analysis/claims/held_means.h"
#include "core/analysis/norms/constant_behind.h"
#include "core/base/formatted.h"
#include "core/run/compare/compare_models.h"
#include "core/run/compare/norm_order.h"
#include "core/run/inputs/draw.h"
#include "core/run/inputs/other_sizes.h"
#include "core/run/tensors.h"
#include "core/service/describe/certificate.h"

namespace normlens::service {
namespace {

using run::EitherNorm;
using run::NormPartner;

constexpr int kBatches = 3;
constexpr double kRoundings = 2;  // of the mean magnitude: rounded numbers have half of one at most

// Empty: the value is absent, or no constant.
std::vector<double> numbersOf(const graph::Graph& graph, graph::ValueId value) {
  const auto held = value == graph::kNoValue ? value : analysis::constantInView(graph, value);
  if (held == graph::kNoValue) return {};
  return graph::toDoubles(graph.constant(graph.value(held).constant).view).value_or(std::vector<double>());
}

bool areOnes(const std::vector<double>& numbers) {
  return std::ranges::all_of(numbers, [](double each) { return each == 1; });
}

// Returns whether the first norm scales by a weight, and the second one does not.
bool lostItsWeight(const graph::Graph& a, const EitherNorm& normA, const graph::Graph& b, const EitherNorm& normB) {
  const auto& partsB = normB.parts();
  const auto before = numbersOf(a, normA.parts().gamma), after = numbersOf(b, partsB.gamma);
  const auto scales = [&](const graph::Use& use) {  // by a weight that is not known to be the norm's
    return use.node != graph::kNone && b.node(use.node).kind == graph::OpKind::Mul;
  };
  const bool hasNone = partsB.gamma == graph::kNoValue && std::ranges::none_of(b.value(partsB.output).uses, scales);
  return !areOnes(before) && (hasNone || !after.empty()) && areOnes(after);
}

// Names a part of the norm itself that no fold changes, whether or not the outputs show it on these inputs; "": none.
// type: the coarser one of the files.
std::string changedPart(const graph::Graph& a, const EitherNorm& normA, const graph::Graph& b, const EitherNorm& normB,
                        graph::DType type) {
  const auto &partsA = normA.parts(), &partsB = normB.parts();
  // An epsilon is stored in the type of either file, of which float16 has none below 6e-8.
  constexpr double kSameEps = 1e-6, kLeastFloat16 = 6e-8;
  const double rounding = kRoundings * run::machineEpsilon(type);
  const double least = type == graph::DType::Float16 ? kLeastFloat16 : 0;
  if (std::abs(partsA.eps - partsB.eps) > std::max(std::max(kSameEps, rounding) * partsA.eps, least))
    return formatted("its epsilon is %.3g, not %.3g", partsB.eps, partsA.eps);
  if (!partsA.axes.empty() && !partsB.axes.empty() && partsA.axes != partsB.axes) return "it is taken over other axes";
  // The numbers stay, or moved into the linear layers behind the norm.
  const auto changed = [&](graph::ValueId valueA, graph::ValueId valueB, double moved) {
    const auto before = numbersOf(a, valueA), after = numbersOf(b, valueB);
    if (before.empty() || before.size() != after.size()) return false;
    const auto same = [&](double x, double y) { return std::abs(x - y) <= rounding * std::abs(x) || x == y; };
    return !std::ranges::equal(before, after, same) &&
           !std::ranges::all_of(after, [&](double each) { return each == moved; });
  };
  if (changed(partsA.gamma, partsB.gamma, 1)) return "its scale is another";
  if (changed(partsA.beta, partsB.beta, 0)) return "its shift is another";
  return {};
}

// Limits holds how far a right fold may be off in float64, by the rounding of its weights to their type: 256 roundings,
// and of a half type no more than six times what the original itself is off by in that type.
class Limits {
 public:
  Limits(graph::DType type, double most) : type_(type), most_(most) {}

  // Errors: Cancelled. Where the original does not run in the half type, the limits stay.
  Status measure(const formats::Model& original, const std::vector<analysis::LayerNorm>& norms,
                 const formats::Model& exact, const std::vector<formats::Tensors>& batches, const Task& task) {
    if (type_ != graph::DType::Float16 && type_ != graph::DType::BFloat16) return {};
    const auto own = run::inType(original, original, type_);
    if (!own) return {};
    const auto diff = run::diffModels(*own->a, norms, exact, batches, {}, task);
    RETURN_IF_ERROR(task.check());
    if (!diff) return {};
    constexpr double kTimes = 6, kFewRoundings = 4;
    const double few = std::min(most_, kFewRoundings * run::machineEpsilon(type_));
    for (const run::DiffRow& row : diff->rows) {
      const double limit = std::clamp(kTimes * row.diff.maxRel, few, most_);
      if (row.kind == run::SiteKind::NormOutput) norms_.emplace(row.norm, limit);
      if (row.kind == run::SiteKind::Output) outputs_.emplace(row.output, limit);
    }
    return {};
  }

  [[nodiscard]] graph::DType type() const { return type_; }
  [[nodiscard]] double ofNorm(int norm) const { return limitIn(norms_, norm); }
  [[nodiscard]] double ofOutput(int output) const { return limitIn(outputs_, output); }

 private:
  [[nodiscard]] double limitIn(const std::unordered_map<int, double>& limits, int key) const {
    const auto found = limits.find(key);
    return found == limits.end() ? most_ : found->second;
  }

  graph::DType type_;
  double most_;
  std::unordered_map<int, double> norms_, outputs_;
};

// OtherSizes holds sets of inputs of other sizes, which the original takes, and why the other model does not take one.
struct OtherSizes {
  std::vector<formats::Tensors> batches;
  std::string refused;
};

Result<OtherSizes> atOtherSizes(const run::ModelPair& exact, const formats::Tensors& inputs,
                                const std::vector<std::vector<int>>& freeAxes, const Task& task) {
  OtherSizes others;
  RETURN_IF_ERROR(run::tryOtherSizes(run::shapesOf(inputs), freeAxes, [&](const auto& shapes) -> Result<bool> {
    if (!others.refused.empty()) return true;
    auto drawn = run::drawLike(inputs, shapes, 1);
    const bool taken = drawn && exact.a->run(*drawn, task);
    RETURN_IF_ERROR(task.check());
    if (!taken) return false;
    const auto ran = exact.b->run(*drawn, task);
    RETURN_IF_ERROR(task.check());
    if (ran) {
      others.batches.push_back(std::move(*drawn));
    } else {
      others.refused = "it fails at other sizes of the inputs, which the original takes: " + ran.error().message;
    }
    return true;
  }));
  return others;
}

// Judges an RMSNorm of the first model, whose outputs are not compared: its weight may have moved.
JudgedNorm judgeRmsNorm(const NormPartner& partner, const graph::Graph& a, const graph::Graph& b,
                        const Limits& limits) {
  JudgedNorm judged{partner.norm.title(), partner.other.name(), FoldJudgement::Kept, {}, {}, std::nullopt};
  judged.reason = changedPart(a, partner.norm, b, partner.other, limits.type());
  if (!judged.reason.empty()) {
    judged.judgement = FoldJudgement::Wrong;
  } else if (lostItsWeight(a, partner.norm, b, partner.other)) {
    judged.judgement = FoldJudgement::Weightless;
  }
  return judged;
}

JudgedNorm judge(const NormPartner& partner, const graph::Graph& a, const graph::Graph& b,
                 const analysis::HeldMean* held, std::optional<double> maxRel, const Limits& limits) {
  JudgedNorm judged{partner.norm.title(), {}, FoldJudgement::Missing, {}, {}, maxRel};
  if (!partner.exists()) {
    judged.reason = "the models have different numbers of norms, and none there has its name";
    return judged;
  }
  judged.partner = partner.other.name();
  const bool differs = maxRel && !(*maxRel <= limits.ofNorm(partner.norm.layer->index));
  const std::string mean = held == nullptr || held->isZero ? "" : "its input is not zero-mean: " + held->reason;
  const std::string part = changedPart(a, partner.norm, b, partner.other, limits.type());
  if (differs || (mean.empty() && !part.empty())) {
    judged.judgement = FoldJudgement::Wrong;
    judged.reason = !mean.empty() ? mean : !part.empty() ? part : "its outputs differ";
  } else if (!maxRel || !mean.empty()) {
    judged.judgement = FoldJudgement::NotShown;
    judged.reason = mean.empty() ? "the inputs do not reach it, or its outputs have nothing to compare" : mean;
  } else if (held == nullptr) {
    const bool moved = lostItsWeight(a, partner.norm, b, partner.other);
    judged.judgement = moved ? FoldJudgement::Weightless : FoldJudgement::Kept;
  } else {
    judged.judgement = FoldJudgement::Right;
    for (const auto constant : held->centered) judged.tensors.push_back(b.constant(constant).name);
  }
  return judged;
}

}  // namespace

const char* nameOf(FoldJudgement judgement) {
  constexpr std::array<const char*, kFoldJudgements.size()> kNames = {"right",     "kept",  "weightless",
                                                                      "not_shown", "wrong", "missing"};
  return kNames[static_cast<size_t>(judgement)];
}

bool JudgedFold::isRight() const {
  const bool folds = std::ranges::any_of(norms, [](const JudgedNorm& norm) {
    return norm.judgement == FoldJudgement::Right || norm.judgement == FoldJudgement::Weightless;
  });
  return folds && isTelling && !outputsDiffer && refused.empty() && firstWrong() == nullptr;
}

bool JudgedFold::isWrong() const {
  return outputsDiffer || !refused.empty() ||
         std::ranges::count(norms, FoldJudgement::Wrong, &JudgedNorm::judgement) > 0;
}

const JudgedNorm* JudgedFold::firstWrong() const {
  const auto first =
      std::ranges::find_if(norms, [](const JudgedNorm& norm) { return norm.judgement > FoldJudgement::Weightless; });
  return first == norms.end() ? nullptr : &*first;
}

Result<JudgedFold> judgeFold(const formats::Model& original, formats::Model& folded, const formats::Tensors& inputs,
                             const std::vector<std::vector<int>>& freeAxes, const Task& task) {
  RETURN_IF_ERROR(folded.probe(inputs, task));
  const graph::Graph &a = original.graph(), &b = folded.graph();
  const analysis::Norms normsOfA = analysis::findNorms(a), normsOfB = analysis::findNorms(b);
  const auto partners = run::normPartners(a, normsOfA, b, normsOfB);
  const auto isFold = [](const NormPartner& each) { return each.norm.layer != nullptr && each.other.rms != nullptr; };
  std::vector<analysis::NormParts> folds;
  for (const NormPartner& partner : partners) {
    if (isFold(partner)) folds.push_back(*partner.other.rms);
  }
  const auto tolerance = [](graph::DType dtype) { return kRoundings * run::machineEpsilon(dtype); };
  ASSIGN_OR_RETURN(const auto held, analysis::heldMeans(b, folds, tolerance, task));
  ASSIGN_OR_RETURN(const auto exact, run::inType(original, folded, graph::DType::Float64));
  ASSIGN_OR_RETURN(auto batches, run::batchesLike(inputs, kBatches, 1));
  Limits limits(run::coarserType(original.facts().dtype, folded.facts().dtype), exact.limit);
  RETURN_IF_ERROR(limits.measure(original, normsOfA.layerNorms, *exact.a, batches, task));
  ASSIGN_OR_RETURN(auto others, atOtherSizes(exact, inputs, freeAxes, task));
  std::ranges::move(others.batches, std::back_inserter(batches));
  ASSIGN_OR_RETURN(const auto diff, run::diffModels(*exact.a, normsOfA.layerNorms, *exact.b, batches, {}, task));
  JudgedFold judged;
  judged.refused = std::move(others.refused);
  judged.batches = diff.batches;
  std::unordered_map<int, double> byNorm;
  for (const run::DiffRow& row : diff.rows) {
    const bool compared = !row.diff.vacuous && row.diff.telling;  // else nothing, or flags, which agree by chance
    if (row.kind == run::SiteKind::NormOutput && compared) byNorm.emplace(row.norm, row.diff.maxRel);
    if (row.kind != run::SiteKind::Output) continue;
    judged.isTelling = judged.isTelling || compared;
    const double limit = limits.ofOutput(row.output);
    judged.maxRel = std::max(judged.maxRel, row.diff.maxRel);
    judged.limit = std::max(judged.limit, limit);
    judged.outputsDiffer = judged.outputsDiffer || !(row.diff.maxRel <= limit);
  }
  int fold = 0;
  std::vector<CertifiedNorm> certified;
  for (const NormPartner& partner : partners) {
    if (partner.norm.layer == nullptr) {
      if (partner.other.rms != nullptr) judged.norms.push_back(judgeRmsNorm(partner, a, b, limits));
      continue;
    }
    const int place = isFold(partner) ? fold++ : -1;
    const analysis::HeldMean* const mean = place >= 0 ? &held.norms[static_cast<size_t>(place)] : nullptr;
    const auto seen = byNorm.find(partner.norm.layer->index);
    const auto maxRel = seen == byNorm.end() ? std::nullopt : std::optional(seen->second);
    judged.norms.push_back(judge(partner, a, b, mean, maxRel, limits));
    if (judged.norms.back().judgement == FoldJudgement::Right)
      certified.push_back({partner.norm.title(), partner.other.rms, held.claims.root(place)});
  }
  for (const std::string& name : run::unpaired(a, normsOfA, b, normsOfB)) {
    judged.norms.push_back(
        {name, {}, FoldJudgement::NotShown, "no norm of the other model is known to be its partner", {}, {}});
  }
  judged.files = folded.facts().files();
  if (!certified.empty()) {
    ASSIGN_OR_RETURN(judged.certificate, certificateOf(folded, certified, held.claims));
  }
  return judged;
}

}  // namespace normlens::service
