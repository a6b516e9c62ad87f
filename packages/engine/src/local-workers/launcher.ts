/**
 * The leader of every process group that we start, in POSIX sh because that costs 1 MB where a Node process costs 40.
 *
 * fd 3 is one end of a socket pair whose other end only the engine holds, so that it reads end-of-file when the engine ends,
 * whatever ended it. Over the same fd it tells `watcher PID` at the start, `command` when the command hears signals, and `exit CODE` when it ended.
 * Then it stays, so that the group's id cannot be given to others, until the engine sweeps the group with SIGKILL.
 *
 * - The command runs in the foreground: a background command of a shell without job control would run with SIGINT ignored.
 * - The watcher ignores SIGTERM from its first moment: it must still be there when the engine dies in the middle of a stop.
 *   Its `read` returns only at end-of-file, since the engine writes nothing.
 * - The command does not get fd 3: a descendant that held it could not keep the pipe open (the engine's end counts), but might write.
 * - The shell's own stderr goes nowhere, so that its word `Terminated` does not stand in the worker's log; the command gets the real one,
 *   in a subshell, since dash tells of a plain command's end with that command's redirections in force.
 * - A signal that comes while a subshell is being forked is taken by the parent's trap, or lost, and does not end the command. `command` is told after that.
 * - A trap with an action and not `trap ''` around the command: an ignored signal would be inherited by the command.
 * - Once the command ended there is nothing left to stop gracefully, so the end of the engine sweeps at once.
 * - When the engine has ended, the watcher also ends the processes that left the group, which carry RUN_ID in their environment: SIGTERM to those
 *   of this run, 3 s later SIGKILL to those of inner runs too. `grep -l` reads the environments because a shell's `read` does so byte by byte.
 *   Where there is no `/proc` only the group is ended. Field 3 of `/proc/PID/stat` behind the name is the group.
 * - A command that ended has the group killed at once, unless processes outside it have yet to end: the watcher is in the group.
 * - `escaped` has no effect on the command's environment, although it sets variables: it runs in the watcher, or when the command has ended.
 *
 * Usage: sh -c SCRIPT svc-launcher COMMAND RUN_ID
 */
export const LAUNCHER_SCRIPT = `
exec 4>&2 2>/dev/null
escaped() {
  found=1
  for file in $(PATH=/usr/bin:/bin:$PATH LC_ALL=C grep -lsae "SVC_RUN_ID=$2$1" /proc/[0-9]*/environ); do
    pid=\${file#/proc/}
    pid=\${pid%/environ}
    [ -O "/proc/$pid" ] && read -r stat <"/proc/$pid/stat" || continue
    set -- "$1" "$2" "$3" \${stat##*) }
    [ "$6" = "$$" ] && continue
    kill -s "$3" "$pid" && found=0
  done
  return "$found"
}
trap 'stop=1' TERM HUP INT
trap : PIPE
(
  trap '' TERM HUP INT
  read -r _ <&3
  kill -s TERM -- "-$$"
  escaped "$2" '' TERM
  sleep 3
  passes=0
  while escaped "$2" '[0-9a-f:]*' KILL && [ "$passes" -lt 100 ]; do passes=$((passes + 1)); done
  kill -s KILL -- "-$$"
) </dev/null >/dev/null 4>&- &
echo "watcher $!" >&3
code=143
if [ -z "$stop" ]; then
  (
    echo command >&3
    exec /bin/sh -c "$1" </dev/null 2>&4 3>&- 4>&-
  )
  code=$?
fi
trap '' TERM HUP INT PIPE
exec </dev/null >/dev/null 4>&-
echo "exit $code" >&3
read -r _ <&3
looks=0
while escaped "$2" '[0-9a-f:]*' 0 && [ "$looks" -lt 50 ]; do
  looks=$((looks + 1))
  sleep 0.1
done
kill -s KILL -- "-$$"
`;

/**
 * The command for `sh -c`, with `exec` in front of one that is a plain list of words: the shell then becomes the program, and no shell
 * waits beside every worker. Anything with shell syntax, an assignment or a word that a shell understands itself is left alone.
 */
export function withoutIdleShell(command: string): string {
  const isPlain = /^[\w@%+:,./ -]+$/.test(command) && !SHELL_WORDS.has(command.trim().split(" ", 1)[0] ?? "");
  return isPlain ? `exec ${command.trim()}` : command;
}

const SHELL_WORDS: ReadonlySet<string> = new Set(
  "break cd continue eval exec exit export readonly return set shift source times trap umask unset wait if for while until case command local ulimit . :".split(
    " ",
  ),
);
