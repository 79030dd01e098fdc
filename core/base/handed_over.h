// A call that another thread will make, made visible to the thread sanitizer.
//
// Qt's event queue puts the making of a queued call before the call, by locks inside a library that the sanitizer does
// not look into. Wrapped in HandedOver the order is seen, so that a run under the sanitizer needs no suppression of our
// own code. Without the sanitizer it is the call and nothing else.
#pragma once

#include <utility>

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace normlens {

template <class Call>
class HandedOver {
 public:
  explicit HandedOver(Call call) : call_(std::move(call)) {}
  // The queue moves it into its own memory here: the last thing that the posting thread does with it.
  HandedOver(HandedOver&& other) noexcept : call_(std::move(other.call_)) {
#ifdef __SANITIZE_THREAD__
    __tsan_release(this);
#endif
  }
  HandedOver(const HandedOver&) = delete;
  HandedOver& operator=(const HandedOver&) = delete;
  HandedOver& operator=(HandedOver&&) = delete;
  // Runs in the thread that lets go of it last, which may be the one that posted it.
  ~HandedOver() {
#ifdef __SANITIZE_THREAD__
    __tsan_acquire(this);
#endif
  }

  void operator()() {
#ifdef __SANITIZE_THREAD__
    __tsan_acquire(this);
#endif
    call_();
#ifdef __SANITIZE_THREAD__
    __tsan_release(this);
#endif
  }

 private:
  Call call_;
};

}  // namespace normlens
