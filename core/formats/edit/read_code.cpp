#include "core/formats/edit/read_code.h"

#include <algorithm>

#include "core/formats/edit/edit_refused.h"

namespace normlens::formats {
namespace {

using ops::Factor;
using ops::Factors;

// Neighboring whole factors of one kind are one factor.
Factors merged(const Factors& factors) {
  Factors out;
  for (const Factor& next : factors) {
    if (next.size == 1) continue;
    if (!out.empty() && out.back().whole() && next.whole() && out.back().summed == next.summed) {
      out.back() = {out.back().size * next.size, 0, out.back().size * next.size, next.summed};
    } else {
      out.push_back(next);
    }
  }
  if (out.empty()) out.push_back(Factor{});
  return out;
}

}  // namespace

ReadCode ReadCode::centering(const graph::Shape& shape, const ops::Pattern& pattern) {
  const auto perDim = ops::alignTo(pattern, shape);
  if (!perDim) throw EditRefused("a centering at run time would cut across the axes of the value");
  ReadCode code;
  for (const auto& factors : *perDim) {
    const Factors axis = merged(factors);
    const auto kept = std::count_if(axis.begin(), axis.end(), [](const Factor& f) { return !f.summed; });
    if (axis.size() > 1 && kept > 1) {
      throw EditRefused("a centering at run time would have to fix a size that may differ from call to call");
    }
    code.axes_.push_back(axis);
    code.factors_.insert(code.factors_.end(), axis.begin(), axis.end());
  }
  return code;
}

ReadCode ReadCode::channels(const graph::Shape& shape, const fold::RewriteReads& edit) {
  ReadCode code;
  code.kind_ = edit.restores ? Kind::Restore : Kind::Narrow;
  code.axis_ = static_cast<size_t>(edit.axis);
  code.rank_ = shape.size();
  code.channels_ = edit.channels;
  return code;
}

const char* ReadCode::word() const {
  return kind_ == Kind::Center ? "centering" : kind_ == Kind::Narrow ? "narrowed" : "restored";
}

std::string ReadCode::text() const {
  std::string text = word();
  const auto add = [&](int64_t number) { text += " " + std::to_string(number); };
  for (const auto& axis : axes_) {
    text += " /";
    for (const Factor& factor : axis) {
      for (const int64_t number : {factor.size, factor.begin, factor.end, int64_t{factor.summed}}) add(number);
    }
  }
  for (const int64_t number :
       {static_cast<int64_t>(axis_), static_cast<int64_t>(rank_), channels_.full, channels_.width})
    add(number);
  return text + " ";
}

}  // namespace normlens::formats
