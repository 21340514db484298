// Requests to the console. Every answer is JSON; a refusal has its reason in `error`.

const csrf = document.querySelector('meta[name="csrf"]').content;

async function answer(response) {
  const text = await response.text();
  let data;
  try {
    data = JSON.parse(text);
  } catch {
    throw new Error(text.trim() || `The console answered ${response.status}.`);
  }
  if (!response.ok) throw new Error(data.error || `The console answered ${response.status}.`);
  return data;
}

export async function get(url, signal) {
  return answer(await fetch(url, { signal }));
}

export async function post(url, data) {
  const headers = { "content-type": "application/json", "x-csrf-token": csrf };
  return answer(await fetch(url, { method: "POST", headers, body: JSON.stringify(data) }));
}

// Calls `work` again and again until it returns true; slower while nobody looks.
export async function follow(work, seconds) {
  for (;;) {
    try {
      if (await work()) return;
    } catch (error) {
      if (error.name !== "TypeError") throw error; // a console that is away for a moment comes back
    }
    const wait = document.hidden ? 10 * seconds : seconds;
    await new Promise((resolve) => setTimeout(resolve, 1000 * wait));
  }
}

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

export const count = (value) => value.toLocaleString("en-US");
