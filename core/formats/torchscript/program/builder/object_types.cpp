#include "core/formats/torchscript/program/builder/object_types.h"

#include <unordered_set>
#include <vector>

namespace normlens::formats::torchscript {
namespace {

class Walk {
 public:
  std::optional<std::string> run(const c10::IValue& root) {
    push(root, root.type(), "");
    while (!open_.empty() && !problem_) {
      const Place place = std::move(open_.back());
      open_.pop_back();
      visit(place);
    }
    return problem_;
  }

 private:
  struct Place {
    c10::IValue value;
    c10::TypePtr type;  // declared
    std::string name;
  };

  void push(const c10::IValue& value, const c10::TypePtr& type, std::string name) {
    open_.push_back({value, type, std::move(name)});
  }
  void visit(const Place& place) {
    if (const auto optional = place.type->cast<c10::OptionalType>()) {
      if (!place.value.isNone()) push(place.value, optional->getElementType(), place.name);
    } else if (place.type->cast<c10::ClassType>() || place.type->cast<c10::InterfaceType>()) {
      visitObject(place);
    } else if (const auto list = place.type->cast<c10::ListType>()) {
      if (!place.value.isList()) return;
      for (const c10::IValue& item : place.value.toListRef()) push(item, list->getElementType(), place.name);
    } else if (const auto dict = place.type->cast<c10::DictType>()) {
      if (!place.value.isGenericDict()) return;
      for (const auto& entry : place.value.toGenericDict()) push(entry.value(), dict->getValueType(), place.name);
    } else if (const auto tuple = place.type->cast<c10::TupleType>()) {
      visitTuple(place, *tuple);
    }
  }
  void visitTuple(const Place& place, const c10::TupleType& type) {
    if (!place.value.isTuple()) return;
    const auto& items = place.value.toTupleRef().elements();
    if (items.size() != type.elements().size()) return misplaced(place);
    for (size_t i = 0; i < items.size(); ++i) push(items[i], type.elements()[i], place.name);
  }
  void visitObject(const Place& place) {
    if (place.value.isNone() || place.value.isCapsule()) return;
    if (!place.value.isObject() || !place.value.type()->isSubtypeOf(*place.type)) return misplaced(place);
    const auto object = place.value.toObject();
    if (!seen_.insert(object.get()).second) return;
    const auto type = object->type();
    if (object->slots().size() < type->numAttributes()) return misplaced(place);
    for (size_t i = 0; i < type->numAttributes(); ++i) {
      const std::string& attribute = type->getAttributeName(i);
      push(object->getSlot(i), type->getAttribute(i), place.name.empty() ? attribute : place.name + "." + attribute);
    }
  }
  void misplaced(const Place& place) {
    problem_ = "'" + place.name + "' holds what is no " + place.type->annotation_str();
  }

  std::vector<Place> open_;
  std::unordered_set<const c10::ivalue::Object*> seen_;
  std::optional<std::string> problem_;
};

}  // namespace

std::optional<std::string> misplacedObject(const torch::jit::Module& module) { return Walk().run(module._ivalue()); }

}  // namespace normlens::formats::torchscript
