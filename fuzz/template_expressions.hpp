// Expressions of chat templates out of bytes, for template_writer.hpp. The variables are those of
// template.cpp's conversation. Types are kept to more often than not, so that most templates
// render; what a filter, a method or an operator does to a value that it is not for is asked too.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ridge::fuzz {

class ExpressionWriter {
  protected:
    ExpressionWriter(const uint8_t* data, size_t size) : data_(data), size_(size) {}

    static constexpr size_t kMost = 1200;  // bytes, from where on nothing is begun
    using Part = void (ExpressionWriter::*)(int);

    // One of n; 0 is the shortest and what the end of the bytes chooses.
    size_t below(size_t n) {
        if (size_ == 0 || out_.size() > kMost) return 0;
        --size_;
        return *data_++ % n;
    }
    bool yes(size_t of = 2) { return below(of) == of - 1; }
    void put(std::string_view s) { out_ += s; }
    // One of the words between semicolons; they may hold blanks, and nothing.
    void one(std::string_view words) {
        size_t skip = below(static_cast<size_t>(std::count(words.begin(), words.end(), ';')) + 1);
        for (; skip > 0; --skip) words.remove_prefix(words.find(';') + 1);
        put(words.substr(0, words.find(';')));
    }
    void wrapped(Part part, int n) {
        put("(");
        (this->*part)(n);
        put(")");
    }

    // `n`: how deep it may still go, here and below.
    void number_leaf(int) {
        if (loops_ > 0 && yes(4))
            return one(
                "loop.index;loop.index0;loop.length;loop.revindex;loop.revindex0;loop.depth");
        one("1;x;2;y;f;g;10;3.5;-1;0;z;1e3;true;0.1;1_000;0x1f;0b11;0o17;1E-7;2.50;1e22;1e16;"
            "123456789012;big;l|length;'inf'|float;'nan'|float;ns.a;0xF_f;9223372036854775807");
    }
    void number(int n) {
        switch (n <= 0 ? 0 : below(8)) {
            case 0:
            case 1:
                return number_leaf(n);
            case 2:
            case 3:
                number(n - 1);
                one(" + ; - ; * ; / ; // ; % ;+;*;-; ** ");
                return yes() ? number(n - 1) : one("2;3;x;y;-1;0.5;7");
            case 4:
                return wrapped(&ExpressionWriter::number, n - 1);
            case 5:
                one("-;+");
                return number_leaf(n);
            case 6:
                wrapped(&ExpressionWriter::number, n - 1);
                return one(
                    "|abs;|int;|float;|round;|round(1);|round(2, 'floor');|round(1, 'ceil');"
                    "|round(0);|int(5);|float(2);|string|int;|round|int;|string|float");
            default:
                if (yes()) return countable(n);
                string(n - 1);
                return one("|int;|float;|int(5);|length;|int(default=x);|float('q')");
        }
    }
    void countable(int n) {
        wrapped(yes() ? &ExpressionWriter::string : &ExpressionWriter::list, n - 1);
        one("|length;|count;|list|length");
    }

    void literal() {
        one("'a';'';'ab';\"b\";'-';',';' "
            "';'\\n';'a\\tb';'\\u00e9';'\\x41';'\\101';'\\'';\"\\\"\\\"\";"
            "'\\\\';'\\q';'\\U0001f642';'\xC3\xA9';'\xE4\xBA\xAC';'12';' 7 ';'-3.5e1';'1_0';'a' "
            "'b';'{}';"
            "'\xC3\x9F';'\xC4\xB0';'\xC7\x86';'it\\'s';'l';'\xC2\xB2\xD9\xA3';'a\\\nb';'\\\xC3\xA9'"
            ";'%s';"
            "'A\\rB\\r\\n';'\xC2\xA0x\xE2\x80\xA8';'{0}-{1}';'{{{}}}';'a.b';'\\0';'nan';'Ab cD'");
    }
    void string_leaf(int) {
        if (yes()) return literal();
        one("s;t;e;w;q;m[0];mark;messages[0].role;messages[0]['content'];s[1:4];(s ~ x);bos_token");
    }
    void string(int n) {
        switch (n <= 0 ? 0 : below(12)) {
            case 0:
            case 1:
                return string_leaf(n);
            case 2:
            case 3:
                string(n - 1);
                put(" ~ ");
                return any(n - 1);
            case 4:
                string(n - 1);
                put(" + ");
                return string(n - 1);
            case 5:
                wrapped(&ExpressionWriter::string, n - 1);
                return index();
            case 6:
                wrapped(&ExpressionWriter::string, n - 1);
                return one(" * 2; * x; * 0; * -1; * yes; * y");
            case 7:
                wrapped(&ExpressionWriter::any, n - 1);
                return one(
                    "|string;|tojson;|tojson(indent=2);|tojson(sort_keys=true);|default('q');"
                    "|tojson(ensure_ascii=true);|tojson(indent=0);|tojson(separators=(',', ':'))");
            case 8:
                wrapped(&ExpressionWriter::string, n - 1);
                return string_method(n);
            case 9:
            case 10:
                wrapped(&ExpressionWriter::string, n - 1);
                return string_filter(n);
            default:
                wrapped(&ExpressionWriter::list, n - 1);
                put("|join");
                if (yes()) return;
                put("(");
                string_leaf(n);
                return one(");, attribute='a')");
        }
    }
    void string_method(int n) {
        if (yes(3)) return method(n);
        put(".");
        one("upper();lower();strip();lstrip();rstrip();title();capitalize();strip('lo H');"
            "replace('l', 'L');replace('', '-');replace('o', '', 1);partition('l')[0];split()[0];"
            "split(',')|last;splitlines()|first;removeprefix('He');removesuffix('ld');join('abc');"
            "format(x, s);rpartition('o')[2];rsplit('l', 1)[-1];lstrip('H');rstrip(none)");
    }
    void string_filter(int n) {
        if (yes(4)) return filter(n);
        put("|");
        one("trim;upper;lower;title;capitalize;string;replace('a', 'b');replace('l', x, "
            "1);indent;safe;"
            "indent(2, true);indent(first=true, "
            "blank=true);indent('>');reverse;first;last;trim('lo');"
            "default('', "
            "true);d(x);max;min;list|string;list|join('.');unique|join;sort|join;trim|upper");
    }

    // [i] or a slice.
    void index() {
        constexpr std::string_view bounds = ";1;0;2;-1;-2;5;-9;x;none;l|length;y;false";
        put("[");
        if (yes(3)) {
            one("0;1;-1;9;-9;x;'a';true;1.0;none;missing");
        } else {
            one(bounds);
            put(":");
            one(bounds);
            if (yes()) {
                put(":");
                one(";1;2;-1;-2;x;y");
            }
        }
        put("]");
    }

    void list(int n) {
        switch (n <= 0 ? 0 : below(9)) {
            case 0:
            case 1:
            case 2:
                return one(
                    "l;m;k;h;[1, 'a', none];(x, "
                    "2);();(s,);range(4);messages;s.split(',');d;d.items();"
                    "[[1, 2], [3]];[];range(5, 0, -2);tools;['b', 'a', 'B', "
                    "'A'];k|map(attribute='a');"
                    "s;d.values();m|map('upper');range(y, x, 3);l|reverse;d|dictsort;missing");
            case 3:
                put("[");
                any(n - 1);
                put(", ");
                any(n - 1);
                return one("];,]");
            case 4:
                put("(");
                any(n - 1);
                put(", ");
                any(n - 1);
                return put(")");
            case 5:
                wrapped(&ExpressionWriter::list, n - 1);
                return one(" + l; + []; + (1, s); * 2;|list + l;|list + m");
            case 6:
                wrapped(&ExpressionWriter::list, n - 1);
                return index();
            case 7:
                wrapped(&ExpressionWriter::list, n - 1);
                list_filter(n);
                return one(";|list");
            default:
                wrapped(&ExpressionWriter::string, n - 1);
                if (yes(3)) return method(n);
                return one(
                    ".split();.split(',');.rsplit('l', 1);.splitlines();.splitlines(true);|list;"
                    ".partition('l');.rpartition('o');.split('l', "
                    "2);.split(maxsplit=1);.rsplit(none, 1)");
        }
    }
    void list_filter(int n) {
        if (yes(4)) return filter(n);
        put("|");
        one("list;reverse;unique;select;reject('odd');select('string');map('string');map('length');"
            "map(attribute='a');map(attribute='b', default='q');selectattr('a');rejectattr('b', "
            "'defined');"
            "selectattr('role', 'equalto', 'user');selectattr('a', '==', "
            "1);map('upper');sort;sort(reverse=true);"
            "map('tojson');sort(attribute='a');map(attribute='content');reject('none');map('"
            "default', 'q');"
            "select('in', [1, "
            "'a']);items;dictsort;dictsort(by='value');map('first');map(attribute='0')");
    }

    void dict(int n) {
        if (n <= 0 || !yes(3))
            return one(
                "d;v;nested;{'a': 1, 'b': {'c': [1]}};k[0];messages[0];{};dict(a=1, b=s);dict(d, "
                "a=2);"
                "{1: 'a', true: 'b', none: 2, 1.5: 3};tools[0];dict([('a', 1), [s, 2]])");
        put("{'a': ");
        any(n - 1);
        put(", ");
        yes(4) ? any(0) : string_leaf(0);
        put(": ");
        any(n - 1);
        put("}");
    }

    void condition(int n) {
        switch (n <= 0 ? 0 : below(8)) {
            case 0:
                if (loops_ > 0 && yes(3))
                    return one("loop.first;loop.last;loop.index > 1;not loop.first");
                return one(
                    "yes;no;x > 3;s;missing is defined;nothing is none;h;not s;true;false;x is "
                    "odd;k");
            case 1:
                return ordered(n);
            case 2:
                any(n - 1);
                one(" == ; != ");
                return any(n - 1);
            case 3:
                string(n - 1);
                one(" in ; not in ");
                return yes() ? string(n - 1)
                             : one("m;d;messages[0];(s, "
                                   "'a');s.split();d.keys();k|map(attribute='b')");
            case 4:
                wrapped(&ExpressionWriter::any, n - 1);
                return test(n);
            case 5:
                put("not ");
                return condition(n - 1);
            case 6:
                condition(n - 1);
                one(" and ; or ");
                return condition(n - 1);
            default:
                return wrapped(&ExpressionWriter::condition, n - 1);
        }
    }
    void ordered(int n) {
        constexpr std::string_view order = " < ; <= ; > ; >= ; == ; in ; not in ";
        const Part part = yes(6)  ? &ExpressionWriter::any
                          : yes() ? &ExpressionWriter::string
                                  : &ExpressionWriter::number;
        (this->*part)(n - 1);
        one(" < ; <= ; > ; >= ; == ");
        (this->*part)(n - 1);
        if (!yes(4)) return;
        one(order);
        (this->*part)(0);
    }

    void any(int n) {
        constexpr Part parts[] = {&ExpressionWriter::number, &ExpressionWriter::string,
                                  &ExpressionWriter::string, &ExpressionWriter::list,
                                  &ExpressionWriter::dict,   &ExpressionWriter::condition};
        const size_t which = below(16);
        if (which < 12) return (this->*parts[which % 6])(n);
        if (which < 14 || n <= 0) return other();
        switch (below(7)) {
            case 0:
                wrapped(&ExpressionWriter::any, n - 1);
                return index();
            case 1:
                wrapped(&ExpressionWriter::any, n - 1);
                return yes(3) ? method(n) : filter(n);
            case 2:
                wrapped(&ExpressionWriter::dict, n - 1);
                return one(
                    ".a;.b;.zz;.p.q[0].r;.content;.role;['a'];.get('a');.get('zz', "
                    "5);.function.name;.0;"
                    ".items();.keys();.values()|list;|length;|items;.items;.get;|tojson");
            case 3:
                put("(");
                any(n - 1);
                one(" or ; and ");
                any(n - 1);
                return put(")");
            case 4:
            case 5:
                put("(");
                any(n - 1);
                put(" if ");
                condition(n - 1);
                if (yes()) {
                    put(" else ");
                    any(n - 1);
                }
                return put(")");
            default:
                put("(");
                any(n - 1);
                return put(",)");
        }
    }
    void other() {
        if (loops_ > 0 && yes(3))
            return one(
                "loop.previtem;loop.nextitem;loop.cycle('a', "
                "'b');loop.changed(x);loop.last;loop;n0");
        if (macros_ > 0 && yes(3)) return one("n1(x);n0(s);n1(n2=s);n0;n1()");
        one("none;missing;yes;no;nothing;x.y;s.zz;ns;ns.a;strftime_now('%Y %b "
            "%d');namespace(a=1).a;n0;n2;n3;"
            "missing.a;caller;varargs;kwargs;range;l.zz;d.zz;nothing.a;d.items;s.upper");
    }

    // Up to two arguments of any kind, maybe with a name.
    void arguments(int n) {
        put("(");
        for (size_t i = below(4) % 3; i > 0; --i) {
            if (yes(6))
                one("attribute=;default=;reverse=;boolean=;case_sensitive=;d=;a=;start=;width=;"
                    "first=;indent=;"
                    "sort_keys=;count=;precision=;by=;sep=;maxsplit=;chars=;blank=;*;**");
            if (yes(4))
                any(n - 2);
            else
                yes() ? number_leaf(0) : literal();
            if (i > 1) put(", ");
        }
        put(")");
    }
    void method(int n) {
        put(".");
        one("split;rsplit;strip;lstrip;rstrip;replace;find;rfind;index;count;startswith;endswith;"
            "join;partition;"
            "format;rpartition;get;removeprefix;removesuffix;splitlines;rindex;upper;items;zfill;"
            "isdigit;isalpha;"
            "isalnum;isspace;islower;isupper;isnumeric;isdecimal;isascii;keys;values;copy;title;"
            "capitalize;append");
        yes() ? put("()") : arguments(n);
    }
    void filter(int n) {
        put("|");
        one("default;join;replace;indent;trim;round;int;float;sort;unique;dictsort;sum;min;max;map;"
            "select;reject;"
            "selectattr;rejectattr;tojson;attr;first;last;d;string;batch;upper;title;length;list;"
            "reverse;items;abs;"
            "capitalize;lower;safe;count");
        if (yes()) arguments(n);
    }
    void test(int n) {
        one(" is ; is not ");
        if (!yes(3))
            return one(
                "defined;undefined;none;string;number;integer;float;boolean;mapping;sequence;"
                "iterable;true;"
                "false;lower;upper;callable;ne 'a';eq(7);in([1, 7]);filter;test;escaped;eq x");
        one("eq;ne;lt;le;gt;ge;in;divisibleby;equalto;defined;greaterthan;lessthan;odd;even;"
            "divisibleby(3);gt 2");
        if (yes()) arguments(n);
    }

    const uint8_t* data_;
    size_t size_;
    std::string out_;
    size_t loops_ = 0;   // around what is written
    size_t macros_ = 0;  // written so far
};

}  // namespace ridge::fuzz
