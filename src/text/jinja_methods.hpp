// What the files of the methods share.
#pragma once

#include <string>
#include <string_view>

#include "text/jinja_render.hpp"

namespace ridge::jinja {

// Error: an argument with a name, which most methods do not take.
Status no_names(Renderer& r, std::string_view what, const Args& args);
Result<const Text*> need_text(Renderer& r, std::string_view what, const Value& value);
// From the right the search is naive: length times length in the worst case.
Status afford_naive(Renderer& r, size_t text, size_t part);

// startswith, endswith, find, rfind, index, rindex, count, removeprefix and removesuffix
// (jinja_methods_find.cpp).
Result<Value> call_search(Renderer& r, const Text& text, const std::string& name, Args& args);

}  // namespace ridge::jinja
