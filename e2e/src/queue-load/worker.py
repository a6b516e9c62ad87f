"""A worker of the load; see worker.ts, which does the same."""

import json
import os
import sys
import threading
import time

import svc

WORKERS = 4
LANES = 8
ORDERED_LANES = 6
FUNCTION_ID = "load::run"

number = int(os.environ["LOAD_WORKER"])
seed = int(os.environ["LOAD_SEED"])
of_lane = -(-int(os.environ["LOAD_OPERATIONS"]) // (WORKERS * LANES))
lock = threading.Lock()

begun = [0] * LANES
with open(os.environ["LOAD_JOURNAL"], encoding="utf-8") as lines:
    for line in lines:
        if line.startswith('{"begun"'):
            entry = json.loads(line)["begun"]
            begun[entry["lane"]] = entry["order"] + 1

journal = os.open(os.environ["LOAD_JOURNAL"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
worker = svc.connect(
    os.environ["SVC_URL"],
    name=f"runner-{number}",
    reconnect=svc.ReconnectOptions(initial_delay_ms=100, max_delay_ms=500),
)


def note(line):
    with lock:
        os.write(journal, (json.dumps(line) + "\n").encode())


def now():
    return time.monotonic_ns() // 1_000


def scramble(state):
    return (state * 1_664_525 + 1_013_904_223) % 2**32


def job_of(lane, order):
    group = f"{number}/{lane}"
    first = scramble((seed + number * 1_000_003 + lane * 7_919 + order * 104_729) % 2**32)
    chance = (scramble(first) >> 16) % 100
    kind = "poison" if chance < 1 else "flaky" if chance < 6 else "well"
    return {"name": f"{group}/{order}", "group": group, "order": order, "kind": kind}


@worker.function(FUNCTION_ID)
def run(job, context):
    attempt = context.job.attempt
    note({"start": {**job, "attempt": attempt, "at": now()}})
    # Long enough that some jobs are in flight when something is killed.
    time.sleep(job["order"] % 4 * 0.002)
    fails = job["kind"] == "poison" or (job["kind"] == "flaky" and attempt == 1)
    note({"end": {"name": job["name"], "attempt": attempt, "ok": not fails, "at": now()}})
    if fails:
        raise RuntimeError(f"poison {job['name']}")


done = sum(begun)


def enqueue(queue, payload):
    worker.enqueue({"queue": queue, "function_id": FUNCTION_ID, "payload": payload, "timeout_ms": 20_000})


def lane(own):
    global done
    for order in range(begun[own], of_lane):
        job = job_of(own, order)
        note({"begun": {"lane": own, "order": order}})
        try:
            enqueue("ordered" if own < ORDERED_LANES else "plain", job)
            note({"ack": {"name": job["name"]}})
        except svc.CallError as error:
            note({"failed": {"name": job["name"], "code": error.code}})
        with lock:
            done += 1
            if done % 10 == 0:
                print(f"done {done}", flush=True)


worker.wait_connected()
print("ready", flush=True)
sys.stdin.readline()
lanes = [threading.Thread(target=lane, args=(own,)) for own in range(LANES)]
for thread in lanes:
    thread.start()
for thread in lanes:
    thread.join()
print(f"done {done}", flush=True)
print("finished", flush=True)
worker.run()
