// A Remembered finds the value of each key once and keeps it. Thread: any.
#pragma once

#include <map>
#include <mutex>
#include <shared_mutex>

namespace normlens::kernels::cuda {

template <class Key, class Value>
class Remembered {
 public:
  // find() runs where the value is not known yet; where it throws, nothing is kept.
  template <class Find>
  Value of(const Key& key, const Find& find) {
    {
      const std::shared_lock lock(mutex_);
      if (const auto known = values_.find(key); known != values_.end()) return known->second;
    }
    const Value value = find();
    const std::unique_lock lock(mutex_);
    return values_.try_emplace(key, value).first->second;
  }

 private:
  std::shared_mutex mutex_;
  std::map<Key, Value> values_;
};

}  // namespace normlens::kernels::cuda
