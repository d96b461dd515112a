"""Random chat templates: every part of the language that ridge reads, in small."""
import random

VARIABLES = dict(
    x=7, y=-3, z=0, f=2.5, g=-0.125, s="Hello, World", t="  a b\tc \n", e="", w="\u00e9t\u00e9 \u4eac\U0001f642x",
    q="it's \"q\"\\", yes=True, no=False, nothing=None, l=[3, 1, 2], m=["b", "A", "c", "a"],
    k=[{"a": 1, "b": "p"}, {"a": 2, "b": "q"}, {"a": 1}], d={"a": 1, "b": [1, "z"], "C": None},
    nested={"p": {"q": [{"r": "deep"}]}}, h=[], v={},
)
NUMBERS = ["x", "y", "z", "f", "g", "0", "1", "2", "10", "3.5", "1e3", "(x+1)", "l|length", "loop.index"]
STRINGS = ["s", "t", "e", "w", "q", "'ab'", '"a\\n"', "'-'", "'\\u00e9'", "m[0]", "s[1:4]", "(s ~ x)",
           "messages[0].role", "messages[0]['content']"]
LISTS = ["l", "m", "k", "h", "[1, 'a', none]", "(x, 2)", "range(4)|list", "messages", "s.split(',')", "d|list"]
DICTS = ["d", "v", "nested", "{'a': 1, 'b': {'c': [1]}}", "k[0]", "messages[0]"]
OTHERS = ["yes", "no", "nothing", "missing", "none", "true", "loop.first", "ns.a"]


class Generator:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.names = 0

    def pick(self, *options):
        return self.r.choice(options)

    def number(self, n):
        if n <= 0 or self.r.random() < 0.4:
            return self.r.choice(NUMBERS)
        return self.pick(
            lambda: f"{self.number(n - 1)} {self.pick('+', '-', '*', '/', '//', '%')} {self.number(n - 1)}",
            lambda: f"({self.number(n - 1)})",
            lambda: f"-{self.r.choice(NUMBERS)}",
            lambda: f"{self.r.choice(['2', '3', '1.5', 'y'])} ** {self.r.choice(['2', '3', '-1'])}",
            lambda: f"{self.any(n - 1)}|length",
            lambda: f"({self.number(n - 1)})|abs",
            lambda: f"({self.number(n - 1)})|round({self.pick('', '1', '2', '0, %r' % 'floor', '1, %r' % 'ceil')})",
            lambda: f"({self.any(n - 1)})|int",
            lambda: f"{self.string(0)}|int({self.pick('', '5')})",
            lambda: f"({self.any(n - 1)})|float",
            lambda: f"{self.string(0)}.{self.pick('find', 'count', 'rfind')}({self.string(0)})",
            lambda: f"({self.list(0)})|{self.pick('sum', 'max', 'min', 'first', 'last')}",
        )()

    def string(self, n):
        if n <= 0 or self.r.random() < 0.35:
            return self.r.choice(STRINGS)
        s = lambda: self.string(n - 1)
        return self.pick(
            lambda: f"{s()} ~ {self.any(n - 1)}",
            lambda: f"{s()} + {s()}",
            lambda: f"({s()})|{self.pick('trim', 'upper', 'lower', 'title', 'capitalize', 'string', 'safe')}",
            lambda: f"({s()})|trim({self.string(0)})",
            lambda: f"({self.any(n - 1)})|string",
            lambda: f"({s()})|replace({self.string(0)}, {self.string(0)})",
            lambda: f"({s()})|replace({self.string(0)}, {self.string(0)}, 1)",
            lambda: f"({s()})|indent({self.pick('', '2', '1, true', 'first=true', '3, false, true')})",
            lambda: f"({s()})|reverse",
            lambda: f"({s()}).{self.pick('strip', 'lstrip', 'rstrip', 'upper', 'lower', 'title', 'capitalize')}()",
            lambda: f"({s()}).{self.pick('strip', 'lstrip', 'rstrip')}({self.string(0)})",
            lambda: f"({s()}).replace({self.string(0)}, {self.string(0)})",
            lambda: f"({s()}).{self.pick('removeprefix', 'removesuffix')}({self.string(0)})",
            lambda: f"({s()})[{self.slice()}]",
            lambda: f"({s()}) * {self.pick('0', '2', '-1', 'x')}",
            lambda: f"{self.list(n - 1)}|join({self.pick('', self.string(0))})",
            lambda: f"{self.string(0)}.join({self.pick('m', 'l', 's')})",
            lambda: f"({self.any(n - 1)})|tojson({self.pick('', '', 'indent=2', 'indent=0', 'sort_keys=true', 'ensure_ascii=true')})",
            lambda: f"({self.any(n - 1)})|default({self.string(0)}{self.pick('', ', true', ', boolean=true')})",
            lambda: f"{self.pick(repr('{} and {}'), repr('{1}-{0}'), repr('{{{}}}'))}.format({self.any(0)}, {self.string(0)})",
            lambda: f"{self.list(0)}|{self.pick('first', 'last')}",
            lambda: f"{self.condition(n - 1)} and {s()}",
            lambda: f"({s()} if {self.condition(n - 1)} else {self.any(n - 1)})",
            lambda: f"({s()} if {self.condition(n - 1)})",
        )()

    def slice(self):
        part = lambda: self.pick("", "", "0", "1", "2", "-1", "-2", "5", "-9", "x")
        return self.pick(lambda: f"{part()}:{part()}", lambda: f"{part()}:{part()}:{self.pick('', '1', '2', '-1', '-2')}",
                         lambda: self.pick("0", "1", "-1", "9", "-9"))()

    def list(self, n):
        if n <= 0 or self.r.random() < 0.4:
            return self.r.choice(LISTS)
        return self.pick(
            lambda: f"[{self.any(n - 1)}, {self.any(n - 1)}]",
            lambda: f"({self.any(n - 1)}, {self.any(0)})",
            lambda: f"{self.list(n - 1)} + {self.list(0)}",
            lambda: f"({self.list(n - 1)})[{self.slice()}]",
            lambda: f"({self.list(n - 1)})|list",
            lambda: f"({self.list(0)})|{self.pick('reverse', 'unique', 'sort', 'sort(reverse=true)', 'sort(case_sensitive=true)')}|list",
            lambda: f"{self.pick('k', 'messages')}|map(attribute={self.pick(repr('a'), repr('b'), repr('role'))})|list",
            lambda: f"k|map(attribute='b', default={self.any(0)})|list",
            lambda: f"({self.list(0)})|map({self.pick(repr('string'), repr('upper'), repr('length'), repr('default'), repr('tojson'))})|list",
            lambda: f"k|{self.pick('selectattr', 'rejectattr')}({self.pick(repr('a'), repr('b'))}{self.pick('', ', %r, 1' % 'equalto', ', %r' % 'defined', ', %r, 1' % '==', ', %r, [1]' % 'in')})|list",
            lambda: f"({self.list(0)})|{self.pick('select', 'reject')}({self.pick('', repr('string'), repr('odd'), repr('none'))})|list",
            lambda: f"({self.dict(0)}).{self.pick('items', 'keys', 'values')}()|list",
            lambda: f"({self.dict(0)})|{self.pick('items', 'dictsort', 'dictsort(reverse=true)')}|list",
            lambda: f"({self.string(n - 1)}).{self.pick('split', 'rsplit')}({self.pick('', repr(','), repr('l'), 'none, 1', repr('l') + ', 1', repr(' '))})",
            lambda: f"({self.string(n - 1)}).{self.pick('splitlines()', 'splitlines(true)', 'partition(%r)' % 'l', 'rpartition(%r)' % 'l')}",
            lambda: f"({self.string(n - 1)})|list",
            lambda: f"range({self.pick('3', '1, 4', '5, 0, -2', 'x', 'y')})|list",
            lambda: f"{self.list(0)} * 2",
        )()

    def dict(self, n):
        if n <= 0 or self.r.random() < 0.6:
            return self.r.choice(DICTS)
        return self.pick(lambda: f"{{'a': {self.any(n - 1)}, {self.string(0)}: {self.any(n - 1)}}}",
                         lambda: f"dict(a={self.any(n - 1)})", lambda: f"{{{self.number(0)}: 1, true: 2}}")()

    def any(self, n):
        if n > 0 and self.r.random() < 0.15:
            return self.pick(
                lambda: f"({self.dict(n - 1)}){self.pick('.a', '.b', '[%r]' % 'a', '.get(%r)' % 'a', '.get(%r, 5)' % 'zz', '.zz', '.p.q[0].r', '[1]')}",
                lambda: f"({self.list(n - 1)})[{self.slice()}]",
                lambda: f"nested.p.q[0].{self.pick('r', 'zz', 'r|upper', 'r[0]')}",
                lambda: f"({self.any(n - 1)} {self.pick('or', 'and')} {self.any(n - 1)})",
                lambda: f"not {self.any(n - 1)}")()
        return self.pick(self.number, self.string, self.string, self.list, self.dict,
                         lambda n: self.r.choice(OTHERS), self.condition)(n)

    def condition(self, n):
        if n <= 0:
            return self.pick("yes", "no", "x > 3", "s", "missing is defined", "nothing is none", "h")
        return self.pick(
            lambda: f"{self.number(n - 1)} {self.pick('<', '<=', '>', '>=', '==', '!=')} {self.number(n - 1)}",
            lambda: f"{self.any(n - 1)} {self.pick('==', '!=')} {self.any(n - 1)}",
            lambda: f"1 < {self.number(n - 1)} <= {self.number(0)}",
            lambda: f"{self.string(n - 1)} {self.pick('in', 'not in')} {self.pick('s', 'm', 'd', 'w', repr('a'))}",
            lambda: f"{self.any(n - 1)} {self.pick('in', 'not in')} {self.list(0)}",
            lambda: f"{self.any(n - 1)} is {self.pick('', 'not ')}"
                    f"{self.pick('defined', 'undefined', 'none', 'string', 'number', 'integer', 'float', 'boolean', 'mapping', 'sequence', 'iterable', 'true', 'false', 'lower', 'upper')}",
            lambda: f"{self.number(0)} is {self.pick('odd', 'even', 'divisibleby(3)', 'divisibleby 2', 'gt 2', 'in([1, 7])', 'eq(7)')}",
            lambda: f"({self.string(n - 1)}).{self.pick('startswith', 'endswith')}({self.string(0)})",
            lambda: f"({self.string(0)}).{self.pick('isdigit', 'isalpha', 'isspace', 'islower', 'isupper', 'isalnum')}()",
            lambda: f"not {self.condition(n - 1)}",
            lambda: f"{self.condition(n - 1)} {self.pick('and', 'or')} {self.condition(n - 1)}",
            lambda: f"({self.condition(n - 1)})",
        )()

    # Statements.
    def open(self):
        return "{%" + self.pick("", "", "-", "+") + self.pick(" ", "", "  ")

    def close(self):
        return self.pick(" ", "", "\n ") + self.pick("", "", "-", "+") + "%}"

    def tag(self, inside):
        return f"{self.open()}{inside}{self.close()}"

    def text(self):
        return self.pick("\n", " ", "\n  ", "a", "<|im_start|>", "x\n", "\t", " \n\n ", "}", "{ ", "%}", "-", "\u00e9", "", "\r\n", "b \n")

    def print(self):
        return "{{" + self.pick("", "-") + f" {self.any(self.r.randint(0, 3))} " + self.pick("", "-") + "}}"

    def body(self, n, loop=False):
        return "".join(self.statement(n, loop) + self.text() for _ in range(self.r.randint(1, 3)))

    def statement(self, n, loop=False):
        if n <= 0 or self.r.random() < 0.45:
            return self.text() + self.print()
        self.names += 1
        name = f"v{self.names}"
        body = lambda inside=loop: self.text() + self.body(n - 1, inside) + self.text()
        return self.pick(
            lambda: self.tag(f"if {self.condition(2)}") + body() + self.tag("endif"),
            lambda: self.tag(f"if {self.condition(2)}") + body() + self.tag(f"elif {self.condition(1)}") + body()
            + self.tag("else") + body() + self.tag("endif"),
            lambda: self.tag(f"for {name} in {self.list(2)}") + self.print() + body(True) + "{{ loop.index0 ~ loop.last ~ " + name
            + " }}" + self.tag("endfor"),
            lambda: self.tag(f"for {name} in {self.list(1)} if {self.pick(name, name + ' is string', self.condition(1))}") + body(True)
            + self.pick("", self.tag("break"), self.tag("continue"), self.tag(f"if loop.index > 1") + self.tag("break") + self.tag("endif"))
            + "{{ loop.length ~ loop.revindex ~ (loop.previtem|default('-')) }}"
            + self.pick("", self.tag("else") + body()) + self.tag("endfor"),
            lambda: self.tag(f"for {name}, {name}b in {self.dict(1)}{self.pick('.items()', '|items', '|dictsort')}") + "{{ " + name + " ~ " + name
            + "b }}" + body(True) + self.tag("endfor"),
            lambda: self.tag(f"set {name} = {self.any(3)}") + body() + "{{ " + name + " }}",
            lambda: self.tag(f"set {name} = {self.any(1)}") + self.tag(f"for i in {self.list(0)}") + "{{ " + name + " }}"
            + self.tag(f"set {name} = {name} ~ {self.any(1)}") + body(True) + "{{ " + name + " }}" + self.tag("endfor") + "{{ " + name + " }}",
            lambda: self.tag(f"set {name}, {name}b = {self.pick('1, 2', 'l[:2]', self.list(1))}") + "{{ " + name + " }}",
            lambda: self.tag(f"set {name}{self.pick('', '|upper', '| trim')}") + body() + self.tag("endset") + "[{{ " + name + " }}]",
            lambda: self.tag(f"set ns = namespace(a={self.any(1)}, b=0)")
            + self.tag(f"for {name} in {self.list(0)}") + self.tag(f"set ns.a = {self.pick(name, 'ns.b', self.any(1))}")
            + self.tag("set ns.b = ns.b + 1") + self.tag("endfor") + "{{ ns.a ~ '/' ~ ns.b }}",
            lambda: self.tag(f"macro {name}(p, r={self.any(0)})") + "{{ p }}" + self.text() + "{{ r ~ s }}" + self.body(n - 1) + self.tag("endmacro")
            + "{{ " + name + f"({self.any(1)}{self.pick('', ', ' + self.any(0), ', r=' + self.any(0))})" + " }}",
            lambda: self.tag(f"macro {name}()") + "<{{ caller() }}>" + self.tag("endmacro") + self.tag(f"call {name}()") + body(False) + self.tag("endcall"),
            lambda: self.tag(f"filter {self.pick('upper', 'trim', 'replace(%r, %r)' % ('a', 'b'), 'indent(2)')}") + body(False) + self.tag("endfilter"),
            lambda: self.tag(f"with {name} = {self.any(1)}") + "{{ " + name + " }}" + body() + self.tag("endwith"),
            lambda: self.tag("raw") .replace("+%}", "%}") + self.pick("{{ x }}", "{% if %}", "{# c") + self.text() + self.tag("endraw"),
            lambda: "{#" + self.pick("", "-", "+") + self.pick(" c ", "{{ x }}", "\n") + self.pick("", "-", "+") + "#}",
            lambda: self.tag("generation") + body(False) + self.tag("endgeneration"),
            lambda: self.tag(self.pick("break", "continue")) if loop else self.print(),
        )()

    def template(self):
        return self.text() + self.body(self.r.randint(1, 3))
