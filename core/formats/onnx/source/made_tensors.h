// Holds a source's weights in the other forms that sessions need: each is made once and kept while a session uses it.
// Private to formats/onnx. Thread: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>

#include "core/graph/types.h"

namespace normlens::formats::onnx {

enum class MadeForm : uint8_t { Copy, Transpose };

class MadeTensors {
 public:
  // make: returns a TensorView in memory of its own, or nullopt, which is passed on. `of` stays alive with the result.
  template <class Make>
  std::optional<graph::TensorView> get(const graph::TensorView& of, MadeForm form, const Make& make) {
    const std::scoped_lock lock(mutex_);
    Entry& entry = made_[{of.data, form, of.dtype, of.shape}];
    if (auto owner = entry.owner.lock()) {
      graph::TensorView view = entry.view;
      view.owner = std::move(owner);
      return view;
    }
    std::optional<graph::TensorView> made = make();
    if (!made) return std::nullopt;
    using Both = std::pair<std::shared_ptr<const void>, std::shared_ptr<const void>>;
    made->owner = std::make_shared<Both>(made->owner, of.owner);
    entry.owner = made->owner;
    entry.view = *made;
    entry.view.owner.reset();
    return made;
  }

 private:
  struct Entry {
    std::weak_ptr<const void> owner;
    graph::TensorView view;  // without its owner
  };
  std::mutex mutex_;
  std::map<std::tuple<const std::byte*, MadeForm, graph::DType, graph::Shape>, Entry> made_;
};

}  // namespace normlens::formats::onnx
