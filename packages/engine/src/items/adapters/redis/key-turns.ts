/** Calls `release` once, when the next job on its names may begin. */
export type TurnJob = (release: () => void) => void;

interface Turn {
  readonly names: readonly string[];
  readonly job: TurnJob;
  /** Names of which another turn has to end first. */
  blocked: number;
  /** Turns that wait for this one, once for each name. */
  readonly followers: Turn[];
}

/** Lets jobs on one name take place one after another in the order in which they were given, those on different names beside each other. */
export class KeyTurns {
  /** The last turn of each name that has one. */
  readonly #last = new Map<string, Turn>();
  #startable: Turn[] = [];
  #isStarting = false;

  /** Runs the job at once when nothing is under way for the names, else in its turn. */
  take(names: readonly string[], job: TurnJob): void {
    const turn: Turn = { names: names.length > 1 ? [...new Set(names)] : names, job, blocked: 0, followers: [] };
    for (const name of turn.names) {
      const before = this.#last.get(name);
      this.#last.set(name, turn);
      if (before === undefined) continue;
      before.followers.push(turn);
      turn.blocked += 1;
    }
    if (turn.blocked === 0) this.#start([turn]);
  }

  /** Without recursion: of many jobs that release at once none leads into the next one. */
  #start(turns: readonly Turn[]): void {
    this.#startable.push(...turns);
    if (this.#isStarting) return;
    this.#isStarting = true;
    while (this.#startable.length > 0) {
      const batch = this.#startable;
      this.#startable = [];
      for (const turn of batch) turn.job(() => this.#release(turn));
    }
    this.#isStarting = false;
  }

  #release(turn: Turn): void {
    for (const name of turn.names) {
      if (this.#last.get(name) === turn) this.#last.delete(name);
    }
    for (const follower of turn.followers) follower.blocked -= 1;
    this.#start([...new Set(turn.followers)].filter((follower) => follower.blocked === 0));
  }
}
