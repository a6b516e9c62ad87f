"""A worker of the load; see writer.ts, which does the same."""

import json
import os
import sys
import threading
import time

import svc

WORKERS = 4
KEYS_PER_PREFIX = 10

number = int(os.environ["LOAD_WORKER"])
seed = int(os.environ["LOAD_SEED"])
operations = int(os.environ["LOAD_OPERATIONS"])
in_flight = int(os.environ["LOAD_IN_FLIGHT"])
journal = os.open(os.environ["LOAD_JOURNAL"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
lock = threading.Lock()
worker = svc.connect(
    os.environ["SVC_URL"],
    name=f"writer-{number}",
    reconnect=svc.ReconnectOptions(initial_delay_ms=100, max_delay_ms=500),
)


def note(line):
    with lock:
        os.write(journal, (json.dumps(line) + "\n").encode())


def scramble(state):
    return (state * 1_664_525 + 1_013_904_223) % 2**32


def operation(mine):
    first = scramble((seed + number * 1_000_003 + mine * 7_919) % 2**32)
    second = scramble(first)
    third = scramble(second)
    key = f"k{(first >> 16) % WORKERS}/{(second >> 16) % KEYS_PER_PREFIX}"
    return key, "set" if (third >> 16) % 2 == 0 else "update"


@worker.function(f"load::told-{number}")
def told(event):
    note(
        {
            "event": {
                "type": event["event_type"],
                "key": event["key"],
                "version": event["version"],
                "old": event["old_value"],
                "value": event["new_value"],
            }
        }
    )


worker.register_trigger(
    {
        "type": "state",
        "function_id": f"load::told-{number}",
        "config": {"scope": "load", "prefix": f"k{number}/"},
    }
)

turns = iter(range(operations))
done = 0


def write(function_id, payload):
    return worker.call({"function_id": function_id, "payload": payload, "timeout_ms": 20_000})


def lane():
    global done
    while True:
        with lock:
            mine = next(turns, None)
        if mine is None:
            return
        key, kind = operation(mine)
        by = f"{number}/{mine}"
        payload = {"scope": "load", "key": key}
        if kind == "set":
            payload["value"] = {"by": by}
        else:
            payload["ops"] = [
                {"type": "increment", "path": "count", "by": 1},
                {"type": "set", "path": "by", "value": by},
            ]
        try:
            written = write(f"state::{kind}", payload)
            note({"ack": {"key": key, "version": written["version"], "value": written["new_value"]}})
        except svc.CallError as error:
            note({"failed": {"key": key, "by": by, "code": error.code}})
            # An immediate retry would not help a full disk.
            if error.code == "storage_failed":
                time.sleep(0.2)
        with lock:
            done += 1
            if done % 10 == 0:
                print(f"done {done}", flush=True)


worker.wait_connected()
print("ready", flush=True)
sys.stdin.readline()
lanes = [threading.Thread(target=lane) for _ in range(in_flight)]
for thread in lanes:
    thread.start()
for thread in lanes:
    thread.join()
print("finished", flush=True)
worker.run()
