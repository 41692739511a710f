"""Static rules stand on pages: each has a text that breaks it and one that just keeps it, what is said cites the page's line, and a
page that says the contrary is obeyed."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

import ptxspec
from ptxspec.base.places import DOCUMENTS
from ptxspec.evidence.assembler import assemble
from ptxspec.language import known_shapes
from ptxspec.language.check import check
from ptxspec.language.diagnostics import Diagnostic, where
from ptxspec.language.forms import registry
from ptxspec.language.linking import link
from ptxspec.terms import registries
from ptxspec.terms.core import TermError
from ptxspec.terms.registries import STATIC_RULES, static_rule
from ptxspec.terms.static_rules import StaticRule

#: one module, or several that are linked
Text = str | tuple[str, ...]


def module(text: str, version: str = "9.0", target: str = "sm_90", size: str = ".address_size 64") -> str:
    return f".version {version}\n.target {target}\n{size}\n{text}"


REGISTERS = ".reg .pred %p<3>; .reg .b16 %h<3>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>;"


def k(body: str, declared: str = "", **head: str) -> str:
    """A module with an entry."""
    return module(f"{declared}\n.entry k() {{ {REGISTERS} {body} ret; }}", **head)


def call(parameters: str, body: str, results: str = "", **head: str) -> str:
    """A module whose entry calls a function `f`."""
    return k(body, f".func {results} f{parameters} {{ ret; }}", **head)


APART = {"target": "sm_90, texmode_independent"}
TEX = "tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, "
#: modules without an ABI, and those before something
NO_ABI = {"version": "2.3", "target": "sm_20", "size": ".address_size 64"}
EARLY = {"version": "1.4", "target": "sm_10", "size": ""}
BANKED = {"version": "2.1", "target": "sm_20", "size": ""}
OLD = {"version": "7.8", "target": "sm_52", "size": ""}
MANY = "".join(f".param .align 4 .b8 p{i}[4092], " for i in range(8))

#: by the name of a rule, a text that breaks it and one that just keeps it
CASES: dict[str, tuple[Text, Text]] = {
    # debugging
    "places_have_32_bits": (k(".loc 1 4294967296 1"), k(".loc 1 4294967295 1")),
    "files_have_their_numbers": (module('.file 1 "a"\n.file 1 "b"'), module('.file 1 "a"\n.file 2 "b"')),
    "inlined_at_a_place": tuple(
        k(f".loc 1 1 1 .loc 1 2 2, function_name L, inlined_at 1 {n} 1 mov.b32 %r0, 1;", ".section .x { L: .b8 1 }")
        for n in (2, 1)
    ),
    "data_fit": (module(".section .x { .b8 256 }"), module(".section .x { .b8 255, -128 }")),
    "addresses_fill": (module(".section .x { L: .b16 L }"), module(".section .x { L: .b32 L }")),
    "labels_of_sections_differ": (module(".section .x { L: .b8 1 L: }"), module(".section .x { L: .b8 1 M: }")),
    # directives
    "limits_are_positive": (module(".entry k() .maxntid 0 {}"), module(".entry k() .maxntid 1 {}")),
    "limits_have_32_bits": (
        module(".entry k() .maxnreg 4294967296 {}"),
        module(".entry k() .maxnreg 4294967295 {}"),
    ),
    "has_one_of": (module(".entry k() .maxntid 8 .reqntid 8 {}"), module(".entry k() .reqntid 8 .maxclusterrank 2 {}")),
    "blocks_are_clusters_of_a_size": (
        module(".entry k() .blocksareclusters .reqntid 8 {}"),
        module(".entry k() .blocksareclusters .reqntid 8 .reqnctapercluster 2 {}"),
    ),
    "limited_entries_are_defined": (module(".extern .entry k() .maxntid 8;"), module(".extern .entry k();")),
    "preserves_what_there_is": (
        module(".func f() .abi_preserve 240 { ret; }"),
        module(".func f() .abi_preserve 239 { ret; }"),
    ),
    "functions_with_results_return": (
        module(".func (.reg .b32 r) f() .noreturn { ret; }"),
        module(".func f(.reg .b32 r) .noreturn { ret; }"),
    ),
    "is_an_address_size": (module("", size=".address_size 16"), module("")),
    "has_addresses_of": (module("", size=".address_size 32"), module("", target="sm_89", size=".address_size 32")),
    "is_a_version": (module("", version="8.9"), module("", version="8.8")),
    "version_has": (
        module(".func f() .noreturn { ret; }", version="6.3", target="sm_30"),
        module(".func f() .noreturn { ret; }", version="6.4", target="sm_30"),
    ),
    "target_has": (
        module(".entry k() .maxclusterrank 2 {}", target="sm_89"),
        module(".entry k() .maxclusterrank 2 {}"),
    ),
    "version_still_has": (
        module(".local .b32 x;", version="3.0", target="sm_20"),
        module(".local .b32 x;", version="2.3", target="sm_20"),
    ),
    "version_has_target": (k("", version="7.7"), k("", version="7.8")),
    "version_has_option": (
        module("", version="1.4", target="sm_10, texmode_independent", size=""),
        module("", version="1.5", target="sm_10, texmode_independent", size=""),
    ),
    "target_has_option": (
        module("", version="2.0", target="sm_13, map_f64_to_f32", size=""),
        module("", version="2.0", target="sm_12, map_f64_to_f32", size=""),
    ),
    "has_one_texture_mode": (
        module("", target="sm_90, texmode_unified, texmode_independent"),
        module("", target="sm_90, texmode_unified, texmode_unified"),
    ),
    # functions
    "is_one_parameter": tuple(
        module(f".entry k {{ .param {a}; ret; }}", version="1.3", target="sm_10", size="")
        for a in (".v2 .b32 a", ".b32 a[2]")
    ),
    "headings_agree": (
        module(".func f(.reg .b32 a); .func f(.reg .b64 a) { ret; }"),
        module(".func f(.reg .b32 a); .func f(.reg .b32 b) { ret; }"),
    ),
    "extern_is_elsewhere": (module(".extern .func f() { ret; }"), module(".extern .func f();")),
    "passes_as_many": (
        call("(.param .b32 a, .param .b8 b[])", "call f, ();"),
        call("(.param .b32 a, .param .b8 b[])", "call f, (%r0);"),
    ),
    "variables_pass_in_param": (
        call("(.param .b32 a)", ".shared .b32 s; call f, (s);"),
        call("(.param .b32 a)", ".param .b32 s; call f, (s);"),
    ),
    "sizes_agree": (
        call("(.param .b8 a[4])", ".param .b8 b[3]; call f, (b);"),
        call("(.param .b8 a[4])", ".param .b8 b[4]; call f, (b);"),
    ),
    "alignments_agree": (
        call("(.param .align 4 .b8 a[4])", ".param .b8 b[4]; call f, (b);"),
        call("(.param .align 4 .b8 a[4])", ".param .align 4 .b8 b[4]; call f, (b);"),
    ),
    "dimensions_agree": (
        call("(.param .b8 a[4])", ".param .b8 b[2][2]; call f, (b);"),
        call("(.param .b8 a[4])", ".param .b8 b[4]; call f, (b);"),
    ),
    "elements_agree": (
        call("(.param .u32 a[2])", ".param .s32 b[2]; call f, (b);"),
        call("(.param .u32 a[2])", ".param .b32 b[2]; call f, (b);"),
    ),
    "parameters_are_aligned": (
        module(".func f(.param .align 256 .b8 a[4]) { ret; }"),
        module(".func f(.param .align 128 .b8 a[4]) { ret; }"),
    ),
    "arrays_are_no_registers": (
        call("(.param .b32 a[1])", "call f, (%r0);"),
        call("(.param .b32 a)", "call f, (%r0);"),
    ),
    "registers_agree": (
        call("(.reg .u32 a)", "call f, (%rd0);"),
        call("(.reg .u32 a)", ".reg .s32 b; call f, (b);"),
    ),
    "passes_a_constant": (call("(.param .u32 a)", "call f, (1.0);"), call("(.param .f32 a)", "call f, (1.0);")),
    "results_have_names": (call("", "call (1), f;", "(.reg .b32 r)"), call("(.reg .b32 a)", "call f, (1);")),
    "formals_are_copied": (
        module(".func f(.param .b32 a) { call f, (a); ret; }"),
        module(".func f(.param .b32 a) { .param .b32 b; call f, (b); ret; }"),
    ),
    "parameters_are_read": (
        module(".func f(.param .b32 a) { st.param.b32 [a], 1; ret; }"),
        module(".func (.param .b32 a) f() { st.param.b32 [a], 1; ret; }"),
    ),
    "results_are_written": (
        module(".func (.param .b32 a) f() { .reg .b32 x; ld.param.b32 x, [a]; ret; }"),
        module(".func f(.param .b32 a) { .reg .b32 x; ld.param.b32 x, [a]; ret; }"),
    ),
    "what_is_passed_has_no_address": (
        module(".func f() { .param .b32 a; .reg .b64 x; mov.b64 x, a; ret; }"),
        module(".func (.param .b32 a) f() { .reg .b64 x; mov.b64 x, a; ret; }"),
    ),
    "what_is_passed_is_not_guarded": (
        k(".param .b32 a; @%p0 st.param.b32 [a], 1;"),
        k(".param .b32 a; st.param.b32 [a], 1;"),
    ),
    "has_an_abi_for": (
        module(".local .b32 x; .func f() { call f; ret; } .entry k() { call f; ret; }", **NO_ABI),
        module(".local .b32 x; .func f() { ret; } .entry k() { call f; ret; }", **NO_ABI),
    ),
    "integers_fill_registers": (
        call("(.reg .u16 a)", "call f, (%h0);"),
        call("(.reg .b16 a)", "call f, (%h0);"),
    ),
    "several_results_are_registers": (
        module(".func (.param .b32 a, .param .b32 b) f() { ret; }"),
        module(".func (.reg .b32 a, .reg .b32 b) f() { ret; }"),
    ),
    "vectors_go_into_vectors": (
        call("(.reg .v2 .b32 a)", ".reg .v4 .b32 v; call f, (v);"),
        call("(.reg .v2 .b32 a)", ".reg .v2 .b32 v; call f, (v);"),
    ),
    "no_vectors_in_arrays": (
        call("(.param .v2 .b32 a[2])", ".param .v2 .b32 b[2]; call f, (b);"),
        call("(.param .b32 a[2])", ".param .b32 b[2]; call f, (b);"),
    ),
    "may_lack_a_size": (
        module(".func f(.param .b8 a[], .param .b32 n) { ret; }"),
        module(".func f(.param .b32 n, .param .b8 a[]) { ret; }"),
    ),
    "aliases_are_of_functions": (
        module(".func b(); .entry a() { ret; } .alias b, a;"),
        module(".func b(); .func a() { ret; } .alias b, a;"),
    ),
    "aliases_have_no_body": (
        module(".func b() { ret; } .func a() { ret; } .alias b, a;"),
        module(".func b(); .func a() { ret; } .alias b, a;"),
    ),
    "aliases_are_of_one_function": (
        module(".func b(); .func a() { ret; } .func c() { ret; } .alias b, a; .alias b, c;"),
        module(".func b(); .func d(); .func a() { ret; } .alias b, a; .alias d, a;"),
    ),
    "aliases_have_the_parameters": (
        module(".func b(.reg .b32 x); .func a(.reg .u32 x) { ret; } .alias b, a;"),
        module(".func b(.reg .b32 x); .func a(.reg .b32 y) { ret; } .alias b, a;"),
    ),
    "may_have_an_alias": (
        module(".func b(); .weak .func a() { ret; } .alias b, a;"),
        module(".func b(); .visible .func a() { ret; } .alias b, a;"),
    ),
    "aliases_lead_elsewhere": (
        module(".func b(); .func c(); .alias b, c; .alias c, b;"),
        module(".func b(); .func c(); .func a() { ret; } .alias b, c; .alias c, a;"),
    ),
    # linking
    "common_is_for_variables": (module(".common .func f() { ret; }"), module(".visible .func f() { ret; }")),
    "common_is_global": (module(".common .const .b32 x;"), module(".common .global .b32 x;")),
    "extern_has_no_initializer": (module(".extern .global .b32 x = 1;"), module(".extern .global .b32 x;")),
    "nothing_follows_a_definition": (module(".func f() { ret; } .func f();"), module(".func f(); .func f() { ret; }")),
    "linkages_agree": (
        module(".visible .func f(); .weak .func f() { ret; }"),
        module(".visible .func f(); .func f() { ret; }"),
    ),
    "all_return_or_none": (
        module(".func f() .noreturn; .func f() { ret; }"),
        module(".func f() .noreturn; .func f() .noreturn { ret; }"),
    ),
    "variables_are_defined_once": (
        module(".global .b32 x; .global .b32 x;"),
        module(".extern .global .b32 x; .visible .global .b32 x;"),
    ),
    "extern_becomes_visible": (
        module(".extern .global .b32 x; .global .b32 x;"),
        module(".extern .global .b32 x; .weak .global .b32 x;"),
    ),
    "variables_agree": (
        module(".extern .global .b32 x[2]; .visible .global .b32 x[3];"),
        module(".extern .global .b32 x[]; .visible .global .b32 x[3];"),
    ),
    "is_defined": (module(".func f();"), module(".func f(); .func f() { ret; }")),
    "sizes_are_known": (module(".extern .global .b32 x[];"), module(".extern .shared .b32 x[];")),
    "addresses_agree": (
        (module("", target="sm_52"), module("", target="sm_52", size=".address_size 32")),
        (module("", target="sm_52"), module("", target="sm_52")),
    ),
    "one_module_defines": (
        (module(".visible .global .b32 x;"), module(".visible .global .b32 x;")),
        (module(".visible .global .b32 x;"), module(".weak .global .b32 x;")),
    ),
    "a_module_defines": (
        (module(".extern .global .b32 x;"), module(".global .b32 x;")),
        (module(".extern .func f(); .entry k() { call f; ret; }"), module(".visible .func f() { ret; }")),
    ),
    "spaces_agree": (
        (module(".extern .global .b32 x;"), module(".visible .const .b32 x;")),
        (module(".extern .const .b32 x;"), module(".visible .const .b32 x;")),
    ),
    "bytes_agree": (
        (module(".common .global .b32 x[3];"), module(".visible .global .b32 x[2];")),
        (module(".common .global .b32 x[2];"), module(".visible .global .b32 x[3];")),
    ),
    "modules_pass_alike": (
        (module(".extern .func f(.reg .b32 a);"), module(".visible .func f(.reg .b64 a) { ret; }")),
        (module(".extern .func f(.reg .b32 a);"), module(".visible .func f(.reg .u32 a) { ret; }")),
    ),
    "names_are_of_one_kind": (
        (module(".extern .global .b32 f;"), module(".visible .func f() { ret; }")),
        (module(".extern .func f();"), module(".visible .func f() { ret; }")),
    ),
    # variables
    "is_a_size": (module(".global .b32 x[0];"), module(".extern .shared .b32 x[0];")),
    "sizes_are_said": (module(".extern .shared .b32 x[1][];"), module(".extern .shared .b32 x[][1];")),
    "is_a_vector_of": (module(".global .v4 .b64 x;"), module(".global .v2 .b64 x;")),
    "is_a_count": (module(".global .b8 x<4294967295>;"), k(".reg .b32 x<4294967294>;")),
    "registers_are_no_arrays": (k(".reg .b32 x[2];"), k(".reg .b32 x<2>;")),
    "is_an_alignment": (module(".global .align 12 .b32 x;"), module(".global .align 16 .b32 x;")),
    "alignments_have_32_bits": (module(".global .align 4294967296 .b32 x;"), module(".global .align 4096 .b32 x;")),
    # opaque types
    "opaque_variables_are_global": (k(".global .texref t;"), module(".global .texref t;")),
    "opaque_variables_are_not_common": (module(".common .global .texref t;"), module(".weak .global .texref t;")),
    "functions_take_handles": (module(".func f(.param .texref t) { ret; }"), module(".func f(.param .b64 t) { ret; }")),
    "opaque_variables_are_no_arrays": (module(".global .texref t[4];"), module(".global .texref t<4>;")),
    "opaque_variables_are_no_vectors": (module(".global .v2 .texref t;"), module(".global .texref t;")),
    "samplers_are_apart_in_independent_mode": (
        module(".global .samplerref s;"),
        module(".global .samplerref s;", **APART),
    ),
    "independent_mode_names_samplers": (
        k(TEX + "[t, {%f4, %f5}];", ".global .texref t;", **APART),
        k(TEX + "[t, {%f4, %f5}];", ".global .texref t;"),
    ),
    "unified_mode_names_no_samplers": (
        k(TEX + "[%rd0, %rd1, {%f4, %f5}];"),
        k(TEX + "[%rd0, %rd1, {%f4, %f5}];", **APART),
    ),
    "opaque_variables_begin_with_fields": (
        module(".global .texref t = 5;"),
        module(".global .texref t = { width = 5 };"),
    ),
    "is_a_field": (module(".global .surfref s = { filter_mode = 1 };"), module(".global .texref t = { filter_mode = 1 };")),
    "takes_a_word": (
        module(".global .texref t = { width = bilinear };"),
        module(".global .texref t = { filter_mode = linear };"),
    ),
    "is_a_word_of": (
        module(".global .texref t = { filter_mode = bilinear };"),
        module(".global .texref t = { filter_mode = linear };"),
    ),
    "fields_are_whole": (module(".global .texref t = { width = 1.0 };"), module(".global .texref t = { width = 1 };")),
    "has_handles_for": (module(".global .texref t<16777216>;"), module(".global .texref t<16777215>;")),
    "has_tex": (module(".tex .u32 t;", version="1.5", target="sm_10", size=""), module(".tex .u32 t;", **EARLY)),
    "is_a_type_in_tex": (module(".tex .f32 t;", **EARLY), module(".tex .u64 t;", **EARLY)),
    "tex_is_not_initialized": (module(".tex .u32 t = { width = 1 };", **EARLY), module(".tex .u32 t;", **EARLY)),
    "may_name_so_many": tuple(
        k(
            "".join(f"{TEX}[t{i}, {{%f4, %f5}}]; " for i in range(count)),
            f".global .texref t<{count}>;",
        )
        for count in (257, 256)
    ),
    "keeps_the_texture_mode": tuple(
        k(f".target sm_80, texmode_{mode}", target="sm_90, texmode_independent") for mode in ("unified", "independent")
    ),
    "has_opaque_types": (
        module(".global .texref t;", **EARLY),
        module(".global .texref t;", version="1.5", target="sm_10", size=""),
    ),
    "has_handles_in_registers": (
        k(TEX + "[%rd0, {%f4, %f5}];", version="3.0", target="sm_20"),
        k(TEX + "[%rd0, {%f4, %f5}];", version="3.1", target="sm_20"),
    ),
    "has_handles_of_samplers_in_registers": tuple(
        k(TEX + "[%rd0, %rd1, {%f4, %f5}];", version="4.3", target=f"{target}, texmode_independent")
        for target in ("sm_21", "sm_30")
    ),
    "gives_handles_of_textures": tuple(
        k("mov.u64 %rd0, t;", ".global .texref t;", version=version, target="sm_20, texmode_independent")
        for version in ("3.2", "4.0")
    ),
    # state spaces
    "space_holds": (module(".const .b8 x[65537];"), module(".const .b8 x[65536];")),
    "may_be_initialized": (module(".shared .b32 x = 1;"), module(".shared .b32 x;")),
    "registers_hold_addresses": (k("ld.global.b32 %r0, [%r1];"), k("ld.shared.b32 %r0, [%r1];")),
    "addresses_are_taken_whole": (
        k("mov.b32 %r0, x;", ".global .b32 x;"),
        k("mov.b32 %r0, x;", ".shared .b32 x;"),
    ),
    "forms_have_their_addresses": tuple(
        k("cvta.global.u32 %r0, %r1;", version="7.8", target="sm_52", size=f".address_size {bits}") for bits in (64, 32)
    ),
    "modules_declare": (
        module(".param .b32 x;", version="2.3", target="sm_20"),
        module(".shared .b32 x;", version="2.3", target="sm_20"),
    ),
    "functions_declare": (
        module(".entry k() { .tex .u32 t; exit; }", **EARLY),
        module(".entry k() { .shared .u32 t; exit; }", **EARLY),
    ),
    "is_no_vector_in_param": (
        module(".entry k(.param .v2 .b32 a) { ret; }"),
        module(".entry k(.param .v2 .b32 a[1]) { ret; }"),
    ),
    "loads_and_stores_say_func": (
        k("cvta.param::func.u64 %rd0, %rd1;"),
        k(".param .b32 a; st.param::func.b32 [a], 1;"),
    ),
    "func_is_of_a_function": (
        module(".entry k(.param .b32 a) { .reg .b32 x; ld.param::func.b32 x, [a]; ret; }"),
        module(".func f(.param .b32 a) { .reg .b32 x; ld.param::func.b32 x, [a]; ret; }"),
    ),
    "entry_is_of_an_entry": (
        module(".func f(.param .b32 a) { .reg .b32 x; ld.param::entry.b32 x, [a]; ret; }"),
        module(".entry k(.param .b32 a) { .reg .b32 x; ld.param::entry.b32 x, [a]; ret; }"),
    ),
    "parameters_have_room": (
        module(f".entry k({MANY}.param .b8 q[29]) {{}}"),
        module(f".entry k({MANY}.param .b8 q[28]) {{}}"),
    ),
    "is_a_bank": (
        module(".extern .const[11] .b32 x[];", **BANKED),
        module(".extern .const[10] .b32 x[];", **BANKED),
    ),
    "begins_a_bank": (
        module(".extern .const[2] .b32 x[1];", **BANKED),
        module(".extern .const[2] .b32 x[0];", **BANKED),
    ),
    # spelling and types
    "is_whole": (module(".global .b32 x[1.0];"), module(".global .b32 x[1];")),
    "takes_operands": (module(".global .f64 x = 1 + 1.0;"), module(".global .f64 x = 1.0 + 1.0;")),
    "has_a_divisor": (module(".global .b32 x = 1 / 0;"), module(".global .b32 x = 0 / 1;")),
    "guards_are_predicates": (k("@%r0 ret;"), k("@%p0 ret;")),
    "lies_in_memory": (module(".global .pred x;"), module(".global .b8 x;")),
    "version_has_type": (
        module(".global .b128 x;", version="8.2", target="sm_90"),
        module(".global .b128 x;", version="8.3", target="sm_90"),
    ),
    "target_has_type": (module(".global .f16x2 x;", **OLD), module(".global .f16x2 x;")),
    "may_be_in_param": (
        module(".entry k(.param .f16x2 a) { ret; }"),
        module(".entry k(.param .f16x2 a[1]) { ret; }"),
    ),
    # attributes
    "may_have_attribute": (
        module(".const .attribute(.managed) .b32 x;"),
        module(".global .attribute(.managed) .b32 x;"),
    ),
    "attributes_take": (
        module(".global .attribute(.managed(1, 2)) .b32 x;"),
        module(".global .attribute(.managed) .b32 x;"),
    ),
    "is_supported": (
        module(".global .attribute(.unified(1, 2)) .b32 x;"),
        module(".global .attribute(.managed) .b32 x;"),
    ),
    "takes_unified": (k("st.global.b32 [%rd0].unified, 1;"), k("ld.global.b32 %r0, [%rd0].unified;")),
    "unified_variables_are_named": (
        k("ld.global.b32 %r0, [x].unified;", ".global .b32 x;"),
        k("ld.global.b32 %r0, [%rd0].unified;"),
    ),
    "parameters_may_point": (
        module(".func f(.param .b64 .ptr a) { ret; }"),
        module(".entry k(.param .b64 .ptr a) { ret; }"),
    ),
    # initializers
    "type_is_initialized": (module(".global .f16 x = 1.0;"), module(".global .f32 x = 1.0;")),
    "values_are_single": (module(".global .b32 x = { 1 };"), module(".global .b32 x = 1;")),
    "lists_are_in_braces": (module(".global .b32 x[1] = 1;"), module(".global .b32 x[1] = { 1 };")),
    "has_elements_for": (module(".global .b32 x[2] = { 1, 2, 3 };"), module(".global .b32 x[2] = { 1, 2 };")),
    "vectors_are_filled": (module(".global .v2 .b32 x = { 1 };"), module(".global .v2 .b32 x = { 1, 2 };")),
    "open_arrays_are_initialized": (module(".global .b32 x[];"), module(".global .b32 x[] = { 1 };")),
    "open_arrays_have_a_value": (module(".global .b32 x[] = { };"), module(".global .b32 x[] = { 1 };")),
    "begins_as": (module(".global .b16 x = 1.0;"), module(".global .b32 x = 1.0;")),
    "takes_an_address": (
        module(".global .b32 x; .global .b64 y = x;"),
        module(".global .b32 x; .global .u64 y = x;"),
    ),
    "addresses_are_known": (
        module(".global .u64 y = x; .global .b32 x;"),
        module(".global .b32 x; .global .u64 y = x;"),
    ),
    "points_into": (
        module(".shared .b32 x; .global .u64 y = x;"),
        module(".const .b32 x; .global .u64 y = x;"),
    ),
    "functions_stand_alone": (
        module(".func f() { ret; } .global .u64 y = f+4;"),
        module(".func f() { ret; } .global .u64 y = f;"),
    ),
    "takes_a_byte_of_an_address": (
        module(".global .b32 x; .global .b8 y = 0xff(x);"),
        module(".global .b32 x; .global .u8 y = 0xff(x);"),
    ),
    "is_a_mask": (
        module(".global .b32 x; .global .u8 y = 0xfe(x);"),
        module(".global .b32 x; .global .u8 y = 0xff00(x);"),
    ),
    "masks_take_whole_numbers": (module(".global .u8 y = 0xff(1.0);"), module(".global .u8 y = 0xff(1);")),
}  # fmt: skip

#: rules that nothing asks for where they are kept, since there is nothing then that they are about
ASKED_WHERE_BROKEN = {"is_whole", "may_be_initialized"}


def complaints(text: Text) -> list[Diagnostic]:
    """What is said of a module, or of several that are linked."""
    try:
        if isinstance(text, str):
            check(text)
        else:
            link(text)
    except ptxspec.PtxError as error:
        return error.diagnostics
    return []


def outcome(text: Text, rule: StaticRule[*tuple[object, ...]]) -> set[str]:
    """What is said of a text that cites a rule, or the error of a checker that counts on what the page says no longer."""
    try:
        return {str(one) for one in complaints(text) if one.page == where(rule)}
    except (AttributeError, KeyError, StopIteration, ZeroDivisionError) as error:
        return {repr(error)}


def every() -> dict[str, StaticRule[*tuple[object, ...]]]:
    _ = registry().pages  # loads all
    return STATIC_RULES


def test_every_static_rule_has_texts() -> None:
    assert every().keys() == CASES.keys() and len(CASES) > 140


@pytest.mark.parametrize("name", CASES)
def test_a_text_breaks_the_rule_and_another_keeps_it(name: str) -> None:
    """What is said of the first cites the line where the page states the rule; nothing is said of the other."""
    rule = every()[name]
    broken, kept = CASES[name]
    said = [one for one in complaints(broken) if one.page == where(rule)]
    assert said, [str(one) for one in complaints(broken)]
    assert "{" not in said[0].message or "{{" in rule.sentence
    page, _, line = where(rule).partition(":")
    assert (DOCUMENTS / page).read_text("utf-8").splitlines()[int(line) - 1].startswith("@static_rule(")
    assert [str(one) for one in complaints(kept)] == []


def contrary(rule: StaticRule[*tuple[object, ...]]) -> Callable[..., bool]:
    """The predicate of a page in which what it returns is negated, from the page's own text."""
    lines = Path(rule.path).read_text("utf-8").splitlines()[rule.line - 1 :]
    text = textwrap.dedent("\n".join(lines[: next(i for i, line in enumerate(lines) if line.startswith("```"))]))
    (function,) = (n for n in ast.parse(text).body if isinstance(n, ast.FunctionDef) and n.name == rule.name)
    function.decorator_list = []
    for node in ast.walk(function):
        if isinstance(node, ast.Return):
            assert node.value is not None
            node.value = ast.UnaryOp(ast.Not(), node.value)
    planted: dict[str, Callable[..., bool]] = {}
    tree = ast.fix_missing_locations(
        ast.Module([ast.parse("from __future__ import annotations").body[0], function], [])
    )
    exec(compile(tree, rule.path, "exec"), rule.holds.__globals__, planted)
    return planted[rule.name]


@pytest.mark.parametrize("name", CASES)
def test_a_page_that_says_the_contrary_is_obeyed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was said of the one text is no longer said, and the other is refused. Where others count on the rule, they may fail."""
    rule = every()[name]
    broken, kept = CASES[name]
    before = outcome(broken, rule)
    assert before and not outcome(kept, rule)
    known_shapes.forget()
    monkeypatch.setattr(rule, "holds", contrary(rule))
    try:
        assert not before & outcome(broken, rule)
        assert bool(outcome(kept, rule)) == (name not in ASKED_WHERE_BROKEN)
    finally:
        known_shapes.forget()


#: pairs of which ptxas 13.0 says something else, and why
OTHERWISE = {
    "is_a_count": "no assembler has memory for as many",
    "has_addresses_of": "ptxas is asked for sm_90, which has no 32-bit addresses",
    "forms_have_their_addresses": "ptxas is asked for sm_90, which has no 32-bit addresses",
    "version_still_has": "ptxas warns that it compiles without an ABI",
    "aliases_lead_elsewhere": "ptxas refuses an alias of itself, and takes a circle of two",
    "opaque_variables_are_no_arrays": "the page says that ptxas accepts them",
    "unified_mode_names_no_samplers": "ptxas takes the handle and does not use it",
    "fields_are_whole": "AMB-210",
    "has_handles_for": "the number of handles is the model's",
    "func_is_of_a_function": "AMB-171",
    "entry_is_of_an_entry": "AMB-171",
    "begins_as": "AMB-160",
}


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", [name for name, (text, _) in CASES.items() if isinstance(text, str)])
def test_the_assembler_states_the_same_rule(name: str, assembler: str) -> None:
    broken, kept = CASES[name]
    assert isinstance(broken, str) and isinstance(kept, str)
    same = bool(assemble(broken, "sm_90", "-O0")) and not assemble(kept, "sm_90", "-O0")
    assert same == (name not in OTHERWISE)


def test_a_sentence_names_facts_the_page_and_what_the_checker_adds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registries, "STATIC_RULES", {})

    @static_rule("{who} has {given} of {LEAST[kind]}, since {version:.}; see {words:, }")
    def has_enough(kind: str, given: int, version: tuple[int, int]) -> bool:
        return given >= LEAST[kind]

    assert has_enough("a", 3, (8, 1)) and not has_enough("b", 3, (8, 1))
    assert has_enough.message("b", 3, (8, 1), who="f", words=["x", "y"]) == "f has 3 of 4, since 8.1; see x, y"
    assert has_enough.outline == "{who} has {given} of {LEAST[kind]}, since {version}; see {words}"
    with pytest.raises(TermError, match="has_enough is stated twice"):
        static_rule("another")(has_enough.holds)

    @static_rule("{{{most!r}}} of {MOST[0]:.}, {MOST[1]:, }")
    def has_more(most: int) -> bool:
        return True

    assert has_more.message(3) == "{3} of 8.1, 4" and has_more.outline == "{{most}} of 8.1, 4"


LEAST, MOST = {"a": 3, "b": 4}, ((8, 1), (4,))
