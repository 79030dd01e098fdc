#include "core/run/geometry/probe_norms.h"

#include <algorithm>

#include "core/analysis/norms/whole_norm.h"
#include "core/run/compare/capture.h"
#include "core/run/compare/norm_order.h"

namespace normlens::run {
namespace {

using analysis::WholeNorm;
using graph::Graph;

struct Place {
  NormGeometry told;
  WholeNorm norm;
};

Place placeOf(const Graph& graph, const EitherNorm& norm) {
  Place place;
  place.told.layerNorm = norm.layer != nullptr;
  place.told.name = norm.name();
  place.told.title = norm.layer ? norm.layer->title : norm.name();
  place.told.index = norm.layer ? norm.layer->index : -1;
  place.told.node = norm.parts().node;
  place.told.axes = norm.parts().axes;
  place.norm = norm.layer ? analysis::wholeNorm(graph, *norm.layer) : analysis::wholeNorm(graph, *norm.rms);
  return place;
}

// Lists all LayerNorms, those inside larger ops at the place of the op.
std::vector<Place> placesOf(const Graph& graph, const std::vector<analysis::LayerNorm>& norms) {
  const analysis::Norms found = analysis::findNorms(graph);
  std::vector<Place> places;
  for (const EitherNorm& norm : normsInOrder(graph, norms, found.others)) {
    if (graph.node(norm.parts().node).kind != graph::OpKind::Opaque) {
      places.push_back(placeOf(graph, norm));
      continue;
    }
    for (const analysis::LayerNorm& inner : norms) {
      if (inner.node != norm.parts().node) continue;
      places.push_back(placeOf(graph, {&inner, nullptr}));
      places.back().told.reason = inner.blockedReason;
    }
  }
  return places;
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
    const int64_t place = axis < 0 ? axis + rank : axis;
    if (place >= 0 && place < rank) width *= view.shape[static_cast<size_t>(place)];
  }
  return width;
}

class Probing {
 public:
  Probing(const formats::Model& model, const formats::Tensors& inputs, uint64_t seed, const Task& task)
      : model_(model), inputs_(inputs), seed_(seed), task_(task) {}

  Status measure(std::vector<Place>& places) const {
    std::vector<Place*> open;
    std::vector<int64_t> bytes;
    for (Place& place : places) {
      if (!place.told.reason.empty()) continue;
      open.push_back(&place);
      bytes.push_back(bytesOf(place.norm.input) + bytesOf(place.norm.output));
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

  [[nodiscard]] Status measure(std::span<Place* const> places) const {
    std::vector<graph::ValueId> values;
    for (const Place* place : places) {
      values.push_back(place->norm.input);
      values.push_back(place->norm.output);
    }
    ASSIGN_OR_RETURN(const auto seen, capture(model_, values, inputs_, task_));
    for (Place* place : places) {
      RETURN_IF_ERROR(task_.check());
      if (const Status figures = measure(*place, seen); !figures) place->told.reason = figures.error().message;
    }
    return {};
  }

  [[nodiscard]] Status measure(Place& place, const Captured& seen) const {
    const auto input = seen.find(place.norm.input), output = seen.find(place.norm.output);
    if (input == seen.end() || output == seen.end() || !input->second.data || !output->second.data) {
      return fail(ErrorCode::BadInput, "these inputs do not come by it");
    }
    if (place.told.axes.empty()) return fail(ErrorCode::Unsupported, "its axes are not known");
    ASSIGN_OR_RETURN(auto ofOutput, sideGeometry(output->second, place.told.axes));
    ASSIGN_OR_RETURN(auto ofInput, measureInput(place, input->second));
    place.told.output = std::move(ofOutput);
    place.told.input = std::move(ofInput);
    return {};
  }

  [[nodiscard]] Result<InputGeometry> measureInput(Place& place, const graph::TensorView& view) const {
    InputQuestion question{place.told.axes, seed_};
    question.takesMean = place.told.layerNorm;
    if (!place.told.layerNorm) return inputGeometry(view, question);
    const int64_t width = widthOf(view, place.told.axes);
    const auto gamma = constantOf(model_.graph(), place.norm.gamma, width, "gamma");
    const auto beta = constantOf(model_.graph(), place.norm.beta, width, "beta");
    if (!gamma || !beta) {
      place.told.swapReason = gamma ? beta.error() : gamma.error();
      return inputGeometry(view, question);
    }
    const NormConstants constants{*gamma, *beta, place.norm.eps};
    question.swap = &constants;
    return inputGeometry(view, question);
  }

  const formats::Model& model_;
  const formats::Tensors& inputs_;
  uint64_t seed_;
  const Task& task_;
};

void takeAxesOf(const std::vector<NormGeometry>& others, std::vector<Place>& places) {
  for (size_t i = 0; i < places.size() && places.size() == others.size(); ++i) {
    if (places[i].told.axes.empty()) places[i].told.axes = others[i].axes;
  }
}

std::vector<NormGeometry> told(std::vector<Place> places) {
  std::vector<NormGeometry> all;
  for (Place& place : places) all.push_back(std::move(place.told));
  return all;
}

}  // namespace

std::vector<NormGeometry> listNorms(const Graph& graph, const std::vector<analysis::LayerNorm>& norms) {
  return told(placesOf(graph, norms));
}

Result<std::vector<NormGeometry>> probeNorms(const formats::Model& model, const std::vector<analysis::LayerNorm>& norms,
                                             const formats::Tensors& inputs, const ProbeOptions& options,
                                             const Task& task) {
  std::vector<Place> places = placesOf(model.graph(), norms);
  if (options.foldOf) takeAxesOf(*options.foldOf, places);
  if (const Status done = Probing(model, inputs, options.seed, task).measure(places); !done) {
    return tl::unexpected(done.error());
  }
  return told(std::move(places));
}

}  // namespace normlens::run
