#include "core/formats/torchscript/inputs/input_repair.h"

#include <algorithm>

#include "core/formats/torchscript/inputs/sizes_instead.h"

namespace normlens::formats::torchscript {
namespace {

using graph::DType;
using graph::Shape;

constexpr int64_t kMostElements = int64_t{1} << 22;

struct Place {
  size_t slot;
  size_t axis;
};
struct SizeGroup {
  int64_t size;
  bool batch;
  std::vector<Place> places;
};

class Repairs {
 public:
  Repairs(const InputCandidate& failed, const InputFault& fault, const std::vector<InputSlot>& slots,
          const std::vector<Shape>& unknown, DType floats)
      : failed_(failed), fault_(fault), slots_(slots), unknown_(unknown), floats_(floats) {}

  std::vector<InputCandidate> run() {
    const auto groups = sizeGroups();
    for (const SizeGroup& group : groups) resize(group, group.places);
    changeValues();
    for (const SizeGroup& group : groups) {
      if (group.places.size() < 2) continue;
      // Height and width of a video, whose frames are another matter.
      if (group.places.size() > 2) resize(group, {group.places.end() - 2, group.places.end()});
      for (const Place& place : group.places) resize(group, {place});
    }
    giveOptional();
    changeTypes();
    changeShapes();
    changeRanks();
    for (const SizeGroup& group : groups) resizeToMultiples(group);
    changeShapesOfTwo();
    return std::move(out_);
  }

 private:
  [[nodiscard]] bool isInvolved(size_t slot) const {
    return failed_[slot].has_value() && fault_.inputs[slots_[slot].argument];
  }
  [[nodiscard]] bool isInvolvedTensor(size_t slot) const { return isInvolved(slot) && slots_[slot].isTensor(); }

  // Axes of one size, first axes by themselves, in which an input takes part that the fault depends on.
  [[nodiscard]] std::vector<SizeGroup> sizeGroups() const {
    std::vector<SizeGroup> groups;
    for (size_t slot = 0; slot < slots_.size(); ++slot) {
      if (!failed_[slot] || !slots_[slot].isTensor()) continue;
      const Shape& shape = failed_[slot]->shape;
      for (size_t axis = 0; axis < shape.size(); ++axis) {
        const auto same = std::ranges::find_if(groups, [&](const SizeGroup& group) {
          return group.size == shape[axis] && group.batch == (axis == 0 && shape.size() > 1);
        });
        SizeGroup& group = same != groups.end()
                               ? *same
                               : groups.emplace_back(SizeGroup{shape[axis], axis == 0 && shape.size() > 1, {}});
        group.places.push_back({slot, axis});
      }
    }
    std::erase_if(groups, [&](const SizeGroup& group) {
      return std::ranges::none_of(group.places, [&](const Place& place) { return isInvolved(place.slot); });
    });
    // Sizes that meet the fault as they are come first, batches last.
    std::ranges::stable_sort(groups, {}, [&](const SizeGroup& group) {
      return (group.batch ? 2 : 0) + (std::ranges::find(fault_.numbers, group.size) == fault_.numbers.end() ? 1 : 0);
    });
    return groups;
  }

  void add(InputCandidate candidate) {
    int64_t elements = 0;
    for (const auto& spec : candidate) {
      if (spec) elements += graph::elementCount(spec->shape).value_or(kMostElements);
    }
    if (elements < kMostElements) out_.push_back(std::move(candidate));
  }

  void addResized(const std::vector<Place>& places, int64_t size) {
    InputCandidate changed = failed_;
    for (const Place& place : places) changed[place.slot]->shape[place.axis] = size;
    add(std::move(changed));
  }

  void resize(const SizeGroup& group, const std::vector<Place>& places) {
    const size_t rank = failed_[places[0].slot]->shape.size();
    const int64_t most = rank >= 4 ? 1024 : int64_t{1} << 16;
    if (fault_.raised) {
      for (const int64_t number : fault_.numbers) {
        if (number <= most && number != group.size) addResized(places, number);
      }
    }
    for (const int64_t size : sizesInstead(group.size, fault_.numbers, most)) addResized(places, size);
  }

  void resizeToMultiples(const SizeGroup& group) {
    if (group.batch) return;
    for (const int64_t number : fault_.numbers) {
      if (number < 2 || number > 128 || group.size % number == 0) continue;
      addResized(group.places, (group.size / number + 1) * number);
    }
  }

  // Whole numbers: what the fault mentions; masks and indices also small ones, which are valid nearly everywhere.
  void changeValues() {
    for (size_t slot = 0; slot < slots_.size(); ++slot) {
      if (!isInvolved(slot) || graph::isFloat(failed_[slot]->dtype) || failed_[slot]->dtype == DType::Bool) continue;
      const auto set = [&](int64_t low, int64_t high) {
        InputCandidate changed = failed_;
        changed[slot]->low = static_cast<double>(low);
        changed[slot]->high = static_cast<double>(high);
        add(std::move(changed));
      };
      const auto& highest = slots_[slot].guess.highest;
      for (const int64_t number : fault_.numbers) {
        if (!highest || number <= *highest) set(number, number);
      }
      set(0, 1);
      set(1, 1);
      set(0, 0);
    }
  }

  // All arrays of an argument that is left out.
  void giveOptional() {
    for (size_t first = 0; first < slots_.size(); ++first) {
      const size_t argument = slots_[first].argument;
      if (failed_[first] || (first > 0 && slots_[first - 1].argument == argument)) continue;
      InputCandidate changed = failed_;
      for (size_t slot = first; slot < slots_.size() && slots_[slot].argument == argument; ++slot) {
        if (slots_[slot].isTensor()) changed[slot] = blankSpec(slots_[slot], shapesFor(slot).front());
      }
      add(std::move(changed));
    }
  }

  void changeTypes() {
    for (size_t slot = 0; slot < slots_.size(); ++slot) {
      if (!isInvolvedTensor(slot) || slots_[slot].guess.dtype != DType::Unknown) continue;
      for (const DType dtype : {DType::Int64, DType::Bool, floats_}) {
        if (dtype == failed_[slot]->dtype) continue;
        InputCandidate changed = failed_;
        changed[slot]->dtype = dtype;
        if (!graph::isFloat(dtype)) setRange(*changed[slot], slots_[slot].guess);
        add(std::move(changed));
      }
    }
  }

  [[nodiscard]] std::vector<Shape> shapesFor(size_t slot) const {
    const auto& known = slots_[slot].guess.shapes;
    if (!known.empty()) return known;
    // Like the other inputs, whole or without the last axes.
    std::vector<Shape> shapes;
    const auto addOnce = [&](const Shape& shape) {
      if (std::ranges::find(shapes, shape) == shapes.end()) shapes.push_back(shape);
    };
    for (size_t other = 0; other < slots_.size(); ++other) {
      if (other == slot || !failed_[other] || !slots_[other].isTensor()) continue;
      for (Shape shape = failed_[other]->shape; !shape.empty(); shape.pop_back()) addOnce(shape);
    }
    for (const Shape& shape : unknown_) addOnce(shape);
    return shapes;
  }

  InputSpec blankSpec(const InputSlot& slot, const Shape& shape) const {
    InputSpec spec;
    spec.name = slot.name;
    spec.dtype = slot.guess.dtype == DType::Unknown ? floats_ : slot.guess.dtype;
    spec.shape = shape;
    if (!graph::isFloat(spec.dtype)) setRange(spec, slot.guess);
    return spec;
  }

  void changeShapes() {
    for (size_t slot = 0; slot < slots_.size(); ++slot) {
      if (!isInvolvedTensor(slot)) continue;
      auto shapes = shapesFor(slot);
      if (!slots_[slot].guess.shapes.empty()) shapes.insert(shapes.end(), unknown_.begin(), unknown_.end());
      for (const Shape& shape : shapes) {
        if (shape == failed_[slot]->shape) continue;
        InputCandidate changed = failed_;
        changed[slot]->shape = shape;
        add(std::move(changed));
      }
    }
  }

  // Two inputs of one shape (ids and types of the same items).
  void changeShapesOfTwo() {
    for (size_t a = 0; a < slots_.size(); ++a) {
      for (size_t b = a + 1; b < slots_.size(); ++b) {
        if (!isInvolvedTensor(a) || !isInvolvedTensor(b) || failed_[a]->shape != failed_[b]->shape) continue;
        for (const Shape& shape : shapesFor(a)) {
          InputCandidate changed = failed_;
          changed[a]->shape = changed[b]->shape = shape;
          add(std::move(changed));
        }
      }
    }
  }

  // An axis less, one more, or the channels last.
  void changeRanks() {
    constexpr size_t kMostAxes = 5;
    for (size_t slot = 0; slot < slots_.size(); ++slot) {
      if (!isInvolvedTensor(slot)) continue;
      const Shape& shape = failed_[slot]->shape;
      const auto use = [&](Shape wanted) {
        InputCandidate changed = failed_;
        changed[slot]->shape = std::move(wanted);
        add(std::move(changed));
      };
      const auto rank = static_cast<std::ptrdiff_t>(shape.size());
      for (std::ptrdiff_t axis = 1; axis < rank; ++axis) {
        Shape fewer = shape;
        fewer.erase(fewer.begin() + axis);
        use(std::move(fewer));
      }
      if (rank >= 2) use({shape.begin() + 1, shape.end()});  // an image of a list has no batch
      if (rank >= 3) {
        Shape last = shape;
        std::rotate(last.begin() + 1, last.begin() + 2, last.end());
        use(std::move(last));
      }
      if (shape.size() >= kMostAxes) continue;
      for (std::ptrdiff_t axis = 1; axis <= rank; ++axis) {
        Shape more = shape;
        more.insert(more.begin() + axis, 4);
        use(std::move(more));
      }
    }
  }

  const InputCandidate& failed_;
  const InputFault& fault_;
  const std::vector<InputSlot>& slots_;
  const std::vector<Shape>& unknown_;
  DType floats_;
  std::vector<InputCandidate> out_;
};

}  // namespace

std::vector<InputCandidate> repairs(const InputCandidate& failed, const InputFault& fault,
                                    const std::vector<InputSlot>& slots, const std::vector<Shape>& unknown,
                                    DType floats) {
  return Repairs(failed, fault, slots, unknown, floats).run();
}

}  // namespace normlens::formats::torchscript
