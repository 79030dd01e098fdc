#include "core/service/differences.h"

#include <algorithm>
#include <utility>

#include "core/formats/formats.h"
#include "core/run/compare/compare_models.h"
#include "core/run/compare/tensor_tile.h"
#include "core/run/tensors.h"

namespace normlens::service {
namespace {

using graph::DType;
constexpr int kHeatRows = 48, kHeatColumns = 128;

protocol::DiffRow describe(const run::DiffRow& row, const graph::Graph& graph) {
  protocol::DiffRow out;
  out.kind = row.kind;
  out.name = row.name;
  out.norm = row.norm;
  out.value = row.value;
  if (row.value != graph::kNoValue) out.node = graph.value(row.value).producer;
  out.output = row.output;
  out.rounding = row.rounding;
  out.step = row.step;
  out.depth = row.depth;
  out.shape = row.shape;
  out.dtype = graph::dtypeName(row.dtype);
  out.aligned = row.alignment;
  out.batch = row.batch;
  out.max_abs = row.diff.maxAbs;
  out.max_rel = row.diff.maxRel;
  out.mean_abs = row.diff.meanAbs;
  out.cosine = row.diff.cosine;
  if (row.diff.worst >= 0) {
    out.worst_index = run::indexOf(row.diff.worst, row.shape, row.dtype);
    out.worst_a = row.diff.worstA;
    out.worst_b = row.diff.worstB;
  }
  if (row.ulps) {
    out.ulps.assign(row.ulps->counts.begin(), row.ulps->counts.end());
    out.max_ulp = static_cast<double>(row.ulps->most);
  }
  if (row.top) {
    out.top1 = row.top->first();
    if (row.top->hasMany) out.top5 = row.top->many();
  }
  return out;
}

// Unknown: each model as it is.
Result<DType> dtypeNamed(const std::string& name) {
  const DType dtype = graph::dtypeFromName(name);
  if (name.empty() || graph::isFloat(dtype)) return dtype;
  return fail(ErrorCode::Usage, "'" + name + "' is no floating type", "float64, float32, float16 or bfloat16");
}

run::Tile tileOf(const protocol::TensorTile& asked, const graph::Shape& shape) {
  const run::Tile whole = run::wholeTile(shape);
  return run::clipped({asked.row, asked.rows < 0 ? whole.rows : asked.rows, asked.column,
                       asked.columns < 0 ? whole.columns : asked.columns},
                      shape);
}

}  // namespace

struct Differences::Kept {
  std::string against, dtype;
  std::unique_ptr<formats::Model> other;  // The model of a file.
  std::unique_ptr<formats::Model> exact;  // a float64 copy of the original; nullptr: not made yet, or not possible
  std::optional<run::ModelPair> pair;
  std::unique_ptr<formats::Model> moved;  // a copy of the pair's first model in float64, its weights moved; the same
  // The tensors last looked at, and what they are.
  std::string place;
  std::optional<run::SitePair> tensors;

  // This copy shows the first model's rounding: it is in float64. Nothing is finer than that itself; there, as in a
  // proof, the weights of the copy are off by up to half a unit in the last place: of the file's type against a file,
  // whose weights were rounded to it.
  [[nodiscard]] Result<std::unique_ptr<formats::Model>> movedCopy(const formats::Model& original) const {
    if (!other) return pair->a->perturbed(1);
    auto made = original.perturbed(1);
    return made ? (*made)->toFloat64() : std::move(made);
  }
  const formats::Model* reference(const formats::Model& original) {
    const bool finest = pair->a->facts().dtype == DType::Float64;
    auto& copy = finest ? moved : exact;
    if (!copy) copy = (finest ? movedCopy(original) : original.toFloat64()).value_or(nullptr);
    return copy.get();
  }
};

Differences::Differences() : kept_(std::make_unique<Kept>()) {}
Differences::~Differences() = default;
void Differences::forget() { *kept_ = {}; }

Status Differences::makePair(const DiffSubject& subject, const std::string& against, const std::string& dtype,
                             const Task& task) {
  ASSIGN_OR_RETURN(const auto type, dtypeNamed(dtype));
  if (kept_->pair && kept_->against == against && kept_->dtype == dtype) return {};
  std::unique_ptr<formats::Model> other = kept_->against == against ? std::move(kept_->other) : nullptr;
  std::unique_ptr<formats::Model> exact = std::move(kept_->exact);
  forget();
  kept_->exact = std::move(exact);
  if (against.empty() && !subject.folded) return fail(ErrorCode::Usage, "nothing has been folded yet", "fold first");
  if (!against.empty() && !other) {
    ASSIGN_OR_RETURN(auto opened, formats::openModel(against, task, subject.besides));
    other = std::move(opened);
  }
  kept_->against = against;
  kept_->dtype = dtype;
  kept_->other = std::move(other);
  const formats::Model& second = kept_->other ? *kept_->other : *subject.folded;
  const auto take = [&](Result<run::ModelPair> pair) -> Status {
    if (!pair) return tl::unexpected(pair.error());
    kept_->pair = std::move(*pair);
    return {};
  };
  const bool copied =
      type != DType::Unknown && (type != subject.original.facts().dtype || type != second.facts().dtype);
  if (copied) task.report("copying the models to " + dtype);
  if (kept_->other || !copied) return take(run::inType(subject.original, second, type));
  ASSIGN_OR_RETURN(auto original, subject.original.converted(type));
  ASSIGN_OR_RETURN(auto folded, subject.foldAgain(*original));
  kept_->pair = {std::move(original), std::move(folded), run::divergenceLimit(type)};
  return {};
}

Result<protocol::DiffResult> Differences::compare(const DiffSubject& subject, const protocol::DiffParams& params,
                                                  const Task& task) {
  protocol::DiffResult result;
  result.dtype = params.dtype.empty() ? std::string(graph::dtypeName(subject.original.facts().dtype)) : params.dtype;
  const auto isOfTheType = [](const Error& error) {
    return error.code != ErrorCode::Cancelled && error.code != ErrorCode::Usage && error.code != ErrorCode::Unreadable;
  };
  const auto failed = [&](const Error& error) -> Result<protocol::DiffResult> {
    if (!isOfTheType(error)) return tl::unexpected(error);
    result.error = error.message;
    return result;
  };
  if (const Status made = makePair(subject, params.against, params.dtype, task); !made) return failed(made.error());
  result.note = run::typeNote(*kept_->pair);
  ASSIGN_OR_RETURN(const auto batches,
                   run::batchesLike(subject.inputs, std::max(1, params.batches), static_cast<uint64_t>(params.seed)));
  run::DiffOptions options;
  options.limit = kept_->pair->limit;
  const graph::Graph& graph = kept_->pair->a->graph();
  for (const int value : params.values) {
    if (value >= 0 && static_cast<size_t>(value) < graph.values.size()) options.values.push_back(value);
  }
  options.reference = kept_->reference(subject.original);
  const auto diff = run::diffModels(*kept_->pair->a, subject.norms, *kept_->pair->b, batches, options, task);
  if (!diff) return failed(diff.error());
  for (const run::DiffRow& row : diff->rows) result.rows.push_back(describe(row, graph));
  result.batches = diff->batches;
  result.norms_reason = diff->normsReason;
  result.first_diverging = diff->firstDiverging;
  return result;
}

Result<protocol::TensorPair> Differences::tensorPair(const DiffSubject& subject,
                                                     const protocol::TensorPairParams& params, const Task& task) {
  const auto& values = subject.original.graph().values;
  const bool known =
      params.kind == SiteKind::Output || (params.value >= 0 && static_cast<size_t>(params.value) < values.size());
  if (!known) return fail(ErrorCode::Usage, "there is nothing to compare in this place");
  RETURN_IF_ERROR(makePair(subject, params.against, params.dtype, task));
  const std::string place = nameOf(params.kind) + " " + std::to_string(params.value) + " " +
                            std::to_string(params.output) + " " + std::to_string(params.batch) + " " +
                            std::to_string(params.seed);
  if (!kept_->tensors || kept_->place != place) {
    task.report("running both models");
    ASSIGN_OR_RETURN(const auto batches, run::batchesLike(subject.inputs, std::max(0, params.batch) + 1,
                                                          static_cast<uint64_t>(params.seed)));
    ASSIGN_OR_RETURN(auto tensors, run::tensorsAt(*kept_->pair->a, subject.norms, *kept_->pair->b, batches.back(),
                                                  {params.output, params.kind, params.value}, task));
    kept_->tensors = std::move(tensors);
    kept_->place = place;
  }
  const run::SitePair& pair = *kept_->tensors;
  const run::Tile whole = run::wholeTile(pair.a.shape), tile = tileOf(params.tile, pair.a.shape);
  ASSIGN_OR_RETURN(auto picture, run::pictureOf(pair.a, pair.b, tile, kHeatRows, kHeatColumns));
  protocol::TensorPair out;
  out.name = pair.diff.name;
  out.dtype = graph::dtypeName(pair.a.dtype);
  out.aligned = pair.alignment;
  out.shape = pair.a.shape;
  out.rows = whole.rows;
  out.columns = whole.columns;
  out.tile = {tile.row, tile.rows, tile.column, tile.columns};
  out.heat_rows = picture.rows;
  out.heat_columns = picture.columns;
  out.a = std::move(picture.a);
  out.b = std::move(picture.b);
  out.difference = std::move(picture.difference);
  out.low = picture.low;
  out.high = picture.high;
  out.most = picture.most;
  return out;
}

}  // namespace normlens::service
