#include "core/formats/torchscript/program/module_index.h"

#include <algorithm>
#include <iterator>

namespace normlens::formats::torchscript {

std::string memoryKey(const at::Tensor& tensor) {
  // Other layouts (sparse, mkldnn) have no strides to compare: there, only the object itself is the same.
  if (!tensor.has_storage() || tensor.layout() != at::kStrided)
    return "impl " + std::to_string(reinterpret_cast<uintptr_t>(tensor.unsafeGetTensorImpl()));
  std::string key = std::to_string(reinterpret_cast<uintptr_t>(tensor.storage().unsafeGetStorageImpl()));
  const auto append = [&](int64_t number) { key += ' ' + std::to_string(number); };
  append(static_cast<int64_t>(tensor.scalar_type()));
  append(tensor.storage_offset());
  for (const int64_t size : tensor.sizes()) append(size);
  key += " /";
  for (const int64_t stride : tensor.strides()) append(stride);
  return key;
}

bool sameTensor(const at::Tensor& a, const at::Tensor& b) { return memoryKey(a) == memoryKey(b); }

std::string shortClassName(const c10::ivalue::Object& object) {
  const auto name = object.type()->name();
  return name ? name->name() : std::string("object");
}

ModuleIndex::ModuleIndex(const torch::jit::Module& module) { addObject(module._ivalue(), ""); }

void ModuleIndex::addObject(const ObjectPtr& object, const std::string& path) {
  if (!paths_.emplace(object.get(), path).second) return;
  objects_.push_back(object);
  const auto type = object->type();
  for (size_t slot = 0; slot < type->numAttributes(); ++slot) {
    const c10::IValue& value = object->getSlot(slot);
    const std::string& name = type->getAttributeName(slot);
    addValue(value, TensorSite{object, name, joinPath(path, name), nullptr, nullptr, {}});
  }
}

void ModuleIndex::addValue(const c10::IValue& value, TensorSite site) {
  if (value.isObject()) {
    addObject(value.toObject(), site.path);
  } else if (value.isTensor()) {
    if (!value.toTensor().defined()) return;
    sites_[memoryKey(value.toTensor())].push_back(std::move(site));
  } else if (value.isList() || value.isTuple()) {
    const auto elements = value.isList() ? value.toListRef() : value.toTupleRef().elements().asArrayRef();
    for (size_t i = 0; i < elements.size(); ++i) {
      TensorSite inner = site;
      inner.path += "." + std::to_string(i);
      inner.elements.push_back(static_cast<int64_t>(i));
      addValue(elements[i], std::move(inner));
    }
  } else if (value.isGenericDict()) {
    // Its tensors have no place that an edit can name; the objects in it count.
    for (const auto& entry : value.toGenericDict()) {
      if (entry.value().isObject()) addValue(entry.value(), site);
    }
  }
}

const std::string& ModuleIndex::pathOf(const c10::ivalue::Object& object) const {
  static const std::string kUnknown = "?";
  const auto found = paths_.find(&object);
  return found == paths_.end() ? kUnknown : found->second;
}

std::vector<ObjectPtr> ModuleIndex::instancesOf(const c10::Type& type) const {
  std::vector<ObjectPtr> found;
  std::ranges::copy_if(objects_, std::back_inserter(found),
                       [&](const ObjectPtr& object) { return object->type()->isSubtypeOf(type); });
  return found;
}

namespace {

bool holds(const c10::IValue& value, const c10::IValue& container) {
  bool found = false;
  value.visit([&](const c10::IValue& inner) {
    found = found || inner.is(container);
    return found || inner.isObject();
  });
  return found;
}

}  // namespace

Attributes ModuleIndex::attributesHolding(const c10::IValue& container) const {
  Attributes found;
  for (const ObjectPtr& object : objects_) {
    for (size_t slot = 0; slot < object->type()->numAttributes(); ++slot) {
      const c10::IValue& value = object->getSlot(slot);
      if (!value.isTensor() && holds(value, container))
        found.insert({object.get(), object->type()->getAttributeName(slot)});
    }
  }
  return found;
}

const std::vector<TensorSite>& ModuleIndex::sitesOf(const at::Tensor& tensor) const {
  static const std::vector<TensorSite> kNowhere;
  const auto found = sites_.find(memoryKey(tensor));
  return found == sites_.end() ? kNowhere : found->second;
}

}  // namespace normlens::formats::torchscript
