#include "core/run/proof/section_proof.h"

#include <algorithm>
#include <unordered_set>

#include "core/base/machine.h"
#include "core/base/plain_error.h"
#include "core/run/inputs/draw.h"
#include "core/run/proof/deciding_values.h"
#include "core/run/proof/hidden_norms.h"
#include "core/run/proof/section_plan.h"

namespace normlens::run {
namespace {

using formats::Cut;
using formats::Model;
using formats::Section;
using formats::Tensors;
using graph::ValueId;
using Names = std::vector<std::string>;

// Returns whether some of its reads see something else in the folded model.
bool isReadOtherwise(const fold::FoldPlan& plan, ValueId value) {
  return std::ranges::any_of(plan.edits, [&](const fold::Edit& edit) {
    const auto* center = std::get_if<fold::InsertCentering>(&edit);
    const auto* drop = std::get_if<fold::DropAddend>(&edit);
    return (center != nullptr && center->value == value) || (drop != nullptr && drop->value == value);
  });
}

// Returns the values that are known in the folded model: those that a folded norm reads.
std::vector<ValueId> cutValues(const FoldUnderTest& fold) {
  const graph::Graph& graph = fold.original.graph();
  std::unordered_set<std::string> ofFolded;
  for (const graph::Value& value : fold.folded.graph().values) ofFolded.insert(value.name);
  std::vector<ValueId> values;
  for (const fold::Edit& edit : fold.plan.edits) {
    const auto* replace = std::get_if<fold::ReplaceNorm>(&edit);
    if (replace == nullptr) continue;
    const auto& norm = fold.norms.at(static_cast<size_t>(replace->norm));
    const graph::Value& input = graph.value(norm.input);
    const auto& returns = graph.blocks[0].returns;
    const bool ofMain = input.producer != graph::kNone && graph.node(input.producer).block == 0;
    const bool isOutput = std::ranges::find(returns, norm.input) != returns.end();
    if (!ofMain || isOutput || !input.shape || norm.axes.empty() || norm.groups > 1 || !ofFolded.contains(input.name) ||
        isReadOtherwise(fold.plan, norm.input) || std::ranges::find(values, norm.input) != values.end())
      continue;
    values.push_back(norm.input);
  }
  return values;
}

std::vector<int64_t> axesFromEnd(const FoldUnderTest& fold, ValueId value, size_t rank) {
  auto axes = std::ranges::find(fold.norms, value, &analysis::LayerNorm::input)->axes;
  for (int64_t& axis : axes) axis -= axis < 0 ? 0 : static_cast<int64_t>(rank);
  return axes;
}

// Returns inputs of the sizes in the graph's shapes: a probe may have run at others than the sample's.
Result<Tensors> asProbed(const graph::Graph& graph, const Tensors& sample, uint64_t seed) {
  std::vector<graph::Shape> shapes = shapesOf(sample);
  for (const ValueId input : graph.inputs()) {
    const graph::Value& value = graph.value(input);
    const auto given = std::ranges::find(sample, value.name, &formats::NamedTensor::name);
    if (given != sample.end() && value.shape) shapes[static_cast<size_t>(given - sample.begin())] = *value.shape;
  }
  if (shapes == shapesOf(sample)) return sample;
  return drawLike(sample, shapes, seed);
}

// The cuts as the original has them, and as the folded model does.
struct Cuts {
  std::vector<Cut> original, folded;
  std::vector<bool> already;  // the original's value has no mean to take out
};

Cuts cutsOf(const FoldUnderTest& fold, const std::vector<ValueId>& zeroMean) {
  Cuts cuts;
  for (const ValueId id : cutValues(fold)) {
    const graph::Value& value = fold.original.graph().value(id);
    Cut cut{value.name, value.dtype, *value.shape, axesFromEnd(fold, id, value.shape->size()), false, false};
    const bool already = std::ranges::find(zeroMean, id) != zeroMean.end();
    cut.centeredIn = already;
    cut.centeredOut = true;
    cuts.original.push_back(cut);
    cut.centeredIn = true;
    cut.centeredOut = false;
    cuts.folded.push_back(std::move(cut));
    cuts.already.push_back(already);
  }
  return cuts;
}

class SectionProof {
 public:
  SectionProof(const FoldUnderTest& fold, Cuts cuts, Tensors sample, VerifyOptions options, const Task& task)
      : fold_(fold), cuts_(std::move(cuts)), sample_(std::move(sample)), options_(std::move(options)), task_(task) {
    options_.freeAxes.clear();
    options_.ones.clear();
  }

  Result<Verification> prove() {
    all_.fileType = fold_.original.facts().dtype;
    if (options_.flavour == formats::NormFlavour::Ort || options_.flavour == formats::NormFlavour::Fast) {
      return undecided({ErrorCode::Unsupported,
                        "norms that take the residual add in cannot be parted from it: fold with portable norms",
                        {}});
    }
    const auto sections = fold_.original.sectionsAt(cuts_.original);
    if (!sections) return undecided(sections.error());
    for (size_t i = 0; i < sections->size() && all_.exact != false; ++i) {
      RETURN_IF_ERROR(task_.check());
      if (const Status done = prove((*sections)[i], part(i, sections->size())); !done) return undecided(done.error());
      if (!all_.exact) break;
    }
    all_.sections = static_cast<int>(sections->size());
    for (const fold::Edit& edit : fold_.plan.edits) noteInBody(edit);
    if (all_.exact == true) noteHidden();
    return std::move(all_);
  }

 private:
  // Want of memory or a cancellation is an error of the proof; otherwise the models cannot be cut.
  Result<Verification> undecided(const Error& error) {
    const bool cannot =
        error.code == ErrorCode::Unsupported || error.code == ErrorCode::Refused || error.code == ErrorCode::RunFailed;
    if (!cannot || reportsWantOfMemory(error.message)) return tl::unexpected(error);
    all_.exact.reset();
    all_.algebra.reason = error.message;
    return std::move(all_);
  }

  [[nodiscard]] Task part(size_t i, size_t count) const {
    return {[this, i, count](std::string_view, double fraction) {
              const double done = (static_cast<double>(i) + std::max(0.0, fraction)) / static_cast<double>(count);
              task_.report("proving section " + std::to_string(i + 1) + " of " + std::to_string(count), done);
            },
            task_.stop};
  }

  Status prove(const Names& outputs, const Task& task) {
    if (auto status = proveWith(cuts_.original, outputs, task); !status) return status;
    const auto cut = std::ranges::find(cuts_.original, outputs.front(), &Cut::value);
    const auto place = static_cast<size_t>(cut - cuts_.original.begin());
    if (all_.exact != true || cut == cuts_.original.end() || !cuts_.already[place]) return {};
    // The lack of a mean to take out is shown as well, not believed.
    auto asItIs = cuts_.original;
    asItIs[place].centeredOut = false;
    return proveWith(asItIs, outputs, task);
  }

  Status proveWith(const std::vector<Cut>& ofOriginal, const Names& outputs, const Task& task) {
    ASSIGN_OR_RETURN(auto original, fold_.original.section(ofOriginal, outputs, {}, task));
    ASSIGN_OR_RETURN(auto proved, proveOne(original, outputs, task));
    include(std::move(proved));
    if (all_.exact == false) all_.firstDiverging = "the section that gives '" + outputs.front() + "'";
    return {};
  }

  Result<Verification> proveOne(const Section& original, const Names& outputs, const Task& task) {
    ASSIGN_OR_RETURN(auto shifted, fold_.original.section(cuts_.folded, outputs, {}, task));
    auto folded = fold_.folded.section(cuts_.folded, outputs, original.cuts, task);
    if (!folded) return tl::unexpected(folded.error());
    if (folded->cuts != original.cuts)
      return fail(ErrorCode::Unsupported, "the folded model is not cut as the original is before '" + outputs[0] + "'");
    ASSIGN_OR_RETURN(const auto inputs, inputsOf(original));
    // An output whose shape is not known may hold nothing, so that what decides it would be compared as well.
    RETURN_IF_ERROR(original.model->probe(inputs, task));
    RETURN_IF_ERROR(shifted.model->probe(inputs, task));
    const auto norms = analysis::findNorms(shifted.model->graph()).layerNorms;
    const auto plan = planOfSection(fold_.plan, {fold_.original.graph(), fold_.norms}, {shifted.model->graph(), norms});
    const auto change = [&](const Model&) -> Result<std::unique_ptr<Model>> {
      auto twin = shifted.model->toFloat64();
      if (!twin) return twin;
      return (*twin)->apply(plan, norms, options_.flavour, task);
    };
    return verifyChange({*original.model, *folded->model, change, {}}, inputs, options_, task);
  }

  // Values at a cut are drawn; inputs of the whole are those of the sample.
  [[nodiscard]] Result<Tensors> inputsOf(const Section& section) const {
    const graph::Graph& graph = section.model->graph();
    Tensors inputs;
    std::vector<formats::InputSpec> drawn;
    const size_t ofWhole = graph.inputs().size() - section.cuts.size();
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
      const std::string& name = graph.value(graph.inputs()[i]).name;
      if (i < ofWhole) {
        const auto given = std::ranges::find(sample_, name, &formats::NamedTensor::name);
        if (given == sample_.end()) return fail(ErrorCode::BadInput, "the input '" + name + "' is not given");
        inputs.push_back(*given);
        continue;
      }
      const Cut& cut = cuts_.original[section.cuts[i - ofWhole]];
      formats::InputSpec spec;
      spec.name = name;
      spec.dtype = cut.dtype;
      spec.shape = cut.shape;
      drawn.push_back(std::move(spec));
    }
    auto tensors = drawInputs(drawn, options_.seed);
    if (!tensors) return tensors;
    std::ranges::move(*tensors, std::back_inserter(inputs));
    return inputs;
  }

  // Keeps the worst of all; the first that is not proved ends the proof.
  void include(Verification one) {
    AlgebraOutcome& algebra = all_.algebra;
    if (one.algebra.worst && (!algebra.worst || one.algebra.worst->maxRel > algebra.worst->maxRel)) {
      algebra.worst = one.algebra.worst;
      algebra.limit = one.algebra.limit;
    }
    algebra.runs += one.algebra.runs;
    algebra.telling = algebra.telling || one.algebra.telling;
    algebra.refuted = algebra.refuted || one.algebra.refuted;
    if (algebra.reason.empty()) algebra.reason = one.algebra.reason;
    const auto apart = [](const FileOutcome& file) { return file.worst ? file.worst->maxRel / file.limit : -1; };
    if (isFirst_ || !one.file.passes || apart(one.file) > apart(all_.file)) all_.file = std::move(one.file);
    all_.exact = one.exact;
    isFirst_ = false;
  }

  // Sections are compared where they end, and the last ones at the outputs. A norm cannot be looked at otherwise, so
  // that it is refused only where it is known to be hidden.
  void noteHidden() {
    const graph::Graph& graph = fold_.original.graph();
    auto shown = decidingValues(graph);
    const auto ends = cutValues(fold_);
    shown.insert(shown.end(), ends.begin(), ends.end());
    std::vector<ValueId> replaced;
    for (const fold::Edit& edit : fold_.plan.edits) {
      if (const auto* replace = std::get_if<fold::ReplaceNorm>(&edit))
        replaced.push_back(fold_.norms.at(static_cast<size_t>(replace->norm)).output);
    }
    const auto hidden = hiddenNorms(graph, replaced, shown, UnknownOps::Show);
    if (hidden.empty()) return;
    all_.exact.reset();
    all_.file.reason =
        whyHidden(std::ranges::find(fold_.norms, hidden.back().output, &analysis::LayerNorm::output)->name);
  }

  // Its branch may not have been taken by any of the inputs.
  void noteInBody(const fold::Edit& edit) {
    const auto* replace = std::get_if<fold::ReplaceNorm>(&edit);
    if (replace == nullptr) return;
    const auto& norm = fold_.norms.at(static_cast<size_t>(replace->norm));
    if (fold_.original.graph().node(norm.node).block != 0) all_.notRun.push_back(norm.name);
  }

  const FoldUnderTest& fold_;
  Cuts cuts_;
  Tensors sample_;
  VerifyOptions options_;
  const Task& task_;
  bool isFirst_ = true;
  Verification all_;
};

}  // namespace

bool fitsProof(const Model& model) {
  // The weights count six times: both models in float64 and in their own type, and what a runtime copies of each.
  constexpr int64_t kTimes = 6;
  const auto most = memoryLimit() ? memoryLimit() : availableMemory();
  return !most || model.facts().parameterBytes < *most / kTimes;
}

Result<Verification> verifyFoldInSections(const FoldUnderTest& fold, const std::vector<ValueId>& zeroMean,
                                          const Tensors& sample, const VerifyOptions& options, const Task& task) {
  ASSIGN_OR_RETURN(auto inputs, asProbed(fold.original.graph(), sample, options.seed));
  return SectionProof(fold, cutsOf(fold, zeroMean), std::move(inputs), options, task).prove();
}

}  // namespace normlens::run
