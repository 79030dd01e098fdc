// Lists what the command palette offers, narrowed and ordered by what is typed: the best match first.
#pragma once

#include <QAbstractListModel>
#include <QString>
#include <QVector>
#include <functional>
#include <optional>
#include <vector>

namespace normlens::ui {

// Scores how well typed letters fit a title: they must occur in it in this order, case does not matter.
struct FuzzyMatch {
  int score = 0;           // higher is better
  QVector<int> positions;  // Index the letters in the title.
};

// Letters at the start of a word and letters that follow one another count more, gaps and long titles less. An empty
// pattern fits everything with score 0. Spaces in the pattern part words that may occur in any order.
[[nodiscard]] std::optional<FuzzyMatch> fuzzyMatch(const QString& pattern, const QString& title);

struct PaletteEntry {
  QString title;
  QString hint;  // at the right: a shortcut, a verdict
  QString icon;
  bool enabled = true;
  std::function<void()> run;
};

class PaletteModel final : public QAbstractListModel {
  Q_OBJECT

 public:
  enum Role { HintRole = Qt::UserRole + 1, IconRole, PositionsRole, EnabledRole };  // PositionsRole: QVector<int>
  static constexpr int kMostShown = 200;

  explicit PaletteModel(QObject* parent = nullptr) : QAbstractListModel(parent) {}

  void setEntries(std::vector<PaletteEntry> entries);
  void setPattern(const QString& pattern);
  void run(int row) const;  // nothing where the entry is not enabled

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] Qt::ItemFlags flags(const QModelIndex& index) const override;

 private:
  struct Shown {
    size_t entry = 0;
    FuzzyMatch match;
  };
  void narrow();

  std::vector<PaletteEntry> entries_;
  std::vector<Shown> shown_;
  QString pattern_;
};

}  // namespace normlens::ui
