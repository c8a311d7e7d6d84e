"""The tasks that are compared, and at how many shots."""

from __future__ import annotations

from dataclasses import dataclass

SHOTS = (0, 2, 5)


@dataclass(frozen=True, slots=True)
class Case:
    """A name as `--tasks` takes it: a task or a group."""

    name: str
    shots: tuple[int, ...] = SHOTS
    real: bool = False
    """Whether its rows are published ones."""
    quick: bool = False
    """Whether `--quick` has it."""
    weights: bool = False
    """Whether it is also asked of the tiny model with weights."""
    small: bool = False
    """Whether it is also asked of SmolLM2-135M, which takes longer."""


CASES = (
    Case("xnli_en", real=True, quick=True, weights=True, small=True),
    Case("xnli_zh", real=True),
    Case("xnli_th", real=True, weights=True),
    Case("paws_en", real=True, weights=True),
    Case("paws_ja", real=True),
    Case("paws_de", real=True),
    Case("xcopa_et", real=True, weights=True, small=True),
    Case("xcopa_zh", real=True),
    Case("xcopa_vi", real=True),
    Case("mgsm_direct_ja", real=True, quick=True, weights=True, small=True),
    Case("mgsm_direct_en", real=True),
    Case("mgsm_native_cot_ja", real=True),
    Case("mgsm_native_cot_zh", real=True),
    Case("mgsm_en_cot_ja", real=True),
    Case("xquad_en", real=True, weights=True),
    Case("xquad_zh", real=True),
    Case("xquad_ru", real=True),
    Case("logiqa", real=True, weights=True),
    Case("ja_leaderboard_jnli", real=True, weights=True),
    Case("ja_leaderboard_jcommonsenseqa", real=True, quick=True, weights=True, small=True),
    Case("ja_leaderboard_jsquad", real=True, weights=True),
    Case("ja_leaderboard_mgsm", real=True),
    Case("ja_leaderboard_xwinograd", weights=True),
    Case("hellaswag", quick=True, weights=True, small=True),
    Case("arc_easy", weights=True),
    Case("arc_challenge"),
    Case("winogrande", quick=True, weights=True, small=True),
    Case("gsm8k", quick=True, weights=True),
    Case("mmlu", quick=True),
    Case("mmlu_anatomy", weights=True, small=True),
    Case("belebele_jpn_Jpan", weights=True),
    Case("boolq"),
    Case("boolq-seq2seq"),
    Case("super_glue-boolq-t5-prompt", quick=True),
    Case("lambada_openai", quick=True, weights=True, small=True),
    Case("wikitext", (0,), quick=True, weights=True, small=True),
    Case("bbh_cot_fewshot_boolean_expressions", (0, 2, 3), quick=True),
    Case("truthfulqa_mc1", weights=True),
    Case("truthfulqa_mc2", quick=True),
    Case("coqa"),
    Case("drop", quick=True),
    Case("wmt16-ro-en", quick=True),
    Case("blimp_adjunct_island", weights=True),
    Case("mrpc", quick=True),
    Case("cola"),
    Case("cb", quick=True),
    Case("triviaqa"),
    Case("nq_open"),
    Case("arc_challenge_llama"),
    Case("global_piqa_nonparallel_cloze_jpn_jpan"),
    Case("made_several_golds", quick=True),
    Case("made_prefix", quick=True),
    Case("made_scores", quick=True),
    Case("made_filters", quick=True),
    Case("made_group", (0, 2), quick=True),
)
