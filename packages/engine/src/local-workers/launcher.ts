/**
 * Script of the launcher: the leader of every process group that the engine starts. It is POSIX sh, because a shell
 * needs 1 MB of memory and a Node process 40 MB.
 *
 * fd 3 is one end of a socket pair. Only the engine has the other end, so fd 3 reads end-of-file when the engine ends
 * for any reason. Over fd 3 the launcher reports `watcher PID` at the start, `command` when the command receives
 * signals, and `exit CODE` when the command has ended. After that the launcher keeps running until the engine sends
 * SIGKILL to the group, so that the id of the group is not reused.
 *
 * - The command runs in the foreground, because a shell without job control starts background commands with SIGINT
 *   ignored.
 * - The watcher ignores SIGTERM from the start, because it must still run if the engine dies during a stop. Its `read`
 *   returns only at end-of-file, because the engine writes nothing.
 * - The command does not get fd 3, because it and its descendants could write to it.
 * - The shell's own stderr is discarded, so that its message `Terminated` is not in the worker's log. The command gets
 *   the real stderr in a subshell, because dash prints that message with the redirections of a plain command.
 * - A signal that arrives while a subshell is being forked goes to the parent's trap, or is lost. It does not end the
 *   command. So `command` is reported from within the subshell.
 * - While the command runs, signals have a trap with an action, not `trap ''`, because the command would inherit an
 *   ignored signal.
 * - After the command has ended, nothing has to stop gracefully. So when the engine ends then, the group is killed at
 *   once.
 * - When the engine has ended, the watcher also ends processes that left the group. They have RUN_ID in their
 *   environment. It sends SIGTERM to those of this run, and after 3 s SIGKILL to those of this run and of nested runs.
 *   `grep -l` reads the environments, because a shell's `read` reads byte by byte. Without `/proc`, only the group is
 *   ended. In `/proc/PID/stat`, field 3 after the name is the group.
 * - When the command and the engine have ended, the group is killed at once, unless processes outside of it still have
 *   to end. The launcher then waits for them, because the watcher that ends them is part of the group.
 * - `escaped` sets variables. They do not affect the command's environment, because `escaped` runs in the watcher, or
 *   after the command has ended.
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
 * Returns the command for `sh -c`. If it is a plain list of words, adds `exec`, so that no shell process remains beside
 * the worker. A command with shell syntax, an assignment or a shell builtin stays unchanged.
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
