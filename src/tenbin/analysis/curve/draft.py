"""One curve: which cells stand on it, and what their documents say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tenbin.analysis.compare.rows import top_of
from tenbin.analysis.curve.chance import Chance, has_chance
from tenbin.analysis.curve.checkpoints import StepRuns
from tenbin.analysis.curve.report import Curve, CurveChange, CurvePoint
from tenbin.analysis.curve.signal import signal_of
from tenbin.analysis.leaderboard.arrangement import Arranged
from tenbin.analysis.leaderboard.columns import Place, group_mean, why_missing
from tenbin.analysis.leaderboard.marks import is_comparable, marks
from tenbin.analysis.leaderboard.models import Model
from tenbin.analysis.leaderboard.ranking import Documents, Part, group_top, parts_of
from tenbin.errors import ResultError
from tenbin.statistics.curves.changes import StepChange, StepScores
from tenbin.statistics.shared_documents import SharedDocuments


@dataclass(frozen=True, slots=True)
class Draft:
    """A curve before its documents are read."""

    arranged: Arranged
    reference: Place
    metric: str
    places: tuple[Place, ...]
    """Comparable cells with a score, by step."""
    missing: Mapping[int, str]
    """By position of the step."""
    parts: list[Part] | str
    """What the score is made of, or why documents do not give it again."""

    @classmethod
    def of(
        cls,
        arranged: Arranged,
        reference: Place,
        found: Sequence[Place],
        metric: str,
        models: Sequence[Model],
    ) -> Draft:
        """The cells of a column that can stand on one curve, and why the others cannot."""
        places, missing = [], {}
        for place in sorted(found, key=lambda one: one.model):
            score = place.score(metric)
            differing = marks(place, reference)
            if score is None or score.value is None:
                missing[place.model] = f"no score of {metric}"
            elif not is_comparable(differing, ()):
                missing[place.model] = "; ".join(f"{one.kind}: {one.text}" for one in differing)
            else:
                places.append(place)
        known = {place.model for place in found}
        ids = list(dict.fromkeys(place.id for place in found))
        for at, model in enumerate(models):
            if at not in known:
                missing[at] = why_missing(model, arranged.key, ids)
        parts = parts_of(places, metric) if places else ""
        return cls(arranged, reference, metric, tuple(places), missing, parts)

    def announce(self, documents: Documents) -> None:
        """Say which documents will be needed."""
        if not isinstance(self.parts, str):
            documents.want(self.places, self.parts)

    def build(
        self,
        documents: Documents,
        steps: Sequence[StepRuns],
        known: Mapping[tuple[int, str], Chance],
    ) -> Curve:
        """The curve with its band and tests, or without them and with the reason."""
        detail = self.places[-1].details[self.metric]
        numbers = [steps[place.model].step for place in self.places]
        found = self._scores(documents)
        reason: str | None
        if isinstance(found, str):
            points = [self._stored_point(at, step) for at, step in enumerate(numbers)]
            n, clusters, reason = detail.n, detail.clusters or detail.n, found
        else:
            points = self._points(numbers, found)
            n, clusters = found.shared.documents, len(found.shared.rows)
            reason = found.reason
        newest = self.places[-1]
        chance = known.get((newest.model, newest.id)) if has_chance(self.metric) else None
        tested = reason is None and len(points) > 1
        return Curve(
            **self._identity(),
            n=n,
            clusters=clusters,
            reason=reason,
            points=tuple(points),
            missing={str(steps[at].step): why for at, why in sorted(self.missing.items())},
            last_change=_last_change(points),
            same_since=_same_since(points) if tested else None,
            signal=signal_of(points, detail.higher_is_better, detail.unit, chance),
        )

    def _identity(self) -> dict[str, Any]:
        """What the curve is of."""
        place = self.places[-1]
        detail = place.details[self.metric]
        identity: dict[str, Any] = {
            "label": self.arranged.label,
            "section": self.arranged.section,
            "kind": "group" if place.group else "task",
            "id": place.id,
            "metric": self.metric,
            "unit": detail.unit,
            "top": self._top,
            "higher_is_better": detail.higher_is_better,
        }
        if not place.group:
            config = place.cell.config
            identity |= {
                "task": config.task,
                "version": config.version,
                "template": config.template,
                "shots": config.num_fewshot,
                "language": config.language,
            }
        return identity

    @property
    def _top(self) -> float | None:
        """The highest value; None where any step has a document beyond it."""
        tops = []
        for place in self.places:
            if place.group:
                mean = group_mean(place, self.metric)
                tops.append(None if isinstance(mean, str) else group_top(mean))
            else:
                tops.append(top_of(place.details[self.metric]))
        return None if None in tops else tops[0]

    def _scores(self, documents: Documents) -> StepScores | str:
        if isinstance(self.parts, str):
            return self.parts
        place = self.places[0]
        seed = abs(place.result.configs[self.parts[0].ids[0]].seed)
        better = place.details[self.metric].higher_is_better
        try:
            shared = SharedDocuments.of(documents.members(self.places, self.parts))
        except ResultError as error:
            return error.message
        return StepScores.of(shared, seed, better, self._top)

    def _stored_point(self, at: int, step: int) -> CurvePoint:
        score = self.places[at].score(self.metric)
        assert score is not None and score.value is not None
        low, high = score.detail.low, score.detail.high
        return CurvePoint(step, score.value, low, high, None, None, None, None)

    def _points(self, numbers: Sequence[int], found: StepScores) -> list[CurvePoint]:
        count = len(numbers)
        band = found.band()
        before = {
            one.second: one for one in found.changes([(at, at + 1) for at in range(count - 1)])
        }
        newest = {
            one.first: one for one in found.changes([(at, count - 1) for at in range(count - 1)])
        }
        points = []
        for at, step in enumerate(numbers):
            detail = self.places[at].details[self.metric]
            points.append(
                CurvePoint(
                    step,
                    found.values[at],
                    detail.low,
                    detail.high,
                    None if band is None else band[at][0],
                    None if band is None else band[at][1],
                    _change(before.get(at), numbers),
                    _change(newest.get(at), numbers),
                )
            )
        return points


def _change(one: StepChange | None, numbers: Sequence[int]) -> CurveChange | None:
    if one is None:
        return None
    return CurveChange(
        numbers[one.first], one.difference, one.low, one.high, one.p_value, one.test, one.shown
    )


def _last_change(points: Sequence[CurvePoint]) -> int | None:
    shown = [point.step for point in points if point.change is not None and point.change.shown]
    return shown[-1] if shown else None


def _same_since(points: Sequence[CurvePoint]) -> int:
    """The first step of the tail in which no step is shown to differ from the newest."""
    since = points[-1].step
    for point in reversed(points[:-1]):
        if point.to_newest is None or point.to_newest.shown:
            break
        since = point.step
    return since
