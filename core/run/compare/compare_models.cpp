#include "core/run/compare/compare_models.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "core/run/inputs/draw.h"
#include "core/run/tensors.h"

namespace normlens::run {
namespace {

using formats::Model;
using formats::Tensors;
using graph::ValueId;

// Returns the places of the k largest entries, the largest first.
std::vector<size_t> topOf(std::span<const double> row, size_t k) {
  const auto rank = [&](size_t i) { return std::isnan(row[i]) ? -std::numeric_limits<double>::infinity() : row[i]; };
  std::vector<size_t> places(row.size());
  std::iota(places.begin(), places.end(), size_t{0});
  std::ranges::partial_sort(places, places.begin() + static_cast<std::ptrdiff_t>(k),
                            [&](size_t i, size_t j) { return rank(i) != rank(j) ? rank(i) > rank(j) : i < j; });
  places.resize(k);
  return places;
}

// Adds to an error which of the two models it is about.
tl::unexpected<Error> errorOf(const Model& model, Error error) {
  if (error.code != ErrorCode::Cancelled) error.message = model.facts().path.string() + ": " + error.message;
  return tl::unexpected(std::move(error));
}

DiffRow measured(SitePair pair, graph::DType typeOfA, graph::DType typeOfB) {
  DiffRow row;
  row.name = pair.diff.name;
  row.shape = pair.a.shape;
  row.dtype = typeOfA;
  row.alignment = pair.alignment;
  row.ulps = ulpDistances(pair.a, pair.b, coarserType(typeOfA, typeOfB));
  row.diff = std::move(pair.diff);
  return row;
}

std::optional<double> roundingOf(const graph::TensorView& exact, const graph::TensorView& rounded) {
  const auto diff = compareTensors({}, exact, rounded);
  return diff ? std::optional(diff->maxRel) : std::nullopt;
}

// The worst case stays, one that compares nothing gives way; agreement of the largest is counted over all.
void merge(std::optional<DiffRow>& kept, DiffRow row) {
  std::optional<TopAgreement> top = kept ? kept->top : std::nullopt;
  if (top && row.top) {
    top->add(*row.top);
  } else if (row.top) {
    top = row.top;
  }
  const bool worse = !kept || !(row.diff.maxRel <= kept->diff.maxRel) || (kept->diff.vacuous && !row.diff.vacuous);
  if (worse) kept = std::move(row);
  kept->top = top;
}

class Comparison {
 public:
  Comparison(const Model& a, const std::vector<analysis::LayerNorm>& normsOfA, const Model& b,
             const std::vector<Tensors>& batches, const DiffOptions& options, const Task& task)
      : a_(a), b_(b), batches_(batches), options_(options), task_(task) {
    sites_ = normSites(a.graph(), normsOfA, b.graph());
    std::ranges::move(valueSites(a.graph(), options.values, b.graph()), std::back_inserter(sites_));
    std::ranges::stable_sort(sites_, {}, &Site::step);
    siteRows_.resize(sites_.size());
  }

  Result<ModelDiff> run() {
    for (size_t i = 0; i < batches_.size(); ++i) {
      batch_ = i;
      RETURN_IF_ERROR(compareBatch());
    }
    for (auto* rows : {&siteRows_, &outputRows_}) {
      for (auto& row : *rows) {
        if (row) result_.rows.push_back(std::move(*row));
      }
    }
    nameDiverging();
    return std::move(result_);
  }

 private:
  void report(std::string_view stage, double share) const {
    const auto count = static_cast<double>(batches_.size());
    task_.report(stage, (static_cast<double>(batch_) + share) / count);
  }

  Status compareBatch() {
    const Tensors& inputs = batches_[batch_];
    report("running the first model", 0);
    const auto outputsOfA = outputsOf(a_, runnerA_, inputs);
    RETURN_IF_ERROR(task_.check());
    if (!outputsOfA) return batch_ == 0 ? Status(errorOf(a_, outputsOfA.error())) : Status();
    report("running the second model", 0.2);
    const auto outputsOfB = outputsOf(b_, runnerB_, inputs);
    if (!outputsOfB) return errorOf(b_, outputsOfB.error());
    ++result_.batches;
    RETURN_IF_ERROR(compareOutputsOf(*outputsOfA, *outputsOfB, inputs));
    report("comparing the norms", 0.4);
    const Status compared = compareSites(inputs);
    RETURN_IF_ERROR(task_.check());
    if (!compared && result_.normsReason.empty()) result_.normsReason = compared.error().message;
    return {};
  }

  // The runner stays on a GPU, for the values of the norms.
  Result<Tensors> outputsOf(const Model& model, std::unique_ptr<formats::Runner>& runner, const Tensors& inputs) {
    if (options_.settings.device == formats::Device::Cpu) return model.run(inputs, task_);
    runner.reset();
    ASSIGN_OR_RETURN(auto made, model.runner(inputs, options_.settings));
    runner = std::move(made);
    return runner->outputs();
  }

  Status compareOutputsOf(const Tensors& a, const Tensors& b, const Tensors& inputs) {
    ASSIGN_OR_RETURN(auto diffs, compareOutputs(a, b));
    Tensors exact;
    if (options_.reference) exact = options_.reference->run(inputs, task_).value_or(Tensors());
    outputRows_.resize(diffs.size());
    for (size_t i = 0; i < diffs.size(); ++i) {
      SitePair pair{a[i].view, b[i].view, Alignment::None, std::move(diffs[i])};
      DiffRow row = measured(std::move(pair), a[i].view.dtype, b[i].view.dtype);
      row.kind = SiteKind::Output;
      row.output = static_cast<int>(i);
      row.batch = static_cast<int>(batch_);
      row.top = topAgreement(a[i].view, b[i].view);
      if (i < exact.size()) row.rounding = roundingOf(exact[i].view, a[i].view);
      merge(outputRows_[i], std::move(row));
    }
    return {};
  }

  [[nodiscard]] int64_t bytesOf(const Site& site) const {
    const graph::Value& value = a_.graph().value(site.value);
    const int64_t elements = value.shape ? graph::elementCount(*value.shape).value_or(0) : 0;
    return elements * static_cast<int64_t>(sizeof(double)) * (1 + static_cast<int64_t>(site.partners.size()));
  }

  Status compareSites(const Tensors& inputs) {
    std::vector<int64_t> bytes;
    for (const Site& site : sites_) bytes.push_back(bytesOf(site));
    for (const auto& [begin, end] : captureTurns(bytes)) {
      report("comparing the norms", 0.4 + 0.6 * static_cast<double>(begin) / static_cast<double>(sites_.size()));
      RETURN_IF_ERROR(compareSites(inputs, begin, end));
    }
    return {};
  }

  Status compareSites(const Tensors& inputs, size_t begin, size_t end) {
    std::vector<ValueId> valuesOfA, valuesOfB;
    for (size_t i = begin; i < end; ++i) {
      valuesOfA.push_back(sites_[i].value);
      valuesOfB.insert(valuesOfB.end(), sites_[i].partners.begin(), sites_[i].partners.end());
    }
    ASSIGN_OR_RETURN(const auto ofA, capture(a_, valuesOfA, inputs, task_, runnerA_.get()));
    ASSIGN_OR_RETURN(const auto ofB, capture(b_, valuesOfB, inputs, task_, runnerB_.get()));
    Captured exact;
    if (options_.reference) {
      exact = capture(*options_.reference, valuesOfA, inputs, task_).value_or(Captured());
    }
    for (size_t i = begin; i < end; ++i) {
      const Site& site = sites_[i];
      auto pair = bestPair(site, ofA, ofB);
      if (!pair) continue;
      const graph::DType type = ofA.at(site.value).dtype;
      const graph::DType typeOfB = pair->b.dtype;  // where aligned: float64, so that the first one's counts
      DiffRow row = measured(std::move(*pair), type, typeOfB);
      row.kind = site.kind;
      row.norm = site.norm;
      row.value = site.value;
      row.step = site.step;
      row.depth = site.depth;
      if (const auto value = exact.find(site.value); value != exact.end() && value->second.data) {
        row.rounding = roundingOf(value->second, ofA.at(site.value));
      }
      row.batch = static_cast<int>(batch_);
      merge(siteRows_[i], std::move(row));
    }
    return {};
  }

  void nameDiverging() {
    const double above = options_.limit.value_or(divergenceLimit(a_.facts().dtype));
    const auto first = std::ranges::find_if(result_.rows, [&](const DiffRow& row) {
      return row.kind == SiteKind::NormOutput && !(row.diff.maxRel <= above);
    });
    if (first != result_.rows.end()) result_.firstDiverging = first->name;
  }

  const Model& a_;
  const Model& b_;
  const std::vector<Tensors>& batches_;
  const DiffOptions& options_;
  const Task& task_;
  std::unique_ptr<formats::Runner> runnerA_, runnerB_;  // Run this batch; null on the CPU.
  std::vector<Site> sites_;
  std::vector<std::optional<DiffRow>> siteRows_, outputRows_;
  size_t batch_ = 0;
  ModelDiff result_;
};

}  // namespace

void TopAgreement::add(const TopAgreement& other) {
  rows += other.rows;
  sameFirst += other.sameFirst;
  sharedMany += other.sharedMany;
  hasMany = hasMany || other.hasMany;
}

std::optional<TopAgreement> topAgreement(const graph::TensorView& a, const graph::TensorView& b) {
  if (!graph::isFloat(a.dtype) || a.shape.empty() || a.shape.back() < 2 || a.shape != b.shape) return std::nullopt;
  const auto valuesA = graph::toDoubles(a), valuesB = graph::toDoubles(b);
  if (!valuesA || !valuesB || valuesA->empty()) return std::nullopt;
  const auto width = static_cast<size_t>(a.shape.back());
  TopAgreement agreement;
  agreement.hasMany = a.shape.back() > kTopMany;
  const size_t k = agreement.hasMany ? static_cast<size_t>(kTopMany) : 1;
  for (size_t start = 0; start < valuesA->size(); start += width) {
    const auto topA = topOf(std::span(*valuesA).subspan(start, width), k);
    const auto topB = topOf(std::span(*valuesB).subspan(start, width), k);
    ++agreement.rows;
    agreement.sameFirst += topA.front() == topB.front() ? 1 : 0;
    if (!agreement.hasMany) continue;
    agreement.sharedMany +=
        std::ranges::count_if(topA, [&](size_t place) { return std::ranges::find(topB, place) != topB.end(); });
  }
  return agreement;
}

Result<ModelDiff> diffModels(const Model& a, const std::vector<analysis::LayerNorm>& normsOfA, const Model& b,
                             const std::vector<Tensors>& batches, const DiffOptions& options, const Task& task) {
  return Comparison(a, normsOfA, b, batches, options, task).run();
}

std::string firstDiverging(const Model& a, const std::vector<analysis::LayerNorm>& normsOfA, const Model& b,
                           const Tensors& inputs, double limit, const Task& task) {
  task.report("looking for the first norm that differs");
  const Task quiet{.onProgress = {}, .stop = task.stop};
  const DiffOptions options{.reference = nullptr, .values = {}, .limit = limit};
  const auto diff = diffModels(a, normsOfA, b, {inputs}, options, quiet);
  return diff ? diff->firstDiverging : std::string();
}

Result<std::vector<Tensors>> batchesLike(const Tensors& sample, int count, uint64_t seed) {
  std::vector<Tensors> batches{sample};
  for (int i = 1; i < count; ++i) {
    ASSIGN_OR_RETURN(auto drawn, drawLike(sample, shapesOf(sample), seed + static_cast<uint64_t>(i) - 1));
    batches.push_back(std::move(drawn));
  }
  return batches;
}

Result<SitePair> tensorsAt(const Model& a, const std::vector<analysis::LayerNorm>& normsOfA, const Model& b,
                           const Tensors& batch, const RowPlace& place, const Task& task) {
  if (place.kind == SiteKind::Output) {
    const auto ofA = a.run(batch, task);
    if (!ofA) return errorOf(a, ofA.error());
    const auto ofB = b.run(batch, task);
    if (!ofB) return errorOf(b, ofB.error());
    const auto index = static_cast<size_t>(std::max(0, place.output));
    if (index >= ofA->size() || index >= ofB->size()) return fail(ErrorCode::BadInput, "there is no such output");
    ASSIGN_OR_RETURN(auto diff, compareTensors((*ofA)[index].name, (*ofA)[index].view, (*ofB)[index].view));
    return SitePair{(*ofA)[index].view, (*ofB)[index].view, Alignment::None, std::move(diff)};
  }
  const auto sites = place.kind == SiteKind::Value ? valueSites(a.graph(), {place.value}, b.graph())
                                                   : normSites(a.graph(), normsOfA, b.graph());
  const auto site = std::ranges::find_if(
      sites, [&](const Site& each) { return each.kind == place.kind && each.value == place.value; });
  if (site == sites.end()) return fail(ErrorCode::BadInput, "the second model has nothing in this place");
  const auto ofA = capture(a, {site->value}, batch, task);
  if (!ofA) return errorOf(a, ofA.error());
  const auto ofB = capture(b, site->partners, batch, task);
  if (!ofB) return errorOf(b, ofB.error());
  auto pair = bestPair(*site, *ofA, *ofB);
  if (!pair) return fail(ErrorCode::BadInput, "the models did not both come by '" + site->name + "' on these inputs");
  return std::move(*pair);
}

Result<ModelPair> inType(const Model& a, const Model& b, graph::DType dtype) {
  const bool asTheyAre = dtype == graph::DType::Unknown;
  const graph::DType files = coarserType(a.facts().dtype, b.facts().dtype);
  ModelPair pair{nullptr, nullptr, divergenceLimit(asTheyAre ? files : coarserType(files, dtype))};
  for (const auto& [model, place] : {std::pair{&a, &pair.a}, std::pair{&b, &pair.b}}) {
    if (asTheyAre || model->facts().dtype == dtype) {
      *place = std::shared_ptr<const Model>(std::shared_ptr<const Model>(), model);  // not owned
      continue;
    }
    auto made = model->converted(dtype);
    if (!made) return errorOf(*model, made.error());
    *place = std::move(*made);
  }
  return pair;
}

double divergenceLimit(graph::DType dtype) {
  constexpr double kEpsilons = 256, kMost = 0.05;
  return std::min(kMost, kEpsilons * machineEpsilon(dtype));
}

std::string typeNote(const ModelPair& pair) {
  for (const auto& model : {pair.a, pair.b}) {
    const formats::ModelFacts& facts = model->facts();
    if (facts.computedIn == graph::DType::Unknown) continue;
    return "weights rounded to " + std::string(graph::dtypeName(facts.dtype)) + ", computed in " +
           std::string(graph::dtypeName(facts.computedIn)) + ", which is what its runtime can do here";
  }
  return {};
}

}  // namespace normlens::run
