// Plans and starts reruns, from forms of class `rerun` and for other modules.
import { element, post } from "./ask.js";

const seconds = (value) => (value === null ? "not known" : value < 60 ? `${value.toFixed(1)} s` : `${Math.round(value / 60)} min`);

export function showPlan(place, plan) {
  const list = element("ul", { class: "plain" });
  for (const [name, cost] of Object.entries(plan.runs)) {
    const rows = cost.rows === null ? "" : `, ${cost.rows} pictures to score`;
    list.append(element("li", {}, element("b", {}, name), ` ${seconds(cost.seconds)}${rows}`));
  }
  const changes = Object.entries(plan.changes).map(([key, { before, after }]) =>
    element("p", { class: "mono small" }, `${key}: ${JSON.stringify(before)} → ${JSON.stringify(after)}`));
  const notes = plan.notes.map((note) => element("p", { class: "small" }, note));
  place.replaceChildren(
    ...changes,
    element("p", {}, `Runs, about ${seconds(plan.seconds)} if nothing of it was done before:`),
    list,
    element("p", { class: "small soft" }, `Reuses ${plan.reused.join(", ") || "nothing"}.`),
    ...(plan.left_out.length ? [element("p", { class: "small soft" }, `Leaves out ${plan.left_out.join(", ")}.`)] : []),
    ...notes,
  );
}

export async function plan(request, place) {
  place.textContent = "Planning …";
  try {
    showPlan(place, await post("/api/rerun/plan", request));
  } catch (error) {
    place.textContent = error.message;
  }
}

export async function start(request, place) {
  place.textContent = "Starting …";
  try {
    const { run_id } = await post("/api/rerun/start", request);
    location.assign(`/runs/${encodeURIComponent(run_id)}`);
  } catch (error) {
    place.textContent = error.message;
  }
}

function asked(form) {
  const typed = form.elements.assignments?.value.split("\n").map((line) => line.trim()).filter(Boolean);
  return {
    run: form.dataset.run,
    task: form.dataset.task,
    assignments: form.dataset.assignments ? [form.dataset.assignments] : typed || [],
    downstream: form.elements.downstream?.checked ?? true,
    backfill: form.elements.backfill?.checked ?? false,
  };
}

for (const form of document.querySelectorAll("form.rerun")) {
  const place = form.querySelector(".plan");
  form.querySelector("[data-plan]").addEventListener("click", () => plan(asked(form), place));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    start(asked(form), place);
  });
}
