#include "core/formats/pt2/file/sample_inputs.h"

#include <algorithm>

#include "core/formats/archive/pickle_scan.h"

namespace normlens::formats::pt2 {
namespace {

// The smallest and the largest number of a storage; nullopt where there is none, or too many of them to look at.
std::optional<ValueRange> rangeOf(const Archive& sample, const DeclaredTensor& tensor) {
  const ZipRecord* record = sample.find(std::string(sample.prefix()) + "data/" + tensor.key);
  constexpr uint64_t kMost = uint64_t{64} << 20;
  if (record == nullptr || record->size > kMost) return std::nullopt;
  const auto content = sample.read(*record, kMost);
  if (!content) return std::nullopt;
  graph::TensorView view;
  view.dtype = storageType(tensor.type).dtype;
  if (view.dtype == graph::DType::Unknown) return std::nullopt;
  const auto bytes = std::make_shared<std::string>(*content);
  view.data = reinterpret_cast<const std::byte*>(bytes->data());
  view.owner = bytes;
  view.shape = {static_cast<int64_t>(bytes->size() / graph::dtypeBytes(view.dtype))};
  view.strides = {1};
  const auto numbers = graph::toDoubles(view);
  if (!numbers || numbers->empty()) return std::nullopt;
  const auto [low, high] = std::ranges::minmax_element(*numbers);
  return ValueRange{*low, *high};
}

// (args, kwargs) hold the tensors in the order of the call, which is that of the graph.
bool isOf(const DeclaredTensor& tensor, const UserInput& input) {
  return storageType(tensor.type).dtype == input.meta.dtype && input.meta.exampleShape() == tensor.sizes;
}

std::shared_ptr<const Archive> sampleArchive(const Archive& archive, const std::string& model) {
  const ZipRecord* record = archive.find(std::string(archive.prefix()) + "data/sample_inputs/" + model + ".pt");
  if (record == nullptr || record->method != ZipMethod::Stored) return nullptr;
  auto inner = MappedFile::part(archive.sharedFile(), record->dataOffset, record->size);
  auto opened = inner == nullptr ? nullptr : Archive::open(std::move(inner)).value_or(nullptr);
  return opened;
}

}  // namespace

SampleInputs readSampleInputs(const Archive& archive, const std::string& model, const std::vector<UserInput>& inputs) {
  SampleInputs samples(inputs.size());
  const auto sample = sampleArchive(archive, model);
  if (sample == nullptr) return samples;
  const ZipRecord* pickle = sample->find(std::string(sample->prefix()) + "data.pkl");
  constexpr uint64_t kMost = uint64_t{16} << 20;
  const auto text = pickle == nullptr ? Result<std::string>() : sample->read(*pickle, kMost);
  const auto scan = text ? scanPickle(*text) : Result<PickleScan>(tl::unexpected(text.error()));
  if (!scan) return samples;
  size_t next = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].kind != UserInput::Kind::Tensor) continue;
    if (next >= scan->tensors.size() || !isOf(scan->tensors[next], inputs[i])) return SampleInputs(inputs.size());
    samples[i] = rangeOf(*sample, scan->tensors[next++]);
  }
  return next == scan->tensors.size() ? samples : SampleInputs(inputs.size());
}

}  // namespace normlens::formats::pt2
