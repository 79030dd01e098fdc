// The model's inputs as a table that can be edited: type, shape, and the range that numbers are drawn from.
//
// A cell takes whatever is typed; what cannot be meant is marked, with a sentence, and specs() is then empty. A value
// that the engine refused is marked as well, where it differs from what the model ran with, until it is typed anew.
#pragma once

#include <QStringList>
#include <optional>
#include <vector>

#include "core/protocol/messages.h"
#include "ui/models/record_table.h"
#include "ui/session/model_index.h"

namespace normlens::ui {

// Returns the inputs as the graph declares them, where none was found to run the model with: an open size is -1.
[[nodiscard]] std::vector<protocol::InputSpec> inputsOfGraph(const ModelIndex& index);

class InputsModel final : public RecordTable<QStringList> {  // a row: what is typed, by column
  Q_OBJECT

 public:
  enum Column { Name, Type, Shape, Low, High, Note, ColumnCount };
  enum Role { ErrorRole = kSortRole + 1 };  // a sentence; empty: the cell is fine

  explicit InputsModel(QObject* parent = nullptr);

  void setInputs(const std::vector<protocol::InputSpec>& inputs);
  // Restores what was typed before setInputs(); refusal: the engine's sentence about it, or empty.
  void retype(const std::vector<QStringList>& typed, const QString& refusal);
  void setEditable(bool editable);
  [[nodiscard]] bool edited() const;
  [[nodiscard]] QString firstError() const;  // "input_ids: ..."; empty: all can be meant
  [[nodiscard]] QString refusal() const;     // while a cell holds what was refused
  // Returns what set_inputs takes: "input_ids=int64[1,16]:0..199". nullopt while there is an error.
  [[nodiscard]] std::optional<std::vector<std::string>> specs() const;
  [[nodiscard]] static QStringList types();

  bool setData(const QModelIndex& index, const QVariant& value, int role) override;
  [[nodiscard]] Qt::ItemFlags flags(const QModelIndex& index) const override;

 private:
  [[nodiscard]] QString refusalOf(const QStringList& row, int column) const;

  std::vector<QStringList> before_;
  std::vector<QStringList> refused_;
  QString refusal_;
  bool editable_ = true;
};

}  // namespace normlens::ui
