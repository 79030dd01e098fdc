#include "core/run/inputs/npy.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <limits>
#include <optional>
#include <string>

#include "core/run/tensors.h"

namespace normlens::run {
namespace {

using graph::DType;

static_assert(std::endian::native == std::endian::little, "arrays are kept in the byte order of the file");

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMaxRank = 64;

tl::unexpected<Error> bad(std::string what) { return fail(ErrorCode::Unreadable, std::move(what)); }

// How NumPy's kind letter and byte width are read. `stored`: the type of the bytes; `wide`: what it becomes.
struct TypeRow {
  std::string_view code;
  DType dtype;
  size_t storedBytes;
};
constexpr std::array kTypes = {
    TypeRow{"b1", DType::Bool, 1},    TypeRow{"?", DType::Bool, 1},     TypeRow{"i1", DType::Int8, 1},
    TypeRow{"i2", DType::Int16, 2},   TypeRow{"i4", DType::Int32, 4},   TypeRow{"i8", DType::Int64, 8},
    TypeRow{"u1", DType::UInt8, 1},   TypeRow{"u2", DType::Int32, 2},   TypeRow{"u4", DType::Int64, 4},
    TypeRow{"u8", DType::Int64, 8},   TypeRow{"f2", DType::Float16, 2}, TypeRow{"f4", DType::Float32, 4},
    TypeRow{"f8", DType::Float64, 8},
};

struct Header {
  std::string descr;
  bool fortran = false;
  graph::Shape shape;
  size_t dataOffset = 0;
};

// Reads the one-line Python dictionary {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }.
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view text) : text_(text) {}

  std::optional<Header> read() {
    Header header;
    bool descr = false, order = false, shape = false;
    if (!take('{')) return std::nullopt;
    while (!take('}')) {
      const auto key = quoted();
      if (!key || !take(':')) return std::nullopt;
      bool good = false;
      if (*key == "descr") {
        good = descr = readDescr(header.descr);
      } else if (*key == "fortran_order") {
        good = order = readBool(header.fortran);
      } else if (*key == "shape") {
        good = shape = readShape(header.shape);
      }
      if (!good) return std::nullopt;
      if (!take(',') && !peek('}')) return std::nullopt;
    }
    if (!descr || !order || !shape) return std::nullopt;
    return header;
  }

 private:
  void skipBlank() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  bool peek(char c) {
    skipBlank();
    return at_ < text_.size() && text_[at_] == c;
  }
  bool take(char c) {
    if (!peek(c)) return false;
    ++at_;
    return true;
  }
  bool takeWord(std::string_view word) {
    skipBlank();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  std::optional<std::string> quoted() {
    skipBlank();
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) return std::nullopt;
    const size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string_view::npos) return std::nullopt;
    std::string value(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return value;
  }
  bool readDescr(std::string& out) {
    if (peek('[')) {  // a record of several fields: named in the error, so the rest is not read
      out = "record";
      at_ = text_.find(']', at_);
      return take(']');
    }
    const auto value = quoted();
    if (value) out = *value;
    return value.has_value();
  }
  bool readBool(bool& out) {
    out = takeWord("True");
    return out || takeWord("False");
  }
  bool readShape(graph::Shape& out) {
    if (!take('(')) return false;
    while (!take(')')) {
      skipBlank();
      int64_t size = 0;
      const char* begin = text_.data() + at_;
      const auto [end, status] = std::from_chars(begin, text_.data() + text_.size(), size);
      if (status != std::errc() || size < 0 || out.size() == kMaxRank) return false;
      at_ += static_cast<size_t>(end - begin);
      out.push_back(size);
      if (!take(',') && !peek(')')) return false;
    }
    return true;
  }

  std::string_view text_;
  size_t at_ = 0;
};

Result<Header> readHeader(std::span<const std::byte> file) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (!text.starts_with(kMagic) || text.size() < kMagic.size() + 4) return bad("it is not a NumPy array");
  const auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<unsigned char>(text[i])); };
  const size_t major = byte(6);
  if (major < 1 || major > 3) return bad("its NumPy format version " + std::to_string(major) + " is not known");
  const size_t lengthBytes = major == 1 ? 2 : 4;
  const size_t start = kMagic.size() + 2 + lengthBytes;
  if (text.size() < start) return bad("its NumPy header is cut off");
  size_t length = 0;
  for (size_t i = 0; i < lengthBytes; ++i) length |= byte(8 + i) << (8 * i);
  if (length > text.size() - start) return bad("its NumPy header is cut off");
  auto header = HeaderReader(text.substr(start, length)).read();
  if (!header) return bad("its NumPy header is not understood");
  header->dataOffset = start + length;
  return *header;
}

const TypeRow* findType(std::string_view code) {
  const auto* row = std::ranges::find(kTypes, code, &TypeRow::code);
  return row == kTypes.end() ? nullptr : row;
}

Result<const TypeRow*> typeOf(std::string_view descr) {
  const bool marked = !descr.empty() && std::string_view("<>=|").find(descr.front()) != std::string_view::npos;
  const std::string_view code = marked ? descr.substr(1) : descr;
  if (!code.empty() && code.front() == 'O') return bad("it holds Python objects, which are never unpickled");
  if (descr == "record") return bad("it holds records of several fields; save plain arrays");
  const TypeRow* row = findType(code);
  if (!row) return bad("its element type '" + std::string(descr) + "' is not supported");
  return row;
}

void swapBytes(std::vector<std::byte>& bytes, size_t width) {
  for (size_t at = 0; at + width <= bytes.size(); at += width) {
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                 bytes.begin() + static_cast<std::ptrdiff_t>(at + width));
  }
}

template <class From, class To>
Result<std::vector<std::byte>> widened(const std::vector<std::byte>& in) {
  std::vector<std::byte> out(in.size() / sizeof(From) * sizeof(To));
  for (size_t i = 0; i < in.size() / sizeof(From); ++i) {
    From from;
    std::memcpy(&from, in.data() + i * sizeof(From), sizeof(From));
    if (!std::in_range<To>(from)) return bad("it holds unsigned numbers that do not fit int64");
    const To to = static_cast<To>(from);
    std::memcpy(out.data() + i * sizeof(To), &to, sizeof(To));
  }
  return out;
}

Result<std::vector<std::byte>> toSupported(std::string_view descr, std::vector<std::byte> bytes) {
  if (descr.ends_with("u2")) return widened<uint16_t, int32_t>(bytes);
  if (descr.ends_with("u4")) return widened<uint32_t, int64_t>(bytes);
  if (descr.ends_with("u8")) return widened<uint64_t, int64_t>(bytes);
  return bytes;
}

std::string_view codeOf(DType dtype) {
  for (const TypeRow& row : kTypes) {
    if (row.dtype == dtype && row.storedBytes == graph::dtypeBytes(dtype) && row.code.front() != 'u') return row.code;
  }
  return dtype == DType::UInt8 ? "u1" : "";
}

}  // namespace

Result<graph::TensorView> parseNpy(std::span<const std::byte> file) {
  auto header = readHeader(file);
  if (!header) return tl::unexpected(header.error());
  const auto type = typeOf(header->descr);
  if (!type) return tl::unexpected(type.error());
  const auto count = graph::elementCount(header->shape);
  const size_t width = (*type)->storedBytes;
  const size_t available = file.size() - header->dataOffset;
  if (!count || static_cast<uint64_t>(*count) > available / width) {
    return bad("it says " + describe((*type)->dtype, header->shape) + " but holds only " + std::to_string(available) +
               " bytes");
  }
  // Strides are products of sizes, of an array without elements, too.
  graph::Shape strides = header->shape;
  std::ranges::replace(strides, 0, 1);
  if (!graph::elementCount(strides)) return bad("its shape is larger than any array's");
  const auto data = file.subspan(header->dataOffset, static_cast<size_t>(*count) * width);
  std::vector<std::byte> bytes(data.begin(), data.end());
  if (header->descr.front() == '>') swapBytes(bytes, width);
  auto supported = toSupported(header->descr, std::move(bytes));
  if (!supported) return tl::unexpected(supported.error());
  if (!header->fortran || header->shape.size() < 2) {
    return ownedTensor((*type)->dtype, header->shape, std::move(*supported));
  }
  graph::Shape reversed(header->shape.rbegin(), header->shape.rend());
  graph::TensorView view = ownedTensor((*type)->dtype, std::move(reversed), std::move(*supported));
  std::ranges::reverse(view.shape);
  std::ranges::reverse(view.strides);
  auto dense = denseBytes(view);
  if (!dense) return tl::unexpected(dense.error());
  return ownedTensor(view.dtype, view.shape, std::move(*dense));
}

Result<std::string> npyHeader(DType dtype, const graph::Shape& shape) {
  const std::string_view code = codeOf(dtype);
  if (code.empty()) {
    return fail(ErrorCode::Unsupported,
                "an array of type " + std::string(graph::dtypeName(dtype)) + " cannot be written as .npy");
  }
  std::string header = "{'descr': '" + std::string(graph::dtypeBytes(dtype) == 1 ? "|" : "<") + std::string(code) +
                       "', 'fortran_order': False, 'shape': (";
  for (const int64_t size : shape) header += std::to_string(size) + (shape.size() == 1 ? "," : ", ");
  header += "), }";
  constexpr size_t kPrefix = 10, kAlign = 64;  // the data starts at a multiple of 64
  header.append(kAlign - (kPrefix + header.size() + 1) % kAlign, ' ');
  header += '\n';
  std::string prefix(kMagic);
  prefix += {'\x01', '\x00', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  return prefix + header;
}

}  // namespace normlens::run
