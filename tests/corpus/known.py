"""Where our verdict on a module may differ from that of ptxas."""

from __future__ import annotations

import re
from collections.abc import Iterable

from mutants import Account, Verdict

#: what may differ: what the complaint of the one who refuses says, and the entry of the register of ambiguities, or why
KNOWN = {
    # ptxas is laxer than the text
    "we refuse: only a variable's address takes an offset here": "AMB-196",
    "we refuse: # does not fit into # bits": "AMB-197",
    "we refuse: .* cannot access a variable in": "AMB-198",
    "we refuse: (ld|st|ldu|atom|red)\\S* needs an address in brackets here, not a variable's address": "AMB-198",
    "we refuse: .* needs a register of type .pred here, not the sink": "AMB-199",
    "we refuse: an address register has an integer": "AMB-204",
    "we refuse: a generic address has # bits [|] ((ld|st)matrix|wmma)": "AMB-204",
    "we refuse: a generic address has # bits [|] (st|red).async": "AMB-204",
    "we refuse: an address in .global has # bits [|] cp.async": "AMB-204",
    "we refuse: \\w+ is no address [|] fence.proxy.tensormap": "AMB-204",
    "we refuse: there is no wgmma\\S*.sync(?!.aligned)": "AMB-411",
    "we refuse: there is no wmma.(load.c|store.d)\\S*.f#;": "AMB-304",
    "we refuse: mma\\S*m#n#k#.row.col.f#.f#.f#.f# needs a constant from # to # here": "AMB-283",
    "we refuse: an address is a register or a variable": "AMB-204",
    "we refuse: .* cannot read a special register": "AMB-204",
    "we refuse: .* not a register with a selector or a minus sign": "AMB-204",
    "we refuse: .* needs .* here, this is of type .f#x#": "AMB-204",
    "we refuse: .* here, not (a variable's address|operands in braces)": "AMB-204",
    "we refuse: w?mma\\S* needs [.]\\w+# here, this is of type [.][sf]#": "AMB-204",
    "we refuse: mma\\S* needs a value of type [.]\\w+#x# here, not an integer constant": "AMB-204",
    "we refuse: multimem\\S*[.]v#[.]f# needs a value of type [.]f# here, not an integer constant": "AMB-204",
    "we refuse: (set|red)[.]\\S* needs [.]b?f# here, this is of type [.]s#": "AMB-204",
    "we refuse: an address that is a number alone is one of .local [|] fence": "AMB-204",
    "we refuse: there is no (testp.f|\\S*[.]pred[.])": "AMB-204",
    "we refuse: there is no st.*\\.param": "AMB-204",
    "we refuse: expected a statement, not '.([busf]#|attribute)": "AMB-205",
    "we refuse: expected a variable's name": "AMB-205",
    "we refuse: expected a statement or '}', not '.alias'": "AMB-205",
    "we refuse: expected '.noreturn', .* not '.(visible|weak|extern|func|global|const|shared)'": "AMB-205",
    "we refuse: a variable in .reg takes no attribute": "AMB-205",
    "we refuse: expected '.ptr' or a parameter's name": "AMB-205",
    "we refuse: a register is no array and has no alignment": "AMB-205",
    "we refuse: expected .* a parameter's name, not '([(]|.align|.ptr|.attribute)'": "AMB-205",
    "we refuse: expected a size, at least #": "AMB-206",
    "we refuse: # values for # elements": "AMB-206",
    "we refuse: .* needs a value of type .* here, not a floating-point constant": "AMB-207",
    "we refuse: exact bits of single precision stand alone": "AMB-207",
    "we refuse: \\S+ is no option of .target": "AMB-208",
    "we refuse: \\S+ is no known target": "AMB-208",
    "we refuse: expected a target, not 'sm_#.address_size'": "AMB-208",
    "we refuse: expected ',' or ';', not '.[\\w#]+'": "AMB-209",
    "we refuse: this constant is no value of type": "AMB-160",
    "we refuse: \\w+ is an integer": "AMB-210",
    "we refuse: \\w+ was declared with another state space": "AMB-164",
    "we refuse: .* needs a value of type .* here, not an? (function|entry)'s name": "AMB-166",
    "we refuse: there is no fma.r[zmp].*bf#": "AMB-155",
    "we refuse: \\S+[.]f# needs target sm_#": "AMB-227",
    # the text is laxer than ptxas
    "ptxas refuses: Alignment of argument does not match": "alignments of registers are not compared",
    "ptxas refuses: Parsing error near '[-+*/%&|^?<>=~!(WARP_SZ]+'": "AMB-116",
    "we refuse: '#' belongs at the beginning of a line": "ptxas takes lines for a preprocessor anywhere",
    "ptxas refuses: ptxas fatal .*Insufficient registers": "how many registers machine code needs is not looked at",
    "ptxas refuses: ptxas error   : Pragma": "what a pragma says is not looked at",
    "we refuse: # bytes in ": "memory of this machine",
    "we refuse: atom\\S*[.](and|or|xor|exch)[.]b# takes # operands, not #": "ptxas takes a fourth operand, and breaks down on some",
    # what is not described yet
    "we refuse: .e#m# is no type": "types that only tensors have",
    "we refuse: arrays of type": "arrays of opaque variables",
    "we refuse: there is no ld.*evict": "hints for the cache of small loads",
}


def known(verdict: Verdict) -> bool:
    """Whether a difference is one of these."""
    message = ("we refuse: " if verdict.ours else "ptxas refuses: ") + (verdict.ours or verdict.theirs or "")
    return any(re.match(one, re.sub(r"\d+", "#", message)) for one in KNOWN)


def accounted(found: Iterable[Verdict], seconds: float, few: int = 0) -> Account:
    """The account of verdicts. Differences that are not known fail if there are more than one in a thousand, or than a `few`; so
    does what the checker takes more seconds for, and what has too many gaps."""
    account, unknown, count = Account(), [], 0
    for verdict in found:
        assert verdict.seconds < seconds, verdict.mutant
        account.add([verdict])
        count += 1
        if not (verdict.crashed or verdict.dropped or verdict.gaps or verdict.agrees or known(verdict)):
            unknown.append(f"{verdict.mutant.what}: {verdict.ours or verdict.theirs}")
    assert account.seen.total() + account.gaps.total() + account.dropped > 0.98 * count
    assert account.dropped < 0.02 * count
    assert account.gaps.total() < 0.1 * count
    assert len(unknown) <= max(few, count // 1000), unknown
    return account
