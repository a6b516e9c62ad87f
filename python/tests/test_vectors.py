from __future__ import annotations

import json
from pathlib import Path

import pytest

from vectors import FOLDER, Player, last_member

SCENARIOS = sorted(FOLDER.glob("*.json"))


def test_the_shared_scenarios_exist() -> None:
    assert len(SCENARIOS) >= 14, f"no scenarios in {FOLDER}"


@pytest.mark.parametrize("file", SCENARIOS, ids=lambda file: file.stem)
def test_the_session_does_what_the_shared_scenario_says(file: Path) -> None:
    scenario = json.loads(file.read_text("utf-8"))
    player = Player()
    for number, step in enumerate(scenario["steps"], start=1):
        where = f"step {number} ({step['do']}) of: {scenario['name']}"
        frames, effects = player.play(step)
        assert [json.loads(frame) for frame in frames] == step.get("frames", []), where
        for frame in frames:
            payload = {"data", "result"} & json.loads(frame).keys()
            assert not payload or last_member(frame) in payload, f"the payload is not last in {where}"
        expected = step.get("effects", [])
        assert len(effects) == len(expected), f"{where}: {effects}"
        for effect, wanted in zip(effects, expected, strict=True):
            assert {name: effect.get(name) for name in wanted} == wanted, where
            assert not (effect["effect"] == "call_answered" and "result" in effect and "result" not in wanted), where
