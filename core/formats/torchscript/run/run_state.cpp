#include "core/formats/torchscript/run/run_state.h"

namespace normlens::formats::torchscript {
namespace {

using c10::IValue;

// The whole memory as bytes.
at::Tensor bytesOf(const at::Tensor& tensor) {
  const c10::Storage& storage = tensor.storage();
  return at::empty({0}, tensor.options().dtype(at::kByte))
      .set_(storage, 0, {static_cast<int64_t>(storage.nbytes())}, {1});
}

}  // namespace

RunState::RunState(const Program& program) : program_(program) {
  if (!program.writesState) return;
  for (const at::Tensor& tensor : program.writtenLiterals) {
    literals_.push_back({tensor, tensor.alias(), tensor.clone()});
  }
}

RunState::~RunState() {
  const c10::InferenceMode inference;
  for (const Literal& literal : literals_) {
    const at::Tensor& place = literal.place;
    if (!sameTensor(literal.tensor, place))
      literal.tensor.set_(place.storage(), place.storage_offset(), place.sizes(), place.strides());
    place.copy_(literal.content);
  }
}

IValue RunState::of(const IValue& loaded) {
  if (!program_.writesState || !loaded.isPtrType() || loaded.isString()) return loaded;
  const auto known = copies_.find(loaded);
  if (known != copies_.end()) return known->second;
  return copies_[loaded] = copyOf(loaded);
}

IValue RunState::copyOf(const IValue& loaded) {
  if (loaded.isTensor()) return copyOfTensor(loaded.toTensor());
  if (loaded.isList()) {
    const auto elements = loaded.toList();
    c10::impl::GenericList copy(elements.elementType());
    copies_[loaded] = copy;  // before it is filled: it may hold itself
    for (const IValue& element : loaded.toListRef()) copy.push_back(of(element));
    return copy;
  }
  if (loaded.isGenericDict()) {
    const auto entries = loaded.toGenericDict();
    c10::impl::GenericDict copy(entries.keyType(), entries.valueType());
    copies_[loaded] = copy;
    for (const auto& entry : entries) copy.insert(of(entry.key()), of(entry.value()));
    return copy;
  }
  if (loaded.isTuple()) {
    std::vector<IValue> elements;
    for (const IValue& element : loaded.toTupleRef().elements()) elements.push_back(of(element));
    const auto type = loaded.type()->cast<c10::TupleType>();
    return type && type->name() ? c10::ivalue::Tuple::createNamed(std::move(elements), type)
                                : c10::ivalue::Tuple::create(std::move(elements));
  }
  return loaded.isObject() && !loaded.isCustomClass() ? copyOfObject(loaded) : loaded;
}

IValue RunState::copyOfObject(const IValue& loaded) {
  const auto object = loaded.toObject();
  const size_t slots = object->slots().size();
  const auto copy = c10::ivalue::Object::create(c10::StrongTypePtr(object->compilation_unit(), object->type()), slots);
  copies_[loaded] = copy;
  for (size_t slot = 0; slot < slots; ++slot) copy->setSlot(slot, of(object->getSlot(slot)));
  return copy;
}

at::Tensor RunState::copyOfTensor(const at::Tensor& loaded) {
  if (!loaded.defined()) return loaded;
  const auto* storage = loaded.has_storage() ? loaded.storage().unsafeGetStorageImpl() : nullptr;
  if (storage != nullptr && !program_.writtenMemory.contains(storage)) return loaded;
  if (storage == nullptr || loaded.is_quantized()) return loaded.clone();
  auto& copy = memory_[storage];
  if (!copy) copy = bytesOf(loaded).clone().storage();
  return at::empty({0}, loaded.options()).set_(copy, loaded.storage_offset(), loaded.sizes(), loaded.strides());
}

}  // namespace normlens::formats::torchscript
