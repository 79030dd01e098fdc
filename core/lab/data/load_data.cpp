#include "core/lab/data/load_data.h"

#include <cerrno>
#include <cstring>

#include "core/base/files.h"
#include "core/base/plural.h"
#include "core/base/printable.h"
#include "core/lab/data/csv.h"
#include "core/lab/data/generated.h"
#include "core/lab/data/npz_table.h"

namespace normlens::lab {
namespace {

constexpr size_t kMostBytes = size_t{256} << 20;
constexpr int64_t kFewestRows = 16;

Result<std::string> readText(const std::string& path) {
  auto text = files::readSmall(path, kMostBytes);
  if (text) return std::move(*text);
  std::string why = std::strerror(text.error());
  if (text.error() == EFBIG) why = "it is larger than 256 MB";
  if (text.error() == EINVAL) why = "it is no plain file";
  return fail(ErrorCode::Unreadable, printable("the data " + path + " cannot be read: " + why));
}

// A whole sentence of half a one.
Error inData(const std::string& path, Error error) {
  if (error.code == ErrorCode::BadInput)
    error.message = "the data " + path + " cannot be learned from: it " + error.message;
  error.message = printable(error.message);
  return error;
}

Result<Data> loadTable(const DataSettings& data) {
  auto rows = [&]() -> Result<Rows> {
    if (data.kind == "npz") return readNpzTable(data.path, data.target);
    const auto text = readText(data.path);
    if (!text) return tl::unexpected(text.error());
    return readCsv(*text, data.target);
  }();
  if (rows && rows->all.count() < kFewestRows) {
    rows = fail(ErrorCode::BadInput, "has " + plural(rows->all.count(), "example") + ": at least " +
                                         std::to_string(kFewestRows) + " are needed");
  }
  if (!rows) return tl::unexpected(inData(data.path, rows.error()));
  TableData set = setAside(*rows, data);
  standardize(set);
  return set;
}

Result<Data> loadText(const DataSettings& data) {
  if (data.kind == "characters") {
    auto set = splitText(generatedText(data), data);
    if (!set) return fail(ErrorCode::BadInput, "data.samples: the generated text " + set.error().message);
    return std::move(*set);
  }
  const auto text = readText(data.path);
  if (!text) return tl::unexpected(text.error());
  auto set = splitText(*text, data);
  if (!set) return tl::unexpected(inData(data.path, set.error()));
  return std::move(*set);
}

}  // namespace

Result<Data> loadData(const DataSettings& data) {
  if (data.kind == "characters" || data.kind == "text") return loadText(data);
  if (data.kind == "csv" || data.kind == "npz") return loadTable(data);
  return setAside(generatedRows(data), data);
}

}  // namespace normlens::lab
