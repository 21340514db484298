// Keeps the page of a run up to date while the run goes on.
import { follow, get } from "./ask.js";

const run = document.querySelector(".board").dataset.run;
const announce = document.getElementById("announce");
const said = new Map();

function showState(place, state) {
  const mark = document.createElement("span");
  mark.className = `state state-${state}`;
  mark.textContent = state;
  place.replaceChildren(mark);
}

function showBox(box) {
  const link = [...document.querySelectorAll("[data-box]")].find((item) => item.dataset.box === box.name);
  if (link) {
    link.setAttribute("class", `box state-${box.state}`);
    link.setAttribute("aria-label", `${box.name}: ${box.state}${box.seconds && `, ${box.seconds}`}`);
    link.setAttribute("href", `/runs/${encodeURIComponent(run)}/tasks/${encodeURIComponent(box.task)}`);
    link.querySelector(".time").textContent = box.seconds;
    link.querySelector(".work").textContent = box.work;
  }
  const row = [...document.querySelectorAll("[data-row]")].find((item) => item.dataset.row === box.name);
  if (row) {
    showState(row.querySelector(".row-state"), box.state);
    row.querySelector(".row-time").textContent = box.seconds;
  }
  if (said.has(box.name) && said.get(box.name) !== box.state) announce.textContent = `${box.name} ${box.state}`;
  said.set(box.name, box.state);
}

follow(async () => {
  const now = await get(`/api/runs/${encodeURIComponent(run)}`);
  showState(document.getElementById("run-state"), now.state);
  document.getElementById("run-seconds").textContent = now.seconds;
  document.getElementById("run-done").textContent = now.done;
  const error = document.getElementById("run-error");
  error.textContent = now.error;
  error.hidden = !now.error;
  now.boxes.forEach(showBox);
  const over = !["running", "pending"].includes(now.state);
  if (over) announce.textContent = `The run ${now.state}.`;
  return over;
}, 1);
