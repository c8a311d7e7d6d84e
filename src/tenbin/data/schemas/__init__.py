"""Rows to documents: what the rows of each pinned data set must hold, and the fields templates see.

One function per schema, one module per family of sets. Copies of the same data differ in spelling;
the functions accept all known spellings, so that later stages meet one form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from tenbin.data.rows import Row
from tenbin.data.schemas.checks import Dropped, take_identifier, take_text
from tenbin.data.schemas.instructions import instructions_document
from tenbin.data.schemas.japanese import (
    janli_document,
    jcola_document,
    jcommonsensemorality_document,
    jemhopqa_document,
    jmmlu_document,
    jnli_neg_document,
    niilc_document,
)
from tenbin.data.schemas.jglue import (
    jcommonsenseqa_document,
    jnli_document,
    marc_ja_document,
    squad_document,
)
from tenbin.data.schemas.mgsm import mgsm_document
from tenbin.data.schemas.mlogiqa import mlogiqa_document
from tenbin.data.schemas.parallel import (
    belebele_document,
    bmlama_document,
    global_mmlu_document,
    pawsx_document,
    xcopa_document,
    xnli_document,
)
from tenbin.data.schemas.pmmeval import (
    pmmeval_mgsm_document,
    pmmeval_mhellaswag_document,
    pmmeval_mmmlu_document,
    pmmeval_xnli_document,
)
from tenbin.data.schemas.xquad import xquad_document
from tenbin.records import Document


def text_document(row: Row, number: int) -> Document:
    """Read a text that is scored as a whole."""
    fields = {"text": take_text(row, "text")}
    return Document(take_identifier(row, "id", number), fields, None, row.origin, number)


Schema = Callable[[Row, int], Document | Dropped]
"""Makes a document of a row and its number in the split, or says why it is left out."""

SCHEMAS: Mapping[str, Schema] = {
    "jcommonsenseqa": jcommonsenseqa_document,
    "jnli": jnli_document,
    "marc_ja": marc_ja_document,
    "squad": squad_document,
    "mgsm": mgsm_document,
    "mlogiqa": mlogiqa_document,
    "pmmeval_mgsm": pmmeval_mgsm_document,
    "pmmeval_mhellaswag": pmmeval_mhellaswag_document,
    "pmmeval_mmmlu": pmmeval_mmmlu_document,
    "pmmeval_xnli": pmmeval_xnli_document,
    "instructions": instructions_document,
    "xquad": xquad_document,
    "text": text_document,
    "belebele": belebele_document,
    "bmlama": bmlama_document,
    "global_mmlu": global_mmlu_document,
    "pawsx": pawsx_document,
    "xnli": xnli_document,
    "jmmlu": jmmlu_document,
    "jcola": jcola_document,
    "jcommonsensemorality": jcommonsensemorality_document,
    "jnli_neg": jnli_neg_document,
    "janli": janli_document,
    "niilc": niilc_document,
    "jemhopqa": jemhopqa_document,
    "xcopa/test": partial(xcopa_document, "test"),
    "xcopa/validation": partial(xcopa_document, "validation"),
}
