// The fields of a message struct by name: the JSON codec and the tests walk these lists.
//
//   struct Progress { ... };
//   NORMLENS_FIELDS(Progress, id, stage, fraction)
#pragma once

#include <string_view>
#include <tuple>
#include <type_traits>

namespace normlens::protocol {

template <class Member>
struct Field {
  std::string_view name;
  Member member;  // pointer to the data member
};
template <class Member>
Field(std::string_view, Member) -> Field<Member>;

template <class T>
struct FieldsOf;  // FieldsOf<T>::list is a tuple of Field

template <class T>
concept Message = requires {
  FieldsOf<T>::list;
};

// Calls visit(name, reference to the field) for each field in the order of the list.
template <class T, class Visitor>
requires Message<std::remove_const_t<T>>
void visitFields(T& message, Visitor&& visit) {
  std::apply([&](const auto&... field) { (visit(field.name, message.*field.member), ...); },
             FieldsOf<std::remove_const_t<T>>::list);
}

// A macro's name within its own expansion is not expanded again; each time that the text is read anew does one field
// more, up to 64.
#define NORMLENS_READ(...) NORMLENS_READ2(NORMLENS_READ2(NORMLENS_READ2(NORMLENS_READ2(__VA_ARGS__))))
#define NORMLENS_READ2(...) NORMLENS_READ3(NORMLENS_READ3(NORMLENS_READ3(NORMLENS_READ3(__VA_ARGS__))))
#define NORMLENS_READ3(...) NORMLENS_READ4(NORMLENS_READ4(NORMLENS_READ4(NORMLENS_READ4(__VA_ARGS__))))
#define NORMLENS_READ4(...) __VA_ARGS__
#define NORMLENS_EACH_AGAIN() NORMLENS_EACH
#define NORMLENS_NOTHING ()
#define NORMLENS_EACH(name, ...) Field{#name, &M::name}, __VA_OPT__(NORMLENS_EACH_AGAIN NORMLENS_NOTHING(__VA_ARGS__))

// Write it behind the struct, in its namespace: NORMLENS_FIELDS(Type, first, second ...)
#define NORMLENS_FIELDS(Type, ...)                                                                  \
  template <>                                                                                       \
  struct FieldsOf<Type> {                                                                           \
    using M = Type;                                                                                 \
    static constexpr auto list = std::tuple{__VA_OPT__(NORMLENS_READ(NORMLENS_EACH(__VA_ARGS__)))}; \
  };

}  // namespace normlens::protocol
