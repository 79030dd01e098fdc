// Lists the effect of folding each LayerNorm against its verdict on the model's outputs, norm by type: the error, and
// what rounding alone may do beside it.
#pragma once

#include <optional>
#include <vector>

#include "core/protocol/difference_messages.h"
#include "ui/models/record_table.h"

namespace normlens::ui {

class ForcedErrors;
class Session;

// Explains a figure in one sentence. folds: the norm's verdict allows the fold.
[[nodiscard]] QString forcedErrorTip(const protocol::ForcedError& error, bool folds);
// Returns why a norm has no figures in some types, "float16: There is no kernel for it."; empty: none is missing.
[[nodiscard]] QString missingFigures(const ForcedErrors& errors, int norm);

struct ForcedErrorRow {
  int norm = -1;
  std::string name;
  normlens::Verdict verdict = normlens::Verdict::Unknown;
  std::vector<std::optional<protocol::ForcedError>> errors;  // by type; nullopt: not measured
  QString missing;                                           // why figures are not there
};

class ForcedErrorTable final : public RecordTable<ForcedErrorRow> {
  Q_OBJECT

 public:
  enum Column { Name, Verdict, FirstType };  // then two for each type: the error, the limit; then why
  enum Role { NormRole = kSortRole + 1, ToneRole };
  enum Tone { Plain, Within, Wrong };

  explicit ForcedErrorTable(QObject* parent = nullptr);

  void show(const Session& session);  // all that is measured so far
  [[nodiscard]] int rowOf(int norm) const;
};

}  // namespace normlens::ui
