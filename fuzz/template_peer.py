#!/usr/bin/env python3
"""Renders chat templates by Python's jinja2 for fuzz/template.cpp, set up as transformers sets it up.

A message is its length in four little-endian bytes and the bytes. The first one is the conversation,
as tests/text/template_oracles.py takes it, and is answered with the version of jinja2. Each one that
follows holds templates, and its answer as many answers: again each its length and its bytes. The
first byte of an answer says what the rest is:

  T  the text
  E  what jinja2 raised
  N  no verdict, and why: out of time or memory, or a limit or fault of Python's own

The first byte of a template says how to render it: 'r' as transformers does, 'p' without two things
of jinja2 that ridge has not: constant folding, which calls filters and operators by other rules than
the compiled template does ({{ 5[1:2] }} prints nothing, {{ (5, 6)[x:2] }} with an undefined x
fails), and Markup, the strings of |safe that escape what they are joined to."""
import json
import os
import pathlib
import resource
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/text"))
import template_oracles  # noqa: E402

SECONDS = 0.5  # of the processor's time
LARGEST = 1 << 20  # of a product or a power: characters, elements, bits
PYTHONS_LIMITS = ("too many statically nested blocks", "too many nested parentheses",
                  "parser stack overflow", "maximum recursion depth", "too complex", "too many levels of indentation",
                  "Exceeds the limit")


class TooLong(BaseException):
    """Not an Exception: jinja2's folding swallows those."""


def out_of_time(_signal, _frame):
    raise TooLong


def bounded(environment):
    """Python's ** and * are no subject to signals while they run: large results are refused."""
    class TooLarge(TooLong):
        pass

    def size(x):
        return x.bit_length() if isinstance(x, int) else len(x) if hasattr(x, "__len__") else 0

    def call_binop(_context, operator, left, right):
        if operator == "**" and isinstance(left, int) and isinstance(right, int):
            if right > 0 and size(left) * right > LARGEST:
                raise TooLarge
            return left ** right
        if operator == "**":
            return left ** right
        for a, b in ((left, right), (right, left)):
            if isinstance(b, int) and not isinstance(a, (int, float)) and b > 0 and size(a) * b > LARGEST:
                raise TooLarge
        return left * right

    environment.call_binop = call_binop
    environment.intercepted_binops = frozenset(["**", "*"])
    return environment


def environments():
    import jinja2.compiler
    import jinja2.nodes

    class Unfolded(jinja2.compiler.CodeGenerator):
        def _output_child_to_const(self, node, frame, finalize):
            if not isinstance(node, jinja2.nodes.TemplateData):
                raise jinja2.nodes.Impossible
            return super()._output_child_to_const(node, frame, finalize)

    def visit_assign(self, node, frame):
        """CPython 3.11.2 stores in the wrong order where one name is assigned to twice at once:
        after {% set x, x = (1, 2) %} x is 1."""
        names = [name.name for name in node.target.find_all(jinja2.nodes.Name)]
        assert len(names) == len(set(names)), "a name is assigned to twice"
        compile_assign(self, node, frame)

    compile_assign = jinja2.compiler.CodeGenerator.visit_Assign
    jinja2.compiler.CodeGenerator.visit_Assign = visit_assign
    usual, plain = (as_newer(bounded(template_oracles.Jinja2().environment)) for _ in range(2))
    plain.code_generator_class = Unfolded
    plain.optimized = False
    plain.filters["safe"] = str
    return jinja2.__version__, {ord("r"): usual, ord("p"): plain}


def as_newer(environment):
    """What jinja2 3.1.6 does and Debian 12's 3.1.2 does not: |int takes its default for infinity,
    list.clear and list.pop are what the sandbox forbids, and a name that only the branches of an
    {% if %} assign to is looked up outside before."""
    import jinja2.idtracking

    def to_int(value, default=0, base=10):
        try:
            return older_int(value, default, base)
        except OverflowError:
            return default

    def is_safe_attribute(obj, attr, value):
        return safe(obj, attr, value) and not (isinstance(obj, list) and attr in ("clear", "pop"))

    def branch_update(self, branches):
        stores = set().union(*(branch.stores for branch in branches)) - self.stores
        for branch in branches:
            self.refs.update(branch.refs)
            self.loads.update(branch.loads)
            self.stores.update(branch.stores)
        for name in stores:
            target = self.find_ref(name)
            outer = self.parent.find_ref(name) if self.parent is not None else None
            self.loads[target] = (("alias", outer) if outer is not None else ("resolve", name))

    older_int, safe = environment.filters["int"], environment.is_safe_attribute
    environment.filters["int"] = to_int
    environment.is_safe_attribute = is_safe_attribute
    jinja2.idtracking.Symbols.branch_update = branch_update
    return environment


def answer(environment, variables, source):
    try:
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            text = environment.from_string(source).render(variables)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        return b"T" + text.encode()
    except (TooLong, MemoryError, RecursionError, UnicodeEncodeError) as error:
        return b"N" + type(error).__name__.encode()
    except AssertionError as error:  # a fault of jinja2's or Python's own compiler
        return b"NAssertionError: " + str(error).encode()
    except Exception as error:  # whatever a template may do
        said = f"{type(error).__name__}: {error}".encode("utf-8", "replace")
        return (b"N" if any(limit in str(error) for limit in PYTHONS_LIMITS) else b"E") + said


def main():
    os.environ["TZ"] = "UTC"
    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
    signal.signal(signal.SIGPROF, out_of_time)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the harness ends this by closing the pipe
    read, write = sys.stdin.buffer, sys.stdout.buffer

    def receive():
        length = read.read(4)
        if len(length) < 4:
            sys.exit(0)
        return read.read(int.from_bytes(length, "little"))

    def framed(message):
        return len(message).to_bytes(4, "little") + message

    def send(message):
        write.write(framed(message))
        write.flush()

    version, renderers = environments()
    conversation = receive()
    template_oracles.variables_of(json.loads(conversation))
    send(version.encode())
    while True:
        message, answers = receive(), b""
        while message:
            end = 4 + int.from_bytes(message[:4], "little")
            # Anew each time: a filter that fails may have changed a list (indent does).
            variables = template_oracles.variables_of(json.loads(conversation))
            answers += framed(answer(renderers[message[4]], variables, message[5:end].decode()))
            message = message[end:]
        send(answers)


main()
