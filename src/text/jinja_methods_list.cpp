// Methods of dictionaries and lists.
#include <fmt/format.h>

#include <algorithm>

#include "text/jinja_methods.hpp"

namespace ridge::jinja {

Result<Value> call_dict(Renderer& r, const Dict& dict, const std::string& name, Args& args) {
    if (name == "get") {
        RIDGE_TRY(no_names(r, name, args));
        RIDGE_ASSIGN(const Renderer::Bound bound, r.bind(name, args, {"key", "default"}, 1));
        RIDGE_TRY(r.hashable(*bound[0]));
        if (const Value* found = dict.find(*bound[0])) return *found;
        return bound[1] ? *bound[1] : Value{None{}};
    }
    if (name != "items" && name != "keys" && name != "values" && name != "copy")
        return r.error(
            fmt::format("'{}' would change a dictionary, which templates may not", name));
    RIDGE_TRY(r.bind(name, args, {}).map([](const auto&) {}));
    if (name == "copy") return r.dict(dict);
    std::vector<Value> items;
    for (const auto& [key, value] : dict.items) {
        if (name == "items") {
            RIDGE_ASSIGN(Value item, r.list({key, value}, ListKind::tuple));
            items.push_back(std::move(item));
        } else {
            items.push_back(name == "keys" ? key : value);
        }
    }
    return r.list(std::move(items), name == "items"  ? ListKind::items
                                    : name == "keys" ? ListKind::keys
                                                     : ListKind::values);
}

Result<Value> call_list(Renderer& r, const List& list, const std::string& name, Args& args) {
    if (name == "copy" && args.positional.empty()) return r.list(list.items);
    if (name != "count" && name != "index")
        return r.error(fmt::format("'{}' would change a list, which templates may not", name));
    RIDGE_TRY(no_names(r, name, args));
    RIDGE_ASSIGN(const Renderer::Bound bound, r.bind(name, args, {"value", "start", "stop"}, 1));
    const auto size = static_cast<int64_t>(list.items.size());
    int64_t part[2] = {0, size};
    for (size_t i = 0; i < 2; ++i) {
        if (!bound[i + 1]) continue;
        const auto given = bound[i + 1]->integer();
        if (!given || name == "count" || list.kind == ListKind::range)
            return r.error(fmt::format("'{}' does not take these bounds", name));
        part[i] = *given < 0 ? std::max<int64_t>(0, *given + size) : std::min(*given, size);
    }
    int64_t n = 0;
    for (auto i = static_cast<size_t>(part[0]); i < static_cast<size_t>(part[1]); ++i) {
        if (!equal(list.items[i], *bound[0], r.budget())) continue;
        if (name == "index") return Value{static_cast<int64_t>(i)};
        ++n;
    }
    if (name == "index") return r.error("'index' finds nothing");
    return Value{n};
}

}  // namespace ridge::jinja
