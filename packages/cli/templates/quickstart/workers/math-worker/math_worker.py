"""math-worker: provides the function math::add."""

import svc

worker = svc.connect(name="math-worker")


@worker.function("math::add", description="Adds two numbers: {a, b} gives {c}")
def add(payload):
    result = {"c": payload["a"] + payload["b"]}

    ## STATE: first `svc worker add svc-state`. Then remove the leading "# " from the lines
    ## down to END OF STATE and save: the engine restarts this worker by itself.
    # item = {"scope": "math", "key": "running_total"}
    # while "running_total" not in result:
    #     entry = worker.call({"function_id": "state::get_entry", "payload": item}) or {"value": 0, "version": 0}
    #     total = entry["value"] + result["c"]
    #     try:  # Written only if no other call was quicker; else once more from the new total.
    #         worker.call({"function_id": "state::set", "payload": {**item, "value": total, "if_version": entry["version"]}})
    #         result["running_total"] = total
    #     except svc.CallError as error:
    #         if error.code != "state_conflict":
    #             raise
    ## END OF STATE

    return result


worker.run()
