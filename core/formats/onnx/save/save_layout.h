// Finds which bytes go where when a model is written. Private to formats/onnx.
//
// The model's file is its skeleton, serialized once, with the tensors' bytes put in between as ranges of memory; those
// of unchanged tensors are the opened file, mapped. A model that kept tensors in files of their own does so again, in
// as many files, at the same offsets; a changed tensor takes its old place, a new copy goes to the end.
#pragma once

#include <deque>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/formats/file/atomic_file.h"
#include "core/formats/onnx/read/wire.h"
#include "core/formats/onnx/source/onnx_source.h"

namespace normlens::formats::onnx {

// Protobuf's limit on a message.
inline constexpr uint64_t kLargestModel = 0x7fffffff;

// One output file, its pieces in any order. Bytes between them are zero.
struct FileContents {
  std::filesystem::path path;
  uint64_t size = 0;
  std::vector<FilePiece> pieces;
};

class SaveLayout {
 public:
  // properties: texts to be put into the model's metadata_props, in place of older ones with the same keys.
  // A model file larger than `largest` bytes is not written: large tensors then go to a data file.
  // Errors: Unsupported where a model cannot be written at all. The source must outlive the layout.
  [[nodiscard]] static Result<SaveLayout> make(const OnnxSource& source, const std::filesystem::path& path,
                                               const std::map<std::string, std::string>& properties,
                                               uint64_t largest = kLargestModel);

  // Data files first, under names that nothing in the folder has; the model last.
  [[nodiscard]] const std::vector<FileContents>& files() const { return files_; }
  // The model without its tensors, as it is in pieces of its file; its metadata come last.
  [[nodiscard]] Bytes skeleton() const { return skeleton_; }
  // Returns the names that the data files would have if nothing else had them.
  [[nodiscard]] const std::set<std::string>& wanted() const { return wanted_; }

 private:
  // Locates a tensor in a data file.
  struct DataLocation {
    std::string location;
    uint64_t offset = 0;
    uint64_t bytes = 0;
    bool moved = false;  // not where, or not what, it is in the opened model
  };

  void placeExternal(const OnnxSource& source, const std::filesystem::path& path, bool everything);
  void placeFile(const std::string& oldLocation, const std::vector<std::pair<std::string, const Weight*>>& weights,
                 const OnnxSource& source, const std::filesystem::path& path);
  void put(const std::string& name, const Weight& weight, FileContents& file, const std::string& location,
           uint64_t offset, bool moved);
  [[nodiscard]] std::string newLocation(const std::string& old, const OnnxSource& source,
                                        const std::filesystem::path& path);
  void placeModel(const OnnxSource& source, const std::filesystem::path& path,
                  const std::map<std::string, std::string>& properties);
  std::vector<Bytes> graphPieces(Bytes graph, const OnnxSource& source);
  void tensorPieces(Bytes stub, const Weight& weight, std::vector<Bytes>& out);
  static void pointTo(const DataLocation& at, TensorProto& stub);
  Bytes keep(std::string text);

  std::vector<FileContents> files_;
  std::map<std::string, DataLocation> external_;  // by initializer
  Bytes skeleton_;
  std::set<std::string> wanted_;
  std::set<std::string> locations_;  // taken, as they are called in the model
  std::deque<std::string> kept_;     // bytes that ranges point to
};

}  // namespace normlens::formats::onnx
