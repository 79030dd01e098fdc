#include "core/lab/data/load_data.h"

#include "core/base/plural.h"
#include "core/base/printable.h"
#include "core/lab/data/generated.h"
#include "core/lab/data/npz_table.h"

namespace normlens::lab {
namespace {

constexpr int64_t kFewestRows = 16;

// Makes a whole sentence of half a one.
Error inData(const std::string& path, Error error) {
  if (error.code == ErrorCode::BadInput)
    error.message = "the data " + path + " cannot be learned from: it " + error.message;
  error.message = printable(error.message);
  return error;
}

Result<Data> loadTable(const DataSettings& data) {
  auto rows = readNpzTable(data.path, data.target);
  if (rows && rows->all.count() < kFewestRows) {
    rows = fail(ErrorCode::BadInput, "has " + plural(rows->all.count(), "example") + ": at least " +
                                         std::to_string(kFewestRows) + " are needed");
  }
  if (!rows) return tl::unexpected(inData(data.path, rows.error()));
  TableData set = setAside(*rows, data);
  standardize(set);
  return set;
}

}  // namespace

Result<Data> loadData(const DataSettings& data) {
  if (data.kind == "npz") return loadTable(data);
  if (data.kind != "characters") return setAside(generatedRows(data), data);
  return splitText(generatedText(data), data).map([](TextData&& set) { return Data(std::move(set)); });
}

}  // namespace normlens::lab
