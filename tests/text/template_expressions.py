#!/usr/bin/env python3
"""Writes tests/data/text/jinja_expressions.json: expressions, and what Python's jinja2 makes of each
(null: it fails), set up as transformers sets it up. template_expression_test.cpp reads it."""
import copy
import json
import sys

import template_oracles

V = dict(s="Hello World", n=7, f=2.5, b=True, l=[3, 1, 2], d={"b": 1, "a": 2}, none=None,
         users=[{"name": "Bo", "age": 3, "x": {"y": 1}}, {"name": "al", "age": 5, "x": {"y": 0}},
                {"name": "Cy", "age": 4}], e=[], u="\u00e9\u00df\u4eac", big=9223372036854775807)

VALUES = ["s", "n", "f", "b", "l", "d", "none", "missing", "e", "u", "''", "users", "namespace()", "(1, 2)"]
PLAIN = """abs capitalize count dictsort first float int items join last length list lower max min reverse
round safe sort string sum title tojson trim unique upper indent default d map select reject batch slice
selectattr rejectattr replace attr""".split()
TESTS = """boolean callable defined divisibleby eq equalto escaped even false filter float ge greaterthan gt
in integer iterable le lessthan lower lt mapping ne none number odd sameas sequence string test true
undefined upper""".split()

MORE = """
l|sort(reverse=true) | l|sort(false, true) | users|map(attribute='name')|sort|join(',') | l|sort(attribute='x')
users|map(attribute='name')|sort(case_sensitive=true)|join(',') | users|sort(attribute='age')|map(attribute='name')|list
users|sort(attribute='x.y')|list | users|map(attribute='x.y', default='-')|list | users|map(attribute='x.z')|list
users|selectattr('x')|map(attribute='name')|list | users|rejectattr('x')|map(attribute='name')|list
users|selectattr('age', 'gt', 3)|map(attribute='name')|list | users|selectattr('age', '>=', 4)|list|length
users|rejectattr('age', '<', 4)|list|length | users|selectattr('age', 'nosuch')|list | users|selectattr()|list
users|selectattr('age', '==', 5)|list|length | users|selectattr('age', '!=', 5)|list|length | users|selectattr('age', '<=', 4)|list|length
l|select('odd')|list | l|reject('odd')|list | l|select('gt', 1)|list | l|select|list | [0, '', 1]|reject|list
l|map('string')|join | l|map('nosuch')|list | l|map('default', 1)|list | users|map('attr', 'age')|list
d|dictsort(by='value')|list | d|dictsort(true, 'value', true)|list | d|dictsort(by='x')|list | d|dictsort(reverse=true)|list
{'B': 1, 'a': 2}|dictsort|list | {'B': 1, 'a': 2}|dictsort(true)|list
['a', 'A', 'b']|unique|list | ['a', 'A', 'b']|unique(true)|list | users|unique(attribute='age')|list|length | [[1], [1]]|unique|list
users|sum(attribute='age') | l|sum(start=10) | [1.5, 2]|sum | ['a']|sum | users|join('-', attribute='name') | l|join(1)
l|batch(2)|list | l|batch(2, 'x')|list | l|slice(2)|list | l|slice(2, 'x')|list | l|min | l|max | e|min | ['b', 'A']|min | ['b', 'A']|max
users|max(attribute='age') | users|min(attribute='age') | [1, 'a']|max | [1, 'a']|sort
s|replace('o', '0') | s|replace('o', '0', 1) | s|replace('o') | s|replace('', '-') | 1|replace('1', '2') | s|trim('Hd') | s|trim(1)
s|indent | 'a\\nb\\n\\nc'|indent(2) | 'a\\nb\\n\\nc'|indent(2, true) | 'a\\n\\nc'|indent(2, false, true) | 'a\\nb'|indent('> ') | n|indent
f|round | 2.675|round(2) | 2.5|round(0, 'ceil') | 2.5|round(0, 'floor') | 2.4|round(method='ceil') | 2.5|round(0, 'up') | 's'|round | -7|round | 7|round(1)
'12'|int | '1_000'|int | ' 12 '|int | 'x'|int | 'x'|int(5) | '3.9'|int | '-3.9'|int | '+4'|int | '1e3'|int | 1e30|int | 'inf'|int | none|int | l|int
'1.5'|float | 'x'|float | 'x'|float(2.5) | '1e400'|float | '-1e400'|float | '1e-400'|float | 'nan'|float | ' 2 '|float | missing|float | true|float
-5|abs | -2.5|abs | 's'|abs | none|abs
d|tojson | d|tojson(indent=2) | d|tojson(indent='--') | d|tojson(sort_keys=true) | u|tojson | u|tojson(ensure_ascii=true) | l|tojson(separators=(',', ':')) | [1.0, 1e100, 0.1, none, true, false]|tojson | {'1': {}, '2': []}|tojson(indent=1) | l|tojson(separators=1) | l|tojson(separators=('a', 1)) | missing|tojson | '\\u2028\\n\\t"'|tojson | {1: 2}|tojson | namespace()|tojson | (1, 2)|tojson | '\\U0001F600'|tojson(true)
s|upper(1) | s|upper(x=1) | s|trim(chars='H', chars='d') | s|replace | s|nosuch | missing|upper | s|title | "it's a (foo) [bar]-baz"|title
s.upper() | s.lower() | s.title() | s.capitalize() | s.strip() | s.lstrip('He') | s.rstrip('ld') | s.strip(none) | s.strip(1) | s.split() | s.split(' ') | s.split('o', 1) | s.rsplit('o', 1) | s.split(none, 1) | s.split('') | s.split(1) | s.split('o', 'x') | ' a  b '.split() | ' a  b '.rsplit(none, 1)
s.partition('o') | s.rpartition('o') | s.partition('zz') | s.rpartition('zz') | s.partition('') | s.startswith('He') | s.startswith(('x', 'He')) | s.startswith('lo', 3) | s.startswith('lo', 3, 4) | s.endswith('ld') | s.endswith(('x', 'ld')) | s.startswith(1) | s.endswith([1])
s.count('o') | s.count('') | s.count('o', 5) | s.find('o') | s.find('o', 5) | s.find('zz') | s.rfind('o') | s.rfind('zz') | s.index('o') | s.index('zz') | s.rindex('zz') | s.find(1) | s.find('o', 'x')
'a{}b{}'.format(1, 2) | '{0}{1}{0}'.format('x', 'y') | '{a}'.format(a=3) | '{}'.format() | '{0}{}'.format(1) | '{{}}'.format() | '{'.format() | '}'.format() | '{a}'.format() | '{!r}'.format(1) | '{:>3}'.format(1)
'abc'.isalpha() | 'ab1'.isalpha() | 'ab1'.isalnum() | '12'.isdigit() | '\\u00b2'.isdigit() | '\\u00b2'.isdecimal() | '\\u00bd'.isnumeric() | ' '.isspace() | ''.isspace() | 'a'.isascii() | ''.isascii() | u.isascii() | 'Ab'.islower() | 'AB'.isupper() | '1'.isupper()
s.removeprefix('Hello') | s.removesuffix('World') | s.removeprefix('x') | s.removesuffix('x') | s.removeprefix(1) | s.splitlines() | 'a\\r\\nb\\nc'.splitlines() | 'a\\nb'.splitlines(true) | 'a\\n'.splitlines(keepends=true) | ','.join(['a', 'b']) | ','.join([1]) | ','.join(1) | ''.join('ab')
s.replace('l', 'L', 1) | s.replace('l', 'L', count=1) | s.replace('l', 'L', 'x') | s.replace('l') | s.replace(1, 2) | s.zfill(3) | s.nosuch() | s.nosuch | s.encode() | s.swapcase()
d.get('a') | d.get('z') | d.get('z', 5) | d.get() | d.get([1]) | d.items()|list | d.keys()|list | d.values()|list | d.copy() | d.pop('a') | d.update(d) | d.items(1) | d.nosuch | d['nosuch'] | d.clear() | d.setdefault('a', 1) | d.b
l.index(1) | l.index(9) | l.count(3) | l.count() | l.copy() | l.append(1) | l.pop() | l.sort() | l.nosuch() | l[0] | l[-1] | l[9] | l['x'] | l[1:] | l[::-1] | l[:-1] | l[5:] | l['x':] | l[::0] | s[1:3] | s[::-1] | s[-3:] | s[0] | s[99] | (1, 2)[0] | n[0] | d[1:2] | none[0] | l[none:none] | n[:1] | s['x'] | d[[1]] | l[true]
1 + 2 | 1 + 1.5 | 's' + 't' | 's' + 1 | [1] + [2] | [1] + (2,) | (1,) + (2,) | none + 1 | true + true | 3 - 1 | 's' - 1 | 2 * 3 | 's' * 3 | 3 * 's' | [0] * 2 | 2 * [0] | 's' * 's' | 7 / 2 | 7 // 2 | -7 // 2 | 7.5 // 2 | -7 % 3 | 7 % -3 | 7.5 % 2 | -7.5 % 2 | 1 / 0 | 1 // 0 | 1 % 0 | 1.0 / 0 | 2 ** 10 | 2 ** -1 | 2 ** 0.5 | 0 ** -1 | (-8) ** 0.5 | 2.0 ** 3 | (-2) ** 3 | 's' % 1 | '%s' % 1 | -n | +n | -f | -s | -true | +none | big + 0 | n ~ s ~ none ~ l ~ d | 1e400 | 0x1F | 1_000 | 1.5e-3 | 12. | 007 | 1__0
1 < 2 | 1 < 2 < 3 | 1 < 3 < 2 | 's' < 't' | 's' < 1 | [1] < [2] | [1, 2] < [1] | (1,) < (2,) | none < 1 | true < 2 | 1.5 <= 1.5 | 1 == 1.0 | 's' == 's' | none == none | [1] == [1] | (1,) == [1] | d == {'a': 2, 'b': 1} | 1 != 2 | missing == missing | 1 > 's' | l >= 1
1 in l | 9 in l | 'H' in s | 1 in s | 'a' in d | [1] in d | 1 in n | 1 not in l | 'x' not in s | not 1 | not '' | 1 and 0 | 1 or 0 | '' or 'x' | missing or 1 | 1 if 0 else 2 | 1 if 0 | (1 if 1) | not missing | 1 in missing | 1 in range(3) | 5 in users
range(3)|list | range(1, 4)|list | range(5, 0, -2)|list | range(0) | range() | range('x') | range(1, 2, 0) | range(3)[1] | range(3)|length | range(1, 2, 3, 4) | range(n=3) | dict(a=1) | dict(d, c=3) | dict(1) | dict(1, 2) | namespace(a=1).a | namespace(d).b | namespace(1) | cycler(1, 2) | joiner() | nosuch() | n() | s() | none() | raise_exception('no') | raise_exception() | raise_exception('a', 'b') | strftime_now('%Y') | strftime_now() | strftime_now('x', 'y') | strftime_now(1)
n is divisibleby 7 | n is divisibleby(0) | n is divisibleby | s is divisibleby 2 | n is sameas n | l is sameas l | d is sameas d | s is sameas s | n is sameas 7.0 | none is sameas none | n is eq 7 | n is ne 7 | n is gt 's' | n is lt 8 | n is ge(7) | n is le 6 | n is in [7] | n is in 7 | 'upper' is filter | 'nosuch' is filter | 'odd' is test | 1 is filter | n is not odd | n is odd(1) | s is odd | f is odd | none is even | n is == 7 | range is callable | s is callable | n is nosuch | n is lower | 'ab' is lower | 'AB' is upper | none is upper | n is equalto
users[0].name | users[0]['name'] | users.0.name | users[0].x.y | users[9].name | missing.a | missing['a'] | missing[1:] | none.a | n.a | users|first|attr('name') | d|attr('b') | n.real | s.__class__ | ''.__class__.__mro__ | l|attr('append') | 1.a
"a\\tb\\x41\\u0042\\101\\'\\q" | '\\x4' | '\\u12' | '\\U00110000' | 'a' 'b' | "\\N{DASH}" | [1, 2,] | {'a': 1,} | (1,) | () | [] | {} | {[1]: 2} | {1: 2, 1.0: 3} | {none: 1, true: 2, 1.5: 3} | 1, 2 | {'a'} | {1 2} | [1 2] | (1 2) | 1 2 | * | 1 + | a. | a[ | a[] | a[1:2:3:4] | a[1, 2] | f( | f(1 2) | f(a=1, 2) | f(*l) | f(**d) | x|1 | x is | x is 1 | .5 | $ | 1 if | 1 if 2 else | not | - | {% | 'a' if true else
"""

STATEMENTS = [
    "{% for x in l %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.previtem }}{{ loop.nextitem }}{{ loop.depth }}{{ loop.depth0 }};{% endfor %}",
    "{% for x in l %}{{ loop.cycle('a', 'b') }}{{ loop.changed(x > 1) }}{% endfor %}", "{% for x in l %}{{ loop.cycle() }}{% endfor %}",
    "{% for x in l %}{{ loop.nosuch }}{% endfor %}", "{% for x in l %}{{ loop.cycle(a=1) }}{% endfor %}", "{{ loop.index }}",
    "{% for x in e %}a{% else %}none{% endfor %}", "{% for x in l if x > 1 %}{{ x }}{{ loop.length }}{% else %}b{% endfor %}",
    "{% for k, v in d.items() %}{{ k }}{{ v }}{% endfor %}", "{% for a, b in l %}{% endfor %}", "{% for a, b in [(1, 2, 3)] %}{% endfor %}",
    "{% for (a, b), c in [((1, 2), 3)] %}{{ a }}{{ b }}{{ c }}{% endfor %}", "{% for x in n %}{% endfor %}", "{% for x in missing %}a{% else %}b{% endfor %}",
    "{% for x in s %}{{ x }}-{% endfor %}", "{% for x in d %}{{ x }}{% endfor %}", "{% for x in l %}{% if x == 1 %}{% continue %}{% endif %}{{ x }}{% endfor %}",
    "{% for x in l %}{% if x == 1 %}{% break %}{% endif %}{{ x }}{% endfor %}", "{% continue %}", "{% for 1 in l %}{% endfor %}", "{% for x l %}{% endfor %}",
    "{% set x = 1 %}{{ x }}", "{% set x, y = 1, 2 %}{{ x }}{{ y }}", "{% set x, y = 1 %}", "{% set x %}a{{ n }}{% endset %}{{ x }}", "{% set x | upper %}a{% endset %}{{ x }}",
    "{% set ns = namespace() %}{% set ns.a = 1 %}{{ ns.a }}{{ ns.b }}", "{% set d.a = 1 %}", "{% set missing.a = 1 %}", "{% set x = %}", "{% set 1 = 2 %}", "{% set x + 1 %}",
    "{% macro m(a, b=2, *c) %}{{ a }}{% endmacro %}", "{% macro m(a, b=2) %}{{ a }}{{ b }}{% endmacro %}{{ m(1) }}{{ m(1, b=3) }}{{ m(b=1, a=4) }}{{ m() }}",
    "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}", "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(c=1) }}", "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, a=1) }}",
    "{% macro m(a) %}{{ a }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, 3, x=4) }}", "{% macro m() %}{{ caller() }}{% endmacro %}{% call m() %}in{% endcall %}",
    "{% macro m() %}{{ caller(1) }}{% endmacro %}{% call(x) m() %}in{{ x }}{% endcall %}", "{% macro m() %}x{% endmacro %}{% call m() %}in{% endcall %}", "{% call 1 %}{% endcall %}",
    "{% macro m(a=n) %}{{ a }}{% endmacro %}{% set n = 1 %}{{ m() }}{{ m.name }}{{ m.arguments }}", "{% macro 1() %}{% endmacro %}", "{% macro m(1) %}{% endmacro %}", "{% macro m(a=1, b) %}{% endmacro %}", "{% macro m %}{% endmacro %}",
    "{% filter upper %}a{{ s }}{% endfilter %}", "{% filter nosuch %}a{% endfilter %}", "{% filter %}a{% endfilter %}", "{% filter replace('a', 'b')|upper %}a{% endfilter %}",
    "{% with a = 1, b = 2 %}{{ a }}{{ b }}{% endwith %}{{ a }}", "{% with %}x{% endwith %}", "{% with 1 %}{% endwith %}",
    "{% if n > 8 %}a{% elif n > 6 %}b{% else %}c{% endif %}", "{% if n %}{% elif %}{% endif %}", "{% if %}{% endif %}", "{% else %}", "{% if n %}a{% else %}b{% else %}c{% endif %}",
    "{% raw %}{{ x }}{% endraw %}", "{% raw %}x", "{% nosuch %}", "{% %}", "{%- if n -%} a {%- endif -%} b", "a {#- x -#} b", "{{- n -}} a", "{%+ if n %} a{%+ endif %}", "  {% if n %}\n a\n  {% endif %}\n b",
    "{% generation %}a{{ n }}{% endgeneration %}", "{% generation %}", "{% do x %}", "{% block a %}{% endblock %}", "{% import 'x' as y %}", "{% from 'x' import y %}", "{% autoescape true %}<{% endautoescape %}",
    "{{ n }", "{{ n", "{% if n }}", "}} %} #}", "{{ '}}' }}", "{# {{ #}x", "{{ [1, 2}}", "{{ (1] }}", "{% set x = {'a': [1, (2, 3)]} %}{{ x }}", "{{ x.y.z }}", "\n\n{{ n }}\n",
]


def main():
    python = template_oracles.Jinja2()
    expressions = [f"{v}|{f}" for v in VALUES for f in PLAIN]
    expressions += [f"{v}|{f}(1, 2, 3, 4, 5)" for v in ["s", "l"] for f in PLAIN] + [f"l|{f}(zzz=1)" for f in PLAIN]
    expressions += [f"{v} is {t}" for v in VALUES for t in TESTS] + [f"{v} is {t}({w})" for v in ["s", "n", "l"] for t in TESTS for w in ["2", "'a'", "l", "1, 2"]]
    expressions += [e.strip() for line in MORE.strip().split("\n") for e in line.split(" | ")]
    expressions += [f"{a} {op} {b}" for op in ["+", "-", "*", "/", "//", "%", "**", "<", "==", "in", "~"]
                    for a in ["n", "f", "s", "l", "none", "b", "d", "missing"] for b in ["2", "0", "0.5", "'a'", "l", "d", "missing"]]
    templates = ["{{ " + e + " }}" for e in expressions] + STATEMENTS
    out = []
    for t in dict.fromkeys(templates):
        text, _ = python.render(dict(template=t, variables=copy.deepcopy(V)))  # "l|indent" adds to a list in place
        if text is not None and (" object at 0x" in text or "<built-in" in text or "<function" in text or "<generator" in text):
            continue  # prints an address
        out.append([t, text])
    json.dump(dict(variables=V, cases=out), open(sys.argv[1], "w", encoding="utf-8"), ensure_ascii=True, indent=0)
    print(len(out), sum(t is None for _, t in out))


main()
