// libFuzzer target: a checkpoint's files, up to where their numbers would be read. Bytes that start as a JSON object
// are the index of a folder with two files of weights, all others are a file of weights.
#include "core/formats/safetensors/checkpoint.h"
#include "tests/fuzz/fuzz_support.h"

namespace {

using namespace normlens;
using namespace normlens::formats;
using namespace normlens::formats::safetensors;

std::span<const uint8_t> bytesOf(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// 8 bytes of length, the header, and one float32.
std::string weightsNamed(const std::string& name) {
  Header header;
  header.text = "{\"" + name + R"(":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  return headerBytes(header) + std::string(4, '\1');
}

void expectSame(const Tensor& a, const Tensor& b, uint64_t moved) {
  if (a.name != b.name || a.type != b.type || a.shape != b.shape || a.begin + moved != b.begin ||
      a.end + moved != b.end)
    fuzz::found("another tensor: " + b.name);
}

// A header that got a tensor is one that is read again, with that tensor behind all others.
void addTensor(const Shard& shard) {
  const auto& header = shard.header;
  const auto bytes = shard.file->bytes();
  std::string name = "added";
  while (std::ranges::find(header.tensors, name, &Tensor::name) != header.tensors.end()) name += "+";
  const Tensor& like = header.tensors.back();
  const Header wider = withTensor(header, bytes.size(), like, name);
  std::string file = headerBytes(wider);
  for (const auto rest = bytes.subspan(header.dataBegin); const std::byte one : rest) file += static_cast<char>(one);
  file += std::string(like.end - like.begin, '\0');
  const auto again = parseHeader(std::as_bytes(std::span(file)));
  if (!again) fuzz::found("written: " + again.error().message);
  if (again->tensors.size() != header.tensors.size() + 1) fuzz::found("tensors that are lost");
  const uint64_t moved = again->dataBegin - header.dataBegin;
  for (const Tensor& tensor : header.tensors) {
    const auto same = std::ranges::find(again->tensors, tensor.name, &Tensor::name);
    if (same == again->tensors.end()) fuzz::found("a tensor that is lost");
    expectSame(tensor, *same, moved);
  }
}

void check(const std::filesystem::path& folder, const std::vector<std::string>& files) {
  const auto checkpoint = openCheckpoint(folder, files);
  if (!checkpoint) {
    fuzz::expectPlainSentence(checkpoint.error());
    if (checkpoint.error().code != ErrorCode::BadInput) fuzz::expectRefusal(checkpoint.error());
    return;
  }
  for (const auto& place : checkpoint->places()) {
    const auto view = checkpoint->view(place);
    const Tensor& tensor = checkpoint->at(place);
    const auto all = checkpoint->shards[place.shard].file->bytes();
    if (view.data != nullptr && (view.data < all.data() || tensor.end > all.size() ||
                                 static_cast<uint64_t>(graph::byteCount(view)) != tensor.end - tensor.begin))
      fuzz::found("a tensor outside of its file");
  }
  for (const Shard& shard : checkpoint->shards) {
    if (!shard.header.tensors.empty()) addTensor(shard);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const fuzz::Folder folder;
  const std::vector<std::string> weights = {"a.safetensors", "b.safetensors"};
  if (size > 0 && data[0] == '{') {
    for (const std::string& name : weights)
      static_cast<void>(folder.write(name, bytesOf(weightsNamed(name.substr(0, 1)))));
    const std::string index = "model.safetensors.index.json";
    check(folder.write(index, {data, size}).parent_path(), {weights[0], weights[1], index});
  } else {
    check(folder.write("model.safetensors", {data, size}).parent_path(), {"model.safetensors"});
  }
  return 0;
}
