"""Read the label that an answer gives as a word: 含意, はい, "non-entailment".

The order is: the last label that is announced (「答えは中立です」, `{"label": "neutral"}`); a label
that opens the answer; the last label that stands anywhere. Labels are passed over that are denied
(「含意ではなく」), supposed (「なら含意」), or listed without a decision (「含意か中立」).
Of two labels, denying one gives the other. As in `flexible`, what follows a retraction is read
first, and an invented next question is not read.

Denials and announcements are known in Japanese and English.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from tenbin.metrics.extraction.clean import BOXED, simplify, strip_thinking
from tenbin.metrics.extraction.sections import parts_to_read
from tenbin.metrics.repetition import shorten

_KEPT = 512
_KEPT_PERIODS = 12
_WINDOW = 40
"""Characters around a label that say how it stands."""

_KANA = "ぁ-ゖ"
_JAPANESE = f"{_KANA}ァ-ヺー一-鿿々"
_OPENING = r"[\s\"'(\[「『【〈《<{|" + BOXED + "]*"
_CLOSING = r"[\"')\]」』】〉》>}|]*"
_HYPHENS = dict.fromkeys((0x2010, 0x2011, 0x2012, 0x2013, 0x2212), "-")

_HEADING = (
    r"(?:答え?|回答|解答|正解|関係(?:性)?|判断|判定|結論|結果|ラベル|分類|感情(?:クラス)?|センチメント|出力|応答|評価"
    r"|answer|label|relation(?:ship)?|output|prediction|sentiment|class(?:ification)?|judge?ment)"
)
_ANNOUNCED_BEFORE = re.compile(
    rf"(?:{_HEADING}[\"'」』】]?\s*(?:は、?|が|:|=|\n|is|as)\s*|{BOXED}\s*){_OPENING}$",
    re.IGNORECASE,
)
_ANNOUNCED_AFTER = re.compile(
    rf"{_CLOSING}(?:です|だ(?!が|けど|ろうか)|である(?!が)|であり|とな[りる]|になりま|にな[る。]|と(?:判断|判定|答え|回答|結論)|とし|とする"
    r"|と(?:言|い)え(?:る|ま(?!せ))|が(?:適切|正し|当てはま|妥当|正解|最も)|に(?:該当|分類|当た)|と思(?:い|う|わ)|と考え(?:ます|る)"
    r"|だと(?:思|考)|して(?:い(?:る|ま(?!せ)))|しま(?!せ)|関係にあ(?:る|り(?!ませ)))"
)
_NOUN = (
    r"(?:べき|はず|こと|もの|わけ|行為|な?点|ところ|部分|箇所|内容|記述|要素|表現|評価|意見|印象"
    r"|感情|レビュー|文|関係)"
)
"""What may stand between a label and its denial: 「許されるべきではない」."""
_DENIED_AFTER = re.compile(
    rf"{_CLOSING}(?:関係)?(?:する|される|して[いお]る|されて[いお]る|しうる|である|だ|の|な)?{_NOUN}?"
    r"(?:で|に|と|じゃ)?(?:まで|すら)?[はもがを]?(?:なく|な[いし]|あり?ませ|(?:言|い)え(?:な|ず|ませ)"
    r"|(?:思[えわ]|言い切れ|断言でき|認められ)(?:な|ず|ませ)|思いませ|限らな|なら(?:な|ず)|しな|しませ|せず"
    r"|して[はも]?い(?:な|ませ)|されな|されませ|されて[はも]?い(?:な|ませ)|考え(?:られな|られませ|にく)"
    r"|正しく(?:な|あり)|見(?:当たら|られ)な|見当たりませ|含ま(?:な|れな|れませ|れて[はも]?い(?:な|ませ))"
    r"|含んで[はも]?い(?:な|ませ)|含みませ|い(?:な[いく]|ませ)|違い?(?:う|ま))"
)
_DENIED_BEFORE = re.compile(
    r"(?:\bnot|n't|\bnon|\bnever|\bneither|\bnor|\brather than|\binstead of)[\s-]*"
    rf"(?:an?\s+|the\s+)?{_OPENING}$",
    re.IGNORECASE,
)
_SUPPOSED_AFTER = re.compile(
    rf"{_CLOSING}(?:[?？]|なら|の場合|である場合|であれば|だとす|とすれば|でしょうか|ですか|だろうか|かどうか)"
)
_SUPPOSED_BEFORE = re.compile(rf"(?:場合|とき|時|なら(?:ば)?|れば)(?:に)?(?:は)?、?{_OPENING}$")
_TOPIC_AFTER = re.compile(r"関係(?:を|について|の|が成り立つか|に関)")
_JOINT = re.compile(
    rf"{_CLOSING}\s*(?:(?P<comma>[、,・/|]|と|や|\band\b|(?:、|,)\s*and\b)"
    r"|(?P<firm>(?:、|,)?\s*(?:か|または|又は|もしくは|あるいは|でも、?|とも|も|or\b|nor\b)))"
    rf"{_OPENING}",
    re.IGNORECASE,
)
_ALONE = re.compile(rf"{_CLOSING}\s*(?:[。.,、:;!?！？\n(]|$)")

_Stance = Literal["announced", "opening", "stated", "denied", "passed"]


@dataclass(slots=True)
class _Mention:
    label: str
    start: int
    end: int
    stance: _Stance


def read_label(text: str, labels: Mapping[str, Sequence[str]]) -> str | None:
    """The label that an answer gives.

    Args:
        text: What the model wrote.
        labels: Each label with the words that stand for it, itself among them if it is one.

    Returns:
        The label; None when none is given, or several without a decision.
    """
    spoken = strip_thinking(text)
    if spoken is None:
        return None
    plain = shorten(simplify(spoken).translate(_HYPHENS), _KEPT, _KEPT_PERIODS)
    key = tuple((label, tuple(words)) for label, words in labels.items())
    for part in parts_to_read(plain):
        found = _read_part(part, key)
        if found is not None:
            return found
    return None


def _read_part(part: str, labels: tuple[tuple[str, tuple[str, ...]], ...]) -> str | None:
    pattern, names = _spellings(labels)
    if pattern is None:
        return None
    mentions = [
        _Mention(names[found[0].lower()], found.start(), found.end(), "stated")
        for found in pattern.finditer(part)
    ]
    for mention in mentions:
        mention.stance = _stance(part, mention)
    _settle_lists(part, mentions)
    for stance in ("announced", "opening", "stated"):
        given = [mention.label for mention in mentions if mention.stance == stance]
        if given:
            return given[-1]
    denied = {mention.label for mention in mentions if mention.stance == "denied"}
    if len(labels) == 2 and len(denied) == 1 and all(m.stance == "denied" for m in mentions):
        return next(label for label, _ in labels if label not in denied)
    return None


@lru_cache
def _spellings(
    labels: tuple[tuple[str, tuple[str, ...]], ...],
) -> tuple[re.Pattern[str] | None, Mapping[str, str]]:
    names = {simplify(word).lower(): label for label, words in labels for word in words}
    if not names:
        return None, names
    ordered = sorted(names, key=lambda word: (-len(word), word))
    return re.compile("|".join(map(_bounded, ordered)), re.IGNORECASE), names


def _bounded(word: str) -> str:
    """An expression for a word where it is one, and not a part of another."""
    exact = re.escape(word)
    if re.fullmatch(r"\d+", word):
        after = r"[^\w.,]|[.,](?!\d)|$|です|だ|で|と|が|を|か|または|の(?:どちら|いずれ|うち)"
        return rf"(?<![\d.,]){exact}(?={after})"
    if re.fullmatch(r"[a-z]{1,3}", word):
        # Words such as "no" say nothing inside a sentence.
        before = r"(?:(?<=^)|(?<=[\n\"'(:.,!?「『。、])|(?<=[:.,] )|(?<=is ))"
        return rf"{before}{exact}(?=[\s)\]]*(?:[.,!?。、\"'」』\n]|$))"
    if re.fullmatch(r"[a-z -]+", word):
        return rf"(?<![a-z-]){exact}(?![a-z])"
    if re.fullmatch(f"[{_KANA}]+", word):
        before = rf"(?:(?<![{_JAPANESE}])|(?<=えは)|(?<=答は)|(?<=答が)|(?<=はいか)|(?<=いえか))"
        return rf"{before}{exact}(?=[^{_JAPANESE}]|$|です|だ|で|と|か|または|もしくは)"
    return rf"(?<![非不無未]){exact}"


def _stance(part: str, mention: _Mention) -> _Stance:
    before = part[max(0, mention.start - _WINDOW) : mention.start]
    after = part[mention.end : mention.end + _WINDOW]
    if _DENIED_AFTER.match(after) or _DENIED_BEFORE.search(before):
        return "denied"
    if _SUPPOSED_AFTER.match(after) or _SUPPOSED_BEFORE.search(before) or _TOPIC_AFTER.match(after):
        return "passed"
    if _ANNOUNCED_BEFORE.search(before) or _ANNOUNCED_AFTER.match(after):
        return "announced"
    opens = not part[: mention.start].strip(" \n\"'([「『【" + BOXED)
    return "opening" if opens and _ALONE.match(after) else "stated"


def _settle_lists(part: str, mentions: list[_Mention]) -> None:
    """Pass over labels that stand in a list which names several of them."""
    at = 0
    while at < len(mentions):
        end, firm = at + 1, False
        while end < len(mentions):
            joint = _JOINT.fullmatch(part, mentions[end - 1].end, mentions[end].start)
            if joint is None:
                break
            firm = firm or joint["firm"] is not None
            end += 1
        run = mentions[at:end]
        if firm and run[-1].stance == "denied":
            for mention in run:
                mention.stance = "denied"
        left = [mention for mention in run if mention.stance not in ("denied", "passed")]
        if len({mention.label for mention in left}) > 1:
            for mention in left:
                mention.stance = "passed"
        at = end
