#include "core/run/geometry/probe_norms.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "core/analysis/norms/whole_norm.h"
#include "core/run/compare/capture.h"
#include "core/run/compare/norm_order.h"

namespace normlens::run {

using analysis::WholeNorm;
using graph::Graph;

// Not in the unnamed namespace: NormProbe::State holds it.
struct ProbedNorm {
  NormGeometry geometry;
  WholeNorm norm;
  // Sums hold what has been counted so far, and the constants of the swap, which they refer to. The first rows make
  // them.
  struct Sums {
    std::vector<double> gamma, beta;
    NormConstants swap;
    std::optional<InputSums> input;
    SideSums output;
  };
  std::shared_ptr<Sums> sums;
};

namespace {

ProbedNorm probedNorm(const Graph& graph, const EitherNorm& norm) {
  ProbedNorm probed;
  probed.geometry.layerNorm = norm.layer != nullptr;
  probed.geometry.name = norm.name();
  probed.geometry.title = norm.layer ? norm.layer->title : norm.name();
  probed.geometry.index = norm.layer ? norm.layer->index : -1;
  probed.geometry.node = norm.parts().node;
  probed.geometry.axes = analysis::axesByGroups(norm.parts());
  probed.norm = norm.layer ? analysis::wholeNorm(graph, *norm.layer) : analysis::wholeNorm(graph, *norm.rms);
  return probed;
}

// Lists all LayerNorms, those inside larger ops where the op is.
std::vector<ProbedNorm> probedNorms(const Graph& graph, const std::vector<analysis::LayerNorm>& norms) {
  const analysis::Norms found = analysis::findNorms(graph);
  std::vector<ProbedNorm> all;
  for (const EitherNorm& norm : normsInOrder(graph, norms, found.others)) {
    if (graph.node(norm.parts().node).kind != graph::OpKind::Opaque) {
      all.push_back(probedNorm(graph, norm));
      continue;
    }
    for (const analysis::LayerNorm& inner : norms) {
      if (inner.node != norm.parts().node) continue;
      all.push_back(probedNorm(graph, {&inner, nullptr}));
      all.back().geometry.reason = inner.blockedReason;
    }
  }
  return all;
}

// A constant as one number for each element of a row: a vector, or one for all. Error: why not, in words.
tl::expected<std::vector<double>, std::string> constantOf(const Graph& graph, graph::ValueId value, int64_t width,
                                                          const char* what) {
  if (value == graph::kNoValue) return std::vector<double>();
  const graph::ConstantId id = graph.value(value).constant;
  if (id == graph::kNone) return tl::unexpected(std::string("its ") + what + " is computed while it runs");
  auto numbers = graph::toDoubles(graph.constant(id).view);
  if (numbers && numbers->size() == 1) numbers->assign(static_cast<size_t>(width), numbers->front());
  if (numbers && static_cast<int64_t>(numbers->size()) == width) return std::move(*numbers);
  return tl::unexpected(std::string("its ") + what + " is no vector of its width");
}

int64_t widthOf(const graph::TensorView& view, const std::vector<int64_t>& axes) {
  int64_t width = 1;
  const auto rank = static_cast<int64_t>(view.shape.size());
  for (const int64_t axis : axes) {
    const int64_t at = axis < 0 ? axis + rank : axis;
    if (at >= 0 && at < rank) width *= view.shape[static_cast<size_t>(at)];
  }
  return width;
}

class Probing {
 public:
  Probing(const formats::Model& model, const formats::Tensors& inputs, uint64_t seed, const Task& task)
      : model_(model), inputs_(inputs), seed_(seed), task_(task) {}

  Status measure(std::vector<ProbedNorm>& norms) const {
    std::vector<ProbedNorm*> open;
    std::vector<int64_t> bytes;
    for (ProbedNorm& probed : norms) {
      if (!probed.geometry.reason.empty()) continue;
      open.push_back(&probed);
      bytes.push_back(bytesOf(probed.norm.input) + bytesOf(probed.norm.output));
    }
    for (const auto& [begin, end] : captureTurns(bytes)) {
      task_.report("looking at the norms", static_cast<double>(begin) / static_cast<double>(open.size()));
      RETURN_IF_ERROR(measure(std::span(open).subspan(begin, end - begin)));
    }
    return {};
  }

 private:
  [[nodiscard]] int64_t bytesOf(graph::ValueId id) const {
    const graph::Value& value = model_.graph().value(id);
    const int64_t elements = value.shape ? graph::elementCount(*value.shape).value_or(0) : 0;
    return elements * static_cast<int64_t>(std::max<size_t>(1, graph::dtypeBytes(value.dtype)));
  }

  [[nodiscard]] Status measure(std::span<ProbedNorm* const> norms) const {
    std::vector<graph::ValueId> values;
    for (const ProbedNorm* probed : norms) {
      values.push_back(probed->norm.input);
      values.push_back(probed->norm.output);
    }
    ASSIGN_OR_RETURN(const auto seen, capture(model_, values, inputs_, task_));
    for (ProbedNorm* probed : norms) {
      RETURN_IF_ERROR(task_.check());
      if (const Status figures = measure(*probed, seen); !figures) probed->geometry.reason = figures.error().message;
    }
    return {};
  }

  // Other inputs may come by a norm that these do not.
  [[nodiscard]] Status measure(ProbedNorm& probed, const Captured& seen) const {
    const auto input = seen.find(probed.norm.input), output = seen.find(probed.norm.output);
    if (input == seen.end() || output == seen.end() || !input->second.data || !output->second.data) return {};
    if (probed.geometry.axes.empty()) return fail(ErrorCode::Unsupported, "its axes are not known");
    const auto inGroups = [&](const auto& found) { return analysis::byGroups(found->second, probed.norm.groups); };
    const auto rows = inGroups(input);
    if (!probed.sums) beginSums(probed, widthOf(rows, probed.geometry.axes));
    RETURN_IF_ERROR(probed.sums->output.add(inGroups(output), probed.geometry.axes));
    return probed.sums->input->add(rows);
  }

  void beginSums(ProbedNorm& probed, int64_t width) const {
    probed.sums = std::make_shared<ProbedNorm::Sums>();
    ProbedNorm::Sums& sums = *probed.sums;
    InputQuestion question{probed.geometry.axes, seed_};
    question.takesMean = probed.geometry.layerNorm;
    if (probed.geometry.layerNorm) {
      auto gamma = constantOf(model_.graph(), probed.norm.gamma, width, "gamma");
      auto beta = constantOf(model_.graph(), probed.norm.beta, width, "beta");
      if (gamma && beta) {
        sums.gamma = std::move(*gamma);
        sums.beta = std::move(*beta);
        sums.swap = {sums.gamma, sums.beta, probed.norm.eps};
        question.swap = &sums.swap;
      } else {
        probed.geometry.swapReason = gamma ? beta.error() : gamma.error();
      }
    }
    sums.input.emplace(std::move(question));
  }

  const formats::Model& model_;
  const formats::Tensors& inputs_;
  uint64_t seed_;
  const Task& task_;
};

void takeAxesOf(const std::vector<NormGeometry>& others, std::vector<ProbedNorm>& norms) {
  for (size_t i = 0; i < norms.size() && norms.size() == others.size(); ++i) {
    if (norms[i].geometry.axes.empty()) norms[i].geometry.axes = others[i].axes;
  }
}

std::vector<NormGeometry> geometriesOf(std::vector<ProbedNorm> norms) {
  std::vector<NormGeometry> all;
  for (ProbedNorm& probed : norms) all.push_back(std::move(probed.geometry));
  return all;
}

}  // namespace

std::vector<NormGeometry> listNorms(const Graph& graph, const std::vector<analysis::LayerNorm>& norms) {
  return geometriesOf(probedNorms(graph, norms));
}

struct NormProbe::State {
  const formats::Model& model;
  uint64_t seed;
  std::vector<ProbedNorm> norms;
};

NormProbe::NormProbe(const formats::Model& model, const std::vector<analysis::LayerNorm>& norms,
                     const ProbeOptions& options)
    : state_(std::make_unique<State>(State{model, options.seed, probedNorms(model.graph(), norms)})) {
  if (options.foldOf) takeAxesOf(*options.foldOf, state_->norms);
}
NormProbe::~NormProbe() = default;

Status NormProbe::add(const formats::Tensors& inputs, const Task& task) {
  return Probing(state_->model, inputs, state_->seed, task).measure(state_->norms);
}

std::vector<NormGeometry> NormProbe::take() const {
  std::vector<NormGeometry> all = geometriesOf(state_->norms);
  for (size_t i = 0; i < all.size(); ++i) {
    const auto& sums = state_->norms[i].sums;
    if (!all[i].reason.empty()) continue;
    if (!sums) {
      all[i].reason = "these inputs do not come by it";
      continue;
    }
    all[i].input = sums->input->take();
    all[i].output = sums->output.take();
  }
  return all;
}

}  // namespace normlens::run
