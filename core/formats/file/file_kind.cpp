#include "core/formats/file/file_kind.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace normlens::formats {
namespace {

// Files of others that bytes near the beginning name.
struct ForeignKind {
  FileKind kind;
  size_t at;
  std::string_view mark, name;
};
constexpr std::array kForeign = {
    ForeignKind{FileKind::Gguf, 0, "GGUF", "a GGUF file (llama.cpp), which holds weights but no graph"},
    ForeignKind{FileKind::Hdf5, 0, "\x89HDF", "an HDF5 file (.h5), such as Keras's weights"},
    ForeignKind{FileKind::ExecuTorch, 4, "ET12", "an ExecuTorch program (.pte), compiled for a device"},
    ForeignKind{FileKind::OrtFormat, 4, "ORTM", "a model in ONNX Runtime's own format (.ort), made from an .onnx file"},
    ForeignKind{FileKind::TfLite, 4, "TFL3", "a TensorFlow Lite model (.tflite)"}};

std::string_view asText(std::span<const std::byte> bytes, size_t most) {
  return {reinterpret_cast<const char*>(bytes.data()), std::min(bytes.size(), most)};
}

// A varint at `at`, moved past it; nullopt at the end of the bytes.
std::optional<uint64_t> varint(std::string_view bytes, size_t& at) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && at < bytes.size(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes[at++]);
    value |= static_cast<uint64_t>(byte & 127) << shift;
    if ((byte & 128) == 0) return value;
  }
  return std::nullopt;
}

// The fields of ONNX's ModelProto: 1 ir_version, 2 producer_name, 3 producer_version, 4 domain, 5 model_version,
// 6 doc_string, 7 graph, 8 opset_import, 14 metadata_props, 20 training_info, 25 functions. Truncated files count too:
// it is enough that the first two fields fit.
bool looksLikeOnnx(std::string_view bytes) {
  constexpr std::array<uint64_t, 9> kMessages = {2, 3, 4, 6, 7, 8, 14, 20, 25};
  size_t at = 0;
  int fields = 0;
  bool hasVersion = false;
  while (at < bytes.size() && fields < 3) {
    const auto tag = varint(bytes, at);
    if (!tag) break;
    const uint64_t field = *tag >> 3, wire = *tag & 7;
    const auto value = varint(bytes, at);
    if (!value) break;
    if (wire == 0 && (field == 1 || field == 5)) {
      if (field == 1 && *value > 1000) return false;
      hasVersion = hasVersion || field == 1;
    } else if (wire == 2 && std::ranges::find(kMessages, field) != kMessages.end()) {
      if (*value > bytes.size() - at) return hasVersion && fields > 0;  // cut off inside this field
      at += *value;
    } else {
      return false;
    }
    ++fields;
  }
  return hasVersion && fields >= 2;
}

// An 8-byte length, then that many bytes of JSON.
bool looksLikeSafetensors(std::span<const std::byte> bytes) {
  if (bytes.size() < 10) return false;
  uint64_t length = 0;
  for (size_t i = 8; i-- > 0;) length = (length << 8) | std::to_integer<uint64_t>(bytes[i]);
  return length >= 2 && length <= (uint64_t{1} << 32) && std::to_integer<char>(bytes[8]) == '{' &&
         (std::to_integer<char>(bytes[9]) == '"' || std::to_integer<char>(bytes[9]) == '}');
}

bool looksLikeText(std::string_view head) {
  return std::ranges::all_of(head, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x80 || (byte >= 0x20 && byte != 0x7f) || c == '\n' || c == '\r' || c == '\t' || c == '\f';
  });
}

// Protocol 2 or later begins with PROTO; protocols 0 and 1, which are text-like, end with STOP.
bool looksLikePickle(std::string_view head, std::string_view whole) {
  if (head.size() > 2 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5) return true;
  return (head.starts_with("(d") || head.starts_with('c') || head.starts_with("(c") || head.starts_with("(l")) &&
         whole.ends_with('.') && head.find('\n') != std::string_view::npos;
}

bool isZipStart(std::string_view head) {
  constexpr std::string_view kLocal("PK\x03\x04", 4), kEmptyArchive("PK\x05\x06", 4);
  const size_t count = std::min<size_t>(head.size(), 4);
  return count >= 2 &&
         (head.substr(0, count) == kLocal.substr(0, count) || head.substr(0, count) == kEmptyArchive.substr(0, count));
}

}  // namespace

FileKind detectKind(std::span<const std::byte> bytes) {
  if (bytes.empty()) return FileKind::Empty;
  constexpr size_t kHead = 4096;
  const std::string_view head = asText(bytes, kHead), whole = asText(bytes, bytes.size());
  if (isZipStart(head)) return FileKind::Zip;
  if (head.starts_with("version https://git-lfs.github.com/spec")) return FileKind::GitLfsPointer;
  for (const ForeignKind& foreign : kForeign) {
    if (head.substr(std::min(head.size(), foreign.at)).starts_with(foreign.mark)) return foreign.kind;
  }
  if (looksLikeSafetensors(bytes)) return FileKind::Safetensors;
  if (looksLikePickle(head, whole)) return FileKind::Pickle;
  if (looksLikeText(head)) return FileKind::Text;
  if (looksLikeOnnx(whole)) return FileKind::Onnx;
  return FileKind::Unknown;
}

Error notReadable(const std::filesystem::path& path, FileKind kind, const std::string& readable) {
  const std::string file = path.string();
  const std::string model = "not a " + readable + " model";
  switch (kind) {
    case FileKind::Empty:
      return {ErrorCode::Unreadable, file + " is empty", "copy or export the file again"};
    case FileKind::Zip:
      return {ErrorCode::Unsupported, file + " looks like a TorchScript archive, " + model,
              "this build reads " + readable + "; export with torch.onnx.export(...)"};
    case FileKind::Onnx:
      return {
          ErrorCode::Unsupported, file + " looks like ONNX, " + model,
          "this build reads " + readable + "; export with torch.export.save(torch.export.export(model, inputs), FILE)"};
    case FileKind::Pickle:
      return {ErrorCode::Unsupported,
              file + " is a bare pickle (an old-format torch.save or another program's), " + model,
              std::string("NormLens never unpickles it; ") + kExportHint};
    case FileKind::Safetensors:
      return {ErrorCode::Unsupported, file + " looks like safetensors, which hold weights but no graph; it is " + model,
              kExportHint};
    case FileKind::GitLfsPointer:
      return {ErrorCode::Unreadable, file + " is a git-lfs pointer, not the model itself",
              "fetch the real file with 'git lfs pull'"};
    case FileKind::Text:
      return {ErrorCode::Unreadable, file + " is plain text, " + model,
              "check the path and that the download did not fail"};
    default:
      if (const auto* foreign = std::ranges::find(kForeign, kind, &ForeignKind::kind); foreign != kForeign.end())
        return {ErrorCode::Unsupported, file + " is " + std::string(foreign->name) + ", " + model, kExportHint};
      return {ErrorCode::Unreadable, file + " is " + model + ": its content is of no known kind",
              "check the path, or export the model again"};
  }
}

}  // namespace normlens::formats
