// Walking values: all at once, one by one, and as a loop that looks ahead.
#include <fmt/format.h>

#include "text/jinja_render.hpp"
#include "text/unicode.hpp"

namespace ridge::jinja {
namespace {

tl::unexpected<Error> not_iterable(const Renderer& r, const Value& value) {
    if (value.get<LoopPtr>() != nullptr) return r.error("walking 'loop' itself is not supported");
    return r.error(fmt::format("a value of type {} cannot be iterated over", type_name(value)));
}

}  // namespace

std::optional<size_t> size_of(const Value& value) {
    if (value.undefined()) return 0;
    if (const Text* text = value.text()) return count_code_points(text->bytes());
    if (const Dict* dict = value.dict()) return dict->items.size();
    const List* list = value.list();
    return list == nullptr || list->iterator() ? std::nullopt : std::optional(list->items.size());
}

Result<std::vector<Value>> Renderer::elements(const Value& value) {
    std::vector<Value> out;
    if (value.undefined()) return out;
    if (const List* list_value = value.list()) {
        while (list_value->iterator()) {
            budget_.spend(1);
            RIDGE_TRY(afford());
            RIDGE_ASSIGN(std::optional<Value> item, list_value->next(*this));
            if (!item) return out;
            out.push_back(std::move(*item));
        }
        budget_.spend(list_value->items.size());
        RIDGE_TRY(afford());
        return list_value->items;
    }
    if (const Dict* dict_value = value.dict()) {
        budget_.spend(dict_value->items.size());
        RIDGE_TRY(afford());
        for (const auto& item : dict_value->items) out.push_back(item.first);
        return out;
    }
    if (const Text* text = value.text()) {
        budget_.spend(4 * text->size());
        RIDGE_TRY(afford());
        for (size_t i = 0; i < text->size();) {
            const size_t length = text::decode_utf8(text->bytes(), i).length;
            out.push_back(make_text(text->slice(i, i + length)));
            i += length;
        }
        return out;
    }
    return not_iterable(*this, value);
}

Result<NextItem> Renderer::walk(const Value& value) {
    using Item = Result<std::optional<Value>>;
    if (value.undefined()) return [](Renderer&) -> Item { return std::optional<Value>(); };
    size_t at = 0;
    if (const List* list_value = value.list()) {
        if (list_value->iterator())  // held by what walks it
            return [value](Renderer& r) -> Item { return value.list()->next(r); };
        return [value, at](Renderer& r) mutable -> Item {
            r.budget().spend(1);
            const auto& items = value.list()->items;
            return at < items.size() ? std::optional(items[at++]) : std::nullopt;
        };
    }
    if (value.dict() != nullptr)
        return [value, at](Renderer& r) mutable -> Item {
            r.budget().spend(1);
            const auto& items = value.dict()->items;
            return at < items.size() ? std::optional(items[at++].first) : std::nullopt;
        };
    if (value.text() != nullptr)
        return [value, at](Renderer& r) mutable -> Item {
            r.budget().spend(4);
            const Text& text = *value.text();
            if (at >= text.size()) return std::optional<Value>();
            const size_t begin = at;
            at += text::decode_utf8(text.bytes(), at).length;
            return std::optional(make_text(text.slice(begin, at)));
        };
    return not_iterable(*this, value);
}

Result<Value> Renderer::iterator(const Value& source, NextItem next) {
    auto made = std::make_shared<List>();
    made->kind = ListKind::iterator;
    made->depth = 1 + depth_of(source);
    if (made->depth > kMaxNesting)
        return error(
            fmt::format("filters of filters are nested more than {} deep here", kMaxNesting));
    made->next = std::move(next);
    return Value{ListPtr(std::move(made))};
}

Result<std::optional<Value>> Renderer::loop_pull(Loop& loop) {
    if (!loop.next) return error("looking ahead in a loop that was left is not supported");
    if (loop.busy) return error("this loop looks ahead of itself");
    loop.busy = true;
    auto item = loop.next(*this);
    loop.busy = false;
    return item;
}

Result<std::optional<Value>> Renderer::loop_next(Loop& loop) {
    std::optional<Value> item;
    if (loop.ahead_used < loop.ahead.size()) {
        item = std::move(loop.ahead[loop.ahead_used++]);
        if (loop.ahead_used == loop.ahead.size()) {
            loop.ahead.clear();
            loop.ahead_used = 0;
        }
    } else {
        RIDGE_ASSIGN(item, loop_pull(loop));
    }
    if (!item) return item;
    ++loop.index;
    loop.before = std::move(loop.current);
    loop.current = *item;
    return item;
}

Result<std::optional<Value>> Renderer::loop_peek(Loop& loop) {
    if (loop.ahead_used == loop.ahead.size()) {
        RIDGE_ASSIGN(std::optional<Value> item, loop_pull(loop));
        if (!item) return item;
        loop.ahead.push_back(std::move(*item));
    }
    return std::optional<Value>(loop.ahead[loop.ahead_used]);
}

Result<size_t> Renderer::loop_length(Loop& loop) {
    if (!loop.length) {
        for (;;) {
            RIDGE_ASSIGN(std::optional<Value> item, loop_pull(loop));
            if (!item) break;
            budget_.spend(1);
            RIDGE_TRY(afford());
            loop.ahead.push_back(std::move(*item));
        }
        loop.length = loop.index + loop.ahead.size() - loop.ahead_used;
    }
    return *loop.length;
}

// What `loop` offers in a loop's body. `index` counts the turns that have begun.
Result<Value> Renderer::loop_attribute(const Value& object, std::string_view name) {
    Loop& loop = **object.get<LoopPtr>();
    const auto index = static_cast<int64_t>(loop.index);
    if (name == "index") return Value{index};
    if (name == "index0") return Value{index - 1};
    if (name == "first") return Value{index == 1};
    if (name == "depth") return Value{int64_t{1}};
    if (name == "depth0") return Value{int64_t{0}};
    if (name == "revindex" || name == "revindex0" || name == "length") {
        RIDGE_ASSIGN(const size_t length, loop_length(loop));
        const auto n = static_cast<int64_t>(length);
        return Value{name == "length" ? n : name == "revindex" ? n - index + 1 : n - index};
    }
    if (name == "previtem")
        return index > 1 ? loop.before : make_undefined("the item before the first");
    if (name == "nextitem" || name == "last") {
        RIDGE_ASSIGN(std::optional<Value> item, loop_peek(loop));
        if (name == "last") return Value{!item};
        return item ? *item : make_undefined("the item after the last");
    }
    if (name == "cycle" || name == "changed") {
        auto callable = std::make_shared<Callable>();
        callable->name = name;
        callable->method = true;
        callable->receiver = object;
        return Value{CallablePtr(std::move(callable))};
    }
    return make_undefined(fmt::format("'loop.{}'", name));
}

}  // namespace ridge::jinja
