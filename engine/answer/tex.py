r"""TeX commands that JSON took for control characters: `"\frac"` parses as a form feed and "rac".

Invariant: a control character becomes a backslash and its letter only where they spell a TeX
command with the letters that follow: a form feed or a backspace anywhere, a tab or line break
inside mathematics.
"""

from __future__ import annotations

import re

from aijobs.engine.answer.plain_text import map_texts
from aijobs.engine.answer.reading import Reading
from aijobs.engine.errors import AnswerFault

_LETTERS = {"\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}
_COMMANDS = frozenset(
    re.findall(
        r"\w+",
        """
    backepsilon backprime backsim backsimeq backslash bar barwedge bcancel because begin begingroup
    beta beth between bf bfseries bgroup big bigcap bigcirc bigcup bigg biggl biggr bigl bigodot
    bigoplus bigotimes bigr bigsqcup bigstar bigtriangledown bigtriangleup biguplus bigvee bigwedge
    binom blacksquare blacktriangle bm bmod bold boldmath boldsymbol bot bowtie box boxdot boxed
    boxminus boxplus boxtimes bra braket breve buildrel bullet bumpeq
    fallingdotseq fbox fcolorbox fi flat flushleft flushright footnote footnotesize forall frac frak
    framebox frown
    nRightarrow nLeftarrow nLeftrightarrow nVdash nabla natural ncong ne nearrow neg neq newcommand
    newline nexists ngeq ngtr ni nicefrac nleftarrow nleftrightarrow nleq nless nmid nobreak
    nolimits nonumber normalsize not notag notin nparallel nprec nrightarrow nsim nsubset nsubseteq
    nsucc nsupseteq ntriangleleft ntriangleright nu nvdash nwarrow
    raise raisebox rangle rank rbrace rbrack rcases rceil real ref renewcommand restriction rfloor
    rgroup rhd rho right rightarrow rightarrowtail rightharpoondown rightharpoonup rightleftarrows
    rightleftharpoons rightrightarrows rightsquigarrow risingdotseq rm rmoustache root rtimes rule
    rVert rvert
    tag tan tanh tau tbinom text textasciitilde textbackslash textbf textcircled textcolor
    textdegree textgreater textit textless textmu textnormal textrm textsc textsf textstyle
    textsuperscript textsubscript texttt textup tfrac therefore theta thickapprox thicksim thinspace
    tilde times tiny to top tr triangle triangledown triangleleft trianglelefteq triangleq
    triangleright trianglerighteq tt twoheadleftarrow twoheadrightarrow
    """,
    )
)
_ANYWHERE = re.compile("([\b\f])([A-Za-z]+)")
_IN_MATHEMATICS = re.compile("([\n\r\t])([A-Za-z]+)")
#: $$...$$, $...$ (as pandoc reads it: no space inside, no digit after), \(...\), \[...\].
_MATHEMATICS = re.compile(
    r"""\$\$.+?\$\$
      | (?<![\\$]) \$ (?![ $]) (?:[^$\\]|\\.)+? (?<!\ ) \$ (?![$\d])
      | \\\( .+? \\\)
      | \\\[ .+? \\\]""",
    re.DOTALL | re.VERBOSE,
)

#: Of an environment that was not escaped, the row breaks parse as one backslash: nobody wrote one.
_UNESCAPED_ENVIRONMENT = re.compile(r"(?<!\\)\\begin\{")
_UNESCAPED_ROW = re.compile(r"(?<!\\)\\\\(?!\\|[A-Za-z]{2})")
_MAX_CHARACTERS = 8_000


def restore_tex(reading: Reading) -> None:
    """Restore the commands in every text of the value."""
    restored = map_texts(reading.value, restored_text)
    if restored != reading.value:
        reading.value = restored
        reading.repaired("TeX commands restored")
    if any(map(_has_lost_rows, (reading.text, *reading.sources))):
        raise AnswerFault("OUTPUT_INVALID_JSON", "Escape every backslash: write \\\\\\\\ for \\\\.")


def _has_lost_rows(source: str) -> bool:
    return bool(_UNESCAPED_ENVIRONMENT.search(source) and _UNESCAPED_ROW.search(source))


def restored_text(text: str) -> str:
    """`text` with its TeX commands restored; a text too long for any schema as it is."""
    if len(text) > _MAX_CHARACTERS:
        return text
    text = _ANYWHERE.sub(_command, text)
    return _MATHEMATICS.sub(_mathematics, text)


def _mathematics(match: re.Match[str]) -> str:
    return _IN_MATHEMATICS.sub(_command, match[0])


def _command(match: re.Match[str]) -> str:
    command = _LETTERS[match[1]] + match[2]
    return "\\" + command if command in _COMMANDS else match[0]
