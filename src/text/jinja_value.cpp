#include "text/jinja_value.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace ridge::jinja {
namespace {

// Equal keys have equal texts; empty where a value cannot be a key here. 1, 1.0 and True are one
// key. Walks nested tuples, whose depth is bounded.
std::string key_text(const Value& key) {
    if (const Text* text = key.text()) return "s" + text->bytes();
    if (const auto i = key.integer()) return "i" + std::to_string(*i);
    if (const auto* d = key.get<double>()) {
        if (*d == std::floor(*d) && std::abs(*d) < 9e15)
            return "i" + std::to_string(static_cast<int64_t>(*d));
        return "d" + repr_of_double(*d);
    }
    if (key.none()) return "n";
    if (key.undefined()) return "u";  // all undefined values are equal
    if (const List* list = key.list(); list != nullptr && list->kind == ListKind::tuple) {
        std::string text = "t";
        for (const Value& item : list->items) {
            const std::string part = key_text(item);
            if (part.empty()) return {};
            text += std::to_string(part.size()) + ":" + part;
        }
        return text;
    }
    return {};
}

constexpr size_t kIndexFrom = 8;  // smaller dictionaries are searched

}  // namespace

std::optional<int64_t> Value::integer() const {
    if (const auto* i = get<int64_t>()) return *i;
    if (const auto* b = get<bool>()) return *b ? 1 : 0;
    return std::nullopt;
}

std::optional<double> Value::number() const {
    if (const auto* d = get<double>()) return *d;
    if (const auto i = integer()) return static_cast<double>(*i);
    return std::nullopt;
}

const Value* Dict::find(std::string_view key) const {
    if (items.size() < kIndexFrom) {
        for (const auto& [k, value] : items)
            if (const Text* text = k.text(); text != nullptr && text->bytes() == key) return &value;
        return nullptr;
    }
    const auto found = index_.find("s" + std::string(key));
    return found == index_.end() ? nullptr : &items[found->second].second;
}

const Value* Dict::find(const Value& key) const {
    if (const Text* text = key.text()) return find(std::string_view(text->bytes()));
    const std::string wanted = key_text(key);
    if (wanted.empty()) return nullptr;
    if (items.size() >= kIndexFrom) {
        const auto found = index_.find(wanted);
        return found == index_.end() ? nullptr : &items[found->second].second;
    }
    for (const auto& [k, value] : items)
        if (key_text(k) == wanted) return &value;
    return nullptr;
}

bool Dict::put(Value key, Value value) {
    std::string text = key_text(key);
    if (text.empty()) return false;
    depth = std::max(depth, 1 + depth_of(value));
    if (const Value* there = find(key)) {
        *const_cast<Value*>(there) = std::move(value);
        return true;
    }
    items.emplace_back(std::move(key), std::move(value));
    if (items.size() == kIndexFrom)
        for (size_t i = 0; i < items.size(); ++i) index_.emplace(key_text(items[i].first), i);
    if (items.size() > kIndexFrom) index_.emplace(std::move(text), items.size() - 1);
    return true;
}

const Value* Namespace::find(std::string_view name) const {
    for (const auto& [key, value] : items)
        if (key == name) return &value;
    return nullptr;
}

void Namespace::put(std::string_view name, Value value) {
    for (auto& [key, old] : items) {
        if (key != name) continue;
        old = std::move(value);
        return;
    }
    items.emplace_back(std::string(name), std::move(value));
}

uint32_t depth_of(const Value& value) {
    if (const List* list = value.list()) return list->depth;
    if (const Dict* dict = value.dict()) return dict->depth;
    if (const auto* loop = value.get<LoopPtr>()) return (*loop)->depth;
    if (const auto* callable = value.get<CallablePtr>()) return 1 + depth_of((*callable)->receiver);
    return 0;
}

std::optional<Value> make_list(std::vector<Value> items, ListKind kind) {
    auto list = std::make_shared<List>();
    for (const Value& item : items) list->depth = std::max(list->depth, 1 + depth_of(item));
    if (list->depth > kMaxNesting) return std::nullopt;
    list->items = std::move(items);
    list->kind = kind;
    return Value{ListPtr(std::move(list))};
}

std::optional<Value> finish_dict(Dict dict) {
    if (dict.depth > kMaxNesting) return std::nullopt;
    return Value{DictPtr(std::make_shared<const Dict>(std::move(dict)))};
}

const char* type_name(const Value& value) {
    if (value.undefined()) return "Undefined";
    if (value.none()) return "NoneType";
    if (value.get<bool>() != nullptr) return "bool";
    if (value.get<int64_t>() != nullptr) return "int";
    if (value.get<double>() != nullptr) return "float";
    if (value.text() != nullptr) return "str";
    if (const List* list = value.list()) {
        constexpr const char* names[] = {"list",        "tuple",      "range",    "dict_keys",
                                         "dict_values", "dict_items", "generator"};
        return names[static_cast<size_t>(list->kind)];
    }
    if (value.dict() != nullptr) return "dict";
    if (value.get<Namespace*>() != nullptr) return "Namespace";
    if (value.get<LoopPtr>() != nullptr) return "LoopContext";
    return "function";
}

bool truthy(const Value& value) {
    if (value.undefined() || value.none()) return false;
    if (const auto n = value.number()) return *n != 0;
    if (const Text* text = value.text()) return !text->empty();
    if (const List* list = value.list()) return list->iterator() || !list->items.empty();
    if (const Dict* dict = value.dict()) return !dict->items.empty();
    return true;
}

bool is_hashable(const Value& value) {
    if (value.dict() != nullptr) return false;
    const List* list = value.list();
    if (list == nullptr || list->kind == ListKind::values) return true;
    if (list->kind == ListKind::tuple)
        return std::all_of(list->items.begin(), list->items.end(), is_hashable);
    return list->kind == ListKind::range || list->iterator();
}

namespace {

// dict_keys and dict_items are sets.
bool equal_sets(const List& a, const List& b, Budget& budget) {
    if (a.items.size() != b.items.size()) return false;
    for (const Value& wanted : a.items)
        if (std::none_of(b.items.begin(), b.items.end(),
                         [&](const Value& item) { return equal(wanted, item, budget); }))
            return false;
    return true;
}

bool equal_lists(const List& a, const List& b, Budget& budget) {
    const auto is_set = [](const List& l) {
        return l.kind == ListKind::keys || l.kind == ListKind::items;
    };
    if (is_set(a) && is_set(b)) return equal_sets(a, b, budget);
    if (a.kind != b.kind) return false;
    if (!a.indexed()) return &a == &b;
    if (a.items.size() != b.items.size()) return false;
    for (size_t i = 0; i < a.items.size(); ++i)
        if (!equal(a.items[i], b.items[i], budget)) return false;
    return true;
}

}  // namespace

bool equal(const Value& a, const Value& b, Budget& budget) {
    if (!budget.spend(1)) return false;
    const auto* ai = a.get<int64_t>();
    const auto* bi = b.get<int64_t>();
    if (ai != nullptr && bi != nullptr) return *ai == *bi;
    const auto an = a.number();
    const auto bn = b.number();
    if (an && bn) return *an == *bn;
    if (const Text *at = a.text(), *bt = b.text(); at != nullptr && bt != nullptr) {
        budget.spend_bytes(std::min(at->size(), bt->size()));
        return at->bytes() == bt->bytes();
    }
    if (const List *al = a.list(), *bl = b.list(); al != nullptr && bl != nullptr)
        return equal_lists(*al, *bl, budget);
    if (const Dict *ad = a.dict(), *bd = b.dict(); ad != nullptr && bd != nullptr) {
        if (ad->items.size() != bd->items.size()) return false;
        for (const auto& [key, value] : ad->items) {
            const Value* other = bd->find(key);
            if (other == nullptr || !equal(value, *other, budget)) return false;
        }
        return true;
    }
    if (a.v.index() != b.v.index()) return false;
    if (a.undefined() || a.none()) return true;
    if (const auto* space = a.get<Namespace*>()) return *space == *b.get<Namespace*>();
    if (const auto* call = a.get<CallablePtr>()) return *call == *b.get<CallablePtr>();
    if (const auto* loop = a.get<LoopPtr>()) return *loop == *b.get<LoopPtr>();
    return false;
}

std::optional<int> compare(const Value& a, const Value& b, Budget& budget) {
    if (!budget.spend(1)) return 0;
    const auto sign = [](auto x, auto y) { return x < y ? -1 : x > y ? 1 : 0; };
    const auto ai = a.integer();
    const auto bi = b.integer();
    if (ai && bi) return sign(*ai, *bi);
    const auto an = a.number();
    const auto bn = b.number();
    if (an && bn) {
        if (std::isnan(*an) || std::isnan(*bn)) return kUnordered;
        return sign(*an, *bn);
    }
    // Well-formed UTF-8 orders as its code points do.
    if (const Text *at = a.text(), *bt = b.text(); at != nullptr && bt != nullptr) {
        budget.spend_bytes(std::min(at->size(), bt->size()));
        return sign(at->bytes().compare(bt->bytes()), 0);
    }
    if (const List *al = a.list(), *bl = b.list(); al != nullptr && bl != nullptr) {
        if (al->kind != bl->kind || al->kind > ListKind::tuple) return std::nullopt;
        for (size_t i = 0; i < std::min(al->items.size(), bl->items.size()); ++i)
            if (!equal(al->items[i], bl->items[i], budget))
                return compare(al->items[i], bl->items[i], budget);
        return sign(al->items.size(), bl->items.size());
    }
    return std::nullopt;
}

// Python's repr of a float: the shortest digits that read back the same, an exponent below 1e-4 and
// from 1e16 on.
std::string repr_of_double(double value) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
    char buffer[64];
    const auto made =
        std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific);
    std::string digits(buffer, made.ptr);
    const size_t e = digits.find('e');
    const int exponent = std::stoi(digits.substr(e + 1));
    std::string sign = digits[0] == '-' ? "-" : "";
    std::string mantissa = digits.substr(sign.size(), e - sign.size());
    if (exponent < -4 || exponent >= 16) {
        std::string power = std::to_string(std::abs(exponent));
        if (power.size() < 2) power.insert(0, "0");
        return sign + mantissa + (exponent < 0 ? "e-" : "e+") + power;
    }
    if (mantissa.size() > 1) mantissa.erase(1, 1);
    if (exponent < 0) {
        mantissa = "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + mantissa;
    } else {
        const auto point = static_cast<size_t>(exponent) + 1;
        if (mantissa.size() <= point)
            mantissa += std::string(point - mantissa.size(), '0') + ".0";
        else
            mantissa.insert(point, ".");
    }
    return sign + mantissa;
}

}  // namespace ridge::jinja
