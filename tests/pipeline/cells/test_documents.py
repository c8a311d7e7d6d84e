"""Cells that do not ask all of their documents."""

from __future__ import annotations

import pytest

from tenbin.config import build_config
from tenbin.errors import ConfigError
from tenbin.pipeline.cells.choose import choose_cells
from tenbin.pipeline.cells.documents import part_cells, selecting_cells
from tenbin.pipeline.prepare import load_data, prompt_settings, prompts_of
from tenbin.pipeline.requests import content_key


def test_documents_that_choose_come_from_another_split_and_are_the_same_for_all() -> None:
    config = build_config(
        {
            "tasks": "jnli-1.1",
            "templates": "all",
            "select_on": "train:3",
            "num_fewshot": 1,
            "sample_data": True,
        }
    )
    scored = choose_cells(config)
    choosing = selecting_cells(config, scored)
    assert [setup.cell.id for setup in choosing] == [f"{s.cell.id}@train" for s in scored]
    data = load_data(config, choosing)
    drawn = [
        [prompt.document for prompt in prompts_of(setup, data, prompt_settings(config), None)]
        for setup in choosing
    ]
    assert len(drawn[0]) == 3
    assert all(documents == drawn[0] for documents in drawn)
    # By lot, not the first of the file; another seed draws others.
    first = [document.id for document in data.for_cell(choosing[0])[0].documents[:3]]
    assert drawn[0] != first
    ids = [document.id for document in data.for_cell(choosing[0])[0].documents]
    lots = sorted(ids, key=lambda id: content_key(config.seed, id))[:3]
    assert drawn[0] == [id for id in ids if id in lots]


def test_choosing_on_the_scored_split_is_refused() -> None:
    config = build_config(
        {"tasks": "jnli", "templates": "all", "select_on": "validation:5", "sample_data": True}
    )
    with pytest.raises(ConfigError, match="scored on 'validation' itself"):
        selecting_cells(config, choose_cells(config))


def test_a_part_asks_its_documents_and_no_others() -> None:
    config = build_config(
        {"tasks": "jcommonsenseqa", "templates": "all", "budget": "3x", "sample_data": True}
    )
    parts = part_cells(config, choose_cells(config))
    data = load_data(config, parts)
    for setup in parts:
        made = list(prompts_of(setup, data, prompt_settings(config), None))
        documents = data.for_cell(setup)[0].documents
        assert [one.document for one in made] == [documents[at].id for at in data.asked(setup)]
