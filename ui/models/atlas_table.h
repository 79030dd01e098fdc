// The atlas of architectures, from resources/reference/atlas.json, which `python -m normlens.atlas` writes: an
// architecture a row, with its verdicts and the papers' criteria; and what filters its rows.
#pragma once

#include <optional>

#include "ui/models/record_table.h"

namespace normlens::ui {

// Counts of LayerNorms.
struct AtlasRow {
  QString name, group, made;  // "BERT", "Encoders", "transformers.BertModel"
  int layers = 0, norms = 0, free = 0, centering = 0, blocked = 0, unknown = 0;
  int paper = 0, practical = 0, strict = 0;  // which the papers' criteria promise, as NormLens runs them
  struct Printed {
    int norms = 0, foldable = 0, practical = 0;
  };
  std::optional<Printed> printed;  // paper 001, table 3
  QString reason;
  QString note;  // why .pt2 and .onnx differ, or one of them is missing; empty: they agree
};

class AtlasTable final : public RecordTable<AtlasRow> {
  Q_OBJECT

 public:
  enum Role { SharesRole = kSortRole + 1 };  // a QVariantList: free, with centering, blocked, unknown
  enum Column { Name, Layers, Norms, Free, Centering, Blocked, Share, Paper, Practical, Strict, Printed, Reason };

  explicit AtlasTable(QObject* parent = nullptr);

  [[nodiscard]] const QString& versions() const { return versions_; }  // "transformers 5.24.0, timm 1.0.31, …"

 private:
  QString versions_;
};

class AtlasFilter final : public RecordSorter {
  Q_OBJECT

 public:
  explicit AtlasFilter(AtlasTable* table);  // which owns it

  void setWords(const QString& words);  // all of them must occur in name, class or reason; case does not matter
  void setGroup(const QString& group);  // empty: all of them
  static bool isIn(const AtlasRow& row, const QString& group);
  static QString printedGroup();  // of the architectures in the papers' table

 protected:
  [[nodiscard]] bool filterAcceptsRow(int row, const QModelIndex& parent) const override;

 private:
  AtlasTable* table_;
  QStringList words_;
  QString group_;
};

}  // namespace normlens::ui
