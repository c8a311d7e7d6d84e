"""Which language a task is in, by its name and data set; the names are lm-eval's."""

from __future__ import annotations

import pytest

from tenbin.tasks.lm_eval.languages import language_of


@pytest.mark.parametrize(
    ("name", "config", "path", "language"),
    [
        ("xnli_zh", "zh", "facebook/xnli", "zh"),
        ("belebele_jpn_Jpan", "jpn_Jpan", "facebook/belebele", "ja"),
        ("belebele_arz_Arab", "arz_Arab", "facebook/belebele", "arz"),
        ("global_piqa_parallel_cloze_kat_geor", "kat_geor", "x/global-piqa", "ka"),
        ("mmlu_prox_ja_math", "ja", "li-lab/MMLU-ProX", "ja"),
        ("mmmlu_ja_jp_world_religions", "JA_JP", "openai/MMMLU", "ja"),
        ("xwinograd_jp", "jp", "Muennighoff/xwinograd", "ja"),
        ("arc_is", "is", "x/m_arc", "is"),
        ("hellaswag_it", "it", "x/m_hellaswag", "it"),
        ("multiblimp_abk", "abk", "x/multiblimp", "ab"),
        ("afrisenti_pcm_prompt_1", "pcm", "masakhane/afrisenti", "pcm"),
        ("xlsum_amharic_prompt_3", "amharic", "csebuetnlp/xlsum", "am"),
        ("include_base_44_albanian_few_shot_en_stem", "Albanian", "x/include", "sq"),
        ("include_base_44_north_macedonian_stem", "North Macedonian", "x/include", "mk"),
        ("uhura-arc-easy_ha_prompt_1", "ha_multiple_choice", "x/uhura-arc-easy", "ha"),
        ("mmlu_de_llama_logic", "Llama-3.1__multilingual_mmlu_de__details", "x/evals", "de"),
        ("xquad_ar", "xquad.ar", "google/xquad", "ar"),
        ("mlqa_ar_ar", "mlqa.ar.ar", "facebook/mlqa", "ar"),
        ("openbookqa_bn", None, "hishab/openbookqa-bn", "bn"),
        ("arabic_mt_boolq", "boolq_ar", "x/Native", "ar"),
        ("ja_leaderboard_jaqket_v2", None, "x/JAQKET", "ja"),
        ("tydiqa_goldp_id", "secondary_task", "x/tydiqa", "id"),
        ("mmlu_anatomy_generative_spanish", "anatomy", "x/mmlu", "es"),
        # Translations: into what.
        ("wmt16-en-de", "de-en", "wmt/wmt16", "de"),
        ("wmt-ro-en-t5-prompt", "ro-en", "wmt/wmt16", "en"),
        ("iwslt2017-ar-en", "iwslt2017-en-ar", "IWSLT/iwslt2017", "en"),
        ("flores_ace_Arab-eng_Latn_prompt_3", "ace_Arab-eng_Latn", "facebook/flores", "en"),
        ("ntrex_amh_Ethi-eng_Latn_prompt_1", "amh_Ethi", "x/ntrex_african", "en"),
        ("mafand_en-zul_prompt_2", "en-zul", "masakhane/mafand", "zu"),
        ("basque_bench_flores_eu-ca", "all", "facebook/flores", "ca"),
        # Nothing says it, or two languages do.
        ("arc_easy", "ARC-Easy", "allenai/ai2_arc", "und"),
        ("truthfulqa_gen", "generation", "truthfulqa/truthful_qa", "und"),
        ("winogrande_xs", "winogrande_xs", "allenai/winogrande", "und"),
        ("mc_taco", None, "CogComp/mc_taco", "und"),
        ("mlqa_ar_de", "mlqa.ar.de", "facebook/mlqa", "und"),
        ("agieval_lsat_ar", None, "hails/agieval-lsat-ar", "und"),
        ("agieval_jec_qa_ca", None, "hails/agieval-jec-qa-ca", "und"),
        ("kmmlu_hard_law", "law", "x/KMMLU-HARD", "und"),
        ("winogender_all", "all", "x/winogender", "und"),
        ("uncheatable_eval_arxiv_cs", None, "x/uncheatable", "und"),
        ("matreshka_yes_no", None, "x/matreshka", "und"),
        ("persona_believes-it-is-a-moral-patient", "believes-it-is-a", "x/persona", "und"),
        ("lm_syneval__prep_anim__plur_ES", "lm_syneval__prep_anim__plur_ES", "x/y", "und"),
        ("bigbench_chinese_remainder_theorem", "chinese_remainder", "hails/bigbench", "und"),
        ("bigbench_swedish_to_german_proverbs", "swedish_to_german", "hails/bigbench", "und"),
        ("evalita-mp_te_prompt-2", None, "evalitahf/textual_entailment", "und"),
    ],
)
def test_language(name: str, config: str | None, path: str, language: str) -> None:
    assert language_of(name, {"dataset_name": config, "dataset_path": path}) == language


@pytest.mark.parametrize("said", ["ja", "jpn", "ja-JP", "Japanese"])
def test_what_the_file_says_comes_first(said: str) -> None:
    assert language_of("xnli_zh", {"dataset_name": "zh", "metadata": {"language": said}}) == "ja"
    assert language_of("xnli_zh", {"dataset_name": "zh", "language": said}) == "ja"


def test_values_of_any_type_are_taken() -> None:
    mapping = {"metadata": [1], "dataset_name": 2024, "dataset_path": None, "language": {"x": 1}}
    assert language_of("xnli", mapping) == "und"
