"""The language of a task that does not say it in a key of its own.

lm-eval's files have no key for it; most multilingual ones name it in the data set's configuration
or in the task's name. A wrong language is worse than none, so a code counts only where languages
stand: alone as the configuration, or both in the name and in the data set.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

UNKNOWN = "und"


def _pairs(text: str) -> Mapping[str, str]:
    return dict(pair.split(":") for pair in text.split())


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Three letters (ISO 639-3) and two (ISO 639-1). Several of three may be one language of two: the
# standard variety of a language that has varieties.
_TWO_LETTERS: Mapping[str, str] = _pairs(
    """
    aar:aa abk:ab afr:af aka:ak als:sq amh:am ara:ar arb:ar arg:an asm:as ava:av aym:ay ayr:ay
    aze:az azj:az bak:ba bam:bm bel:be ben:bn bis:bi bod:bo bos:bs bre:br bul:bg cat:ca ces:cs
    che:ce chu:cu chv:cv cmn:zh cor:kw cos:co cre:cr cym:cy dan:da deu:de div:dv dzo:dz ekk:et
    ell:el eng:en epo:eo est:et eus:eu ewe:ee fao:fo fas:fa fij:fj fin:fi fra:fr fry:fy ful:ff
    fuv:ff gaz:om gla:gd gle:ga glg:gl glv:gv grn:gn guj:gu hat:ht hau:ha heb:he her:hz hin:hi
    hrv:hr hun:hu hye:hy ibo:ig ido:io iii:ii iku:iu ile:ie ina:ia ind:id ipk:ik isl:is ita:it
    jav:jv jpn:ja kal:kl kan:kn kas:ks kat:ka kau:kr kaz:kk khk:mn khm:km kik:ki kin:rw kir:ky
    kom:kv kon:kg kor:ko kua:kj kur:ku lao:lo lat:la lav:lv lim:li lin:ln lit:lt ltz:lb lub:lu
    lug:lg lvs:lv mah:mh mal:ml mar:mr mkd:mk mlg:mg mlt:mt mon:mn mri:mi msa:ms mya:my nau:na
    nav:nv nbl:nr nde:nd ndo:ng nep:ne nld:nl nno:nn nob:nb nor:no npi:ne nya:ny oci:oc oji:oj
    ori:or orm:om ory:or oss:os pan:pa pbt:ps pes:fa pli:pi plt:mg pol:pl por:pt pus:ps que:qu
    quy:qu roh:rm ron:ro run:rn rus:ru sag:sg san:sa sin:si slk:sk slv:sl sme:se smo:sm sna:sn
    snd:sd som:so sot:st spa:es sqi:sq srd:sc srp:sr ssw:ss sun:su swa:sw swe:sv swh:sw tah:ty
    tam:ta tat:tt tel:te tgk:tg tgl:tl tha:th tir:ti ton:to tsn:tn tso:ts tuk:tk tur:tr twi:tw
    uig:ug ukr:uk urd:ur uzb:uz uzn:uz ven:ve vie:vi vol:vo wln:wa wol:wo xho:xh ydd:yi yid:yi
    yor:yo zha:za zho:zh zsm:ms zul:zu
    """
)
_CODES = frozenset(_TWO_LETTERS.values())
_OTHERS = _words(
    """
    ace acm acq aeb ajp aln apc apu aqz arq ars ary arz ast awa azb azz ban bbj bem bho bjn bor
    bua bug ceb cjk ckb crh dik dyu egy fil fon frm fro fur got grc hbo hbs hit hne hsb hyw ilo
    kab kac kam kbp kea kmb kmr knc koi kpv krl kxh lij lmo ltg lua luo lus mag mai mdf mey min
    mni mos myv nds nhi nso nus olo orv ota pag pap pcm prs quc sah sat scn shi shn sms szl taq
    tpi tpn ttc tum tzm umb urb vai vec vep war wbp xcl xnr xpg yrl yue
    """
)
"""Languages without a code of two letters that data sets are about. Most three letters are some
language's code: `law`, `all` and `wic` too."""
_SCRIPTS = _words(
    """
    arab armn beng cyrl deva ethi geor grek gujr guru hang hans hant hebr jpan khmr knda kore
    laoo latn mlym mymr olck orya sinh taml telu tfng thai tibt
    """
)
_SPELLINGS: Mapping[str, str] = {"jp": "ja", "va": "ca"}
"""Codes that are none of ISO's but stand for languages: of a country, and for Valencian."""
_NAMES: Mapping[str, str] = _pairs(
    """
    afrikaans:af albanian:sq amharic:am arabic:ar armenian:hy azerbaijani:az basque:eu
    belarusian:be bengali:bn bulgarian:bg burmese:my catalan:ca chinese:zh croatian:hr czech:cs
    danish:da dutch:nl english:en estonian:et farsi:fa finnish:fi french:fr galician:gl
    georgian:ka german:de greek:el gujarati:gu hausa:ha hebrew:he hindi:hi hungarian:hu
    icelandic:is igbo:ig indonesian:id italian:it japanese:ja kannada:kn kazakh:kk
    kinyarwanda:rw kirundi:rn korean:ko kyrgyz:ky latvian:lv lithuanian:lt macedonian:mk
    malay:ms malayalam:ml marathi:mr nepali:ne norwegian:no oromo:om pashto:ps persian:fa
    polish:pl portuguese:pt punjabi:pa romanian:ro russian:ru serbian:sr shona:sn sinhala:si
    slovak:sk slovenian:sl somali:so spanish:es swahili:sw swedish:sv tagalog:tl tamil:ta
    telugu:te thai:th tigrinya:ti turkish:tr ukrainian:uk urdu:ur uzbek:uz vietnamese:vi
    wolof:wo xhosa:xh yoruba:yo zulu:zu
    """
)
_WORDS = _words(
    """
    ab am an as av ba be ce ch co cr cs cu cv ee el et ff ho ie ii in io is kg ki kr ks kv la li
    lo lu me mh mi ml ms mt my na nd ne ng no nr om or os pa pi ps rm sa sc sd se sg si sm so ss
    st su te ti tk tn to ts tt tw ve vo wa za
    """
)
"""Codes that are also words or abbreviations (`yes_no`, `arxiv_cs`, `te` for textual entailment):
they count only alone, as a configuration."""
_LEADING = _words("ar de es fr hi ja ko nl pl pt ru th tr vi zh")
_SECTIONS = ("lsat_ar", "jec_qa_ca")
"""Ends of names that are parts of an exam: analytical reasoning, case analysis."""

_NO_LANGUAGES = re.compile("chinese_remainder|spanish_region")

_WITH_SCRIPT = re.compile(r"([a-z]{3})_([A-Za-z]{4})(?:_[a-z]{4})?")
_LOCALE = re.compile(r"([A-Za-z]{2})[_-][A-Z]{2}")
_CODE = r"[a-z]{3}_[A-Z][a-z]{3}|[a-z]{2,3}"
_PAIR = re.compile(rf"(?:^|_|\bwmt\d*-|\biwslt\d*-)({_CODE})-({_CODE})(?=$|_(?!to)|-t5)")


def language_of(name: str, mapping: Mapping[str, Any]) -> str:
    """The code of a task's language, of two letters where it has one; `und` if nothing says it.

    For translations it is the language that is translated into.

    Args:
        name: The task's name.
        mapping: Its file, with what it includes.
    """
    return (
        _said(mapping)
        or _translated_into(name)
        or _configured(mapping.get("dataset_name"), name)
        or _shared(name, mapping)
        or _at_the_ends(name)
        or _spelt_out(name)
        or UNKNOWN
    )


def _said(mapping: Mapping[str, Any]) -> str | None:
    metadata = mapping.get("metadata")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    for said in (mapping.get("language"), metadata.get("language"), metadata.get("lang")):
        if isinstance(said, str) and (code := _code(said) or _NAMES.get(said.lower())):
            return code
    return None


def _code(text: str) -> str | None:
    """The language that a text names as a whole: `ja`, `jpn`, `jpn_Jpan`, `ja-JP`."""
    if text in _CODES or text in _OTHERS:
        return text
    if text in _TWO_LETTERS:
        return _TWO_LETTERS[text]
    script = _WITH_SCRIPT.fullmatch(text)
    if script is not None and script[2].lower() in _SCRIPTS:
        return _TWO_LETTERS.get(script[1], script[1])
    locale = _LOCALE.fullmatch(text)
    if locale is not None and locale[1].lower() in _CODES:
        return locale[1].lower()
    return None


def _translated_into(name: str) -> str | None:
    for pair in _PAIR.finditer(name):
        source, target = (_code(one) or _SPELLINGS.get(one) for one in pair.groups())
        if source and target and source != target:
            return target
    return None


def _configured(config: Any, name: str) -> str | None:
    """The language that the data set's configuration is named after."""
    if not isinstance(config, str):
        return None
    if len(config) == 3 and config not in _tokens(name):
        return None
    return _code(config) or _SPELLINGS.get(config) or _NAMES.get(config.lower().split(" ")[-1])


def _shared(name: str, mapping: Mapping[str, Any]) -> str | None:
    """The one code that stands in the name and at an end of the configuration or the data set."""
    # As written: capitals are abbreviations of something else.
    said = {_NAMES.get(token, token) for token in re.split(r"[^A-Za-z0-9]+", name)}
    for key in ("dataset_name", "dataset_path"):
        value = mapping.get(key)
        if not isinstance(value, str):
            continue
        tokens = _tokens(value.rpartition("/")[2])
        found = {token for token in tokens if token in _CODES and token not in _WORDS}
        shared = found & said
        inner = re.search(r"_([a-z]{2})__", value)
        placed = {tokens[0], tokens[-1], inner[1] if inner else ""} if tokens else set()
        if len(found) == 1 and shared & placed and not name.endswith(_SECTIONS):
            return shared.pop()
    return None


def _at_the_ends(name: str) -> str | None:
    parts = name.split("_")
    found = {part for part in parts if part in _CODES and part not in _WORDS}
    if len(parts) < 2 or len(found) != 1 or name.endswith(_SECTIONS):
        return None
    if parts[-1] in found or parts[0] in found & _LEADING:
        return found.pop()
    return None


def _spelt_out(name: str) -> str | None:
    found = {_NAMES[token] for token in _tokens(_NO_LANGUAGES.sub("", name)) if token in _NAMES}
    return found.pop() if len(found) == 1 else None


def _tokens(text: str) -> list[str]:
    return [token for token in re.split(r"[^a-z0-9]+", text.lower()) if token]
