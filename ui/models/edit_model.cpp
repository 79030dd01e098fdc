#include "ui/models/edit_model.h"
#include "ui/words/format.h"

#include <algorithm>
#include <array>

namespace normlens::ui {

namespace {

struct KindWords {
  const char *word, *meaning;
  char16_t mark;  // letter of the class
};

// Ordered as EditKind.
constexpr auto kKinds = std::to_array<KindWords>({
    {QT_TRANSLATE_NOOP("EditModel", "Absorb scale"),
     QT_TRANSLATE_NOOP("EditModel", "Multiplies a per-channel scale into the weight before it. No run-time cost."),
     u'S'},
    {QT_TRANSLATE_NOOP("EditModel", "Center"),
     QT_TRANSLATE_NOOP(
         "EditModel", "Subtracts the mean of what each input adds from a weight, once, in the file. No run-time cost."),
     u'L'},
    {QT_TRANSLATE_NOOP("EditModel", "Center at run time"),
     QT_TRANSLATE_NOOP("EditModel", "Subtracts the mean at run time. Costs time in every run."), u'A'},
    {QT_TRANSLATE_NOOP("EditModel", "Drop addend"),
     QT_TRANSLATE_NOOP(
         "EditModel", "An addend or fill that is constant along the channels changes only the mean. Zero replaces it."),
     u'Z'},
    {QT_TRANSLATE_NOOP("EditModel", "Absorb β"),
     QT_TRANSLATE_NOOP(
         "EditModel",
         "Adds what the norm's β contributes to the biases after it, once, in the file. The RMSNorm then needs no β."),
     u'S'},
    {QT_TRANSLATE_NOOP("EditModel", "Absorb γ"),
     QT_TRANSLATE_NOOP("EditModel",
                       "Multiplies an RMSNorm's weight into the linear layers after it, once, in the file. The norm "
                       "then needs none."),
     u'S'},
    {QT_TRANSLATE_NOOP("EditModel", "Carry mean"),
     QT_TRANSLATE_NOOP("EditModel",
                       "The stream keeps its mean next to it and gives it back to what reads it as it is. Costs little "
                       "time in every run."),
     u'A'},
    {QT_TRANSLATE_NOOP("EditModel", "Fold"),
     QT_TRANSLATE_NOOP("EditModel", "The input has zero mean here, so RMSNorm gives the same output with less work."),
     u'N'},
});
static_assert(kKinds.size() == namesOf(EditKind{}).size());

const KindWords& wordsOf(EditKind kind) { return kKinds.at(static_cast<size_t>(kind)); }
QString kindMeaning(EditKind kind) { return EditModel::tr(wordsOf(kind).meaning); }

// The column's title says that it is per run.
QString centeringTime(const Price& price) {
  return price.isClear() ? EditModel::tr("costs %1").arg(formatPrice(price)) : EditModel::tr("no clear cost");
}

QString costOf(const EditLine& line) {
  const protocol::EditInfo& edit = line.row.edit;
  if (edit.kind == EditKind::InsertCentering) {
    return line.cost ? centeringTime(line.cost->centers) : EditModel::tr("one mean more per run");
  }
  if (edit.kind == EditKind::ReplaceNorm) {
    return line.cost ? formatGain(line.cost->saves) : EditModel::tr("one mean less per run");
  }
  if (edit.bytes_grown > 0) return EditModel::tr("file grows by %1").arg(formatBytes(edit.bytes_grown));
  return edit.bytes > 0 ? EditModel::tr("rewrites %1").arg(formatBytes(edit.bytes)) : QString();
}

// The kind tells what is done with it.
QString subjectOf(const EditLine& line) {
  const protocol::EditInfo& edit = line.row.edit;
  if (edit.subject.empty()) return text(edit.text);
  return edit.kind == EditKind::ReplaceNorm ? EditModel::tr("%1 → RMSNorm").arg(text(edit.subject))
                                            : text(edit.subject);
}

QString freesText(const EditLine& line) {
  const int64_t count = line.row.edit.frees.size();
  if (count == 1 && !line.norms.isEmpty()) return line.norms.constFirst();
  return count > 0 ? EditModel::tr("%1 norms").arg(count) : QString();
}

QString normNames(const EditLine& line) {
  QString list = line.norms.join(u'\n');
  const int64_t more = line.row.edit.frees.size() - line.norms.size();
  if (more > 0) list += u'\n' + EditModel::tr("and %n more", nullptr, static_cast<int>(more));
  return list;
}

bool sameLine(const EditLine& a, const EditLine& b) { return sameEdit(a.row.edit, b.row.edit); }

// Makes a getter of an EditInfo one of its line.
template <class Answer>
auto ofEdit(Answer answer) {
  return [answer](const EditLine& line) { return std::invoke(answer, line.row.edit); };
}

}  // namespace

QString editWord(EditKind kind) { return EditModel::tr(wordsOf(kind).word); }
QChar editMark(EditKind kind) { return wordsOf(kind).mark; }

EditModel::EditModel(QObject* parent)
    : RecordTable({},
                  {{NodeRole, ofEdit(&protocol::EditInfo::node)},
                   {ClassRole, [](const EditLine& line) { return QString(editMark(line.row.edit.kind)); }},
                   {FallsRole, [this](const EditLine& line) { return falls(line); }}},
                  parent) {
  setRows({}, columns());
}

EditModel::Columns EditModel::columns() const {
  return {
      {tr("Edit"),
       tr("Clear the box to leave an edit out. The norms that need it then stay LayerNorms."),
       [](const EditLine& line) { return editWord(line.row.edit.kind); },
       {{Qt::CheckStateRole,
         [](const EditLine& line) { return static_cast<int>(line.row.on ? Qt::Checked : Qt::Unchecked); }},
        {Qt::ToolTipRole, [](const EditLine& line) { return kindMeaning(line.row.edit.kind); }},
        {Qt::AccessibleTextRole,
         [](const EditLine& line) {
           return QStringLiteral("%1: %2").arg(editWord(line.row.edit.kind), text(line.row.edit.text));
         }}}},
      {tr("Tensor or norm"),
       tr("What the edit changes."),
       subjectOf,
       {{Qt::ToolTipRole, ofEdit(textOf(&protocol::EditInfo::text))}}},
      {tr("Cost or gain"), tr("What it adds to the file, or costs or saves per run."), costOf},
      {tr("Needed by"),
       tr("The LayerNorms that cannot fold without this edit."),
       [this](const EditLine& line) { return needText(line); },
       {{Qt::ToolTipRole, normNames}}},
  };
}

void EditModel::setLines(std::vector<EditLine> lines) {
  if (std::equal(rows().begin(), rows().end(), lines.begin(), lines.end(), sameLine)) {
    replaceRows(0, std::move(lines));
  } else {
    setRows(std::move(lines));
  }
}

void EditModel::setFall(std::optional<Fall> fall) {
  fall_ = std::move(fall);
  if (rowCount() > 0) Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, ColumnCount - 1));
}

bool EditModel::falls(const EditLine& line) const { return fall_ && line.row.on && fall_->holds(line.row.edit); }

// Returns which norms need it; while an edit is pointed at, what would come of it without that one.
QString EditModel::needText(const EditLine& line) const {
  if (!fall_) return freesText(line);
  if (sameEdit(line.row.edit, fall_->edit))
    return fall_->norms.size() == 1 ? tr("%1 go too, 1 norm stays").arg(fall_->edits.size())
                                    : tr("%1 go too, %2 norms stay").arg(fall_->edits.size()).arg(fall_->norms.size());
  return falls(line) ? tr("goes too") : freesText(line);
}

bool EditModel::setData(const QModelIndex& index, const QVariant& value, int role) {
  if (!index.isValid() || role != Qt::CheckStateRole || index.column() != Kind) return false;
  const bool on = value.toInt() == Qt::Checked;
  if (on == row(index.row()).row.on) return false;
  Q_EMIT switched(index.row(), on);
  return true;
}

QVariant EditModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation == Qt::Vertical && role == Qt::DisplayRole) return section + 1;
  return RecordTable::headerData(section, orientation, role);
}

Qt::ItemFlags EditModel::flags(const QModelIndex& index) const {
  const Qt::ItemFlags flags = RecordTable::flags(index);
  return index.column() == Kind ? flags | Qt::ItemIsUserCheckable : flags;
}

}  // namespace normlens::ui
