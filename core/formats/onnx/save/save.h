// Writes a model's files. Private to formats/onnx.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "core/formats/model.h"
#include "core/formats/onnx/source/onnx_source.h"

namespace normlens::formats::onnx {

// See Model::save and Model::annotate.
[[nodiscard]] Status saveModel(const OnnxSource& source, const std::filesystem::path& path,
                               const std::map<std::string, std::string>& properties, const LateText& late,
                               const Task& task);

}  // namespace normlens::formats::onnx
