// OnnxModel: running, probing, capturing.
#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>

#include "core/base/run_watch.h"
#include "core/formats/onnx/model/onnx_model.h"
#include "core/formats/onnx/run/session.h"
#include "core/formats/onnx/run/session_model.h"
#include "core/formats/onnx/run/static_shapes.h"
#include "core/formats/onnx/tensors/float_cast.h"
#include "core/formats/onnx/types/known_types.h"

namespace normlens::formats::onnx {
namespace {

constexpr int kManyNodes = 4000;  // a session takes the better part of a second to make

// Returns who makes a value in less than float64, empty: nobody.
std::string narrowOpAt(const TapSite& site, const graph::TensorView& value) {
  const bool narrow = graph::isFloat(value.dtype) && value.dtype != graph::DType::Float64;
  if (!narrow || graph::elementCount(value.shape).value_or(0) == 0) return {};
  return site.op.empty() ? "an input" : site.op;
}

struct RunShapes {
  ProbeShapes shapes;
  bool agree = true;  // with all that was inferred and also seen
};

// The run yields what was not inferred, and what is to be compared.
Result<RunShapes> shapesOfRun(const OnnxSource& source, const Tensors& inputs, const StaticShapes& inferred,
                              const Task& task) {
  const auto isAsked = [&](const std::string& path) {
    return !inferred.shapes.contains(path) || inferred.alsoTapped.contains(path);
  };
  ASSIGN_OR_RETURN(auto tapped,
                   Session::open(source, {.optimised = false, .taps = isAsked, .onlyForShape = inferred.onlyForShape}));
  RunShapes out;
  std::set<std::string> varying;  // values that were seen with two shapes (in a loop) have none
  const auto note = [&](const std::string& path, const ProbedValue& value) {
    const auto [place, fresh] = out.shapes.try_emplace(path, value);
    if (!fresh && (place->second.shape != value.shape || place->second.dtype != value.dtype)) varying.insert(path);
  };
  const auto compare = [&](const std::string& path, const graph::Shape& shape) {
    const auto known = inferred.shapes.find(path);
    out.agree = out.agree && (known == inferred.shapes.end() || known->second.shape == shape);
  };
  const auto ran = tapped->run(inputs, task, [&](const TapSite& site, const graph::TensorView& value) {
    ProbedValue seen{value.dtype, value.shape};
    if (site.bfloat16 && seen.dtype == graph::DType::Float32) seen.dtype = graph::DType::BFloat16;
    compare(site.path, seen.shape);
    note(site.path, seen);
    for (const std::string& alias : site.aliases) note(alias, seen);
  });
  if (!ran) return tl::unexpected(ran.error());
  for (const NamedTensor& output : *ran) compare(output.name, output.view.shape);
  for (const std::string& path : varying) out.shapes.erase(path);
  out.shapes.merge(ProbeShapes(inferred.shapes));
  return out;
}

// Infers the shape of every value once the numbers of the model were run, so also where it depends on numbers. nullopt:
// the whole model has to be run.
std::optional<ProbeShapes> shapesByNumbers(const OnnxSource& source, const Tensors& inputs, NumbersAsked asked,
                                           const Task& task) {
  ProbeShapes seen;
  for (;;) {
    const size_t before = seen.size();
    StaticShapes inferred = staticShapes(source, inputs, seen);
    const auto numbers = numbersOf(source, inferred, inputs, asked);
    if (!numbers) return std::nullopt;
    if (numbers->source.skeleton->graph().output().empty())
      return numbers->complete ? std::optional(std::move(inferred.shapes)) : std::nullopt;
    const auto session =
        Session::open(numbers->source, {.optimised = false, .taps = {}, .onlyForShape = inferred.onlyForShape});
    const auto ran = session ? (*session)->run(numbers->inputs, task) : tl::unexpected(session.error());
    if (!ran) return std::nullopt;
    for (const auto& [name, view] : *ran) {
      const auto known = inferred.shapes.find(name);
      if (known == inferred.shapes.end())
        seen[name] = inferred.shapes[name] = {view.dtype, view.shape};
      else if (known->second.shape != view.shape)
        return std::nullopt;
    }
    const bool known = asked == NumbersAsked::OfUnknownShapes && covers(inferred.shapes, source.skeleton->graph());
    if (numbers->complete || known) return std::move(inferred.shapes);
    if (seen.size() == before) return std::nullopt;
  }
}

}  // namespace

Result<std::shared_ptr<Session>> OnnxModel::session() const {
  if (!session_) {
    ASSIGN_OR_RETURN(auto opened, Session::open(source_, {}));
    session_ = std::move(opened);
  }
  return session_;
}

Result<Tensors> OnnxModel::run(const Tensors& inputs, const Task& task) const {
  RETURN_IF_ERROR(task.check());
  ASSIGN_OR_RETURN(auto opened, session());
  return opened->run(inputs, task);
}

Result<std::unique_ptr<Runner>> OnnxModel::runner(const Tensors& inputs, const RunSettings& settings) const {
  if (settings.dtype == graph::DType::Unknown || settings.dtype == facts_.dtype)
    return makeRunner(source_, lowered_, /*inType=*/false, inputs, settings);
  if (settings.dtype == graph::DType::BFloat16) {
    return fail(ErrorCode::Unsupported, "ONNX Runtime lacks most kernels for bfloat16, so nothing was measured in it",
                "measure in float32 or float16");
  }
  ASSIGN_OR_RETURN(const auto made, converted(settings.dtype));
  return makeRunner(static_cast<const OnnxModel&>(*made).source_, lowered_, /*inType=*/true, inputs, settings);
}

Status OnnxModel::probe(const Tensors& inputs, const Task& task) {
  const RunWatch watch(RunWatch::Kind::Probe);
  auto done = probeByRunning(inputs, task);
  if (done || shapes_ || done.error().code == ErrorCode::Cancelled) return done;
  // A model that cannot be run can still be looked at. For want of a runtime or an operator, shapes are those that
  // follow from the inputs'; where the run itself failed, the inputs may be to blame, and the file's own claims count.
  StaticShapes inferred;
  if (done.error().code == ErrorCode::Unsupported) inferred = staticShapes(source_, inputs);
  for (const std::string& path : inferred.alsoTapped) inferred.shapes.erase(path);
  lowered_ = lowerModel(source_, inferred.shapes.empty() ? nullptr : &inferred.shapes);
  return done;
}

bool OnnxModel::inferShapes(const Tensors& inputs, const Task& task) {
  const RunWatch watch(RunWatch::Kind::Probe);
  if (source_.skeleton->graph().node_size() < kManyNodes) return false;
  const auto shapes = shapesByNumbers(source_, inputs, NumbersAsked::OfUnknownShapes, task);
  if (!shapes) return false;
  lowered_ = lowerModel(source_, &*shapes);
  return true;
}

Status OnnxModel::probeByRunning(const Tensors& inputs, const Task& task) {
  task.report("running the model once");
  if (takesLongToRun(source_)) {
    if (auto shapes = shapesByNumbers(source_, inputs, NumbersAsked::All, task)) {
      adoptShapes(std::move(*shapes));
      return {};
    }
  }
  const StaticShapes inferred = staticShapes(source_, inputs);
  auto run = shapesOfRun(source_, inputs, inferred, task);
  const bool overZeros = !run && run.error().code == ErrorCode::RunFailed && !inferred.onlyForShape.empty();
  if (overZeros || (run && !run->agree)) run = shapesOfRun(source_, inputs, {}, task);
  if (!run) return tl::unexpected(run.error());
  adoptShapes(std::move(run->shapes));
  return {};
}

void OnnxModel::adoptShapes(ProbeShapes shapes) {
  shapes_ = std::move(shapes);
  lowered_ = lowerModel(source_, &*shapes_);
}

Result<Model::SeenRun> OnnxModel::runSeeing(const Tensors& inputs, const std::vector<graph::ValueId>& values,
                                            const Task& task) const {
  Tensors captured;
  std::unordered_map<std::string, std::vector<size_t>> wanted;  // by path: indices in `captured`
  for (const graph::ValueId id : values) {
    const std::string& path = lowered_.valuePath[static_cast<size_t>(id)];
    if (!path.empty()) wanted[path].push_back(captured.size());
    captured.push_back({lowered_.graph.value(id).name, {}});
  }
  std::set<std::string> paths;
  for (const auto& [path, places] : wanted) paths.insert(path);
  if (!tapped_ || paths != tappedPaths_) {
    tapped_.reset();
    // Nothing that makes numbers narrow is a Transpose; where nobody looks at a table's, nobody makes one.
    std::set<std::string> turned;
    for (const NodeProto& node : source_.skeleton->graph().node()) {
      if (source_.float64Twin && turnsTable(node, *source_.weights)) turned.insert(node.output(0));
    }
    const auto isWanted = [&](const std::string& path) {
      return paths.contains(path) || (source_.float64Twin && !turned.contains(path));
    };
    ASSIGN_OR_RETURN(auto opened, Session::open(source_, {.optimised = false, .taps = isWanted}));
    tapped_ = std::move(opened);
    tappedPaths_ = std::move(paths);
  }
  std::string narrow;
  auto ran = tapped_->run(inputs, task, [&](const TapSite& site, const graph::TensorView& value) {
    if (narrow.empty()) narrow = narrowOpAt(site, value);
    const auto give = [&](const std::string& path) {
      const auto found = wanted.find(path);
      if (found == wanted.end()) return;
      const graph::TensorView copy = value.data ? copyOf(value) : graph::TensorView{};
      for (const size_t index : found->second) captured[index].view = copy;
    };
    give(site.path);
    for (const std::string& alias : site.aliases) give(alias);
  });
  if (!ran) return tl::unexpected(ran.error());
  // Every value of a twin was seen, and only some of another model.
  return SeenRun{std::move(*ran), std::move(captured), source_.float64Twin ? std::optional(narrow) : std::nullopt};
}

}  // namespace normlens::formats::onnx
