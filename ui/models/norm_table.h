// The LayerNorms of a model as a table: one row each, one column per fact; sorted, filtered and grouped by NormSorter.
#pragma once

#include <vector>

#include "core/protocol/messages.h"
#include "ui/models/record_table.h"
#include "ui/session/norm_costs.h"
#include "ui/words/plan_mark.h"

namespace normlens::ui {

class NormTable final : public RecordTable<protocol::NormInfo> {
  Q_OBJECT

 public:
  enum Column {
    Place,
    Name,
    Verdict,
    InPlan,
    Over,
    Form,
    Centerings,
    Shared,
    Saves,
    Paper,
    Practical,
    Strict,
    Gamma,
    Beta,
    Reason,
    ColumnCount
  };
  enum Role { NormRole = kSortRole + 1, VerdictRole, PlanRole };  // int of ui::Verdict, of PlanState

  explicit NormTable(QObject* parent = nullptr);

  void setNorms(const std::vector<protocol::NormInfo>& norms);
  void setPlan(std::vector<PlanMark> marks);                  // by NormInfo::index; empty: there is no plan
  void setCosts(std::vector<std::optional<NormCost>> costs);  // the same; nullopt: not measured
  [[nodiscard]] int rowOf(int norm) const;                    // -1: no such norm

 private:
  [[nodiscard]] Columns columns() const;
  [[nodiscard]] PlanMark markOf(const protocol::NormInfo& norm) const;
  [[nodiscard]] int centeringsOf(const protocol::NormInfo& norm) const;
  [[nodiscard]] std::optional<NormCost> costOf(const protocol::NormInfo& norm) const;

  std::vector<PlanMark> marks_;
  std::vector<std::optional<NormCost>> costs_;
};

// Words that must all occur in a name, verdict or reason; grouped: by verdict first, whichever column sorts.
class NormSorter final : public RecordSorter {
  Q_OBJECT

 public:
  explicit NormSorter(QObject* parent = nullptr) : RecordSorter(parent) {}

  void setWords(const QString& words);
  void setGrouped(bool grouped);
  [[nodiscard]] bool grouped() const { return grouped_; }

 protected:
  [[nodiscard]] bool filterAcceptsRow(int row, const QModelIndex& parent) const override;
  [[nodiscard]] bool lessThan(const QModelIndex& left, const QModelIndex& right) const override;

 private:
  QStringList words_;
  bool grouped_ = false;
};

}  // namespace normlens::ui
