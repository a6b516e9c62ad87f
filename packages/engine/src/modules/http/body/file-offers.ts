import type { Undo } from "../../../kernel/scope.ts";
import type { FilePart } from "./file-part.ts";
import type { FormSpools } from "./form-spool.ts";

/** The files of forms that functions have been told of and may come for, by the ids of their channels. Bounded by the requests in work. */
export class FileOffers {
  /** Where those lie that do not fit in memory. */
  readonly spools: FormSpools;
  readonly #files = new Map<string, FilePart>();

  constructor(spools: FormSpools) {
    this.spools = spools;
  }

  /** Until the undo the file can be read; then its channel is gone. */
  add(file: FilePart): Undo {
    const { channel_id } = file.ref;
    this.#files.set(channel_id, file);
    return () => {
      if (this.#files.delete(channel_id)) file.close("the request is over");
    };
  }

  find(channelId: string): FilePart | undefined {
    return this.#files.get(channelId);
  }
}
