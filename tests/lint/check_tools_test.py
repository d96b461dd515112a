#!/usr/bin/env python3
"""The checkers find what they are there to find: each is run on small trees with one fault."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
TOOLS = os.path.join(ROOT, "tools")


class Tree(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.root)

    def write(self, path, text):
        full = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="ascii") as file:
            file.write(text)
        return full

    def run_tool(self, *command):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr


class Layers(Tree):
    def setUp(self):
        super().setUp()
        self.write("src/base/a.hpp", "")
        self.write("src/format/gguf.hpp", '#include "base/a.hpp"\n')
        self.write("src/kernels/avx2/a.hpp", "")
        self.write("src/kernels/avx2/kernels.inc", "")
        self.write("src/kernels/avx512/kernels.inc", "")
        self.write("src/kernels/roof/roof.hpp", "")
        self.write("include/ridge/ridge.h", "")

    def layers(self):
        return self.run_tool(sys.executable, os.path.join(TOOLS, "check_layers.py"), self.root)

    def expect_breach(self, path, text, word):
        self.write(path, text)
        code, output = self.layers()
        self.assertEqual(code, 1, output)
        self.assertIn(path, output)
        self.assertIn(word, output)

    def test_accepts_direct_and_transitive(self):
        self.write("src/lower/a.cpp", '#include "base/a.hpp"\n#include "format/gguf.hpp"\n#include <vector>\n')
        self.write("src/runtime/a.cpp", '#include "format/gguf.hpp"\n')
        self.write("src/kernels/avx2/roof.cpp", '#include "kernels/roof/roof.hpp"\n')
        self.write("src/kernels/registry.cpp", '#include "kernels/avx2/kernels.inc"\n')
        self.write("src/api/a.cpp", '#include "ridge/ridge.h"\n')
        code, output = self.layers()
        self.assertEqual(code, 0, output)

    def test_refuses_upwards(self):
        self.expect_breach("src/base/b.cpp", '#include "format/gguf.hpp"\n', "base may include nothing")

    def test_refuses_sideways(self):
        self.expect_breach("src/kernels/b.cpp", '\n  #  include "format/gguf.hpp"\n', ":2:")

    def test_refuses_public_header_below_api(self):
        self.expect_breach("src/model/b.cpp", '#include "ridge/ridge.h"\n', "public API")

    def test_refuses_another_instruction_set(self):
        self.expect_breach("src/kernels/avx512/b.cpp", '#include "kernels/avx2/a.hpp"\n', "share no code")

    def test_refuses_relative_and_missing(self):
        self.expect_breach("src/format/b.cpp", '#include "gguf.hpp"\n', "written from src/")
        self.expect_breach("src/format/c.cpp", '#include "base/none.hpp"\n', "not there")

    def test_board_headers_are_for_simulators_and_images(self):
        self.write("boards/one/soc.h", "")
        self.write("sim/soc/a.cpp", '#include "boards/one/soc.h"\n')
        self.assertEqual(self.layers()[0], 0)
        self.expect_breach("src/runtime/b.cpp", '#include "boards/one/soc.h"\n', "not for runtime")
        self.expect_breach("sim/soc/b.cpp", '#include "boards/two/soc.h"\n', "not there")

    def test_refuses_unknown_part(self):
        self.expect_breach("src/misc/b.cpp", "", "not a part")


@unittest.skipUnless(os.uname().machine == "x86_64", "the kernel sets are x86-64's")
class Isa(Tree):
    def check(self, path, text, *flags):
        source = self.write(path + ".cpp", text)
        built = source[:-4] + ".o"
        subprocess.run(["g++", "-std=c++20", "-O1", *flags, "-c", source, "-o", built], check=True)
        return self.run_tool(sys.executable, os.path.join(TOOLS, "check_isa.py"), built)

    def expect_breach(self, word, *arguments):
        code, output = self.check(*arguments)
        self.assertEqual(code, 1, output)
        self.assertIn(word, output)

    ADD = """namespace ridge::%s { typedef float v __attribute__((vector_size(%d)));
             v add(v a, v b) { return a + b; } }"""

    def test_accepts_each_set_at_home(self):
        for name, width, flag in (("avx2", 32, "-mavx2"), ("avx512", 64, "-mavx512f")):
            code, output = self.check(f"src/kernels/{name}/a", self.ADD % (name, width), flag)
            self.assertEqual(code, 0, output)

    def test_accepts_scalar(self):
        code, output = self.check("src/base/a", "float add(float a, float b) { return a + b; }")
        self.assertEqual(code, 0, output)

    def test_refuses_ymm_elsewhere(self):
        self.expect_breach("outside", "src/base/a", self.ADD % ("base", 32), "-mavx2")

    def test_refuses_vex_on_xmm_elsewhere(self):
        self.expect_breach("vaddss", "src/base/a", "float add(float a, float b) { return a + b; }", "-mavx")

    def test_refuses_avx512_in_avx2(self):
        self.expect_breach("AVX-512", "src/kernels/avx2/a", self.ADD % ("avx2", 64), "-mavx512f")

    def test_refuses_shared_inline_code(self):
        text = """namespace ridge { inline float __attribute__((noinline)) twice(float a) { return a + a; }
                  namespace avx2 { float f(float a) { return twice(a); } } }"""
        self.expect_breach("weak copy", "src/kernels/avx2/a", text, "-mavx2")

    def test_refuses_foreign_namespace(self):
        self.expect_breach("outside its namespace", "src/kernels/avx2/a", "void f() {}", "-mavx2")

    def test_refuses_static_constructor(self):
        text = "namespace ridge::avx2 { float f(); static float x = f(); float g() { return x; } }"
        self.expect_breach("static constructor", "src/kernels/avx2/a", text, "-mavx2")


class Freestanding(Tree):
    def check(self, text):
        self.write("src/base/a.cpp", text)
        names = self.write("list.txt", "# all\n\nsrc/base/*.cpp\n")
        return self.run_tool(os.path.join(TOOLS, "check_freestanding.sh"), names, self.root)

    def expect_breach(self, word, text):
        code, output = self.check(text)
        self.assertEqual(code, 1, output)
        self.assertIn(word, output)

    def test_accepts_what_boards_have(self):
        code, output = self.check("#include <stdint.h>\nint64_t f(int64_t a, int64_t b) { return a / b; }\n"
                                  "float g(float a) { return __builtin_sqrtf(a); }\n")
        self.assertEqual(code, 0, output)

    def test_refuses_library_headers(self):
        self.expect_breach("does not compile", "#include <vector>\n")

    def test_refuses_heap(self):
        self.expect_breach("operator new", "int* f() { return new int; }\n")

    def test_refuses_soft_double(self):
        self.expect_breach("__muldf3", "double f(double a) { return a * a; }\n")

    def test_refuses_static_constructor(self):
        self.expect_breach("static constructor", "float g();\nextern float x;\nfloat x = g();\n")


class Spills(unittest.TestCase):
    """On listings made by hand: the real objects are the ctest `spills`."""

    LOOP = ["vpdpbusd %zmm1,%zmm2,%zmm3", "vpdpbusd %zmm1,%zmm2,%zmm4", "cmp %rax,%rbx", "jne 10 <f>"]

    def check(self, extra_in_loop=(), extra_behind=(), leave_out=None):
        sys.path.insert(0, TOOLS)
        self.addCleanup(sys.path.remove, TOOLS)
        import check_spills
        text = ""
        for arguments in check_spills.TILES:
            if arguments == leave_out:
                continue
            body = self.LOOP[:1] + list(extra_in_loop) + self.LOOP[1:] + list(extra_behind)
            text += f"0000000000000010 <_Z10panel_tile{arguments}v>:\n"
            text += "".join(f"    {16 + i:x}:\t{line}\n" for i, line in enumerate(body)) + "\n"
        return check_spills.check({"a.o": text})

    def test_registers_only(self):
        self.assertEqual(self.check(), [])

    def test_stack_behind_the_loop_is_no_spill(self):
        self.assertEqual(self.check(extra_behind=["vmovaps %zmm3,0x40(%rsp)"]), [])

    def test_finds_spills(self):
        faults = self.check(extra_in_loop=["vmovaps %zmm3,0x40(%rsp)"] * 3)
        self.assertEqual(len(faults), 4)
        self.assertIn("spills", faults[0])

    def test_wants_every_tile(self):
        faults = self.check(leave_out="ILb0ELb0ELi6ELi2E")
        self.assertEqual(faults, ["no tile of 6 rows was found"])


if __name__ == "__main__":
    unittest.main()
