"""Finds the command ``svc``."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path


def svc_command(environment: Mapping[str, str] = os.environ, folder: Path | None = None) -> list[str] | None:
    """Returns the command and arguments that start svc, or None if it is not found.

    Searches the environment variable ``SVC_BIN`` (a program, or a ``.js`` file for Node), ``PATH``, and
    ``node_modules/.bin`` of the working folder and its parents. It does not use ``npx``, which would install any
    package of that name.
    """
    named = environment.get("SVC_BIN", "")
    if named != "":
        return ["node", named] if named.endswith((".js", ".mjs")) else [named]
    found = shutil.which("svc", path=environment.get("PATH", os.defpath))
    if found is not None:
        return [found]
    here = (folder or Path.cwd()).resolve()
    for above in (here, *here.parents):
        local = shutil.which("svc", path=str(above / "node_modules" / ".bin"))
        if local is not None:
            return [local]
    return None
