// The review page: photos one at a time, marked by keys.
import { count, element, get, post } from "./ask.js";

const desk = document.getElementById("desk");
const { dataset: dataset_id, queue, breed } = desk.dataset;
const list = document.getElementById("queue");
const said = document.getElementById("said");
const right = document.getElementById("right");
const NAMES = { reviewed: "reviewed", wrong: "wrong breed" };
let photos = [];
let total = 0;
let at = 0;
let loading = null;

const url = `/api/reviews/${encodeURIComponent(dataset_id)}`;

async function more() {
  if (photos.length && photos.length >= total) return;
  loading ??= get(`${url}?${new URLSearchParams({ queue, breed, start: photos.length })}`);
  const batch = await loading;
  loading = null;
  total = batch.total;
  photos.push(...batch.photos);
  document.getElementById("total").textContent = `${count(total)} photos, ${count(batch.marked)} marked`;
  for (const photo of batch.photos) list.append(item(photo));
}

function item(photo) {
  const image = element("img", { src: `/photos/${dataset_id}/${photo.row}/160`, alt: photo.caption || "Photo without a caption", loading: "lazy", width: 160, height: 160 });
  const button = element("button", { class: "frame", type: "button" }, image);
  button.addEventListener("click", () => go(photos.indexOf(photo)));
  const made = element("li", {}, button, element("span", { class: "badge" }));
  photo.item = made;
  badge(photo);
  return made;
}

function badge(photo) {
  photo.item.dataset.mark = photo.mark;
  photo.item.querySelector(".badge").textContent = NAMES[photo.mark] || "";
}

function go(to) {
  if (!photos.length) {
    document.getElementById("none").textContent = "No photos here.";
    return;
  }
  photos[at]?.item.removeAttribute("aria-current");
  at = Math.min(Math.max(to, 0), photos.length - 1);
  const photo = photos[at];
  photo.item.setAttribute("aria-current", "true");
  // Only the queue scrolls: the page stays where its reader looks.
  const top = photo.item.offsetTop - list.offsetTop;
  if (top < list.scrollTop || top + photo.item.offsetHeight > list.scrollTop + list.clientHeight) list.scrollTop = top;
  const big = document.getElementById("big");
  big.src = `/photos/${dataset_id}/${photo.row}/900`;
  big.alt = photo.caption || "Photo without a caption";
  big.hidden = false;
  document.getElementById("none").hidden = true;
  document.getElementById("place").textContent = `${at + 1} of ${count(total)} · ${photo.place}`;
  document.getElementById("breed").textContent = photo.breed || "no breed";
  document.getElementById("confidence").textContent = photo.confidence === null ? "" : `confidence ${photo.confidence}`;
  document.getElementById("caption").textContent = photo.caption;
  const marked = document.getElementById("marked");
  marked.hidden = !photo.mark && !photo.reviewed;
  marked.textContent = photo.mark ? `${NAMES[photo.mark] || photo.mark}${photo.right && `: ${photo.right}`}` : "reviewed before";
  if (photos.length - at < 20) more();
}

async function mark(action) {
  const photo = photos[at];
  if (!photo) return;
  const chosen = action === "wrong" ? right.value : "";
  try {
    const { marked } = await post(url, { row: photo.row, image_id: photo.image_id, action, breed: chosen });
    document.getElementById("total").textContent = `${count(total)} photos, ${count(marked)} marked`;
  } catch (error) {
    said.textContent = error.message;
    return;
  }
  photo.mark = action === "undo" ? "" : action;
  photo.right = chosen ? right.selectedOptions[0].textContent : "";
  badge(photo);
  said.textContent = action === "undo" ? `Mark taken back: photo ${at + 1}.` : `Photo ${at + 1}: ${NAMES[action]}${photo.right && `, ${photo.right}`}.`;
  right.value = "";
  go(action === "undo" ? at : at + 1);
}

const KEYS = {
  r: () => mark("reviewed"),
  w: () => mark("wrong"),
  u: () => mark("undo"),
  ArrowLeft: () => go(at - 1),
  ArrowRight: () => go(at + 1),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select, textarea")) return;
  const act = KEYS[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});
for (const button of document.querySelectorAll("[data-action]")) button.addEventListener("click", () => mark(button.dataset.action));
for (const button of document.querySelectorAll("[data-step]")) button.addEventListener("click", () => go(at + Number(button.dataset.step)));

more().then(() => go(0), (error) => { document.getElementById("none").textContent = error.message; });
