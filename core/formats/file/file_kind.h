// Detects what a file is by its first bytes; its name does not count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "core/base/result.h"

namespace normlens::formats {

enum class FileKind : uint8_t {
  Empty,
  Zip,              // a complete-looking zip, or the beginning of one
  ExportedProgram,  // a zip that torch.export wrote: only its directory shows it, at the file's end
  Onnx,             // a protobuf whose first fields are those of an ONNX model
  Pickle,           // a bare pickle: old torch.save, or anything else pickled
  Safetensors,
  Gguf,
  Hdf5,
  ExecuTorch,
  OrtFormat,
  TfLite,
  GitLfsPointer,
  Text,
  Unknown,
};

// The hint explains how a model becomes one that NormLens opens.
constexpr const char* kExportHint =
    "load it in Python and export it with torch.export.save(torch.export.export(model, inputs), FILE), "
    "torch.onnx.export(...) or torch.jit.trace(model, inputs).save(...)";

[[nodiscard]] FileKind detectKind(std::span<const std::byte> bytes);

// Returns the error for a file that no format of this build opens: names what it is and what to do. `readable`: what
// this build reads ("TorchScript, torch.export or ONNX").
[[nodiscard]] Error notReadable(const std::filesystem::path& path, FileKind kind, const std::string& readable);

}  // namespace normlens::formats
