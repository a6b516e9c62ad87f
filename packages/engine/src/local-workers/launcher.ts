/**
 * The leader of every process group that we start. It is POSIX sh, because that takes 1 MB where a Node process takes
 * 40 MB.
 *
 * fd 3 is one end of a socket pair whose other end only the engine holds. It reads end-of-file when the engine ends for
 * any reason. Over this fd the launcher sends `watcher PID` at the start, `command` when the command receives signals,
 * and `exit CODE` when it has ended. Then it stays, so that the group's id is not reused, until the engine sends
 * SIGKILL to the group.
 *
 * - The command runs in the foreground: a shell without job control starts background commands with SIGINT ignored.
 * - The watcher ignores SIGTERM from the start, because it must still run if the engine dies during a stop. Its `read`
 * returns only at end-of-file, because the engine writes nothing.
 * - The command does not get fd 3: a descendant with it could not keep the pipe open (the engine's end counts), but it
 * could write to it.
 * - The shell's own stderr is discarded, so that its message `Terminated` is not in the worker's log. The command gets
 * the real stderr in a subshell, because dash reports the end of a plain command with that command's redirections.
 * - A signal during the fork of a subshell goes to the parent's trap, or is lost, and does not end the command.
 * `command` is sent after that.
 * - The command is surrounded by a trap with an action, not by `trap ''`: the command would inherit an ignored signal.
 * - After the command has ended there is nothing to stop gracefully, so the end of the engine kills the group at once.
 * - When the engine has ended, the watcher also ends processes that left the group, which have RUN_ID in their
 * environment: SIGTERM to those of this run, and 3 s later SIGKILL, also to those of nested runs. `grep -l` reads the
 * environments, because a shell's `read` reads byte by byte. Without `/proc` only the group is ended. In
 * `/proc/PID/stat`, field 3 after the name is the group.
 * - When the command has ended, the group is killed at once, unless processes outside it still have to end: the watcher
 * is part of the group.
 * - `escaped` sets variables, but does not affect the command's environment: it runs in the watcher, or after the
 * command has ended.
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
checks=0
while escaped "$2" '[0-9a-f:]*' 0 && [ "$checks" -lt 50 ]; do
  checks=$((checks + 1))
  sleep 0.1
done
kill -s KILL -- "-$$"
`;

/**
 * Returns the command for `sh -c`. If it is a plain list of words, adds `exec`, so that no shell waits beside the
 * worker. Commands with shell syntax, an assignment or a shell builtin stay unchanged.
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
