#include "core/formats/pt2/file/payloads.h"

namespace normlens::formats::pt2 {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 42;  // Limits a tensor that repeats a small record (a stride of 0).

int64_t fixed(const SymSize& size) {
  if (!size.isFixed()) throw BrokenDocument("a tensor that the file holds has a symbolic size");
  return size.example;
}

std::vector<int64_t> fixed(const std::vector<SymSize>& sizes) {
  std::vector<int64_t> out;
  for (const SymSize& size : sizes) out.push_back(fixed(size));
  return out;
}

Payload payloadOf(const std::string& folder, const Json& entry) {
  const Json* pickled = entry.find("use_pickle");
  if (pickled != nullptr && pickled->boolean())
    throw UnsupportedProgram("holds a tensor of a Python class of its own, pickled, which NormLens never loads",
                             "export the model with plain tensors: before torchao or another quantiser wraps them");
  const TensorMeta meta = readTensorMeta(entry.at("tensor_meta"));
  const std::string& name = entry.at("path_name").text();
  checkName(name);
  if (name.find('/') != std::string::npos) throw BrokenDocument("a tensor names a record in another folder");
  if (meta.dtype == graph::DType::Unknown)
    throw UnsupportedProgram("holds a tensor of an element type that NormLens does not know (number " +
                                 std::to_string(meta.schemaDType) + " of the schema)",
                             "export the model in float32, bfloat16 or float16");
  Payload payload{folder + name, meta.dtype, fixed(meta.sizes), fixed(meta.strides), fixed(meta.offset), false, false};
  const Json* grad = entry.at("tensor_meta").find("requires_grad");
  payload.requiresGrad = grad != nullptr && grad->boolean();
  return payload;
}

void addAll(const Json& config, const std::string& folder, const Archive& archive,
            std::map<std::string, Payload>& into) {
  if (config.isNull()) return;
  for (const auto& [fqn, entry] : config.at("config").members()) {
    const std::string& path = entry.at("path_name").text();
    if (path.starts_with("custom_obj_") || path.starts_with("opaque_obj_"))
      throw UnsupportedProgram("holds a pickled object ('" + fqn.substr(0, 80) + "'), which NormLens never loads",
                               "export the model without script objects and opaque values");
    checkName(fqn);
    Payload payload = payloadOf(folder, entry);
    const ZipRecord* record = archive.find(std::string(archive.prefix()) + payload.record);
    if (record == nullptr) throw BrokenDocument("the record '" + payload.record + "' is missing");
    const auto count = graph::elementCount(payload.sizes);
    payload.isEmpty = count == 0;
    if (record->size == 0 && count && *count > 0)
      throw UnsupportedProgram("holds no weights: it was exported under FakeTensorMode",
                               "export the model with real weights");
    checkPayload(payload, record->size);
    into.emplace(fqn, std::move(payload));
  }
}

}  // namespace

void checkPayload(const Payload& payload, uint64_t recordBytes) {
  const std::string where = "a tensor of '" + payload.record + "' ";
  const auto count = graph::elementCount(payload.sizes);
  const auto bytes = static_cast<int64_t>(graph::dtypeBytes(payload.dtype));
  int64_t whole = 0;
  if (!count || __builtin_mul_overflow(*count, bytes, &whole) || whole > kMostBytes)
    throw BrokenDocument(where + "has sizes beyond all measure");
  if (payload.sizes.size() != payload.strides.size() || payload.offset < 0)
    throw BrokenDocument(where + "has sizes, strides and offset that do not fit together");
  int64_t last = payload.offset;
  for (size_t i = 0; i < payload.sizes.size(); ++i) {
    int64_t step = 0;
    if (payload.strides[i] < 0) throw BrokenDocument(where + "has a negative stride");
    if (*count == 0) continue;
    if (__builtin_mul_overflow(payload.sizes[i] - 1, payload.strides[i], &step) ||
        __builtin_add_overflow(last, step, &last))
      throw BrokenDocument(where + "reaches past the end of its record");
  }
  int64_t end = 0;
  if (*count > 0 && (__builtin_add_overflow(last, 1, &end) || __builtin_mul_overflow(end, bytes, &end) ||
                     static_cast<uint64_t>(end) > recordBytes))
    throw BrokenDocument(where + "reaches past the end of its record");
}

const Payload& Payloads::of(const HeldTensor& held) const {
  const auto& table = held.persistent ? weights : constants;
  const auto found = table.find(held.fqn);
  if (found == table.end()) throw BrokenDocument("no tensor is given for '" + held.fqn + "'");
  return found->second;
}

Payloads readPayloads(const ProgramFile& file, const Archive& archive) {
  Payloads payloads;
  addAll(file.weights, "data/weights/", archive, payloads.weights);
  addAll(file.constants, "data/constants/", archive, payloads.constants);
  return payloads;
}

}  // namespace normlens::formats::pt2
