// The list of documents that match the filters and hold the words of a search.

import { readOnce } from "./blocks.js";
import { RUNS } from "./cells.js";
import { Documents } from "./documents.js";

export class DocumentList {
  constructor() {
    /** Of each entry: the number of its task, and of the document in it. */
    this.tasks = new Uint16Array(0);
    this.numbers = new Uint32Array(0);
    this.length = 0;
    /** All documents before the filters. */
    this.all = 0;
    this.documents = [];
  }

  /** The documents of some tasks that pass a test. */
  static async of(tasks, test) {
    const list = new DocumentList();
    list.documents = await Promise.all(tasks.map((task) => Documents.load(task)));
    list.all = list.documents.reduce((sum, one) => sum + one.length, 0);
    list.tasks = new Uint16Array(list.all);
    list.numbers = new Uint32Array(list.all);
    list.documents.forEach((documents, task) => {
      for (let number = 0; number < documents.length; number += 1) if (test(documents, number)) list.add(task, number);
    });
    return list;
  }

  add(task, number) {
    this.tasks[this.length] = task;
    this.numbers[this.length] = number;
    this.length += 1;
  }

  /** The documents and the number of an entry. */
  at(position) {
    return [this.documents[this.tasks[position]], this.numbers[position]];
  }

  /** The entry of a document; -1 if the list does not have it. */
  find(id) {
    for (let at = 0; at < this.length; at += 1) {
      const [documents, number] = this.at(at);
      if (documents.ids[number] === id) return at;
    }
    return -1;
  }

  /**
   * Keep the entries whose texts hold the words in any run, in one pass over the blocks.
   * `tell(done, found)` is called between blocks; false if `wanted()` says that nobody waits.
   */
  async search(words, tell, wanted) {
    const total = this.length;
    let [from, kept] = [0, 0];
    while (from < total) {
      const task = this.tasks[from];
      let end = from;
      while (end < total && this.tasks[end] === task) end += 1;
      const found = await this.searchTask(task, from, end, words, (n) => tell(from + Math.round(n * (end - from)), kept), wanted);
      if (found === null) return false;
      for (let at = from; at < end; at += 1) {
        if (!found[at - from]) continue;
        this.tasks[kept] = task;
        this.numbers[kept] = this.numbers[at];
        kept += 1;
      }
      from = end;
      tell(from, kept);
    }
    this.length = kept;
    return true;
  }

  /** Which of the entries of one task hold the words; null if nobody waits. */
  async searchTask(task, from, end, words, tell, wanted) {
    const documents = this.documents[task];
    const found = new Uint8Array(end - from);
    for (let place = 0; place < documents.task.places.length; place += 1) {
      const [run, cell] = documents.task.places[place];
      const { blocks, count } = RUNS[run].cells[cell].samples;
      const entries = new Int32Array(count).fill(-1);
      for (let at = from; at < end; at += 1) {
        const position = documents.positionAt(place, this.numbers[at]);
        if (position >= 0) entries[position] = at - from;
      }
      let start = 0;
      for (const [block, size] of blocks) {
        const open = entries.subarray(start, start + size);
        if (open.some((entry) => entry >= 0 && !found[entry])) {
          const samples = await readOnce(block);
          if (!wanted()) return null;
          open.forEach((entry, at) => {
            if (entry >= 0 && !found[entry] && holds(samples[at], words)) found[entry] = 1;
          });
          tell((place + (start + size) / count) / documents.task.places.length);
        }
        start += size;
      }
    }
    return found;
  }
}

function holds(sample, words) {
  const texts = [sample.document, ...(sample.parts || []).map(([, text]) => text), sample.thinking, sample.generated, sample.target, ...(sample.choices || []), ...(sample.outcomes || []).map((one) => one.answer)];
  return texts.some((text) => typeof text === "string" && text.toLowerCase().includes(words));
}
