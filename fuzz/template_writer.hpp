// Chat templates out of bytes: each byte is a choice, so that a fuzzer that mutates bytes mutates
// templates that are mostly well-formed. Where the bytes end, everything is ended shortly.
//
// The variables are those of template.cpp's conversation. Types are kept to more often than not:
// what a filter or a method does to a value that it is not for is asked too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ridge::fuzz {

class TemplateWriter {
  public:
    TemplateWriter(const uint8_t* data, size_t size) : data_(data), size_(size) {}

    std::string write() {
        text();
        while (size_ > 0 && out_.size() < kMost) {
            statement(3);
            text();
        }
        return std::move(out_);
    }

  private:
    static constexpr size_t kMost = 1200;  // bytes, from where on nothing is begun
    using Part = void (TemplateWriter::*)(int);

    // One of n; 0 is the shortest and what the end of the bytes chooses.
    size_t below(size_t n) {
        if (size_ == 0 || out_.size() > kMost) return 0;
        --size_;
        return *data_++ % n;
    }
    bool yes(size_t of = 2) { return below(of) == of - 1; }
    void put(std::string_view s) { out_ += s; }
    template <size_t n>
    void one(const char* const (&names)[n]) {
        put(names[below(n)]);
    }
    void quoted(std::string_view s) {
        put("'");
        put(s);
        put("'");
    }

    // --- expressions --------------------------------------------------------------------------

    void number_leaf(int) {
        static const char* const leaves[] = {"1",
                                             "x",
                                             "0",
                                             "y",
                                             "z",
                                             "f",
                                             "g",
                                             "2",
                                             "10",
                                             "3.5",
                                             "1e3",
                                             "true",
                                             "0.1",
                                             "1_000",
                                             "0x1f",
                                             "0b11",
                                             "0o17",
                                             "1E-7",
                                             "2.50",
                                             "1e22",
                                             "1e16",
                                             "-1",
                                             "123456789012",
                                             "big",
                                             "loop.index",
                                             "loop.length",
                                             "loop.revindex0",
                                             "l|length",
                                             "'inf'|float",
                                             "'nan'|float",
                                             "ns.a"};
        one(leaves);
    }
    void number(int n) {
        static const char* const sums[] = {" + ", " - ", " * ", " / ", " // ",
                                           " % ", "+",   "*",   "-",   " ** "};
        static const char* const filters[] = {"|abs",
                                              "|int",
                                              "|float",
                                              "|round",
                                              "|round(1)",
                                              "|round(2, 'floor')",
                                              "|round(1, 'ceil')",
                                              "|round(-1)",
                                              "|int(5)",
                                              "|float(2)",
                                              "|string|int",
                                              "|round|int"};
        switch (n <= 0 ? 0 : below(8)) {
            case 0:
            case 1:
                return number_leaf(n);
            case 2:
            case 3:
                number(n - 1);
                one(sums);
                return number(n - 1);
            case 4:
                put("(");
                number(n - 1);
                return put(")");
            case 5:
                put(yes() ? "-" : "+");
                return number_leaf(n);
            case 6:
                put("(");
                number(n - 1);
                put(")");
                return one(filters);
            default:
                any(n - 1);
                return put(yes() ? "|length" : "|int");
        }
    }

    void literal() {
        static const char* const texts[] = {"'a'",
                                            "''",
                                            "'ab'",
                                            "\"b\"",
                                            "'-'",
                                            "','",
                                            "' '",
                                            "'\\n'",
                                            "'a\\tb'",
                                            "'\\u00e9'",
                                            "'\\x41'",
                                            "'\\101'",
                                            "'\\''",
                                            "\"\\\"\"",
                                            "'\\\\'",
                                            "'\\q'",
                                            "'\\U0001f642'",
                                            "'\xC3\xA9'",
                                            "'\xE4\xBA\xAC'",
                                            "'12'",
                                            "' 7 '",
                                            "'-3.5e1'",
                                            "'1_0'",
                                            "'a' 'b'",
                                            "'{}'",
                                            "'\xC3\x9F'",
                                            "'\xC4\xB0'",
                                            "'\xC7\x86'",
                                            "'it\\'s'",
                                            "'l'",
                                            "'\xC2\xB2\xD9\xA3'",
                                            "'a\\\nb'",
                                            "'\\\xC3\xA9'",
                                            "'%s'",
                                            "'A\\rB\\r\\n'",
                                            "'\xC2\xA0x\xE2\x80\xA8'"};
        one(texts);
    }
    void string_leaf(int) {
        static const char* const leaves[] = {"s",
                                             "t",
                                             "e",
                                             "w",
                                             "q",
                                             "m[0]",
                                             "mark",
                                             "messages[0].role",
                                             "messages[0]['content']",
                                             "s[1:4]",
                                             "(s ~ x)",
                                             "bos_token"};
        if (yes()) return literal();
        one(leaves);
    }
    void string(int n) {
        switch (n <= 0 ? 0 : below(10)) {
            case 0:
            case 1:
                return string_leaf(n);
            case 2:
                string(n - 1);
                put(" ~ ");
                return any(n - 1);
            case 3:
                string(n - 1);
                put(" + ");
                return string(n - 1);
            case 4:
                put("(");
                string(n - 1);
                put(")");
                return index();
            case 5:
                put("(");
                string(n - 1);
                put(") * ");
                return number_leaf(n);
            case 6:
                any(n - 1);
                return put(yes() ? "|string" : "|tojson");
            case 7:
                put("(");
                string(n - 1);
                put(")");
                return method(n);
            case 8:
                put("(");
                string(n - 1);
                put(")");
                return filter(n);
            default:
                list(n - 1);
                put("|join");
                if (yes()) return;
                put("(");
                string_leaf(n);
                return put(")");
        }
    }

    void bound() {
        static const char* const bounds[] = {"",  "1",  "0", "2",    "-1",       "-2",
                                             "5", "-9", "x", "none", "l|length", "y"};
        one(bounds);
    }
    // [i] or a slice.
    void index() {
        put("[");
        if (yes(3)) {
            static const char* const places[] = {"0",   "1",    "-1",  "9",    "-9",     "x",
                                                 "'a'", "true", "1.0", "none", "missing"};
            one(places);
        } else {
            bound();
            put(":");
            bound();
            if (yes()) {
                put(":");
                bound();
            }
        }
        put("]");
    }

    void list(int n) {
        static const char* const leaves[] = {"l",
                                             "m",
                                             "k",
                                             "h",
                                             "[1, 'a', none]",
                                             "(x, 2)",
                                             "()",
                                             "(s,)",
                                             "range(4)",
                                             "messages",
                                             "s.split(',')",
                                             "d",
                                             "d.items()",
                                             "[[1, 2], [3]]",
                                             "[]",
                                             "range(5, 0, -2)",
                                             "tools",
                                             "['b', 'a', 'B', 'A']",
                                             "k|map(attribute='a')"};
        switch (n <= 0 ? 0 : below(8)) {
            case 0:
            case 1:
                return one(leaves);
            case 2:
                put("[");
                any(n - 1);
                put(", ");
                any(n - 1);
                return put(yes() ? ",]" : "]");
            case 3:
                put("(");
                any(n - 1);
                put(", ");
                any(n - 1);
                return put(")");
            case 4:
                list(n - 1);
                put(" + ");
                return list(0);
            case 5:
                put("(");
                list(n - 1);
                put(")");
                return index();
            case 6:
                put("(");
                list(n - 1);
                put(")");
                filter(n);
                return put("|list");
            default:
                string_leaf(n);
                return method(n);
        }
    }

    void dict(int n) {
        static const char* const leaves[] = {"d",
                                             "v",
                                             "nested",
                                             "{'a': 1, 'b': {'c': [1]}}",
                                             "k[0]",
                                             "messages[0]",
                                             "{}",
                                             "{1: 'a', true: 'b', none: 2, 1.5: 3}",
                                             "dict(a=1, b=s)",
                                             "dict(d, a=2)",
                                             "tools[0]"};
        if (n <= 0 || !yes(3)) return one(leaves);
        put("{'a': ");
        any(n - 1);
        put(", ");
        any(0);
        put(": ");
        any(n - 1);
        put("}");
    }

    void condition(int n) {
        static const char* const leaves[] = {"yes",
                                             "no",
                                             "x > 3",
                                             "s",
                                             "missing is defined",
                                             "nothing is none",
                                             "h",
                                             "loop.first",
                                             "not s",
                                             "true",
                                             "false",
                                             "x is odd"};
        static const char* const order[] = {
            " == ", " != ", " < ", " <= ", " > ", " >= ", " in ", " not in "};
        switch (n <= 0 ? 0 : below(6)) {
            case 0:
                return one(leaves);
            case 1:
                any(n - 1);
                one(order);
                any(n - 1);
                if (!yes(4)) return;
                one(order);
                return any(0);
            case 2:
                any(n - 1);
                return test(n);
            case 3:
                put("not ");
                return condition(n - 1);
            case 4:
                condition(n - 1);
                put(yes() ? " and " : " or ");
                return condition(n - 1);
            default:
                put("(");
                condition(n - 1);
                return put(")");
        }
    }

    void any(int n) {
        static const char* const others[] = {"none",
                                             "missing",
                                             "yes",
                                             "no",
                                             "nothing",
                                             "x.y",
                                             "missing.a",
                                             "loop",
                                             "ns",
                                             "caller",
                                             "varargs",
                                             "loop.previtem",
                                             "loop.nextitem",
                                             "loop.cycle('a', 'b')",
                                             "loop.changed(x)",
                                             "strftime_now('%Y %b %d')",
                                             "namespace(a=1)",
                                             "range",
                                             "n1(x)",
                                             "n2",
                                             "kwargs"};
        static const Part parts[] = {&TemplateWriter::number, &TemplateWriter::string,
                                     &TemplateWriter::list, &TemplateWriter::dict,
                                     &TemplateWriter::condition};
        const size_t which = below(12);
        if (which < 10 || n <= 0) {
            if (which % 6 == 5) return one(others);
            return (this->*parts[which % 6])(n);
        }
        put("(");
        any(n - 1);
        switch (below(8)) {
            case 0:
                put(")");
                return index();
            case 1:
                put(")");
                return method(n);
            case 2:
                put(")");
                return filter(n);
            case 3: {
                static const char* const names[] = {"a",       "b",    "zz", "p.q[0].r",
                                                    "content", "role", "0",  "function.name"};
                put(").");
                return one(names);
            }
            case 4:
                put(yes() ? " or " : " and ");
                any(n - 1);
                return put(")");
            case 5:
                put(" if ");
                condition(n - 1);
                if (yes()) {
                    put(" else ");
                    any(n - 1);
                }
                return put(")");
            case 6:
                put(yes() ? ",)" : ")");
                return;
            default:
                put(")");
                return test(n);
        }
    }

    // Up to two arguments of any kind, maybe with a name.
    void arguments(int n) {
        static const char* const names[] = {"attribute",      "default",   "reverse", "boolean",
                                            "case_sensitive", "d",         "a",       "start",
                                            "width",          "first",     "indent",  "sort_keys",
                                            "count",          "precision", "by"};
        put("(");
        for (size_t i = below(4) % 3; i > 0; --i) {
            if (yes(6)) {
                one(names);
                put("=");
            }
            if (yes(4))
                any(n - 2);
            else
                yes() ? number_leaf(0) : literal();
            if (i > 1) put(", ");
        }
        put(")");
    }

    void method(int n) {
        static const char* const all[] = {
            "upper()",       "lower()",          "strip()",      "lstrip()",
            "rstrip()",      "title()",          "capitalize()", "split()",
            "split(',')",    "rsplit('l', 1)",   "splitlines()", "splitlines(true)",
            "isdigit()",     "isalpha()",        "isalnum()",    "isspace()",
            "islower()",     "isupper()",        "items()",      "keys()",
            "values()",      "get('a')",         "get('zz', 5)", "copy()",
            "isnumeric()",   "isdecimal()",      "isascii()",    "partition('l')",
            "strip('lo H')", "replace('l', 'L')"};
        static const char* const open[] = {
            "split",        "rsplit",     "strip",  "lstrip",     "rstrip",     "replace",
            "find",         "rfind",      "index",  "count",      "startswith", "endswith",
            "join",         "partition",  "format", "rpartition", "get",        "removeprefix",
            "removesuffix", "splitlines", "rindex", "upper",      "items",      "zfill"};
        put(".");
        if (yes()) return one(all);
        one(open);
        arguments(n);
    }

    void filter(int n) {
        static const char* const all[] = {"trim",
                                          "upper",
                                          "lower",
                                          "title",
                                          "capitalize",
                                          "string",
                                          "length",
                                          "list",
                                          "reverse",
                                          "first",
                                          "last",
                                          "sort",
                                          "unique",
                                          "join(', ')",
                                          "tojson",
                                          "items",
                                          "dictsort",
                                          "sum",
                                          "min",
                                          "max",
                                          "default('q')",
                                          "int",
                                          "float",
                                          "abs",
                                          "round",
                                          "indent",
                                          "safe",
                                          "count",
                                          "map('upper')",
                                          "map(attribute='a')",
                                          "selectattr('a')",
                                          "rejectattr('b', 'defined')",
                                          "select",
                                          "reject('odd')",
                                          "map(attribute='content')",
                                          "selectattr('role', 'equalto', 'user')",
                                          "select('string')",
                                          "map('length')",
                                          "indent(2, true)",
                                          "tojson(indent=2)",
                                          "default('', true)",
                                          "sort(attribute='a')",
                                          "sort(reverse=true)",
                                          "dictsort(by='value')",
                                          "replace('a', 'b')"};
        static const char* const open[] = {
            "default", "join",   "replace", "indent",     "trim",       "round",  "int",
            "float",   "sort",   "unique",  "dictsort",   "sum",        "min",    "max",
            "map",     "select", "reject",  "selectattr", "rejectattr", "tojson", "attr",
            "first",   "d",      "string",  "batch",      "upper"};
        put("|");
        if (!yes(3)) return one(all);
        one(open);
        arguments(n);
    }

    void test(int n) {
        static const char* const all[] = {
            "defined",       "undefined", "none",       "string",   "number",   "integer",
            "float",         "boolean",   "mapping",    "sequence", "iterable", "true",
            "false",         "lower",     "upper",      "odd",      "even",     "divisibleby(3)",
            "divisibleby 2", "gt 2",      "in([1, 7])", "eq(7)",    "callable", "ne 'a'",
            "filter",        "test",      "escaped"};
        static const char* const open[] = {"eq",      "ne",      "lt",          "le",
                                           "gt",      "ge",      "in",          "divisibleby",
                                           "equalto", "defined", "greaterthan", "lessthan"};
        put(yes() ? " is not " : " is ");
        if (!yes(3)) return one(all);
        one(open);
        arguments(n);
    }

    // --- statements ---------------------------------------------------------------------------

    void text() {
        static const char* const texts[] = {
            "",   "\n", " ", "\n  ",     "a",    "<|im_start|>", "x\n", "\t", " \n\n ", "}",
            "{ ", "%}", "-", "\xC3\xA9", "\r\n", "b \n",         "  ",  "}}", "#}",     "\\"};
        one(texts);
    }
    void tag(std::string_view inside) {
        open();
        put(inside);
        close();
    }
    void open() {
        static const char* const opens[] = {"{% ", "{%- ", "{%+ ", "{%", "{%-"};
        one(opens);
    }
    void close() {
        static const char* const closes[] = {" %}", " -%}", " +%}", "%}", "\n-%}"};
        one(closes);
    }
    void print(int n) {
        static const char* const opens[] = {"{{ ", "{{- ", "{{"};
        static const char* const closes[] = {" }}", " -}}", "}}"};
        one(opens);
        any(n);
        if (yes(12)) {
            put(", ");
            any(0);
        }
        one(closes);
    }
    // Few names, so that they are met again: set, read before and after, shadowed.
    void name() {
        static const char* const names[] = {"n0", "n1", "n2",   "x", "s",
                                            "ns", "m",  "loop", "v", "n3"};
        put(names[below(40) % 10]);
    }
    void body(int n) {
        for (size_t i = below(3); i > 0; --i) {
            statement(n - 1);
            text();
        }
        if (yes()) print(1);
    }

    void statement(int n) {
        if (n <= 0) return print(2);
        switch (below(20)) {
            case 0:
            case 1:
            case 2:
                return print(3);
            case 3:
                return branch(n);
            case 4:
            case 5:
            case 6:
                return loop(n);
            case 7:
            case 8:
            case 9:
                return assign(n);
            case 10:
            case 11:
                return macro(n);
            case 12: {  // call block
                open();
                put("call");
                if (yes(3)) put("(n2, n3=1)");
                put(yes() ? " n0(x)" : " n1()");
                close();
                body(n);
                return tag("endcall");
            }
            case 13:
                open();
                put("filter ");
                static const char* const filters[] = {
                    "upper",  "trim",   "replace('a', 'b')", "indent(2)",
                    "title",  "tojson", "trim|lower",        "join('-')",
                    "length", "first",  "default('a')",      "list"};
                one(filters);
                close();
                body(n);
                return tag("endfilter");
            case 14:
                open();
                put("with ");
                if (yes(4)) {
                    name();
                    put(" = ");
                    any(1);
                    put(", ");
                }
                name();
                put(" = ");
                any(1);
                close();
                body(n);
                return tag("endwith");
            case 15: {
                static const char* const raws[] = {
                    "{% raw %}{{ x }}{% endraw %}", "{%- raw -%} {% if %} {%- endraw -%}\n",
                    "{% raw %}\n a {# {%+ endraw +%}\n", " {%raw%} {%endraw%}\n"};
                return one(raws);
            }
            case 16: {
                static const char* const comments[] = {"{# c #}", "{#- {{ x }} -#}",
                                                       "  {# c\n #}\n", "{#+ c +#}\n", "{##}"};
                return one(comments);
            }
            case 17:
                tag("generation");
                body(n);
                return tag("endgeneration");
            case 18: {
                static const char* const leaves[] = {"break", "continue"};
                if (loops_ == 0) return print(2);
                return tag(leaves[below(2)]);
            }
            default:  // a namespace counted up in a loop
                tag("set ns = namespace(a=0)");
                tag("for n0 in l");
                open();
                put("set ns.a = ");
                any(2);
                close();
                body(n - 1);
                tag("endfor");
                return put("{{ ns.a }}");
        }
    }

    void branch(int n) {
        open();
        put("if ");
        condition(2);
        close();
        body(n);
        if (yes(3)) {
            open();
            put("elif ");
            condition(1);
            close();
            body(n);
        }
        if (yes()) {
            tag("else");
            body(n);
        }
        tag("endif");
    }

    void loop(int n) {
        open();
        put("for ");
        name();
        if (yes(4)) {
            put(", ");
            name();
            static const char* const pairs[] = {" in d.items()",   " in d|items",
                                                " in v|dictsort",  " in [[1, 2], (3, 4)]",
                                                " in k",           " in messages[0].items()",
                                                " in ['ab', 'cd']"};
            one(pairs);
        } else {
            put(" in ");
            list(2);
        }
        if (yes(4)) {
            put(" if ");
            condition(2);
        }
        close();
        ++loops_;
        body(n);
        if (yes(3)) put("{{ loop.index ~ loop.last ~ n0 }}");
        --loops_;
        if (yes(4)) {
            tag("else");
            body(n);
        }
        tag("endfor");
    }

    void assign(int n) {
        open();
        put("set ");
        switch (below(8)) {
            case 0:
                name();
                put(", ");
                name();
                put(" = ");
                list(1);
                return close();
            case 1:
                put("ns.a = ");
                any(2);
                return close();
            case 2: {
                static const char* const filters[] = {"", "|upper", " | trim", "|length",
                                                      "|join('.')"};
                name();
                one(filters);
                close();
                body(n);
                return tag("endset");
            }
            case 3:
                put("ns = namespace(a=");
                any(1);
                put(")");
                return close();
            default:
                name();
                put(" = ");
                any(2);
                return close();
        }
    }

    void macro(int n) {
        static const char* const heads[] = {
            "n0()", "n0(n2)", "n0(n2, n3=1)", "n1(x, n2=x)", "n1(n2='a', n3=n2)", "n1(s)"};
        static const char* const calls[] = {"{{ n0() }}",
                                            "{{ n0(x) }}",
                                            "{{ n1(s, 2) }}",
                                            "{{ n1(n2=s) }}",
                                            "{{ n0(1, 2, 3) }}",
                                            "{{ n1(x=1, s=2) }}",
                                            ""};
        static const char* const uses[] = {"",
                                           "{{ caller() }}",
                                           "{{ varargs }}",
                                           "{{ kwargs }}",
                                           "{{ n2 ~ n3 ~ x }}",
                                           "{{ caller(1) if caller }}"};
        const size_t loops = loops_;
        open();
        put("macro ");
        one(heads);
        close();
        loops_ = 0;
        one(uses);
        body(n);
        loops_ = loops;
        tag("endmacro");
        one(calls);
    }

    const uint8_t* data_;
    size_t size_;
    std::string out_;
    size_t loops_ = 0;
};

}  // namespace ridge::fuzz
