// Where the leaderboard comes from: the page itself, or a server that builds it meanwhile.

import { fill, make, say } from "./elements.js";
import { duration } from "./numbers.js";
import { SUMMARY } from "./cells.js";

const BUSY_POLL = 0.7;
const IDLE_POLL = 6;
let lastBoard = { mark: "", board: null };

/** Call show(board) with the leaderboard and with every newer one, as long as `place` is on the page. */
export function followBoard(place, show) {
  if (SUMMARY.leaderboard) {
    show(SUMMARY.leaderboard);
    return;
  }
  if (lastBoard.board) show(lastBoard.board, lastBoard.ranked);
  const status = make("p", { class: "note board-status", role: "status" });
  place.prepend(status);
  const ask = async () => {
    let told;
    try {
      const known = new URLSearchParams({ known: lastBoard.board ? lastBoard.mark : "" });
      const response = await fetch(`/leaderboard.json?${known}`, { credentials: "same-origin" });
      told = await response.json();
    } catch {
      fill(status, make("span", { class: "caution" }, say("server_gone")));
      setTimeout(next, 1000 * IDLE_POLL);
      return;
    }
    const news = told.mark !== lastBoard.mark;
    lastBoard = { mark: told.mark, board: told.board ?? lastBoard.board, ranked: told.ranked };
    if (!place.isConnected) return;
    fill(status, told.doing ? boardStep(told) : null);
    if (news && lastBoard.board) show(lastBoard.board, lastBoard.ranked);
    setTimeout(next, 1000 * (told.doing ? BUSY_POLL : IDLE_POLL));
  };
  const next = () => place.isConnected && ask();
  ask();
}

/** `Ranking columns, 3 of 10, about 12 s left`, with a bar. */
function boardStep(told) {
  const name = say(`board_${told.doing.replaceAll(" ", "_")}`);
  const bar = make("progress", { max: String(told.total || 1), value: String(told.done), "aria-label": name });
  const left = told.seconds_left === null ? "" : ` ${say("about_left", { time: duration(told.seconds_left) })}`;
  return [bar, ` ${say("step_of", { name, n: told.done, all: told.total })}${left}`];
}
