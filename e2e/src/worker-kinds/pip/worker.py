import os
import sys

import svc

name = os.environ["SVC_WORKER_NAME"]
worker = svc.connect(name=name)


@worker.function(f"{name}::double")
def double(payload):
    return {"n": 2 * payload["n"], "runtime": "python", "own": sys.prefix.endswith("/.venv")}


worker.run()
