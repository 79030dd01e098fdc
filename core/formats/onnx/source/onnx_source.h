// An ONNX model in memory: the protobuf without its large tensors, and those tensors beside it.
//
// A ModelProto with its weights inside is slow to copy and limited to 2 GB, so the reader takes every large initializer
// of the main graph out: the skeleton keeps the TensorProto with its name, type and dims, no data and
// data_location EXTERNAL; the bytes are in `weights` under the initializer's name, mapped from the file or from
// its external-data file. Everything else (small initializers, Constant nodes, subgraphs, functions) stays in the
// skeleton as it was read. Private to formats/onnx: includes the onnx library, never torch.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "core/base/task.h"
#include "core/fold/pending_weights.h"
#include "core/formats/file/mapped_file.h"
#include "core/graph/types.h"

namespace normlens::formats::onnx {

// ::onnx is the library's namespace; ours is nested in normlens::formats.
using ::ONNX_NAMESPACE::GraphProto;
using ::ONNX_NAMESPACE::ModelProto;
using ::ONNX_NAMESPACE::NodeProto;
using ::ONNX_NAMESPACE::TensorProto;

// Records where a tensor's bytes were in the opened file or files, so that save() can copy them without reading them.
struct StoredAt {
  std::string location;  // external-data path as written in the model, relative to its folder; empty: in the model file
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

// Copies of a source's weights that sessions cannot use where they are mapped: each is made once and kept while a
// session uses it. Thread: any.
class CopiedWeights {
 public:
  // make: returns a TensorView in memory of its own, or nullopt, which is passed on. `of` stays alive with the result.
  template <class Make>
  std::optional<graph::TensorView> get(const graph::TensorView& of, const Make& make) {
    const std::scoped_lock lock(mutex_);
    Entry& entry = copies_[{of.data, of.dtype, of.shape}];
    if (auto owner = entry.owner.lock()) {
      graph::TensorView view = entry.view;
      view.owner = std::move(owner);
      return view;
    }
    std::optional<graph::TensorView> made = make();
    if (!made) return std::nullopt;
    using Both = std::pair<std::shared_ptr<const void>, std::shared_ptr<const void>>;
    made->owner = std::make_shared<Both>(made->owner, of.owner);
    entry.owner = made->owner;
    entry.view = *made;
    entry.view.owner.reset();
    return made;
  }

 private:
  struct Entry {
    std::weak_ptr<const void> owner;
    graph::TensorView view;  // without its owner
  };
  std::mutex mutex_;
  std::map<std::tuple<const std::byte*, graph::DType, graph::Shape>, Entry> copies_;
};

struct Weight {
  graph::TensorView view;  // contiguous, row-major, little-endian
  StoredAt storedAt;       // Locates the tensor as opened; meaningless once it was replaced.
  // The field of TensorProto that held the bytes: raw_data, float_data or double_data (packed, so the same bytes).
  int field = TensorProto::kRawDataFieldNumber;
  bool asOpened = true;  // false: view differs from what the file holds
};

// By initializer name; ordered, so that what is written is the same each time.
using Weights = std::map<std::string, Weight>;

// The files beside a model that hold its external data, by location as it is written in the model.
using DataFiles = std::map<std::string, std::shared_ptr<const MappedFile>>;

// Identifies what the opened files held without their times: a file's mode or another name of it changes those as well.
struct OpenedContent {
  std::mutex mutex;
  std::string sha256;  // The hash of all of them; empty: not known.
};

// A value type: copies share the skeleton and the tensors.
struct OnnxSource {
  std::shared_ptr<const ModelProto> skeleton;
  std::shared_ptr<const Weights> weights;
  std::filesystem::path path;              // Names the opened file.
  std::shared_ptr<const MappedFile> file;  // the opened file; null for a model that was made in memory from nothing
  DataFiles dataFiles;                     // as opened, those of nodes and bodies too
  std::shared_ptr<OpenedContent> content = std::make_shared<OpenedContent>();  // also of what is made of it
  std::shared_ptr<CopiedWeights> copied = std::make_shared<CopiedWeights>();   // alike
  std::shared_ptr<fold::PendingWeights> pending;    // edited weights that are not computed yet; null: none
  bool externalData = false;                        // the opened model kept (some) tensors in files of their own
  graph::DType everyFloat = graph::DType::Unknown;  // made by converted(): every floating type is this one
  bool float64Twin = false;                         // that one is double
};

// Computes what an edit left for later: see Model::computeWeights.
[[nodiscard]] inline Status computeWeights(const OnnxSource& source, const Task& task) {
  return source.pending ? source.pending->computeAll(task) : Status();
}

// Those that a source is read from, each once: the model's, then the data files.
[[nodiscard]] std::vector<std::shared_ptr<const MappedFile>> filesOf(const OnnxSource& source);

}  // namespace normlens::formats::onnx
