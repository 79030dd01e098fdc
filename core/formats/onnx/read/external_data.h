// Tensors that a model keeps in files beside it. Nothing outside the model's folder is ever opened; where the model is
// a link, as in a cache of downloads, the folder that it leads to is the model's too.
//
// Private to formats/onnx. Thread: one thread per object.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "core/formats/file/mapped_file.h"
#include "core/formats/onnx/source/onnx_source.h"

namespace normlens::formats::onnx {

class ExternalFiles {
 public:
  // model: the .onnx file; its folder is where the others have to be, links resolved.
  explicit ExternalFiles(const std::filesystem::path& model);

  // The bytes of a tensor whose data_location is EXTERNAL, as a view that keeps its file mapped. Its dims and element
  // type are known to be sound. Errors: Unreadable, with the tensor's name and the place's; no model file is named.
  [[nodiscard]] Result<Weight> load(const TensorProto& tensor, const std::string& what);

  // Those that were opened, by location as it is written in the model.
  [[nodiscard]] const DataFiles& files() const { return files_; }

 private:
  [[nodiscard]] Result<std::shared_ptr<const MappedFile>> fileAt(const std::string& location, const std::string& what);

  std::filesystem::path folder_;  // holds the model
  std::filesystem::path stored_;  // and where its bytes lie
  DataFiles files_;
};

}  // namespace normlens::formats::onnx
