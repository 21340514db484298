// The threshold explorer: asks what the moved thresholds would keep, one question at a time, the last one wins.
import { count, element, get } from "./ask.js";
import { plan, start } from "./rerun.js";

const outcome = document.getElementById("outcome");
const form = document.getElementById("sliders");
const { dataset: dataset_id, run, task, prefix } = outcome.dataset;
const said = document.getElementById("said");
const sliders = [...form.querySelectorAll(".slider")].map((box) => ({
  box,
  name: box.dataset.name,
  base: Number(box.dataset.base),
  range: box.querySelector("input[type=range]"),
  number: box.querySelector("input[type=number]"),
  veil: box.querySelector(".veil"),
}));
let current = JSON.parse(document.getElementById("start").textContent);
let asking = false;
let again = false;
let moved = "";

function veil({ box, veil: shade, number }) {
  if (!shade) return;
  const { low, high, side } = box.dataset;
  const bins = shade.ownerSVGElement.viewBox.baseVal.width;
  const share = Math.min(1, Math.max(0, (Number(number.value) - low) / (high - low)));
  shade.setAttribute("x", side === "at_most" ? bins * share : 0);
  shade.setAttribute("width", bins * (side === "at_most" ? 1 - share : share));
}

function values() {
  const found = new URLSearchParams();
  for (const { name, number } of sliders) found.set(name, number.value);
  for (const input of form.querySelectorAll("input[type=checkbox]")) found.set(input.name, input.checked);
  for (const input of form.querySelectorAll("input[type=text]")) found.set(input.name, input.value);
  return found;
}

// Items are made once and only refilled: building 48 figures at every step of a drag would show.
function photos(list, { photos: shown }) {
  while (list.children.length < shown.length) {
    const frame = element("span", { class: "frame" });
    const text = element("span", { class: "clamp" }, element("bdi"));
    list.append(element("li", {}, element("figure", { class: "photo" }, frame, element("figcaption", {}, text))));
  }
  while (list.children.length > shown.length) list.lastChild.remove();
  shown.forEach((item, at) => {
    const place = list.children[at];
    place.querySelector("bdi").textContent = item.caption || item.breed || `row ${item.row}`;
    const key = `${item.row}`;
    if (place.dataset.row === key) return;
    place.dataset.row = key;
    const frame = place.querySelector(".frame");
    if (!item.photo) return frame.replaceChildren(element("span", { class: "none" }, item.breed || "no photo"));
    const image = element("img", { src: `/photos/${dataset_id}/${item.row}/160`, alt: item.caption || "Photo without a caption", width: 160, height: 160 });
    frame.replaceChildren(image);
  });
}

function breeds(rows) {
  const body = document.getElementById("breeds");
  const most = Math.max(1, ...rows.map((row) => Math.max(row.before, row.now)));
  while (body.children.length < rows.length) {
    const bar = element("td", { class: "wide" });
    bar.innerHTML = '<svg class="bar" aria-hidden="true"><rect class="track" width="100%" height="100%" rx="3"/><rect class="fill-other" height="100%" rx="3"/><rect class="fill-kept" height="100%" rx="3"/></svg>';
    const cells = ["before", "now", "change"].map((name) => element("td", { class: `num ${name}` }));
    body.append(element("tr", {}, element("th", { scope: "row" }), bar, ...cells));
  }
  while (body.children.length > rows.length) body.lastChild.remove();
  rows.forEach((row, at) => {
    const line = body.children[at];
    line.querySelector("th").textContent = row.name;
    line.querySelector(".fill-other").setAttribute("width", `${(100 * row.before) / most}%`);
    line.querySelector(".fill-kept").setAttribute("width", `${(100 * Math.min(row.before, row.now)) / most}%`);
    line.querySelector(".before").textContent = count(row.before);
    line.querySelector(".now").textContent = count(row.now);
    const change = row.now - row.before;
    const cell = line.querySelector(".change");
    cell.textContent = change > 0 ? `+${count(change)}` : count(change);
    cell.className = `num change${change > 0 ? " more" : change < 0 ? " less" : ""}`;
  });
}

function show(answer) {
  current = answer;
  document.getElementById("kept").textContent = count(answer.kept);
  document.getElementById("kept-note").textContent = `of ${count(answer.rows)} rows, ${count(answer.kept_before)} in the run`;
  document.getElementById("came").textContent = count(answer.came.count);
  document.getElementById("went").textContent = count(answer.went.count);
  document.getElementById("tiers").textContent = `${count(answer.tier_0)} / ${count(answer.tier_1)}`;
  photos(document.getElementById("came-photos"), answer.came);
  photos(document.getElementById("went-photos"), answer.went);
  breeds(answer.breeds);
  for (const place of form.querySelectorAll(".failed")) {
    const failed = answer.failed[place.dataset.rule];
    place.textContent = failed ? `${count(failed)} rows fail it` : "";
  }
  const changes = Object.entries(answer.changes);
  document.getElementById("changes").textContent =
    changes.map(([name, value]) => `${prefix || "selection"}.${name}=${value}`).join("\n") || "None yet.";
  const unscored = Object.entries(answer.unscored);
  const note = document.getElementById("unscored");
  note.hidden = !unscored.length;
  note.textContent = unscored.map(([step, rows]) =>
    `${count(rows)} rows were left out of the scope of ${step} and have no score: they count as not kept here, and a rerun scores them first.`).join(" ");
  for (const button of document.querySelectorAll("#plan, #launch")) button.disabled = !changes.length;
  said.textContent = `${count(answer.kept)} kept, ${count(answer.came.count)} come, ${count(answer.went.count)} go`;
}

async function ask() {
  if (asking) {
    again = true;
    return;
  }
  asking = true;
  outcome.setAttribute("aria-busy", "true");
  do {
    again = false;
    const query = values();
    query.set("changed", moved);
    try {
      show(await get(`/api/thresholds/${encodeURIComponent(dataset_id)}?${query}`));
    } catch (error) {
      said.textContent = error.message;
      const note = document.getElementById("unscored");
      note.textContent = error.message;
      note.hidden = false;
    }
  } while (again);
  asking = false;
  outcome.setAttribute("aria-busy", "false");
}

for (const slider of sliders) {
  const { name, range, number } = slider;
  range.addEventListener("input", () => {
    number.value = range.value;
    moved = name;
    veil(slider);
    ask();
  });
  number.addEventListener("input", () => {
    if (number.value === "" || !number.validity.valid) return;
    range.value = number.value;
    moved = name;
    veil(slider);
    ask();
  });
  veil(slider);
}
for (const input of form.querySelectorAll("input[type=checkbox], input[type=text]")) {
  input.addEventListener("input", () => {
    moved = input.name;
    ask();
  });
}
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("reset", () => setTimeout(() => {
  for (const slider of sliders) {
    slider.number.value = slider.box.dataset.base;
    slider.range.value = slider.box.dataset.base;
    veil(slider);
  }
  ask();
}));

const request = () => ({
  run,
  task,
  assignments: Object.entries(current.changes).map(([name, value]) => `${prefix}.${name}=${value}`),
  downstream: true,
  backfill: Object.keys(current.unscored).length > 0,
});
document.getElementById("plan")?.addEventListener("click", () => plan(request(), document.getElementById("planned")));
document.getElementById("launch")?.addEventListener("click", () => start(request(), document.getElementById("planned")));
show(current);
