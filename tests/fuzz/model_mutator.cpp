#include "tests/fuzz/model_mutator.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <onnx/defs/schema.h>

#include <array>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace normlens::fuzz {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using Random = std::minstd_rand;

size_t below(Random& random, size_t count) { return std::uniform_int_distribution<size_t>(0, count - 1)(random); }

// Operator and attribute names that mean something.
const std::vector<std::string>& knownWords() {
  static const std::vector<std::string> words = [] {
    std::vector<std::string> all = {"com.microsoft",
                                    "ai.onnx.ml",
                                    "SkipLayerNormalization",
                                    "EmbedLayerNormalization",
                                    "SimplifiedLayerNormalization",
                                    "SkipSimplifiedLayerNormalization",
                                    "BiasGelu",
                                    "FastGelu",
                                    "FusedMatMul",
                                    "Attention",
                                    "MultiHeadAttention",
                                    "FusedConv",
                                    "location",
                                    "offset",
                                    "length",
                                    "w.data",
                                    "pkg.torch.onnx.name_scopes",
                                    "['', 'encoder', 'encoder.ln']"};
    for (const auto& schema : ::ONNX_NAMESPACE::OpSchemaRegistry::get_all_schemas()) {
      all.push_back(schema.Name());
      for (const auto& [name, attribute] : schema.attributes()) all.push_back(name);
    }
    return all;
  }();
  return words;
}

struct Parts {
  std::vector<Message*> messages;
  std::vector<std::string> strings;
};

void collect(Message& message, Parts& parts) {
  parts.messages.push_back(&message);
  std::vector<const FieldDescriptor*> fields;
  const Reflection& reflection = *message.GetReflection();
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const int count = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      for (int i = 0; i < count; ++i)
        collect(field->is_repeated() ? *reflection.MutableRepeatedMessage(&message, field, i)
                                     : *reflection.MutableMessage(&message, field),
                parts);
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
      for (int i = 0; i < count; ++i)
        parts.strings.push_back(field->is_repeated() ? reflection.GetRepeatedString(message, field, i)
                                                     : reflection.GetString(message, field));
    }
  }
}

int64_t oddNumber(Random& random) {
  constexpr std::array<int64_t, 22> kNumbers = {0,
                                                1,
                                                2,
                                                3,
                                                4,
                                                5,
                                                7,
                                                8,
                                                13,
                                                16,
                                                64,
                                                -1,
                                                -2,
                                                -3,
                                                255,
                                                65536,
                                                1 << 30,
                                                std::numeric_limits<int32_t>::max(),
                                                std::numeric_limits<int32_t>::min(),
                                                int64_t{1} << 40,
                                                std::numeric_limits<int64_t>::max(),
                                                std::numeric_limits<int64_t>::min()};
  return kNumbers[below(random, kNumbers.size())];
}

double oddFraction(Random& random) {
  constexpr std::array<double, 8> kNumbers = {0, 1, -1, 1e-5, 0.5, 2.0, 1e38, std::numeric_limits<double>::quiet_NaN()};
  return kNumbers[below(random, kNumbers.size())];
}

class Mutation {
 public:
  Mutation(Message& root, Random& random, MutateBytes mutateBytes)
      : root_(root), random_(random), mutateBytes_(mutateBytes) {}

  void once() {
    Parts parts;
    collect(root_, parts);
    Message& message = *parts.messages[below(random_, parts.messages.size())];
    const Descriptor& type = *message.GetDescriptor();
    const Reflection& reflection = *message.GetReflection();
    std::vector<const FieldDescriptor*> fields;
    reflection.ListFields(message, &fields);
    // Mostly what is there; now and then a field that is not.
    const bool other = fields.empty() || below(random_, 4) == 0;
    if (other && type.field_count() == 0) return;
    const FieldDescriptor& field = other ? *type.field(static_cast<int>(below(random_, type.field_count())))
                                         : *fields[below(random_, fields.size())];
    if (field.is_repeated())
      changeList(message, field, parts);
    else
      changeField(message, field, parts);
  }

 private:
  std::string string(std::string old, const Parts& parts) {
    switch (below(random_, 4)) {
      case 0:
        mutateBytes_(old);
        return old;
      case 1:
        return knownWords()[below(random_, knownWords().size())];
      default:
        return parts.strings.empty() ? old : parts.strings[below(random_, parts.strings.size())];
    }
  }

  // A copy of a message of this type from somewhere in the model; an empty one where there is none. A copy, because
  // what it goes to may hold it, be held by it, or end its life (a oneof).
  std::unique_ptr<Message> another(const FieldDescriptor& field, const Parts& parts) {
    std::vector<const Message*> like;
    for (const Message* one : parts.messages) {
      if (one->GetDescriptor() == field.message_type()) like.push_back(one);
    }
    const Message& prototype =
        *google::protobuf::MessageFactory::generated_factory()->GetPrototype(field.message_type());
    std::unique_ptr<Message> copy(prototype.New());
    if (!like.empty()) copy->CopyFrom(*like[below(random_, like.size())]);
    return copy;
  }

  void changeField(Message& message, const FieldDescriptor& field, const Parts& parts) {
    const Reflection& reflection = *message.GetReflection();
    if (below(random_, 5) == 0) return reflection.ClearField(&message, &field);
    const int64_t step = static_cast<int64_t>(below(random_, 3)) - 1;
    const bool near = step != 0;
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        reflection.SetInt32(&message, &field, number<int32_t>(reflection.GetInt32(message, &field), near, step));
        break;
      case FieldDescriptor::CPPTYPE_INT64:
        reflection.SetInt64(&message, &field, number<int64_t>(reflection.GetInt64(message, &field), near, step));
        break;
      case FieldDescriptor::CPPTYPE_ENUM:
        reflection.SetEnumValue(&message, &field, static_cast<int>(below(random_, 20)));
        break;
      case FieldDescriptor::CPPTYPE_FLOAT:
        reflection.SetFloat(&message, &field, static_cast<float>(oddFraction(random_)));
        break;
      case FieldDescriptor::CPPTYPE_STRING:
        reflection.SetString(&message, &field, string(reflection.GetString(message, &field), parts));
        break;
      case FieldDescriptor::CPPTYPE_MESSAGE:
        reflection.SetAllocatedMessage(&message, another(field, parts).release(), &field);
        break;
      default:
        break;
    }
  }

  template <class Integer>
  Integer number(Integer old, bool near, int64_t step) {
    using Unsigned = std::make_unsigned_t<Integer>;
    const auto moved = static_cast<Unsigned>(static_cast<Unsigned>(old) + static_cast<Unsigned>(step));
    return near ? static_cast<Integer>(moved) : static_cast<Integer>(oddNumber(random_));
  }

  void changeList(Message& message, const FieldDescriptor& field, const Parts& parts) {
    const Reflection& reflection = *message.GetReflection();
    const int count = reflection.FieldSize(message, &field);
    const auto any = [&] { return static_cast<int>(below(random_, static_cast<size_t>(count))); };
    switch (count == 0 ? 0 : below(random_, 6)) {
      case 0:
        return append(message, field, parts);
      case 1:
        reflection.SwapElements(&message, &field, any(), count - 1);
        return reflection.RemoveLast(&message, &field);
      case 2:
        return reflection.SwapElements(&message, &field, any(), any());
      default:
        return changeElement(message, field, any(), parts);
    }
  }

  void append(Message& message, const FieldDescriptor& field, const Parts& parts) {
    const Reflection& reflection = *message.GetReflection();
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return reflection.AddInt32(&message, &field, static_cast<int32_t>(oddNumber(random_)));
      case FieldDescriptor::CPPTYPE_INT64:
        return reflection.AddInt64(&message, &field, oddNumber(random_));
      case FieldDescriptor::CPPTYPE_UINT64:
        return reflection.AddUInt64(&message, &field, static_cast<uint64_t>(oddNumber(random_)));
      case FieldDescriptor::CPPTYPE_FLOAT:
        return reflection.AddFloat(&message, &field, static_cast<float>(oddFraction(random_)));
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return reflection.AddDouble(&message, &field, oddFraction(random_));
      case FieldDescriptor::CPPTYPE_STRING:
        return reflection.AddString(&message, &field, string({}, parts));
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return reflection.AddAllocatedMessage(&message, &field, another(field, parts).release());
      default:
        return;
    }
  }

  void changeElement(Message& message, const FieldDescriptor& field, int at, const Parts& parts) {
    const Reflection& reflection = *message.GetReflection();
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return reflection.SetRepeatedInt32(&message, &field, at, static_cast<int32_t>(oddNumber(random_)));
      case FieldDescriptor::CPPTYPE_INT64:
        return reflection.SetRepeatedInt64(&message, &field, at, oddNumber(random_));
      case FieldDescriptor::CPPTYPE_FLOAT:
        return reflection.SetRepeatedFloat(&message, &field, at, static_cast<float>(oddFraction(random_)));
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return reflection.SetRepeatedDouble(&message, &field, at, oddFraction(random_));
      case FieldDescriptor::CPPTYPE_STRING:
        return reflection.SetRepeatedString(&message, &field, at,
                                            string(reflection.GetRepeatedString(message, &field, at), parts));
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return reflection.MutableRepeatedMessage(&message, &field, at)->CopyFrom(*another(field, parts));
      default:
        return;
    }
  }

  Message& root_;
  Random& random_;
  MutateBytes mutateBytes_;
};

}  // namespace

void mutateModel(::ONNX_NAMESPACE::ModelProto& model, std::minstd_rand& random, MutateBytes mutateBytes) {
  Mutation mutation(model, random, mutateBytes);
  for (size_t left = 1 + below(random, 4); left > 0; --left) mutation.once();
}

}  // namespace normlens::fuzz
