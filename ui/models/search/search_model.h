// Lists what the search box found: commands, LayerNorms, modules, nodes, the best match first.
//
// A query is worked off in slices between the window's other events, so that typing stays smooth in a model of fifty
// thousand nodes; `finished` is emitted when the rows are complete. Thread: GUI thread.
#pragma once

#include <QAbstractListModel>
#include <QTimer>
#include <vector>

#include "ui/models/search/search_query.h"

namespace normlens::ui {

class SearchModel final : public QAbstractListModel {
  Q_OBJECT

 public:
  enum class Target { Command, Norm, Scope, Node };
  enum Role { TargetRole = Qt::UserRole + 1, IdRole, HintRole, IconRole };
  struct Entry {
    Target target = Target::Command;
    int id = 0;  // norm index, scope id, node id, or number of the command
    QString title;
    QString hint;  // shown at the right: "LayerNorm", "module", a shortcut
    QString icon;
  };
  static constexpr int kMaxRows = 400;  // more are found and can be stepped through, but make no useful list

  explicit SearchModel(QObject* parent = nullptr);

  // Commands and norms: a few. Runs the query anew.
  void setEntries(std::vector<Entry> entries);
  // Modules and operators. Not owned; call again when what it holds has changed. nullptr: none.
  void setIndex(const ModelIndex* index);
  void setQuery(const QString& text);

  [[nodiscard]] QString error() const { return query_.error(); }  // A regular expression may have one.
  [[nodiscard]] bool searching() const { return slices_.isActive(); }
  // All that was found, also what is beyond the last row.
  [[nodiscard]] int hitCount() const { return static_cast<int>(hits_.size()); }
  [[nodiscard]] Entry hit(int number) const;

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;

 Q_SIGNALS:
  void finished();

 private:
  struct Hit {
    Target target = Target::Command;
    int rank = 0;
    int place = 0;  // among its kind: into entries_, or the graph's scopes or nodes
  };
  void start();
  void slice();
  void matchEntries();
  void matchScope(size_t place);
  void matchNode(size_t place);
  void publish();

  std::vector<Entry> entries_;
  const ModelIndex* index_ = nullptr;  // Not owned.
  SearchQuery query_;
  std::vector<bool> namedByNorm_;  // by scope: the norm of that name is in entries_
  bool hasNorms_ = false;
  std::vector<Hit> hits_;    // The rows show them.
  std::vector<Hit> coming_;  // The search under way finds them.
  size_t next_ = 0;          // scope or node to look at, scopes first
  QTimer slices_;
};

}  // namespace normlens::ui
