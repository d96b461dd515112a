// Tables of filters and tests, and what their files share.
#pragma once

#include <span>
#include <string_view>

#include "text/jinja_render.hpp"

namespace ridge::jinja {

struct NamedFilter {
    std::string_view name;
    Filter filter;
};
struct NamedTest {
    std::string_view name;
    Test test;
};
std::span<const NamedFilter> text_filters();  // jinja_filters_text.cpp
std::span<const NamedFilter> list_filters();  // jinja_filters_list.cpp
std::span<const NamedFilter> sort_filters();  // jinja_filters_sort.cpp
std::span<const NamedTest> all_tests();       // jinja_tests.cpp

// str.replace; `most` < 0: all.
Result<Text> replace_text(Renderer& r, const Text& text, const Text& from, const Text& to,
                          int64_t most);
// Elements that len() counts. Error: a value without a length.
Result<int64_t> length_of(Renderer& r, const Value& value);
// An optional integer or boolean argument.
Result<int64_t> integer_or(Renderer& r, std::string_view what, const Value* given,
                           int64_t standard);
// The value of a dotted attribute ("a.b.0") of `item`; where a step finds none, `standard`, or
// undefined without one.
Result<Value> path_of(Renderer& r, const Value& item, const Value& path, const Value* standard);
// The elements of `value`, each behind what its attribute is (or itself, without one).
Result<std::vector<std::pair<Value, Value>>> keyed_by(Renderer& r, const Value& value,
                                                      const Value* attribute);

}  // namespace ridge::jinja
