#include "ui/models/inputs_model.h"

#include <algorithm>

#include "ui/session/format.h"

namespace normlens::ui {

namespace {

bool isFloat(const QString& type) {
  return type.startsWith(QLatin1String("float")) || type == QLatin1String("bfloat16");
}

std::optional<std::vector<qint64>> sizesOf(const QString& shape) {
  std::vector<qint64> sizes;
  if (shape.trimmed().isEmpty()) return sizes;  // a scalar
  for (const QString& word : QString(shape).replace(u'×', u',').replace(u'x', u',').split(u',')) {
    bool ok = false;
    sizes.push_back(word.trimmed().toLongLong(&ok));
    if (!ok || sizes.back() < 0) return std::nullopt;
  }
  return sizes;
}

std::optional<double> numberOf(const QString& text) {
  bool ok = false;
  const double number = text.trimmed().toDouble(&ok);
  return ok && qIsFinite(number) ? std::optional(number) : std::nullopt;
}

// Elements that an input can have without filling the machine: 2^31.
constexpr double kMostElements = 2147483648.0;

}  // namespace

std::vector<protocol::InputSpec> inputsOfGraph(const ModelIndex& index) {
  std::vector<protocol::InputSpec> inputs;
  for (const protocol::GraphNode& node : index.graph().nodes) {
    const protocol::GraphValue* value =
        node.role == "I" && !node.outputs.empty() ? index.value(node.outputs.front()) : nullptr;
    if (value == nullptr) continue;
    protocol::InputSpec input;
    input.name = value->name;
    input.dtype = value->dtype.empty() ? "float32" : value->dtype;
    input.shape = value->has_shape ? value->shape : std::vector<int64_t>{-1};
    input.uniform = !isFloat(text(input.dtype));
    inputs.push_back(std::move(input));
  }
  return inputs;
}

QStringList InputsModel::types() {
  return {QStringLiteral("bool"),    QStringLiteral("uint8"),  QStringLiteral("int8"),    QStringLiteral("int16"),
          QStringLiteral("int32"),   QStringLiteral("int64"),  QStringLiteral("float16"), QStringLiteral("bfloat16"),
          QStringLiteral("float32"), QStringLiteral("float64")};
}

InputsModel::Row InputsModel::rowOf(const protocol::InputSpec& input) {
  Row row;
  row.cells[Name] = text(input.name);
  row.cells[Type] = text(input.dtype);
  QStringList sizes;
  for (const int64_t size : input.shape) sizes << (size < 0 ? QStringLiteral("?") : QString::number(size));
  row.cells[Shape] = sizes.join(QStringLiteral(", "));
  if (input.uniform) {
    row.cells[Low] = formatNumber(input.low, 12);
    row.cells[High] = formatNumber(input.high, 12);
  }
  row.cells[Note] = text(input.assumed);
  return row;
}

void InputsModel::setInputs(const std::vector<protocol::InputSpec>& inputs) {
  beginResetModel();
  rows_.clear();
  for (const protocol::InputSpec& input : inputs) rows_.push_back(rowOf(input));
  before_ = rows_;
  endResetModel();
}

void InputsModel::setEditable(bool editable) { editable_ = editable; }

bool InputsModel::edited() const {
  return !std::equal(rows_.begin(), rows_.end(), before_.begin(), before_.end(), [](const Row& a, const Row& b) {
    return std::equal(std::begin(a.cells), std::end(a.cells), std::begin(b.cells));
  });
}

QString InputsModel::errorOf(const Row& row, int column) const {
  const QString& cell = row.cells[column];
  switch (column) {
    case Type:
      return types().contains(cell.trimmed()) ? QString() : tr("\"%1\" is no element type.").arg(cell);
    case Shape: {
      const auto sizes = sizesOf(cell);
      if (!sizes) return tr("A shape is whole numbers with commas between them, such as 1, 16.");
      double elements = 1;
      for (const qint64 size : *sizes) elements *= static_cast<double>(size);
      return elements > kMostElements ? tr("So many elements do not fit into memory.") : QString();
    }
    case Low:
    case High: {
      const bool bothEmpty = row.cells[Low].trimmed().isEmpty() && row.cells[High].trimmed().isEmpty();
      if (bothEmpty) return isFloat(row.cells[Type].trimmed()) ? QString() : tr("Whole numbers need a range.");
      if (!numberOf(cell)) return tr("\"%1\" is no number.").arg(cell);
      const auto low = numberOf(row.cells[Low]), high = numberOf(row.cells[High]);
      return low && high && *low > *high ? tr("The range ends before it begins.") : QString();
    }
    default:
      return {};
  }
}

QString InputsModel::firstError() const {
  for (const Row& row : rows_) {
    for (int column = 0; column < ColumnCount; ++column) {
      const QString error = errorOf(row, column);
      if (!error.isEmpty()) return QStringLiteral("%1: %2").arg(row.cells[Name], error);
    }
  }
  return {};
}

std::optional<std::vector<std::string>> InputsModel::specs() const {
  if (!firstError().isEmpty()) return std::nullopt;
  std::vector<std::string> specs;
  for (size_t i = 0; i < rows_.size(); ++i) {
    const Row& row = rows_[i];
    const auto shape = sizesOf(row.cells[Shape]);
    QStringList sizes;
    for (const qint64 size : *shape) sizes << QString::number(size);
    // By name: inputs that may be left out have no row, but a place. A name that the text form cannot hold: by place.
    const QString& name = row.cells[Name];
    const bool usable = !name.isEmpty() && !name.contains(u'=') && !name.contains(u'[') && !name.contains(u']');
    QString spec = usable ? name : QStringLiteral("in_%1").arg(i);
    spec += QStringLiteral("=%1[%2]").arg(row.cells[Type].trimmed(), sizes.join(u','));
    if (!row.cells[Low].trimmed().isEmpty()) {
      spec += QStringLiteral(":%1..%2").arg(row.cells[Low].trimmed(), row.cells[High].trimmed());
    }
    specs.push_back(spec.toStdString());
  }
  return specs;
}

int InputsModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

int InputsModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : ColumnCount; }

QVariant InputsModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const Row& at = row(index.row());
  const QString& cell = at.cells[index.column()];
  const QString error = errorOf(at, index.column());
  switch (role) {
    case Qt::DisplayRole:
      if ((index.column() == Low || index.column() == High) && cell.isEmpty() && error.isEmpty()) {
        return index.column() == Low ? tr("normal(0, 1)") : QString();
      }
      return cell;
    case Qt::EditRole:
      return cell;
    case Qt::ToolTipRole:
      return error.isEmpty() ? cell : error;
    case ErrorRole:
      return error;
    default:
      return {};
  }
}

bool InputsModel::setData(const QModelIndex& index, const QVariant& value, int role) {
  if (!index.isValid() || role != Qt::EditRole || !(flags(index) & Qt::ItemIsEditable)) return false;
  Row& at = rows_[static_cast<size_t>(index.row())];
  if (at.cells[index.column()] == value.toString()) return true;
  at.cells[index.column()] = value.toString();
  // A range is judged with its other end, and by the type.
  Q_EMIT dataChanged(this->index(index.row(), 0), this->index(index.row(), ColumnCount - 1));
  return true;
}

Qt::ItemFlags InputsModel::flags(const QModelIndex& index) const {
  if (!index.isValid()) return Qt::NoItemFlags;
  const Qt::ItemFlags flags = QAbstractTableModel::flags(index) | Qt::ItemNeverHasChildren;
  const bool fixed = index.column() == Name || index.column() == Note || !editable_;
  return fixed ? flags : flags | Qt::ItemIsEditable;
}

QVariant InputsModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation == Qt::Vertical || section < 0 || section >= ColumnCount) return {};
  static const char* const titles[] = {QT_TR_NOOP("Input"), QT_TR_NOOP("Type"), QT_TR_NOOP("Shape"),
                                       QT_TR_NOOP("From"),  QT_TR_NOOP("To"),   QT_TR_NOOP("What was assumed")};
  static const char* const meanings[] = {
      QT_TR_NOOP("Its name in the model."),
      QT_TR_NOOP("The type of its elements."),
      QT_TR_NOOP("Its sizes, outermost first; empty for a single number."),
      QT_TR_NOOP("The least number that is drawn; empty for floats: drawn from normal(0, 1)."),
      QT_TR_NOOP("The largest number that is drawn, itself included."),
      QT_TR_NOOP("Why the engine guessed it so; empty where you said it.")};
  if (role == Qt::DisplayRole) return tr(titles[section]);
  if (role == Qt::ToolTipRole) return tr(meanings[section]);
  if (role == Qt::TextAlignmentRole) return QVariant::fromValue(Qt::AlignVCenter | Qt::AlignLeft);
  return {};
}

}  // namespace normlens::ui
