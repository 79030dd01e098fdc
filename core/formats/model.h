// An opened model, whatever its file format: the only face that service, run and the tests know.
//
// A format implements Model once (formats/<name>/) and adds one row to the table in formats.cpp. A Model is never
// edited: apply, converted and perturbed each make a new one. Copies share tensors that did not change.
// Ids (nodes, values, constants) of the graph stay the same across probe, converted and perturbed, so a plan made for
// a model can be applied to its float64 twin.
//
// Thread: one thread at a time per object; different objects are independent. Errors: Results, no exceptions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/task.h"
#include "core/fold/plan.h"
#include "core/formats/runner.h"
#include "core/graph/graph.h"
#include "core/graph/types.h"

namespace normlens::analysis {
struct LayerNorm;
}

namespace normlens::formats {

enum class HashKind : uint8_t;  // file/file_hash.h

class Model;

// A model in sections: cut at values of its main graph, each section a model of its own, so that what is larger than
// memory is run part by part. A cut is a value that sections end at, and that others begin with: an input of theirs
// then.
struct Cut {
  std::string value;  // its name
  graph::DType dtype = graph::DType::Unknown;
  graph::Shape shape;         // Some run had it.
  std::vector<int64_t> axes;  // counted from the end, each below 0: those that its mean is taken over
  // The mean is taken out of what is given at the cut, or of what a section returns there.
  bool centeredIn = false, centeredOut = false;
};

// Its inputs are all those of the whole, read or not, and behind them one for each of its cuts, in their order.
struct Section {
  std::unique_ptr<Model> model;
  std::vector<size_t> cuts;  // that it begins with
};

// Describes how to draw one model input.
struct InputSpec {
  std::string name;  // "in_0" or the file's own name
  graph::DType dtype = graph::DType::Unknown;
  graph::Shape shape;
  double low = 0, high = 1;  // integers: uniform in [low, high]; floats: normal(0, 1) unless `uniform`
  bool uniform = false;
  std::vector<int> freeAxes;  // axes whose size was chosen by us (batch, sequence, image side)
  std::string assumed;        // States the assumption and its reason; empty when the user gave it.
  // By axis, what the file or the user calls its size: "batch", "past + seq"; empty: nothing. May be shorter.
  std::vector<std::string> axisNames;
};

// Describes one array that a run takes.
struct InputArray {
  std::string name;
  bool hasDefault = false;  // need not be given: the file holds what it is then
};

struct ModelFacts {
  std::string format;  // "torchscript"
  std::filesystem::path path;
  std::vector<std::filesystem::path> dataFiles;  // that it reads beside it
  int64_t fileBytes = 0;                         // Counts all of them.
  int64_t modified = 0;                          // when the file was last written: nanoseconds since 1970
  int64_t parameters = 0;                        // elements, tied ones counted once
  int64_t parameterBytes = 0;
  graph::DType dtype = graph::DType::Float32;  // most common floating type of the weights; inputs are cast to it
  // Names the type that the runtime computes in where that is not dtype, with weights rounded to dtype: ONNX Runtime
  // has no bfloat16 on the CPU and takes float32. Unknown: dtype itself.
  graph::DType computedIn = graph::DType::Unknown;
  std::string note;                 // one sentence worth showing: quantized, in training mode ...
  std::string cannotRun;            // why it can be neither run nor folded, as a sentence; empty: nothing is in the way
  std::string model;                // its name in the file; empty: models of this format have none
  std::vector<std::string> models;  // the names of all that the file holds, sorted; empty: it is the only one

  // All files that it was read from, `path` first. Nothing may be written over one of them, under whatever name.
  [[nodiscard]] std::vector<std::filesystem::path> files() const;
  [[nodiscard]] bool isReadFrom(const std::filesystem::path& file) const;
};

// Names what takes LayerNorm's place (command line: --norm).
enum class NormFlavour {
  Portable,    // TorchScript, torch.export: aten::rms_norm (+ add for beta), torch >= 2.4. ONNX: Primitives
  Standard,    // ONNX only: RMSNormalization; lifts the model to opset 23
  Ort,         // ONNX only: ONNX Runtime's SimplifiedLayerNormalization, its residual add taken in
  Primitives,  // written out (square, mean, root, division): any version
  Fast,        // TorchScript, torch.export: normlens::rms_norm of libnormlens_ops.so. ONNX: Ort
};
[[nodiscard]] std::string_view normFlavourName(NormFlavour flavour);
[[nodiscard]] std::optional<NormFlavour> normFlavourFromName(std::string_view name);
// Beta is part of the norm that this flavour writes; with all others it is an op of its own.
[[nodiscard]] bool addsShift(NormFlavour flavour, std::string_view format);

// Names what inputs are drawn for: runs whose results are looked at, or the shapes of all values only.
enum class InputsFor : uint8_t { Values, Shapes };

// A text that need not be known before the rest of a file is written: texts hold `standIn` in its place, of the same
// length.
struct LateText {
  std::string standIn;
  std::function<Result<std::string>(const Task&)> wait;  // empty: there is none. May be called on another thread, once
};

class Model {
 public:
  virtual ~Model() = default;

  [[nodiscard]] virtual const ModelFacts& facts() const = 0;
  // Hash of the file it was opened from, as it was then, and of the data files beside it, one after another in the
  // order of their names: what `cat model.onnx model.onnx.data | xxh128sum` or `| sha256sum` prints. SHA-256 takes a
  // second for a gigabyte or two. goOn is called before each piece (nullptr: never) and may wait; false ends it. Empty
  // then, and when a file cannot be read any more.
  [[nodiscard]] virtual std::string fileHash(HashKind kind, const std::function<bool()>& goOn) const = 0;
  // Structure; shapes and dtypes of all values once probe() has succeeded.
  [[nodiscard]] virtual const graph::Graph& graph() const = 0;
  // The arrays that a run takes, in order. TorchScript: what tuples, lists and dicts hold, each by a name of its own
  // ("past.0.1"). Lists are as long, and dicts have the keys, as in `given`, the names of all arrays that are there;
  // where it names none of theirs, as in the code.
  [[nodiscard]] virtual std::vector<InputArray> inputArrays(const std::vector<std::string>& given) const;
  // Names of arrays as inputArrays has them, where they are given otherwise: by torch's numbered names, or what an only
  // list or dict holds without its name.
  [[nodiscard]] virtual std::vector<std::string> ownNames(std::vector<std::string> given) const { return given; }
  // A workable set of inputs guessed from the graph. Free sizes are pairwise different and at least 2. For shapes only
  // it is not seen to that the results are finite, which costs a forward pass.
  [[nodiscard]] virtual Result<std::vector<InputSpec>> inferInputs(InputsFor use = InputsFor::Values) const = 0;
  // For after a run on those failed: inputs that run, in which sizes that the file leaves open are 1. Empty: none.
  [[nodiscard]] virtual std::vector<InputSpec> inferSizesOfOne() const { return {}; }
  // Runs the graph op by op with our own interpreter and records every value's dtype and shape in graph().
  virtual Status probe(const Tensors& inputs, const Task& task) = 0;
  // For a model whose run takes long: the same without one, by the operators' own rules, if those yield it for every
  // value. It is for probe() to confirm. False: nothing has changed.
  virtual bool inferShapes(const Tensors& inputs, const Task& task) {
    static_cast<void>(inputs);
    static_cast<void>(task);
    return false;
  }
  // Sizes of inputs that an analysis may rely on, until the next probe; see Graph::assumed.
  virtual void assume(std::vector<graph::SizeOfOne> sizes) = 0;
  // One pass in inference mode; floats are cast to facts().dtype. Outputs flat, by graph().outputNames or out_0 ...
  [[nodiscard]] virtual Result<Tensors> run(const Tensors& inputs, const Task& task) const = 0;
  // For measurements. The model outlives it.
  [[nodiscard]] virtual Result<std::unique_ptr<Runner>> runner(const Tensors& inputs,
                                                               const RunSettings& settings) const = 0;
  // A run by the interpreter, and what `values` were in it, in their order; one that was not reached has no data. Made
  // for many runs with the same values.
  struct SeenRun {
    Tensors outputs, values;
    std::optional<std::string> narrowOp{};  // See narrowOp(); nullopt: not every value was seen.
  };
  [[nodiscard]] virtual Result<SeenRun> runSeeing(const Tensors& inputs, const std::vector<graph::ValueId>& values,
                                                  const Task& task) const = 0;
  [[nodiscard]] Result<Tensors> runCapturing(const Tensors& inputs, const std::vector<graph::ValueId>& values,
                                             const Task& task) const {
    return runSeeing(inputs, values, task).map([](SeenRun&& seen) { return std::move(seen.values); });
  }

  // The same model with every floating type replaced by this one (float64, float32, float16, bfloat16): parameters,
  // buffers, constants, literal dtype arguments; inputs are then cast to it. Finite numbers beyond its range become its
  // largest. Only sums that an operator keeps to itself may be wider. Error: why it cannot be done (Unsupported); what
  // the runtime has no kernel for shows when it is run. See facts().computedIn.
  [[nodiscard]] virtual Result<std::unique_ptr<Model>> converted(graph::DType dtype) const = 0;
  [[nodiscard]] Result<std::unique_ptr<Model>> toFloat64() const { return converted(graph::DType::Float64); }
  // Every floating weight moved by a seeded uniform draw of up to half a unit in its last place.
  [[nodiscard]] virtual Result<std::unique_ptr<Model>> perturbed(uint64_t seed) const = 0;
  // The op of a float64 twin that computes a value in less than float64; empty: none does.
  [[nodiscard]] Result<std::string> narrowOp(const Tensors& inputs, const Task& task) const {
    return runSeeing(inputs, {}, task).map([](SeenRun&& seen) { return std::move(seen.narrowOp).value(); });
  }

  // The folded model. `norms` are those of analysis::findNorms(graph()), which ReplaceNorm edits index.
  [[nodiscard]] virtual Result<std::unique_ptr<Model>> apply(const fold::FoldPlan& plan,
                                                             const std::vector<analysis::LayerNorm>& norms,
                                                             NormFlavour flavour, const Task& task) const = 0;
  // Computes what apply() left for later: large edited weights take no memory before a run, or this, wants them, and a
  // save computes them on their way into the file. Errors: Refused where one cannot be edited (it holds infinities).
  [[nodiscard]] virtual Status computeWeights(const Task& task) const = 0;
  // Lists the outputs of each section of the model, cut there: one for each cut, one for all outputs of the model that
  // follow from the same cuts. Error: Unsupported where the format cannot, or a value is none of the main graph.
  [[nodiscard]] virtual Result<std::vector<std::vector<std::string>>> sectionsAt(const std::vector<Cut>& cuts) const;
  // One of them, with its own weights alone in memory, once it runs; `begins`: cuts to begin with, read or not, beside
  // those that it reads. Errors: as sectionsAt(); those of computeWeights().
  [[nodiscard]] virtual Result<Section> section(const std::vector<Cut>& cuts, const std::vector<std::string>& outputs,
                                                const std::vector<size_t>& begins, const Task& task) const;
  // A model of this format that is one LayerNorm with a gamma over the last axis of its input, [rows, width]: for
  // measuring what norms cost where this model runs.
  [[nodiscard]] virtual Result<std::unique_ptr<Model>> singleNorm(int64_t rows, int64_t width,
                                                                  graph::DType dtype) const = 0;
  // Texts to keep in the file about how it was made, by key; written by save() where the format has a place for them,
  // replacing older ones of the same keys. takesAnnotations: it is the place where readers of the format look for a
  // file's history (ONNX: metadata_props); elsewhere only what must be recorded is.
  [[nodiscard]] virtual bool takesAnnotations() const { return false; }
  virtual void annotate(const std::map<std::string, std::string>& properties, const LateText& late = {}) {
    static_cast<void>(properties);
    static_cast<void>(late);
  }
  // Writes to a temporary name in the same folder, fsyncs, renames. What was not edited stays bit for bit.
  [[nodiscard]] virtual Status save(const std::filesystem::path& path, const Task& task) const = 0;
};

}  // namespace normlens::formats
