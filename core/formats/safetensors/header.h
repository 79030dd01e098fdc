// The header of a safetensors file: 8 bytes of length, that many bytes of JSON, then the tensors' bytes.
//
//   {"__metadata__": {"format": "pt"}, "h.0.bias": {"dtype": "F32", "shape": [96], "data_offsets": [0, 384]}, ...}
//
// Source: github.com/huggingface/safetensors. Everything is checked before it is used, as strictly as the library that
// will load what is written: the length (100 MB at most), the JSON's depth and its names, that the tensors' bytes lie
// side by side from the first byte behind the header to the last of the file, and that they are as many as type and
// shape say. Thread: value types. Errors: Unreadable with what is wrong, in words, without a file name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/graph/types.h"

namespace normlens::formats::safetensors {

struct Tensor {
  std::string name;
  std::string type;                            // "BF16"
  graph::DType dtype = graph::DType::Unknown;  // Unknown: one that NormLens does not compute with
  graph::Shape shape;
  uint64_t begin = 0, end = 0;  // in the file
};

struct Header {
  std::string text;             // the JSON as it is written, with the spaces behind it
  uint64_t dataBegin = 0;       // in the file
  std::vector<Tensor> tensors;  // in the order of their bytes
};

inline constexpr uint64_t kMostHeaderBytes = 100'000'000;

[[nodiscard]] Result<Header> parseHeader(std::span<const std::byte> file);

// A tensor behind all others, described by `like` under another name; its bytes follow those of the file. The text
// begins as it did.
[[nodiscard]] Header withTensor(Header header, uint64_t fileBytes, const Tensor& like, const std::string& name);

// The 8 bytes of its length, and the text.
[[nodiscard]] std::string headerBytes(const Header& header);

}  // namespace normlens::formats::safetensors
