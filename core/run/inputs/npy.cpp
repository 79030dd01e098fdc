#include "core/run/inputs/npy.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include "core/formats/file/atomic_file.h"
#include "core/run/tensor_parts.h"
#include "core/run/tensors.h"

namespace normlens::run {
namespace {

using graph::DType;

constexpr int64_t kElementsAtATime = int64_t{1} << 20;

static_assert(std::endian::native == std::endian::little, "arrays are kept in the byte order of the file");

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMaxRank = 64;

tl::unexpected<Error> bad(std::string what) { return fail(ErrorCode::Unreadable, std::move(what)); }

// These types are listed by NumPy's kind letter and width.
constexpr std::array<std::pair<std::string_view, DType>, 9> kTypes = {{{"b1", DType::Bool},
                                                                       {"i1", DType::Int8},
                                                                       {"i2", DType::Int16},
                                                                       {"i4", DType::Int32},
                                                                       {"i8", DType::Int64},
                                                                       {"u1", DType::UInt8},
                                                                       {"f2", DType::Float16},
                                                                       {"f4", DType::Float32},
                                                                       {"f8", DType::Float64}}};

struct Header {
  std::string descr;
  bool fortran = false;
  graph::Shape shape;
  size_t dataOffset = 0;
};

// Returns the text behind a key in a dictionary as Python writes it.
std::string_view valueOf(std::string_view dictionary, std::string_view key) {
  const std::string quoted = "'" + std::string(key) + "':";
  const size_t at = dictionary.find(quoted);
  if (at == std::string_view::npos) return {};
  const size_t start = dictionary.find_first_not_of(' ', at + quoted.size());
  return start == std::string_view::npos ? std::string_view() : dictionary.substr(start);
}

// Returns the text between these two; nullopt: the text does not begin so.
std::optional<std::string_view> between(char open, char close, std::string_view text) {
  const size_t end = text.find(close, 1);
  if (end == std::string_view::npos || text.front() != open) return std::nullopt;
  return text.substr(1, end - 1);
}

std::optional<graph::Shape> shapeIn(std::string_view list) {
  graph::Shape shape;
  while (true) {
    list.remove_prefix(std::min(list.find_first_not_of(" ,"), list.size()));
    if (list.empty()) return shape;
    int64_t size = 0;
    const auto [end, status] = std::from_chars(list.data(), list.data() + list.size(), size);
    if (status != std::errc() || size < 0 || shape.size() == kMaxRank) return std::nullopt;
    shape.push_back(size);
    list.remove_prefix(static_cast<size_t>(end - list.data()));
  }
}

// The one-line dictionary {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }.
std::optional<Header> parsed(std::string_view dictionary) {
  const std::string_view descr = valueOf(dictionary, "descr"), order = valueOf(dictionary, "fortran_order");
  const auto name = descr.starts_with('[') ? "record" : between('\'', '\'', descr);
  const auto sizes = between('(', ')', valueOf(dictionary, "shape"));
  const auto shape = sizes ? shapeIn(*sizes) : std::nullopt;
  if (!name || !shape || !(order.starts_with("True") || order.starts_with("False"))) return std::nullopt;
  return Header{std::string(*name), order.starts_with("True"), *shape};
}

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
  auto header = parsed(text.substr(start, length));
  if (!header) return bad("its NumPy header is not understood");
  header->dataOffset = start + length;
  return *header;
}

Result<DType> typeOf(std::string_view descr) {
  if (descr == "record") return bad("it holds records of several fields; save plain arrays");
  if (descr.ends_with('O')) return bad("it holds Python objects, which are never unpickled");
  const auto* const known = std::ranges::find(kTypes, descr.substr(std::min<size_t>(1, descr.size())),
                                              &std::pair<std::string_view, DType>::first);
  if (known == kTypes.end() || descr.front() == '>')
    return bad("its element type '" + std::string(descr) + "' is not supported");
  return known->second;
}

}  // namespace

Result<int64_t> writeNpyFile(const std::filesystem::path& path, const graph::TensorView& view, const Task& task) {
  const graph::DType written = view.dtype == graph::DType::BFloat16 ? graph::DType::Float32 : view.dtype;
  ASSIGN_OR_RETURN(const auto header, npyHeader(written, view.shape));
  const int64_t count = graph::elementCount(view.shape).value_or(0);
  const uint64_t width = graph::dtypeBytes(written);
  const uint64_t size = header.size() + static_cast<uint64_t>(count) * width;
  ASSIGN_OR_RETURN(auto file, formats::AtomicFile::create(path, size));
  RETURN_IF_ERROR(file.writeAt(0, std::as_bytes(std::span(header))));
  RETURN_IF_ERROR(forEachPart(view, kElementsAtATime, [&](int64_t first, const graph::TensorView& part) -> Status {
    task.report("writing " + path.filename().string(), static_cast<double>(first) / static_cast<double>(count));
    RETURN_IF_ERROR(task.check());
    ASSIGN_OR_RETURN(const auto bytes, denseBytes(castFloat(part, written)));
    return file.writeAt(header.size() + static_cast<uint64_t>(first) * width, bytes);
  }));
  RETURN_IF_ERROR(file.commit());
  return static_cast<int64_t>(size);
}

Result<graph::TensorView> parseNpy(std::span<const std::byte> file) {
  ASSIGN_OR_RETURN(auto header, readHeader(file));
  ASSIGN_OR_RETURN(const auto type, typeOf(header.descr));
  const auto count = graph::elementCount(header.shape);
  const size_t width = graph::dtypeBytes(type);
  const size_t available = file.size() - header.dataOffset;
  if (!count || static_cast<uint64_t>(*count) > available / width) {
    return bad("it says " + describe(type, header.shape) + " but holds only " + std::to_string(available) + " bytes");
  }
  // Strides are products of sizes, of an array without elements, too.
  graph::Shape strides = header.shape;
  std::ranges::replace(strides, 0, 1);
  if (!graph::elementCount(strides)) return bad("its shape is larger than any array's");
  const auto data = file.subspan(header.dataOffset, static_cast<size_t>(*count) * width);
  std::vector<std::byte> bytes(data.begin(), data.end());
  if (!header.fortran) return ownedTensor(type, header.shape, std::move(bytes));
  graph::TensorView view = ownedTensor(type, {header.shape.rbegin(), header.shape.rend()}, std::move(bytes));
  std::ranges::reverse(view.shape);
  std::ranges::reverse(view.strides);
  return denseBytes(view).map(
      [&](std::vector<std::byte>&& dense) { return ownedTensor(view.dtype, view.shape, std::move(dense)); });
}

Result<std::string> npyHeader(DType dtype, const graph::Shape& shape) {
  const auto* const known = std::ranges::find(kTypes, dtype, &std::pair<std::string_view, DType>::second);
  if (known == kTypes.end()) {
    return fail(ErrorCode::Unsupported,
                "an array of type " + std::string(graph::dtypeName(dtype)) + " cannot be written as .npy");
  }
  std::string header = "{'descr': '" + std::string(graph::dtypeBytes(dtype) == 1 ? "|" : "<") +
                       std::string(known->first) + "', 'fortran_order': False, 'shape': (";
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
