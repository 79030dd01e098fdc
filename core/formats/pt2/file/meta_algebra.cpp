#include "core/formats/pt2/file/meta_algebra.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

namespace normlens::formats::pt2 {
namespace {

Json fixedSize(int64_t size) { return {Json::Object{{"as_int", Json(size)}}}; }

std::optional<int64_t> fixed(const Json& size) {
  const Json* number = size.find("as_int");
  return number == nullptr ? std::nullopt : std::optional(number->integer());
}

// "Integer(3)", or what is there.
std::string srepr(const Json& size) {
  if (const auto number = fixed(size)) return "Integer(" + std::to_string(*number) + ")";
  return size.at("as_expr").at("expr_str").text();
}

std::optional<int64_t> hint(const Json& size) {
  if (const auto number = fixed(size)) return number;
  const Json* example = size.at("as_expr").find("hint");
  const Json* number = example == nullptr ? nullptr : example->find("as_int");
  return number == nullptr ? std::nullopt : std::optional(number->integer());
}

Json product(const Json& a, const Json& b) {
  if (fixed(a) == 1) return b;
  if (fixed(b) == 1) return a;
  const auto left = hint(a), right = hint(b);
  int64_t all = 0;
  const bool known = left && right && !__builtin_mul_overflow(*left, *right, &all);
  if (fixed(a) && fixed(b)) {
    if (!known) throw BrokenDocument("a stride is beyond all measure");
    return fixedSize(all);
  }
  Json example = known ? Json(Json::Object{{"as_int", Json(all)}}) : Json();
  return {Json::Object{{"as_expr", Json(Json::Object{{"expr_str", Json("Mul(" + srepr(a) + ", " + srepr(b) + ")")},
                                                     {"hint", std::move(example)}})}}};
}

// A stride that steps over `from` elements of an axis, where there are `to`; nullopt: it does not.
std::optional<Json> rescaled(const Json& stride, int64_t from, int64_t to) {
  if (const auto number = fixed(stride))
    return *number % from == 0 ? std::optional(fixedSize(*number / from * to)) : std::nullopt;
  std::string text = srepr(stride);
  const std::string_view start = "Integer(";
  for (size_t at = text.find(start); at != std::string::npos; at = text.find(start, at + 1)) {
    const size_t begin = at + start.size(), end = text.find(')', begin);
    int64_t factor = 0;
    const auto read = std::from_chars(text.data() + begin, text.data() + std::min(end, text.size()), factor);
    if (read.ec != std::errc() || factor <= 0 || factor % from != 0) continue;
    text.replace(begin, end - begin, std::to_string(factor / from * to));
    const auto example = hint(stride);
    return Json(Json::Object{
        {"as_expr",
         Json(Json::Object{{"expr_str", Json(text)}, {"hint", example ? fixedSize(*example / from * to) : Json()}})}});
  }
  return std::nullopt;
}

const Json::Array& sizesOf(const Json& meta) { return meta.at("sizes").items(); }

size_t axisIn(const Json& meta, int64_t axis) {
  const auto rank = static_cast<int64_t>(sizesOf(meta).size());
  const int64_t at = axis < 0 ? axis + rank : axis;
  if (at < 0 || at >= rank) throw BrokenDocument("an axis lies outside its tensor");
  return static_cast<size_t>(at);
}

int64_t fixedAt(const Json& meta, size_t axis) {
  const auto size = fixed(sizesOf(meta)[axis]);
  if (!size) throw BrokenDocument("an axis of a size that is not fixed would have to be cut");
  return *size;
}

}  // namespace

Json denseMeta(const Json& like, Json::Array sizes) {
  Json::Array strides(sizes.size());
  Json step = fixedSize(1);
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = step;
    step = product(sizes[i], step);
  }
  Json made = like;
  made.set("sizes", Json(std::move(sizes)));
  made.set("strides", Json(std::move(strides)));
  made.set("storage_offset", fixedSize(0));
  return made;
}

Json broadcastMeta(const Json& a, const Json& b) {
  const auto& left = sizesOf(a);
  const auto& right = sizesOf(b);
  Json::Array sizes(std::max(left.size(), right.size()));
  const Json one = fixedSize(1);
  for (size_t i = 0; i < sizes.size(); ++i) {  // from the last
    const Json& x = i < left.size() ? left[left.size() - 1 - i] : one;
    const Json& y = i < right.size() ? right[right.size() - 1 - i] : one;
    const bool takesX = fixed(y) == 1 || srepr(x) == srepr(y);
    if (!takesX && fixed(x) != 1) throw BrokenDocument("two sizes do not go together");
    sizes[sizes.size() - 1 - i] = takesX ? x : y;
  }
  if (sizes == left) return a;  // with its strides, as an elementwise operator keeps them
  return denseMeta(a, std::move(sizes));
}

Json reducedMeta(const Json& of, const std::vector<int64_t>& axes, bool keepAxes) {
  std::vector<bool> gone(sizesOf(of).size(), axes.empty());
  for (const int64_t axis : axes) gone[axisIn(of, axis)] = true;
  Json::Array sizes;
  for (size_t i = 0; i < gone.size(); ++i) {
    if (!gone[i]) sizes.push_back(sizesOf(of)[i]);
    if (gone[i] && keepAxes) sizes.push_back(fixedSize(1));
  }
  return denseMeta(of, std::move(sizes));
}

Json unflattenedMeta(const Json& of, int64_t axis, const std::vector<int64_t>& sizes) {
  const size_t at = axisIn(of, axis);
  const int64_t whole = fixedAt(of, at);
  int64_t known = 1;
  for (const int64_t size : sizes) known *= size < 0 ? 1 : size;
  if (known <= 0 || whole % known != 0) throw BrokenDocument("an axis cannot be cut into such parts");
  Json::Array made = sizesOf(of);
  made.erase(made.begin() + static_cast<std::ptrdiff_t>(at));
  for (size_t i = sizes.size(); i-- > 0;)
    made.insert(made.begin() + static_cast<std::ptrdiff_t>(at), fixedSize(sizes[i] < 0 ? whole / known : sizes[i]));
  return denseMeta(of, std::move(made));
}

Json flattenedMeta(const Json& of, int64_t first, int64_t last) {
  const size_t from = axisIn(of, first), to = axisIn(of, last);
  if (to < from) throw BrokenDocument("axes cannot be joined backwards");
  int64_t whole = 1;
  for (size_t i = from; i <= to; ++i) whole *= fixedAt(of, i);
  Json::Array made = sizesOf(of);
  made.erase(made.begin() + static_cast<std::ptrdiff_t>(from), made.begin() + static_cast<std::ptrdiff_t>(to) + 1);
  made.insert(made.begin() + static_cast<std::ptrdiff_t>(from), fixedSize(whole));
  return denseMeta(of, std::move(made));
}

Json slicedMeta(const Json& of, int64_t axis, int64_t begin, int64_t end) {
  const size_t at = axisIn(of, axis);
  const int64_t whole = fixedAt(of, at);
  if (begin < 0 || end < begin || begin > whole) throw BrokenDocument("a slice lies outside its axis");
  Json::Array made = sizesOf(of);
  made[at] = fixedSize(std::min(end, whole) - begin);
  Json meta = denseMeta(of, std::move(made));
  meta.set("strides", of.at("strides"));
  return meta;
}

Json joinedMeta(const std::vector<const Json*>& parts, int64_t axis) {
  if (parts.empty()) throw BrokenDocument("nothing is joined");
  const size_t at = axisIn(*parts[0], axis);
  int64_t whole = 0;
  for (const Json* part : parts) whole += fixedAt(*part, axisIn(*part, axis));
  Json::Array made = sizesOf(*parts[0]);
  made[at] = fixedSize(whole);
  return denseMeta(*parts[0], std::move(made));
}

Json paddedMeta(const Json& of, const std::vector<int64_t>& amounts) {
  Json::Array made = sizesOf(of);
  if (amounts.size() % 2 != 0 || amounts.size() / 2 > made.size())
    throw BrokenDocument("more axes are padded than are");
  for (size_t i = 0; i < amounts.size(); i += 2) {
    const int64_t zeros = amounts[i] + amounts[i + 1];
    const size_t axis = made.size() - 1 - i / 2;
    if (zeros != 0) made[axis] = fixedSize(fixedAt(of, axis) + zeros);
  }
  return denseMeta(of, std::move(made));
}

Json resizedMeta(const Json& of, size_t axis, int64_t size) {
  const int64_t before = fixedAt(of, axis);
  Json::Array sizes = sizesOf(of), strides = of.at("strides").items();
  sizes[axis] = fixedSize(size);
  if (strides.size() != sizes.size()) throw BrokenDocument("a tensor has another number of strides than of sizes");
  const auto own = hint(strides[axis]);
  for (Json& stride : strides) {
    const auto step = hint(stride);
    if (own && step && *step <= *own) continue;  // inside
    auto scaled = before > 0 ? rescaled(stride, before, size) : std::nullopt;
    if (!scaled) return denseMeta(of, std::move(sizes));
    stride = std::move(*scaled);
  }
  Json made = of;
  made.set("sizes", Json(std::move(sizes)));
  made.set("strides", Json(std::move(strides)));
  return made;
}

Json typedMeta(Json meta, int64_t dtype) {
  meta.set("dtype", Json(dtype));
  return meta;
}

}  // namespace normlens::formats::pt2
