"""math-worker: provides the function math::add."""

import svc

worker = svc.connect(name="math-worker")


@worker.function("math::add", description="Adds two numbers: {a, b} gives {c}")
def add(payload):
    result = {"c": payload["a"] + payload["b"]}

    ## STATE: first `svc worker add svc-state`. Then remove the leading "# " from the lines
    ## down to END OF STATE and save: the engine restarts this worker by itself.
    # item = {"scope": "math", "key": "running_total"}
    # total = worker.call({"function_id": "state::get", "payload": item}) or 0
    # total += result["c"]
    # worker.call({"function_id": "state::set", "payload": {**item, "value": total}})
    # result["running_total"] = total
    ## END OF STATE

    return result


worker.run()
