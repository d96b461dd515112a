// Chat templates out of bytes: each byte is a choice, so that a fuzzer that mutates bytes mutates
// templates that are mostly well-formed. Where the bytes end, everything is ended shortly. Few
// names are used, so that they are read before they are set, shadowed, and read by inner scopes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "template_expressions.hpp"

namespace ridge::fuzz {

// Statements.
class TemplateWriter : private ExpressionWriter {
  public:
    TemplateWriter(const uint8_t* data, size_t size) : ExpressionWriter(data, size) {}

    std::string write() {
        text();
        if (!yes(4)) put("{% set ns = namespace(a=0, b='q') %}");
        while (size_ > 0 && out_.size() < kMost) {
            statement(3);
            text();
        }
        return std::move(out_);
    }

  private:
    void text() {
        one(";\n; ;\n  ;a;<|im_start|>;x\n;\t; \n\n ;};{ ;%};-;\xC3\xA9;\r\n;b \n;  "
            ";}};#};\\;\xC2\xA0;{% raw %}{{{% endraw %}");
    }
    void open() { one("{% ;{%- ;{%+ ;{%;{%-"); }
    void close() { one(" %}; -%}; +%};%};\n-%}"); }
    void tag(std::string_view inside) {
        open();
        put(inside);
        close();
    }
    void print(int n) {
        one("{{ ;{{- ;{{");
        any(n);
        if (yes(12)) {
            put(", ");
            any(0);
        }
        one(" }}; -}};}}");
    }
    // Few names, so that they are met again: set, read before and after, shadowed.
    void name() { one("n0;n1;n2;n3;n2;n3;n0;n1;n2;n3;x;s;m;v;loop;ns;caller"); }
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
            case 3:
                return print(3);
            case 4:
                return branch(n);
            case 5:
            case 6:
            case 7:
                return loop(n);
            case 8:
            case 9:
            case 10:
                return assign(n);
            case 11:
            case 12:
                return macro(n);
            case 13:
                if (macros_ == 0) return print(2);
                open();
                one("call n0(x);call n1();call(n2, n3=1) n0(x);call(x) n1()");
                close();
                body(n);
                return tag("endcall");
            case 14:
                open();
                one("filter upper;filter trim;filter replace('a', 'b');filter indent(2);filter "
                    "title;filter tojson;"
                    "filter trim|lower;filter join('-');filter length;filter first;filter "
                    "default('a');filter string");
                close();
                body(n);
                return tag("endfilter");
            case 15:
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
            case 16:
                return one(
                    "{% raw %}{{ x }}{% endraw %};{%- raw -%} {% if %} {%- endraw -%}\n;"
                    "{% raw %}\n a {# {%+ endraw +%}\n; {%raw%} {%endraw%}\n;{# c #};{#- {{ x }} "
                    "-#};"
                    "  {# c\n #}\n;{#+ c +#}\n;{##}");
            case 17:
                tag("generation");
                body(n);
                return tag("endgeneration");
            case 18:
                return loops_ == 0 ? print(2) : tag(yes() ? "continue" : "break");
            default:  // a namespace counted up in a loop
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
            one(" in d.items(); in d|items; in v|dictsort; in [[1, 2], (3, 4)]; in k; in "
                "messages[0].items();"
                " in ['ab', 'cd']; in m|map('upper')|map('list')");
        } else {
            put(" in ");
            list(2);
        }
        ++loops_;
        if (yes(4)) {
            put(" if ");
            condition(2);
        }
        close();
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
                yes() ? list(1)
                      : one("1, 2;l[:2];(x, s);'ab';d.items()|first;k|map(attribute='a')|unique");
                return close();
            case 1:
            case 2:
                put("ns.a = ");
                any(2);
                return close();
            case 3:
                name();
                one(";|upper; | trim;|length;|join('.')");
                close();
                body(n);
                return tag("endset");
            case 4:
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
        const size_t loops = loops_;
        open();
        one("macro n0();macro n0(n2);macro n0(n2, n3=1);macro n1(x, n2=x);macro n1(n2='a', "
            "n3=n2);macro n1(s);"
            "macro n1(n2=n3, n3=x);macro n0(varargs, kwargs=1)");
        close();
        loops_ = 0;
        one(";{{ caller() }};{{ varargs }};{{ kwargs }};{{ n2 ~ n3 ~ x }};{{ caller(1) if caller "
            "}}");
        body(n);
        loops_ = loops;
        tag("endmacro");
        ++macros_;
        one("{{ n0() }};{{ n0(x) }};{{ n1(s, 2) }};{{ n1(n2=s) }};{{ n0(1, 2, 3) }};{{ n1(x=1, "
            "s=2) }};");
    }
};

}  // namespace ridge::fuzz
