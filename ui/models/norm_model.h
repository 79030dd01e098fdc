// The LayerNorms of a model in groups by verdict: Can fold free, With shared centering, Blocked, Unknown.
//
// A tree of two levels, one column. The groups are always there, with their counts; Unknown only where it has norms.
// Thread: GUI thread.
#pragma once

#include <QAbstractItemModel>
#include <array>
#include <vector>

#include "core/protocol/messages.h"
#include "ui/words/plan_mark.h"

namespace normlens::ui {

inline constexpr int kVerdicts = namesOf(Verdict{}).size();

class NormModel final : public QAbstractItemModel {
  Q_OBJECT

 public:
  enum Role {
    IsGroupRole = Qt::UserRole + 1,
    VerdictRole,   // int of Verdict
    NormRole,      // index of the LayerNorm; -1 for a group
    NameRole,      // the whole name; DisplayRole has what differs: neither sharedEnds() nor the group's SharedRole
    SharedRole,    // of a group of several norms: what else their names begin with, "encoder.layer."
    ReasonRole,    // sentence
    WidthRole,     // "768", or "16×768"
    CountRole,     // A group's.
    EarlyRole,     // no run has confirmed it
    PlanRole,      // int of PlanState
    PlanWordRole,  // "folded, centering"; of a group "9 folded"
    SortRole,      // execution order
  };

  explicit NormModel(QObject* parent = nullptr) : QAbstractItemModel(parent) {}

  void setNorms(const std::vector<protocol::NormInfo>& norms, bool early = false);
  void setPlan(const std::vector<PlanMark>& marks);  // by norm; empty: there is no plan
  [[nodiscard]] const QString& sharedEnds() const {
    return sharedEnds_;
  }                                                       // of all names: "bert. … .LayerNorm", or empty
  [[nodiscard]] QModelIndex indexOfNorm(int norm) const;  // invalid when there is no such norm

  [[nodiscard]] QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
  [[nodiscard]] QModelIndex parent(const QModelIndex& child) const override;
  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] Qt::ItemFlags flags(const QModelIndex& index) const override;

 private:
  struct Row {
    int norm = -1;
    QString name, shown, reason, width;
    PlanMark mark;
  };
  [[nodiscard]] QVariant groupData(Verdict verdict, int role) const;
  [[nodiscard]] static QVariant rowData(Verdict verdict, const Row& row, int role);

  [[nodiscard]] static QString groupPlan(Verdict verdict, const std::vector<Row>& rows);
  [[nodiscard]] static QString reasonOf(const Row& row);

  std::array<std::vector<Row>, kVerdicts> groups_;
  std::array<QString, kVerdicts> shared_;  // SharedRole
  QString sharedEnds_;
  bool early_ = false;
};

}  // namespace normlens::ui
