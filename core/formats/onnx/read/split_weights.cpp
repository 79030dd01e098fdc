#include "core/formats/onnx/read/split_weights.h"

#include <algorithm>
#include <array>

namespace normlens::formats::onnx {
namespace {

// Most models are nodes up to here; what is more is mostly weights.
constexpr size_t kSkeletonGuess = size_t{16} << 20;

bool holdsPlainBytes(const WireField& field) {
  return field.type == WireType::Delimited &&
         (field.number == TensorProto::kRawDataFieldNumber || field.number == TensorProto::kFloatDataFieldNumber ||
          field.number == TensorProto::kDoubleDataFieldNumber);
}

// Says nothing of where and how the elements are stored.
bool isPlain(const WireField& field) {
  constexpr std::array kPlain = {TensorProto::kDimsFieldNumber, TensorProto::kDataTypeFieldNumber,
                                 TensorProto::kNameFieldNumber, TensorProto::kDocStringFieldNumber,
                                 TensorProto::kMetadataPropsFieldNumber};
  return std::ranges::find(kPlain, static_cast<int>(field.number)) != kPlain.end();
}

// The tensor without its data, which goes to `large`; false where it has to stay whole: small, stored in pieces, in
// several fields, or in a way whose bytes are not the elements.
bool takeOut(Bytes tensor, std::string& rest, LargeTensor& large, bool& broken) {
  WireReader reader(tensor);
  int dataFields = 0;
  bool plain = true;
  while (const auto field = reader.next()) {
    if (holdsPlainBytes(*field)) {
      large.data = field->payload;
      large.field = static_cast<int>(field->number);
      ++dataFields;
      continue;
    }
    const bool isPlace = field->number == TensorProto::kDataLocationFieldNumber;
    plain = plain && (isPlain(*field) || (isPlace && field->value == 0));
    if (field->number == TensorProto::kNameFieldNumber && field->type == WireType::Delimited)
      large.name.assign(reinterpret_cast<const char*>(field->payload.data()), field->payload.size());
    if (!isPlace) appendBytes(field->whole, rest);
  }
  broken = reader.broken();
  if (broken || !plain || dataFields != 1 || large.name.empty() || large.data.size() < kLargeTensorBytes) return false;
  appendVarint(uint64_t{TensorProto::kDataLocationFieldNumber} << 3, rest);
  appendVarint(TensorProto::EXTERNAL, rest);
  return true;
}

bool splitGraph(Bytes graph, SplitModel& out, std::string& rest) {
  WireReader reader(graph);
  while (const auto field = reader.next()) {
    if (field->number == GraphProto::kInitializerFieldNumber && field->type == WireType::Delimited) {
      std::string tensor;
      LargeTensor large;
      bool broken = false;
      if (takeOut(field->payload, tensor, large, broken)) {
        appendDelimited(field->number, tensor, rest);
        out.tensors.push_back(std::move(large));
        continue;
      }
      if (broken) return false;
    }
    appendBytes(field->whole, rest);
  }
  return !reader.broken();
}

}  // namespace

std::optional<SplitModel> splitWeights(Bytes model) {
  SplitModel out;
  WireReader reader(model);
  while (const auto field = reader.next()) {
    if (field->number == ModelProto::kGraphFieldNumber && field->type == WireType::Delimited) {
      std::string graph;
      graph.reserve(std::min(field->payload.size(), kSkeletonGuess));
      if (!splitGraph(field->payload, out, graph)) return std::nullopt;
      appendDelimited(field->number, graph, out.skeleton);
    } else {
      appendBytes(field->whole, out.skeleton);
    }
  }
  if (reader.broken()) return std::nullopt;
  return out;
}

}  // namespace normlens::formats::onnx
