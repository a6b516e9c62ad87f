"""Functions that this worker provides. Separate from the connection, so that tests can pass their own."""

from dataclasses import dataclass
from typing import TypedDict

import svc


@dataclass
class Person:
    name: str


class Greeting(TypedDict):
    text: str
    times: int


def provide_greeter(worker: svc.Worker) -> None:
    @worker.function("greeter::greet", description="Greets somebody and counts how often")
    def greet(person: Person) -> Greeting:
        if person.name == "":
            raise svc.CallError("invalid_input", "name is empty")
        # Counted in the engine: no other greeting comes between.
        written = worker.state.update("greetings", person.name, [{"type": "increment", "path": "times", "by": 1}])
        return {"text": f"Hello {person.name}", "times": written["new_value"]["times"]}

    @worker.http.get("/greetings/:name", function_id="greeter::http", description="Answers GET /greetings/:name")
    def greet_over_http(params: Person) -> Greeting:
        greeting: Greeting = worker.call({"function_id": "greeter::greet", "payload": {"name": params.name}})
        return greeting
