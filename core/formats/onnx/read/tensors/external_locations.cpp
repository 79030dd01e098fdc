#include "core/formats/onnx/read/tensors/external_locations.h"

#include <algorithm>
#include <array>

#include "core/formats/onnx/read/onnx_source.h"

namespace normlens::formats::onnx {
namespace {

using ::ONNX_NAMESPACE::AttributeProto;
using ::ONNX_NAMESPACE::FunctionProto;
using ::ONNX_NAMESPACE::SparseTensorProto;
using ::ONNX_NAMESPACE::StringStringEntryProto;

// Bodies in bodies; the reader refuses far fewer.
constexpr int kMaxDepth = 200;

enum class Message : uint8_t { Model, Graph, Function, Node, Attribute, SparseTensor, Tensor };

// The fields through which a message leads to tensors.
struct Way {
  Message in;
  int field;
  Message to;
};
constexpr std::array kWays = {
    Way{Message::Model, ModelProto::kGraphFieldNumber, Message::Graph},
    Way{Message::Model, ModelProto::kFunctionsFieldNumber, Message::Function},
    Way{Message::Graph, GraphProto::kNodeFieldNumber, Message::Node},
    Way{Message::Graph, GraphProto::kInitializerFieldNumber, Message::Tensor},
    Way{Message::Graph, GraphProto::kSparseInitializerFieldNumber, Message::SparseTensor},
    Way{Message::Function, FunctionProto::kNodeFieldNumber, Message::Node},
    Way{Message::Function, FunctionProto::kAttributeProtoFieldNumber, Message::Attribute},
    Way{Message::Node, NodeProto::kAttributeFieldNumber, Message::Attribute},
    Way{Message::Attribute, AttributeProto::kTFieldNumber, Message::Tensor},
    Way{Message::Attribute, AttributeProto::kGFieldNumber, Message::Graph},
    Way{Message::Attribute, AttributeProto::kTensorsFieldNumber, Message::Tensor},
    Way{Message::Attribute, AttributeProto::kGraphsFieldNumber, Message::Graph},
    Way{Message::Attribute, AttributeProto::kSparseTensorFieldNumber, Message::SparseTensor},
    Way{Message::Attribute, AttributeProto::kSparseTensorsFieldNumber, Message::SparseTensor},
    Way{Message::SparseTensor, SparseTensorProto::kValuesFieldNumber, Message::Tensor},
    Way{Message::SparseTensor, SparseTensorProto::kIndicesFieldNumber, Message::Tensor},
};

// False: no protobuf.
bool readEntry(Bytes entry, std::set<std::string>& into) {
  StringStringEntryProto pair;
  if (!pair.ParseFromArray(entry.data(), static_cast<int>(entry.size()))) return false;
  if (pair.key() == "location") into.insert(pair.value());
  return true;
}

bool walk(Message message, Bytes bytes, int depth, std::set<std::string>& into) {
  if (depth > kMaxDepth) return false;
  WireReader reader(bytes);
  while (const auto field = reader.next()) {
    if (field->type != WireType::Delimited) continue;
    const auto number = static_cast<int>(field->number);
    if (message == Message::Tensor) {
      if (number == TensorProto::kExternalDataFieldNumber && !readEntry(field->payload, into)) return false;
      continue;
    }
    const auto way =
        std::ranges::find_if(kWays, [&](const Way& one) { return one.in == message && one.field == number; });
    if (way != kWays.end() && !walk(way->to, field->payload, depth + 1, into)) return false;
  }
  return !reader.broken();
}

}  // namespace

std::optional<std::set<std::string>> externalLocations(Bytes model) {
  std::set<std::string> locations;
  if (!walk(Message::Model, model, 0, locations)) return std::nullopt;
  return locations;
}

}  // namespace normlens::formats::onnx
