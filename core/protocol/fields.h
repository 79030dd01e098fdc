// One table per message struct: its fields by name. The JSON codec and the tests walk these tables, so a new field is
// one word here.
#pragma once

#include <string_view>
#include <tuple>
#include <type_traits>

#include "core/protocol/messages.h"

namespace normlens::protocol {

// Of methods that take no parameters.
struct NoParams {
  bool operator==(const NoParams&) const = default;
};

template <class Member>
struct Field {
  std::string_view name;
  Member member;  // pointer to the data member
};
template <class Member>
Field(std::string_view, Member) -> Field<Member>;

template <class T>
struct FieldsOf;  // FieldsOf<T>::list is a tuple of Field

#define NORMLENS_FIELD(name) \
  Field { #name, &M::name }

template <>
struct FieldsOf<NoParams> {
  static constexpr std::tuple<> list{};
};

template <>
struct FieldsOf<InitializeParams> {
  using M = InitializeParams;
  static constexpr std::tuple list{NORMLENS_FIELD(protocol), NORMLENS_FIELD(client)};
};

template <>
struct FieldsOf<EngineInfo> {
  using M = EngineInfo;
  static constexpr std::tuple list{
      NORMLENS_FIELD(protocol),    NORMLENS_FIELD(version),   NORMLENS_FIELD(torch), NORMLENS_FIELD(onnx_runtime),
      NORMLENS_FIELD(formats),     NORMLENS_FIELD(device),    NORMLENS_FIELD(pid),   NORMLENS_FIELD(memory_bytes),
      NORMLENS_FIELD(confinement), NORMLENS_FIELD(unconfined)};
};

template <>
struct FieldsOf<GraphNode> {
  using M = GraphNode;
  static constexpr std::tuple list{NORMLENS_FIELD(id),         NORMLENS_FIELD(op),     NORMLENS_FIELD(label),
                                   NORMLENS_FIELD(name),       NORMLENS_FIELD(scope),  NORMLENS_FIELD(role),
                                   NORMLENS_FIELD(helper),     NORMLENS_FIELD(inputs), NORMLENS_FIELD(outputs),
                                   NORMLENS_FIELD(attributes), NORMLENS_FIELD(source), NORMLENS_FIELD(norm)};
};

template <>
struct FieldsOf<GraphValue> {
  using M = GraphValue;
  static constexpr std::tuple list{NORMLENS_FIELD(id),    NORMLENS_FIELD(name),      NORMLENS_FIELD(dtype),
                                   NORMLENS_FIELD(shape), NORMLENS_FIELD(has_shape), NORMLENS_FIELD(constant),
                                   NORMLENS_FIELD(stream)};
};

template <>
struct FieldsOf<GraphScope> {
  using M = GraphScope;
  static constexpr std::tuple list{NORMLENS_FIELD(id), NORMLENS_FIELD(name), NORMLENS_FIELD(path), NORMLENS_FIELD(type),
                                   NORMLENS_FIELD(parent)};
};

template <>
struct FieldsOf<GraphDocument> {
  using M = GraphDocument;
  static constexpr std::tuple list{NORMLENS_FIELD(nodes), NORMLENS_FIELD(values), NORMLENS_FIELD(scopes)};
};

template <>
struct FieldsOf<OpenParams> {
  using M = OpenParams;
  static constexpr std::tuple list{NORMLENS_FIELD(path), NORMLENS_FIELD(inputs), NORMLENS_FIELD(time_limit),
                                   NORMLENS_FIELD(memory_limit)};
};

template <>
struct FieldsOf<ReadGraphParams> {
  using M = ReadGraphParams;
  static constexpr std::tuple list{NORMLENS_FIELD(path)};
};

template <>
struct FieldsOf<WeightDigestsParams> {
  using M = WeightDigestsParams;
  static constexpr std::tuple list{NORMLENS_FIELD(other), NORMLENS_FIELD(path)};
};

template <>
struct FieldsOf<WeightDigests> {
  using M = WeightDigests;
  static constexpr std::tuple list{NORMLENS_FIELD(values), NORMLENS_FIELD(digests)};
};

template <>
struct FieldsOf<ModelInfo> {
  using M = ModelInfo;
  static constexpr std::tuple list{
      NORMLENS_FIELD(path),       NORMLENS_FIELD(format),          NORMLENS_FIELD(modified), NORMLENS_FIELD(file_bytes),
      NORMLENS_FIELD(parameters), NORMLENS_FIELD(parameter_bytes), NORMLENS_FIELD(note),     NORMLENS_FIELD(graph)};
};

template <>
struct FieldsOf<SizeCondition> {
  using M = SizeCondition;
  static constexpr std::tuple list{NORMLENS_FIELD(input), NORMLENS_FIELD(axis), NORMLENS_FIELD(text),
                                   NORMLENS_FIELD(tested)};
};

template <>
struct FieldsOf<NormInfo> {
  using M = NormInfo;
  static constexpr std::tuple list{NORMLENS_FIELD(index),        NORMLENS_FIELD(name),
                                   NORMLENS_FIELD(scope),        NORMLENS_FIELD(form),
                                   NORMLENS_FIELD(node),         NORMLENS_FIELD(normalized_shape),
                                   NORMLENS_FIELD(eps),          NORMLENS_FIELD(verdict),
                                   NORMLENS_FIELD(reason),       NORMLENS_FIELD(centerings),
                                   NORMLENS_FIELD(shared_with),  NORMLENS_FIELD(blocker_path),
                                   NORMLENS_FIELD(paper),        NORMLENS_FIELD(paper_practical),
                                   NORMLENS_FIELD(paper_strict), NORMLENS_FIELD(gamma_min),
                                   NORMLENS_FIELD(gamma_max),    NORMLENS_FIELD(beta_min),
                                   NORMLENS_FIELD(beta_max),     NORMLENS_FIELD(has_gamma),
                                   NORMLENS_FIELD(has_beta),     NORMLENS_FIELD(holds_if),
                                   NORMLENS_FIELD(would_fold_if)};
};

template <>
struct FieldsOf<OtherNormInfo> {
  using M = OtherNormInfo;
  static constexpr std::tuple list{NORMLENS_FIELD(name), NORMLENS_FIELD(kind), NORMLENS_FIELD(node),
                                   NORMLENS_FIELD(form)};
};

template <>
struct FieldsOf<Totals> {
  using M = Totals;
  static constexpr std::tuple list{NORMLENS_FIELD(layer_norms), NORMLENS_FIELD(free),  NORMLENS_FIELD(with_centering),
                                   NORMLENS_FIELD(blocked),     NORMLENS_FIELD(paper), NORMLENS_FIELD(paper_practical),
                                   NORMLENS_FIELD(paper_strict)};
};

template <>
struct FieldsOf<InputSpec> {
  using M = InputSpec;
  static constexpr std::tuple list{NORMLENS_FIELD(name),   NORMLENS_FIELD(dtype), NORMLENS_FIELD(shape),
                                   NORMLENS_FIELD(low),    NORMLENS_FIELD(high),  NORMLENS_FIELD(uniform),
                                   NORMLENS_FIELD(assumed)};
};

template <>
struct FieldsOf<InputsParams> {
  using M = InputsParams;
  static constexpr std::tuple list{NORMLENS_FIELD(npz), NORMLENS_FIELD(specs), NORMLENS_FIELD(assume),
                                   NORMLENS_FIELD(strict)};
};

template <>
struct FieldsOf<InputsInfo> {
  using M = InputsInfo;
  static constexpr std::tuple list{NORMLENS_FIELD(inputs)};
};

template <>
struct FieldsOf<Analysis> {
  using M = Analysis;
  static constexpr std::tuple list{
      NORMLENS_FIELD(values),     NORMLENS_FIELD(norms),  NORMLENS_FIELD(edits),         NORMLENS_FIELD(other_norms),
      NORMLENS_FIELD(totals),     NORMLENS_FIELD(inputs), NORMLENS_FIELD(unused_arrays), NORMLENS_FIELD(probe_error),
      NORMLENS_FIELD(never_runs), NORMLENS_FIELD(note)};
};

template <>
struct FieldsOf<NormParams> {
  using M = NormParams;
  static constexpr std::tuple list{NORMLENS_FIELD(norm)};
};

template <>
struct FieldsOf<ZeroMeanVertex> {
  using M = ZeroMeanVertex;
  static constexpr std::tuple list{NORMLENS_FIELD(node), NORMLENS_FIELD(vertex_class), NORMLENS_FIELD(note)};
};

template <>
struct FieldsOf<ZeroMeanGraph> {
  using M = ZeroMeanGraph;
  static constexpr std::tuple list{NORMLENS_FIELD(norm), NORMLENS_FIELD(vertices), NORMLENS_FIELD(values),
                                   NORMLENS_FIELD(leaves)};
};

template <>
struct FieldsOf<ZeroMeanMap> {
  using M = ZeroMeanMap;
  static constexpr std::tuple list{NORMLENS_FIELD(now), NORMLENS_FIELD(planned), NORMLENS_FIELD(not_zero)};
};

template <>
struct FieldsOf<ShiftConeParams> {
  using M = ShiftConeParams;
  static constexpr std::tuple list{NORMLENS_FIELD(node), NORMLENS_FIELD(plan)};
};

template <>
struct FieldsOf<ShiftCone> {
  using M = ShiftCone;
  static constexpr std::tuple list{NORMLENS_FIELD(values), NORMLENS_FIELD(ends), NORMLENS_FIELD(reason)};
};

template <>
struct FieldsOf<PlanParams> {
  using M = PlanParams;
  static constexpr std::tuple list{NORMLENS_FIELD(policy), NORMLENS_FIELD(center_values), NORMLENS_FIELD(keep_norms),
                                   NORMLENS_FIELD(max_growth_percent), NORMLENS_FIELD(prices)};
};

template <>
struct FieldsOf<EditInfo> {
  using M = EditInfo;
  static constexpr std::tuple list{NORMLENS_FIELD(kind),  NORMLENS_FIELD(text),        NORMLENS_FIELD(node),
                                   NORMLENS_FIELD(bytes), NORMLENS_FIELD(bytes_grown), NORMLENS_FIELD(frees)};
};

template <>
struct FieldsOf<NormPrices> {
  using M = NormPrices;
  static constexpr std::tuple list{NORMLENS_FIELD(rows), NORMLENS_FIELD(width), NORMLENS_FIELD(layer_norm_us),
                                   NORMLENS_FIELD(rms_norm_us), NORMLENS_FIELD(centering_us)};
};

template <>
struct FieldsOf<PlanInfo> {
  using M = PlanInfo;
  static constexpr std::tuple list{NORMLENS_FIELD(policy),
                                   NORMLENS_FIELD(prices),
                                   NORMLENS_FIELD(edits),
                                   NORMLENS_FIELD(folded),
                                   NORMLENS_FIELD(layer_norms),
                                   NORMLENS_FIELD(centerings),
                                   NORMLENS_FIELD(tensors_centered),
                                   NORMLENS_FIELD(shifts_absorbed),
                                   NORMLENS_FIELD(bytes_centered),
                                   NORMLENS_FIELD(bytes_grown),
                                   NORMLENS_FIELD(gap)};
};

template <>
struct FieldsOf<CenterParams> {
  using M = CenterParams;
  static constexpr std::tuple list{NORMLENS_FIELD(value)};
};

template <>
struct FieldsOf<CenterPreview> {
  using M = CenterPreview;
  static constexpr std::tuple list{NORMLENS_FIELD(allowed), NORMLENS_FIELD(reason), NORMLENS_FIELD(frees)};
};

template <>
struct FieldsOf<FoldParams> {
  using M = FoldParams;
  static constexpr std::tuple list{NORMLENS_FIELD(plan), NORMLENS_FIELD(norm), NORMLENS_FIELD(verify)};
};

template <>
struct FieldsOf<ErrorPair> {
  using M = ErrorPair;
  static constexpr std::tuple list{NORMLENS_FIELD(max_abs), NORMLENS_FIELD(max_rel), NORMLENS_FIELD(limit)};
};

template <>
struct FieldsOf<FromExact> {
  using M = FromExact;
  static constexpr std::tuple list{NORMLENS_FIELD(original), NORMLENS_FIELD(folded)};
};

template <>
struct FieldsOf<VerifyResult> {
  using M = VerifyResult;
  static constexpr std::tuple list{
      NORMLENS_FIELD(algebra_done), NORMLENS_FIELD(algebra),    NORMLENS_FIELD(algebra_reason),
      NORMLENS_FIELD(sample_only),  NORMLENS_FIELD(file_done),  NORMLENS_FIELD(file),
      NORMLENS_FIELD(file_reason),  NORMLENS_FIELD(file_dtype), NORMLENS_FIELD(noise_floor),
      NORMLENS_FIELD(nearer),       NORMLENS_FIELD(exact),      NORMLENS_FIELD(first_diverging),
      NORMLENS_FIELD(not_run)};
};

template <>
struct FieldsOf<FoldResult> {
  using M = FoldResult;
  static constexpr std::tuple list{NORMLENS_FIELD(plan), NORMLENS_FIELD(fold_ms), NORMLENS_FIELD(verify),
                                   NORMLENS_FIELD(ok),   NORMLENS_FIELD(reason),  NORMLENS_FIELD(holds_if)};
};

template <>
struct FieldsOf<ExportParams> {
  using M = ExportParams;
  static constexpr std::tuple list{NORMLENS_FIELD(path), NORMLENS_FIELD(norm), NORMLENS_FIELD(force)};
};

template <>
struct FieldsOf<ExportResult> {
  using M = ExportResult;
  static constexpr std::tuple list{NORMLENS_FIELD(path), NORMLENS_FIELD(bytes), NORMLENS_FIELD(save_ms)};
};

template <>
struct FieldsOf<TensorParams> {
  using M = TensorParams;
  static constexpr std::tuple list{NORMLENS_FIELD(value), NORMLENS_FIELD(plan)};
};

template <>
struct FieldsOf<TensorFigures> {
  using M = TensorFigures;
  static constexpr std::tuple list{NORMLENS_FIELD(min),
                                   NORMLENS_FIELD(max),
                                   NORMLENS_FIELD(mean),
                                   NORMLENS_FIELD(deviation),
                                   NORMLENS_FIELD(histogram),
                                   NORMLENS_FIELD(heat),
                                   NORMLENS_FIELD(largest_column_mean)};
};

template <>
struct FieldsOf<TensorStats> {
  using M = TensorStats;
  static constexpr std::tuple list{NORMLENS_FIELD(name),       NORMLENS_FIELD(dtype),        NORMLENS_FIELD(shape),
                                   NORMLENS_FIELD(not_finite), NORMLENS_FIELD(low),          NORMLENS_FIELD(high),
                                   NORMLENS_FIELD(heat_rows),  NORMLENS_FIELD(heat_columns), NORMLENS_FIELD(before),
                                   NORMLENS_FIELD(after),      NORMLENS_FIELD(column_means)};
};

template <>
struct FieldsOf<SaveTensorParams> {
  using M = SaveTensorParams;
  static constexpr std::tuple list{NORMLENS_FIELD(value), NORMLENS_FIELD(path)};
};

template <>
struct FieldsOf<SavedTensor> {
  using M = SavedTensor;
  static constexpr std::tuple list{NORMLENS_FIELD(path), NORMLENS_FIELD(bytes)};
};

template <>
struct FieldsOf<Progress> {
  using M = Progress;
  static constexpr std::tuple list{NORMLENS_FIELD(id), NORMLENS_FIELD(stage), NORMLENS_FIELD(fraction)};
};

#undef NORMLENS_FIELD

template <class T>
concept Message = requires {
  FieldsOf<T>::list;
};

// Calls visit(name, reference to the field) for each field in the order of the struct.
template <class T, class Visitor>
requires Message<std::remove_const_t<T>>
void visitFields(T& message, Visitor&& visit) {
  std::apply([&](const auto&... field) { (visit(field.name, message.*field.member), ...); },
             FieldsOf<std::remove_const_t<T>>::list);
}

}  // namespace normlens::protocol
