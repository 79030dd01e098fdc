// Walks the opcodes of a pickle without executing any: which classes it names, which storages it declares and whether
// its tensors stay inside them. No torch here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/graph/types.h"

namespace normlens::formats {

// A tensor storage that lives in a record of its own: persistent id ("storage", type, key, device, elements).
struct DeclaredStorage {
  std::string type;    // "FloatStorage"
  std::string key;     // record name: "12"
  std::string device;  // "cpu", "cuda:0"
  int64_t elements = 0;
  uint64_t reads = 0;  // how often the pickle refers to it
};

// A tensor rebuilt from a storage, in the order of the pickle.
struct DeclaredTensor {
  std::string type;  // The storage's type: "LongStorage".
  std::vector<int64_t> sizes;
  std::string key{};               // The storage's key: "12".
  std::vector<int64_t> strides{};  // in elements, as the offset
  int64_t offset = 0;
  bool asStored = true;  // false: the negative, or the conjugate, of what is stored
};

// A tensor that a dict has under that name; a tied one has several.
struct PickledTensor {
  std::string name;
  size_t tensor = 0;  // index in PickleScan::tensors
};

// A short string, as it is written out or read from the memo, with the opcode that puts it there.
struct PickledString {
  size_t begin = 0, end = 0;
  std::string text;
  bool isDevice = false;  // Set for a storage.
};

struct PickleScan {
  std::vector<std::string> globals;       // "torch._utils _rebuild_tensor_v2", in order of first mention
  std::vector<DeclaredStorage> storages;  // Those that differ in key, type or elements.
  std::vector<DeclaredTensor> tensors;
  std::vector<PickledTensor> named;    // by PickleUse::Look alone
  std::vector<PickledString> strings;  // short ones, in the order of the pickle
  bool rootIsDict = false;             // the pickled object itself is a plain dict
};

// Look: any pickle of the opcodes that LibTorch reads, which are those of Python's protocol 2. Load: LibTorch is going
// to unpickle it, so what could mean to it another thing than to the scan is refused. LoadWithEnums: its code has enum
// classes, whose calls may leave nothing on LibTorch's stack.
enum class PickleUse : uint8_t { Look, Load, LoadWithEnums };

// Errors: Unreadable with what is wrong, in words, without a file name ("the pickle is cut off").
[[nodiscard]] Result<PickleScan> scanPickle(std::string_view pickle, PickleUse use = PickleUse::Look);

// The pickle, as torch writes them (protocol 2), with all its storages on that device.
[[nodiscard]] std::string withDevice(std::string_view pickle, const PickleScan& scan, std::string_view device);

// Describes the elements of a storage, under the name that torch's pickles give it.
struct StorageType {
  int64_t bytes = 0;                           // An element's; 0: there is no such type.
  graph::DType dtype = graph::DType::Unknown;  // Unknown: the graph has no name for it
};
// name: "FloatStorage".
[[nodiscard]] StorageType storageType(std::string_view name);

}  // namespace normlens::formats
