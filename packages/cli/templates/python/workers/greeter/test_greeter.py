import json
import urllib.request

import pytest
import svc
from greeter import provide_greeter
from svc.testing import TestEngine


@pytest.fixture(autouse=True)
def greeter(svc_worker: svc.Worker) -> None:
    provide_greeter(svc_worker)


def test_greets_and_counts_how_often(svc_worker: svc.Worker) -> None:
    request: svc.CallRequest = {"function_id": "greeter::greet", "payload": {"name": "Ada"}}

    assert svc_worker.call(request) == {"text": "Hello Ada", "times": 1}
    assert svc_worker.call(request) == {"text": "Hello Ada", "times": 2}


def test_answers_over_http(svc_engine: TestEngine, svc_worker: svc.Worker) -> None:
    svc_worker.call({"function_id": "engine::info", "payload": {}})  # The route is there when this is answered.

    with urllib.request.urlopen(f"{svc_engine.http_url}/greetings/Bob", timeout=10) as response:
        assert json.load(response) == {"text": "Hello Bob", "times": 1}


def test_refuses_a_greeting_of_nobody(svc_worker: svc.Worker) -> None:
    with pytest.raises(svc.CallError, match="empty") as refused:
        svc_worker.call({"function_id": "greeter::greet", "payload": {"name": ""}})
    assert refused.value.code == "invalid_input"
