// Keeps the page of a task up to date while its run goes on.
import { follow, get } from "./ask.js";

const log = document.getElementById("task-log");
const url = `/api/runs/${encodeURIComponent(log.dataset.run)}/tasks/${encodeURIComponent(log.dataset.task)}`;

follow(async () => {
  const now = await get(url);
  const mark = document.createElement("span");
  mark.className = `state state-${now.state}`;
  mark.textContent = now.state;
  document.getElementById("task-state").replaceChildren(mark);
  document.getElementById("task-seconds").textContent = now.seconds;
  document.getElementById("task-progress").textContent = now.progress;
  const error = document.getElementById("task-error");
  error.textContent = now.error;
  error.hidden = !now.error;
  const atEnd = log.scrollTop + log.clientHeight >= log.scrollHeight - 4;
  log.textContent = now.log || "No log.";
  if (atEnd) log.scrollTop = log.scrollHeight;
  return now.over;
}, 1);
