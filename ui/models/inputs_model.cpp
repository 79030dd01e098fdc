#include "ui/models/inputs_model.h"

#include <QHash>
#include <QLocale>
#include <algorithm>
#include <cmath>
#include <limits>

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

// Returns the largest whole number of a type; for floats infinity.
double largestOf(const QString& type) {
  const QHash<QString, double> limits{{"bool", 1},      {"uint8", 255},        {"int8", 127},
                                      {"int16", 32767}, {"int32", 2147483647}, {"int64", 9223372036854774784.0}};
  return limits.value(type, std::numeric_limits<double>::infinity());
}

// Elements that an input can have without filling the machine: 2^31.
constexpr double kMostElements = 2147483648.0;

QStringList rowOf(const protocol::InputSpec& input) {
  QStringList row(InputsModel::ColumnCount);
  row[InputsModel::Name] = text(input.name);
  row[InputsModel::Type] = text(input.dtype);
  QStringList sizes;
  for (const int64_t size : input.shape) sizes << (size < 0 ? QStringLiteral("?") : QString::number(size));
  row[InputsModel::Shape] = sizes.join(QStringLiteral(", "));
  if (input.uniform) {
    row[InputsModel::Low] = formatNumber(input.low, 12);
    row[InputsModel::High] = formatNumber(input.high, 12);
  }
  row[InputsModel::Note] = text(input.assumed);
  return row;
}

QString errorOf(const QStringList& row, int column) {
  const auto tr = [](const char* words) { return InputsModel::tr(words); };
  const QString& cell = row[column];
  switch (column) {
    case InputsModel::Type:
      return InputsModel::types().contains(cell.trimmed()) ? QString() : tr("\"%1\" is not an element type.").arg(cell);
    case InputsModel::Shape: {
      const auto sizes = sizesOf(cell);
      if (!sizes) return tr("A shape is whole numbers separated by commas, such as 1, 16.");
      double elements = 1;
      for (const qint64 size : *sizes) elements *= static_cast<double>(size);
      return elements > kMostElements ? tr("That many elements do not fit in memory.") : QString();
    }
    case InputsModel::Low:
    case InputsModel::High: {
      const bool bothEmpty = row[InputsModel::Low].trimmed().isEmpty() && row[InputsModel::High].trimmed().isEmpty();
      if (bothEmpty) return isFloat(row[InputsModel::Type].trimmed()) ? QString() : tr("Whole numbers need a range.");
      if (!numberOf(cell)) return tr("\"%1\" is not a number.").arg(cell);
      const QString type = row[InputsModel::Type].trimmed();
      if (const double most = largestOf(type); std::abs(*numberOf(cell)) > most)
        return tr("%1 holds no number above %2.").arg(type, QLocale::c().toString(most, 'g', 10));
      const auto low = numberOf(row[InputsModel::Low]), high = numberOf(row[InputsModel::High]);
      return low && high && *low > *high ? tr("The range ends before it starts.") : QString();
    }
    default:
      return {};
  }
}

using Refusal = std::function<QString(const QStringList& row, int column)>;

RecordColumn<QStringList> cell(int column, const QString& title, const QString& meaning, const Refusal& refusal) {
  const auto typed = [column](const QStringList& row) { return row[column]; };
  const auto error = [column, refusal](const QStringList& row) {
    const QString own = errorOf(row, column);
    return own.isEmpty() ? refusal(row, column) : own;
  };
  const auto tip = [=](const QStringList& row) { return error(row).isEmpty() ? typed(row) : error(row); };
  const auto shown = [=](const QStringList& row) {
    const bool normal = column == InputsModel::Low && typed(row).isEmpty() && error(row).isEmpty();
    return normal ? InputsModel::tr("normal(0, 1)") : typed(row);
  };
  return {title, meaning, shown, {{Qt::EditRole, typed}, {Qt::ToolTipRole, tip}, {InputsModel::ErrorRole, error}}};
}

}  // namespace

std::vector<protocol::InputSpec> inputsOfGraph(const ModelIndex& index) {
  std::vector<protocol::InputSpec> inputs;
  for (const protocol::GraphNode& node : index.graph().nodes) {
    const protocol::GraphValue* value =
        node.role == NodeClass::Input && !node.outputs.empty() ? index.value(node.outputs.front()) : nullptr;
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

InputsModel::InputsModel(QObject* parent) : RecordTable({}, {}, parent) {
  const Refusal refusal = [this](const QStringList& row, int column) { return refusalOf(row, column); };
  setRows({},
          {cell(Name, tr("Input"), tr("Its name in the model."), refusal),
           cell(Type, tr("Type"), tr("The type of its elements."), refusal),
           cell(Shape, tr("Shape"), tr("Its sizes, outermost first. Empty for a single number."), refusal),
           cell(Low, tr("From"), tr("The smallest number drawn. Empty for floats: drawn from normal(0, 1)."), refusal),
           cell(High, tr("To"), tr("The largest number drawn, inclusive."), refusal),
           cell(Note, tr("Assumption"), tr("Why the engine guessed this. Empty where you set it."), refusal)});
}

void InputsModel::setInputs(const std::vector<protocol::InputSpec>& inputs) {
  before_.clear();
  for (const protocol::InputSpec& input : inputs) before_.push_back(rowOf(input));
  refused_.clear();
  refusal_.clear();
  setRows(before_);
}

void InputsModel::retype(const std::vector<QStringList>& typed, const QString& refusal) {
  const auto named = [](const QStringList& a, const QStringList& b) { return a[Name] == b[Name]; };
  if (!std::ranges::equal(typed, before_, named)) return;  // They belong to another model.
  refused_ = refusal.isEmpty() ? std::vector<QStringList>() : typed;
  refusal_ = refusal;
  std::vector<QStringList> rows = typed;
  for (size_t i = 0; i < rows.size(); ++i) rows[i][Note] = before_[i][Note];
  setRows(std::move(rows));
}

QString InputsModel::refusal() const {
  for (const QStringList& row : rows()) {
    for (int column = 0; column < ColumnCount; ++column) {
      if (!refusalOf(row, column).isEmpty()) return refusal_;
    }
  }
  return {};
}

// The cells that were typed and with which the model did not run.
QString InputsModel::refusalOf(const QStringList& row, int column) const {
  if (refusal_.isEmpty() || column == Name || column == Note) return {};
  const auto same = [&](const QStringList& other) { return other[Name] == row[Name]; };
  const auto then = std::ranges::find_if(refused_, same), ran = std::ranges::find_if(before_, same);
  const bool typed = then != refused_.end() && ran != before_.end() && (*then)[column] == row[column];
  return typed && (*ran)[column] != row[column] ? refusal_ : QString();
}

void InputsModel::setEditable(bool editable) { editable_ = editable; }

bool InputsModel::edited() const { return rows() != before_; }

QString InputsModel::firstError() const {
  for (const QStringList& row : rows()) {
    for (int column = 0; column < ColumnCount; ++column) {
      const QString error = errorOf(row, column);
      if (!error.isEmpty()) return QStringLiteral("%1: %2").arg(row[Name], error);
    }
  }
  return {};
}

std::optional<std::vector<std::string>> InputsModel::specs() const {
  if (!firstError().isEmpty()) return std::nullopt;
  std::vector<std::string> specs;
  for (size_t i = 0; i < rows().size(); ++i) {
    const QStringList& row = rows()[i];
    const auto shape = sizesOf(row[Shape]);
    QStringList sizes;
    for (const qint64 size : *shape) sizes << QString::number(size);
    // By name: inputs that may be left out have no row, but a place. A name that the text form cannot hold: by place.
    const QString& name = row[Name];
    const bool usable = !name.isEmpty() && !name.contains(u'=') && !name.contains(u'[') && !name.contains(u']');
    QString spec = usable ? name : QStringLiteral("in_%1").arg(i);
    spec += QStringLiteral("=%1[%2]").arg(row[Type].trimmed(), sizes.join(u','));
    if (!row[Low].trimmed().isEmpty()) {
      spec += QStringLiteral(":%1..%2").arg(row[Low].trimmed(), row[High].trimmed());
    }
    specs.push_back(spec.toStdString());
  }
  return specs;
}

bool InputsModel::setData(const QModelIndex& index, const QVariant& value, int role) {
  if (!index.isValid() || role != Qt::EditRole || !(flags(index) & Qt::ItemIsEditable)) return false;
  QStringList cells = row(index.row());
  if (cells[index.column()] == value.toString()) return true;
  cells[index.column()] = value.toString();
  replaceRows(index.row(), {cells});  // the whole row: a range is judged with its other end, and by the type
  return true;
}

Qt::ItemFlags InputsModel::flags(const QModelIndex& index) const {
  const Qt::ItemFlags flags = RecordTable::flags(index);
  const bool fixed = !index.isValid() || index.column() == Name || index.column() == Note || !editable_;
  return fixed ? flags : flags | Qt::ItemIsEditable;
}

}  // namespace normlens::ui
