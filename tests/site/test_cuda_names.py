"""Names of CUDA C++ on the pages: each is compiled by nvcc, and what the page says of it is in the PTX."""

from __future__ import annotations

import re
import shutil
import subprocess
import warnings
from pathlib import Path

import pytest

pytest.importorskip("sphinx")

from ptxspec.language.forms import registry
from ptxspec.literate.documents import DocumentError
from ptxspec_workshop.site import cuda_names
from ptxspec_workshop.site.cuda_names import CudaName, names, read

#: an instruction of a function's body, without its operands
INSTRUCTION = re.compile(r"(?:^|[{;\t])\s*(?:@!?%?\w+\s+)?\{?([a-z]\w*(?:\.[\w:]+)*)(?=[\s;])", re.M)


def parameter(text: str) -> tuple[str, str]:
    """The declaration of a function's parameter, "" for a constant, and what stands for it in a call."""
    declared = re.fullmatch(r"(.*[\s*&])(\w+)", text)
    return (text, declared[2]) if declared else ("", text)


def function(number: int, name: CudaName) -> str:
    """A device function that does nothing but use the name. Nothing else is in its body: its parameters and its result are
    loads and stores of `.param`."""
    own = [parameter(p) for p in name.parameters or ()]
    given = [call for _, call in own]
    sign = name.name.removeprefix("operator")
    if sign != name.name:
        used = f"{sign}{given[0]}" if len(given) == 1 else f"{given[0]} {sign} {given[1]}"
    else:
        used = name.name + ("" if name.parameters is None else f"({', '.join(given)})")
    parameters = ", ".join(d for d, _ in own if d)
    return f'extern "C" __device__ {name.result} used_{number}({parameters}) {{ return {used}; }}'


def compiled(folder: Path, stated: tuple[CudaName, ...]) -> dict[int, str]:
    """The PTX of each name's function, all of them compiled at once for a target that has clusters."""
    headers = dict.fromkeys(name.header for name in stated if name.header)
    lines = [f"#include <{header}>" for header in headers] + [function(i, name) for i, name in enumerate(stated)]
    source = folder / "names.cu"
    source.write_text("\n".join(lines))
    run = subprocess.run(
        ["nvcc", "-ptx", "-rdc=true", "-arch=sm_90", "-w", str(source), "-o", str(folder / "names.ptx")],
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    bodies = re.findall(
        r"\.func [^{;]*?\bused_(\d+)\([^{;]*?\{(.*?)^\}", (folder / "names.ptx").read_text(), re.S | re.M
    )
    return {int(number): body for number, body in bodies}


def has(body: str, stated: str) -> bool:
    """Whether a body has an instruction of the opcode, with all the modifiers in this order and perhaps more; or reads the
    special register."""
    if stated.startswith("%"):
        return re.search(rf"{re.escape(stated)}(?![\w.])", body) is not None
    opcode, *modifiers = stated.split(".")
    for found in INSTRUCTION.findall(body):
        first, *others = found.split(".")
        rest = iter(others)
        if first == opcode and all(m in rest for m in modifiers):
            return True
    return False


def wrong(bodies: dict[int, str], stated: tuple[CudaName, ...]) -> list[str]:
    return [
        f"{name.page}:{name.line}: {name.declaration} is compiled to\n{bodies[i]}"
        for i, name in enumerate(stated)
        if has(bodies[i], name.compiled) is not name.direct
    ]


def needs_nvcc() -> None:
    if shutil.which("nvcc") is None:
        reason = "NO NVCC: what CUDA's names are compiled to was NOT tested"
        warnings.warn(reason, stacklevel=1)
        pytest.skip(reason)


@pytest.mark.slow
def test_nvcc_compiles_each_name_to_what_its_page_says(tmp_path: Path) -> None:
    needs_nvcc()
    bodies = compiled(tmp_path, names())
    assert len(bodies) == len(names()) > 400
    assert not wrong(bodies, names())


def test_a_wrong_statement_is_found(tmp_path: Path) -> None:
    needs_nvcc()
    stated = tuple(
        read(
            "int __popc(unsigned int x)  // clz.b32\nint __clz(int x)  // without clz\nint __ffs(int x)  // brev.b32",
            1,
            "page",
        )
    )
    assert [line.split(":")[1] for line in wrong(compiled(tmp_path, stated), stated)] == ["1", "2"]


@pytest.mark.parametrize("page", sorted({name.page for name in names()}))
def test_a_name_stands_on_the_page_of_what_it_is_compiled_to(page: str) -> None:
    text = (cuda_names.places.DOCUMENTS / page).read_text("utf-8")
    for name in (n for n in names() if n.page == page):
        if name.compiled.startswith("%"):
            assert f'"{name.compiled.partition(".")[0]}"' in text, name
            continue
        opcode = registry().opcodes[name.compiled.partition(".")[0]]
        found = opcode.find(name.compiled) if name.direct else opcode.forms
        assert any(form.page.partition(":")[0] == page for form in found), name


def test_a_declaration_is_stated_once() -> None:
    declared = [name.declaration for name in names()]
    assert sorted(declared) == sorted(set(declared))


def test_a_fence_is_read_into_declarations() -> None:
    text = (
        "#include <mma.h>\n\nfloat4 tex2D<float4>(cudaTextureObject_t tex, float x)  // tex.2d\n"
        "void *f(a<b, c> &x, 3)   // without mov\nunsigned int threadIdx.x // %tid.x\nint operator+(int a, int b)  // add.s32"
    )
    texture, pointer, register, sum_of = read(text, 5, "page")
    assert (texture.name, texture.plain, texture.header, texture.line) == ("tex2D<float4>", "tex2D", "mma.h", 7)
    assert (pointer.declaration, pointer.parameters) == ("void *f(a<b, c> &x, 3)", ("a<b, c> &x", "3"))
    assert not pointer.direct and (register.name, register.parameters) == ("threadIdx.x", None)
    assert (sum_of.name, sum_of.plain, sum_of.compiled) == ("operator+", "operator+", "add.s32")


@pytest.mark.parametrize(
    "text", ["int __popc(unsigned int x)", "// popc", "__popc(x) // popc.b32", "int f() // add sub"]
)
def test_what_is_no_declaration_is_refused(text: str) -> None:
    with pytest.raises(DocumentError, match="page:9: "):
        read(text, 9, "page")
