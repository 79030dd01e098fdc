// A vector whose first N elements take no memory of their own: for the lists of which a graph has very many, and most
// of them short.
#pragma once

// GCC 12 takes Boost's moves of inner elements for overflows.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#pragma GCC diagnostic ignored "-Wstringop-overread"
#endif
#include <boost/container/small_vector.hpp>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
#include <cstddef>
#include <span>

namespace normlens {

template <class T, std::size_t N>
class SmallVector : public boost::container::small_vector<T, N> {
 public:
  using boost::container::small_vector<T, N>::small_vector;
  SmallVector() = default;
  SmallVector(const SmallVector&) = default;
  // Elements move one by one where they lie inside, which needs no memory. noexcept is written here, since Boost omits
  // it: what grows would be copied otherwise.
  SmallVector(SmallVector&&) noexcept = default;
  SmallVector& operator=(const SmallVector&) = default;
  SmallVector& operator=(SmallVector&&) noexcept = default;
  ~SmallVector() = default;

  // NOLINTNEXTLINE(google-explicit-constructor): as of any other contiguous range
  operator std::span<const T>() const { return {this->data(), this->size()}; }
};

}  // namespace normlens
