"""Texts that ask for much: of each kind one of a size. Run as a program, it loads some of them under a limit of its memory, and
prints for each a line of JSON: the outcome, seconds of the processor, and how many bytes the process grew beyond all before."""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable

HEADER = ".version 9.0\n.target sm_90\n.address_size 64\n"
REGISTERS = ".reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f64 %fd<9>;"


def body(text: str) -> str:
    return f"{HEADER}.visible .entry k()\n{{\n{REGISTERS}\n{text}\nret;\n}}\n"


def joined(count: int, line: Callable[[int], str], between: str = "\n") -> str:
    return between.join(line(i) for i in range(count))


#: what grows with a number, line by line or word by word
GROWING: dict[str, Callable[[int], str]] = {
    "errors on one line": lambda n: body("mov.u32 %r1, %x; " * n),
    "errors of syntax on one line": lambda n: body("mov.u32 , ; " * n),
    "options of .target": lambda n: f".version 9.0\n.target sm_90{', debugx' * n}\n.entry k() {{ ret; }}",
    "aliases of aliases": lambda n: (
        f"{HEADER}.func f0() {{ ret; }}\n{joined(n, lambda i: f'.func f{i + 1}();')}"
        f"{joined(n, lambda i: f'.alias f{i + 1}, f{i};')}\n"
        f".entry k() {{ {joined(n, lambda i: f'call f{i};')} ret; }}"
    ),
    "aliases of aliases, the last first": lambda n: (
        f"{HEADER}.func f0() {{ ret; }}\n{joined(n, lambda i: f'.func f{i + 1}();')}"
        f"{joined(n, lambda i: f'.alias f{n - i}, f{n - i - 1};')}\n"
        f".entry k() {{ {joined(n, lambda i: f'call f{i};')} ret; }}"
    ),
    "a chain of calls": lambda n: (
        f"{HEADER}.func f0() {{ ret; }}\n{joined(n, lambda i: f'.func f{i + 1}() {{ call f{i}; ret; }}')}"
        f".entry k() {{ call f{n}; ret; }}"
    ),
    "a circle of calls without an ABI": lambda n: (
        f"{HEADER}.func (.reg .b32 a, .reg .b32 b) g() {{ ret; }}\n{joined(n, lambda i: f'.func f{i}();')}"
        f"{joined(n, lambda i: f'.func f{i}() {{ call f{(i + 1) % n}; ret; }}')}.entry k() {{ call f0; ret; }}"
    ),
    "lists of functions": lambda n: (
        f"{HEADER}{joined(n, lambda i: f'.func f{i}() {{ ret; }}')}\n.entry k() {{ .reg .b64 %rd;\n"
        f"t: .calltargets {joined(n, lambda i: f'f{i}', ', ')};\n{'call %rd, t;' * n} ret; }}"
    ),
    "lists of labels": lambda n: (
        f"{HEADER}.entry k() {{ .reg .b32 %r;\n{joined(n, lambda i: f'L{i}:')}\n"
        f"t: .branchtargets {joined(n, lambda i: f'L{i}', ', ')};\n{'brx.idx %r, t;' * n} ret; }}"
    ),
    "variables that begin as addresses of others": lambda n: (
        f"{HEADER}.global .u64 a0;\n{joined(n, lambda i: f'.global .u64 a{i + 1} = a{i}+8;')}"
    ),
    "ranges of registers among names": lambda n: body(joined(n, lambda i: f".reg .b32 x{i}_<65536>; .reg .b32 y{i};")),
    "ranges of registers after names": lambda n: body(
        joined(n, lambda i: f".reg .b32 y{i};") + joined(n, lambda i: f".reg .b32 x{i}_<2>;")
    ),
    "misspelled opcodes": lambda n: body(joined(n, lambda i: f"ad{i}.u32 %r1, %r2, 1;")),
    "misspelled modifiers": lambda n: body(joined(n, lambda i: f"cvt.rx{i}.u32.f32 %r1, %r2;")),
    "misspelled registers": lambda n: body(
        joined(n, lambda i: f".reg .b32 long_name_{i}x;") + joined(n, lambda i: f"mov.u32 %r1, long_name_{i}y;")
    ),
    "values": lambda n: f"{HEADER}.global .u32 a[] = {{ {'1, ' * n}1 }};",
    "sums": lambda n: body(f"mov.u32 %r1, {'1 + ' * n}1;"),
    "dimensions": lambda n: f"{HEADER}.global .b8 a{'[2]' * n};",
    "blocks": lambda n: body("{ } " * n),
    "parameters": lambda n: (
        f"{HEADER}.func f({joined(n, lambda i: f'.param .b32 p{i}', ', ')}) {{ .reg .b32 %r;\n"
        f"{joined(n, lambda i: f'ld.param.b32 %r, [p{i}];')} ret; }}"
    ),
    "signs that begin nothing": lambda n: HEADER + ";" * n,
    "lines of a preprocessor": lambda n: HEADER + "# 1\n" * n,
    "data for a debugger": lambda n: f"{HEADER}.section .debug {{ .b8 {'1, ' * n}1 }}",
}

#: one word, or one nest, that is as large as is asked for
LARGE: dict[str, Callable[[int], str]] = {
    "a pragma": lambda n: f'{HEADER}.pragma "{"a" * n}";',
    "a pragma of escapes": lambda n: f'{HEADER}.pragma "{chr(92) + "a"}{(chr(92) + "a") * (n // 2)}";',
    "a string without an end": lambda n: f'{HEADER}.pragma "{(chr(92) + "a") * (n // 2)}',
    "a name": lambda n: body(f"mov.u32 %r1, {'a' * n};"),
    "a name with points": lambda n: body(f"mov.u32 %r1, a{'.b' * (n // 2)};"),
    "a mnemonic": lambda n: body(f"mov{'.b32' * (n // 40)} %r1, %r2;"),
    "a directive": lambda n: body("." + "a" * n),
    "a directive with colons": lambda n: body(".a" + "::a" * (n // 3)),
    "a comment": lambda n: f"{HEADER}/*{'*' * n}*/",
    "a comment without an end": lambda n: f"{HEADER}/*{'*' * n}",
    "a line of a preprocessor": lambda n: f'{HEADER}# 1 "a"{" 1" * (n // 2)}\n',
    "digits": lambda n: body(f"mov.u32 %r1, {'1' * n};"),
    "digits after zeros": lambda n: body(f"mov.u32 %r1, {'0' * n}7;"),
    "hexadecimal digits": lambda n: body(f"mov.u32 %r1, 0x{'f' * n};"),
    "digits that are not octal": lambda n: body(f"mov.u32 %r1, 0{'9' * n};"),
    "a fraction": lambda n: body(f"mov.f64 %fd1, 1.{'1' * n};"),
    "an exponent": lambda n: body(f"mov.f64 %fd1, 1e{'1' * n};"),
    "a version": lambda n: f".version {'9' * n}.0\n.target sm_90\n",
    "a target": lambda n: f".version 9.0\n.target sm_{'9' * n}\n.entry k() {{ ret; }}",
    "another target": lambda n: f".version 9.0\n.target compute_{'9' * n}\n.entry k() {{ ret; }}",
    "an alignment": lambda n: f"{HEADER}.global .align {'9' * n} .b8 a;",
    "a size": lambda n: f"{HEADER}.global .b8 a[{'9' * n}];",
    "a count": lambda n: body(f".reg .b32 r<{'9' * n}>;"),
    "a limit of threads": lambda n: f"{HEADER}.entry k() .maxntid {'9' * n} {{ ret; }}",
    "the number of a line": lambda n: body(f".loc 1 {'9' * n} 1"),
    "the number of a file": lambda n: f'{HEADER}.file {"9" * n} "a"',
    "the number of a register": lambda n: body(f"mov.u32 %r1, %r{'9' * n};"),
    "parentheses": lambda n: body(f"mov.u32 %r1, {'(' * (n // 100)}1{')' * (n // 100)};"),
    "signs": lambda n: body(f"mov.u32 %r1, {'-' * (n // 100)}1;"),
    "negations": lambda n: body(f"mov.u32 %r1, {'!' * (n // 100)}1;"),
    "casts": lambda n: body(f"mov.u32 %r1, {'(.s64)' * (n // 100)}1;"),
    "conditionals": lambda n: body(f"mov.u32 %r1, {'1 ? ' * (n // 100)}1{' : 1' * (n // 100)};"),
    "braces of values": lambda n: f"{HEADER}.global .b8 a[2] = {'{' * (n // 100)}1{'}' * (n // 100)};",
    "blocks in blocks": lambda n: body("{" * (n // 100) + "}" * (n // 100)),
    "blocks that do not end": lambda n: body("{" * (n // 100)),
    "brackets": lambda n: body(f"ld.global.u32 %r1, {'[' * (n // 100)}%rd1{']' * (n // 100)};"),
    "lists of a call": lambda n: body(f"call {'(' * (n // 100)}a{')' * (n // 100)}, f;"),
}

#: little text that stands for much
SHORT: dict[str, str] = {
    "a GiB of which one byte is given": f"{HEADER}.global .b8 a[1073741824] = {{ 1 }};",
    "a hundred times 65,536 variables": HEADER + joined(100, lambda i: f".global .b8 v{i}_<65536>;"),
    "a hundred times 65,536 registers": body(joined(100, lambda i: f".reg .b32 v{i}_<65536>;")),
    "many variables in .local": body(joined(7, lambda i: f".local .b8 v{i}_<65536>;")),
    "four billion textures": f"{HEADER}.global .texref t<4000000000>;",
    "sixteen million textures": f"{HEADER}.global .texref t<16000000>;",
    "hints again and again": body(f"ld.global{'.L1::evict_last.L1::no_allocate.L2::64B' * 12}.u32 %r1, [%rd1];"),
    "an alias of itself": f"{HEADER}.func a();\n.alias a, a;",
    "aliases in a circle": f"{HEADER}.func a();\n.func b();\n.func c();\n.alias a, b;\n.alias b, c;\n.alias c, a;",
    "a variable that begins as its own address": f"{HEADER}.global .u64 a = a;",
    "variables that begin as one another's addresses": (
        f"{HEADER}.extern .global .u64 b;\n.visible .global .u64 a = b;\n.visible .global .u64 b = a;"
    ),
    "functions that call one another": f"{HEADER}.func b();\n.func a() {{ call b; }}\n.func b() {{ call a; }}",
}


def texts(size: int, lines: int) -> dict[str, str]:
    """All of them, with words of a size and so many lines."""
    found = {name: make(lines) for name, make in GROWING.items()}
    return found | {name: make(size) for name, make in LARGE.items()} | SHORT


def main() -> None:
    import ptxspec

    ptxspec.load(body("mov.u32 %r1, 1 + 1; add.u32 %r1, %r1, 1;"))
    limit, size, lines = map(int, sys.argv[1:])
    every = texts(size, lines)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    for name, text in every.items():
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        began = time.process_time()
        try:
            ptxspec.load(text)
            outcome = "loaded"
        except ptxspec.PtxError as error:
            outcome = str(error)
        except BaseException as error:
            outcome = f"failed: {error!r}"[:200]
        seconds = time.process_time() - began
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
        print(json.dumps({"name": name, "outcome": outcome, "seconds": seconds, "grown": grown}), flush=True)


if __name__ == "__main__":
    main()
