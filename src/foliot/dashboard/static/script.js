// Pages work without this file. It renews regions after a hint, sends previews as one types, and handles keys.
// Nothing here computes a time: the server has said them all, and this only adds the reader's own zone to titles.
"use strict";
const root = document.documentElement.dataset.root;
const body = document.body;
const $ = (selector, from = document) => from.querySelector(selector);
const $$ = (selector, from = document) => [...from.querySelectorAll(selector)];

// -- logging in: a link has its code behind the "#", which browsers send to no server -------------

const login = $("form[data-login]");
if (login && location.hash.length > 1) {
  const code = decodeURIComponent(location.hash.slice(1));
  history.replaceState(null, "", location.pathname + location.search);
  login.elements.token.value = code;
  login.requestSubmit();
}

// -- regions: elements with an id are replaced by those of the page as it is now -------------------

let isBusy = false, isWanted = false, isStale = false, fresh = Date.now();

function isHeld(old) {
  // A row under the pointer, a selection, or a field that is being filled in stays where it is.
  const chosen = getSelection();
  const isSelected = chosen && !chosen.isCollapsed && old.contains(chosen.anchorNode);
  const active = document.activeElement;
  const isTyped = active && old.contains(active) && active.matches("input, select, textarea");
  return isSelected || isTyped || $$("tr:hover", old).length > 0 || $$("input:checked", old).some((box) => box.name === "id");
}

function renew(next) {
  let waiting = 0;
  for (const old of $$("main [id]")) {
    if (old.parentElement.closest("main [id]") && old.tagName !== "PRE") continue; // it goes with the one around it
    const now = next.getElementById(old.id);
    if (!now || now.isEqualNode(old)) continue;
    if (old.matches("form, input, #main") || $("form[data-preview], #token", old)) continue;
    if (isHeld(old)) { waiting += 1; continue; }
    const focus = old.contains(document.activeElement) ? document.activeElement.id || document.activeElement.getAttribute("href") : "";
    old.replaceWith(now);
    if (focus) (document.getElementById(focus) || $(`[href="${CSS.escape(focus)}"]`))?.focus({ preventScroll: true });
  }
  const age = next.getElementById("age"), stamp = $("footer time", next);
  if (age) $("#age").replaceWith(age);
  if (stamp) $("footer time")?.replaceWith(stamp);
  $("#live").textContent = waiting ? "New data waits until the pointer leaves the list." : "";
  isStale = waiting > 0;
  dress();
}

async function reread() {
  if (isBusy) { isWanted = true; return; }
  isBusy = true;
  try {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" }, redirect: "manual" });
    if (answer.type === "opaqueredirect") location.reload();
    else if (answer.ok || answer.status === 503) {
      renew(new DOMParser().parseFromString(await answer.text(), "text/html"));
      fresh = Date.now();
    }
  } catch { /* the connection is lost: the banner says so */ }
  isBusy = false;
  if (isWanted) { isWanted = false; later(); }
}
let timer = 0;
function later() { timer ||= setTimeout(() => { timer = 0; reread(); }, 400); }
document.addEventListener("pointerout", () => { if (isStale) later(); });

// -- hints: one stream for all tabs of a browser; the tab that holds the lock has it ---------------

const own = (body.dataset.topics || "").split(" ").filter(Boolean);
const channel = own.length && "BroadcastChannel" in window ? new BroadcastChannel(`foliot${root}`) : null;
const lost = $("#lost");
let source = null, wanted = new Map(), me = crypto.randomUUID?.() || String(Math.random()), lostAt = 0, isLeader = false;

function heard(topic) {
  if (topic === "" || own.includes(topic)) later();
}

function showLost(isLost) {
  if (isLost && !lostAt) lostAt = Date.now();
  if (!isLost && lostAt) { lostAt = 0; later(); }
  lost.hidden = !isLost;
  if (isLost) lost.textContent = `The connection is lost. This page is ${Math.round((Date.now() - fresh) / 1000)} s old.`;
}

function listen() {
  source?.close();
  source = null;
  let topics = [...new Set([...wanted.values()].flat())];
  if (!topics.length) return;
  if (topics.length > 100) topics = []; // more than a stream takes: then all
  source = new EventSource(`${root}/api/v1/events?topics=${encodeURIComponent(topics.join(","))}`);
  const say = (topic) => { channel.postMessage({ topic }); heard(topic); };
  source.addEventListener("changed", (event) => say(JSON.parse(event.data).topic));
  source.addEventListener("resync", () => say(""));
  source.onopen = () => { channel.postMessage({ lost: false }); showLost(false); };
  source.onerror = () => { channel.postMessage({ lost: true }); showLost(true); };
}

function want(from, topics) {
  if (JSON.stringify(wanted.get(from)) === JSON.stringify(topics)) return;
  if (topics) wanted.set(from, topics); else wanted.delete(from);
  if (isLeader) listen();
}

if (channel) {
  channel.onmessage = ({ data }) => {
    if (data.want !== undefined) want(data.from, data.want);
    if (data.ask && !document.hidden) channel.postMessage({ from: me, want: own });
    if (data.topic !== undefined) heard(data.topic);
    if (data.lost !== undefined) showLost(data.lost);
  };
  const lead = () => { isLeader = true; channel.postMessage({ ask: true }); listen(); return new Promise(() => {}); };
  want(me, own);
  channel.postMessage({ from: me, want: own });
  if (navigator.locks) navigator.locks.request(`foliot${root}`, lead); else lead();
  addEventListener("pagehide", () => { channel.postMessage({ from: me, want: null }); source?.close(); });
  let hiding = 0;
  document.addEventListener("visibilitychange", () => {
    clearTimeout(hiding);
    const tell = (topics) => { want(me, topics); channel.postMessage({ from: me, want: topics }); };
    if (document.hidden) hiding = setTimeout(() => tell(null), 30000); else { tell(own); later(); }
  });
  setInterval(() => {
    if (lostAt) { showLost(true); later(); }
    if (isLeader && source?.readyState === EventSource.CLOSED) listen(); // a refusal ends a stream for good
  }, 3000);
}

// -- what the script adds to a page ----------------------------------------------------------------

const zone = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" });
function dress() {
  for (const time of $$("time[title]:not([data-own])")) {
    time.dataset.own = "";
    time.title += ` · here ${zone.format(new Date(time.dateTime))}`;
  }
  const log = $("[data-log] .log");
  if (log && $("[data-follow]")?.checked) log.scrollTop = log.scrollHeight;
  if (log) log.closest("[data-log]").classList.toggle("nowrap", !$("[data-wrap]").checked);
}
document.addEventListener("change", (event) => {
  if (event.target.matches("[data-wrap], [data-follow]")) dress();
  if (event.target.name === "id") count();
});
function count() {
  const chosen = $$("input[name=id]:checked").length;
  const told = $("[data-count]");
  if (told) told.textContent = chosen ? `${chosen} chosen:` : "Chosen jobs:";
}

// A command to many jobs goes on by itself, page by page, until Stop is pressed.
const goesOn = $("form[data-goes-on]");
if (goesOn) {
  $("[data-goes-on-word]").textContent = "It goes on by itself.";
  const wait = setTimeout(() => goesOn.requestSubmit(), 400);
  goesOn.addEventListener("submit", () => clearTimeout(wait));
}

// The preview of an edit follows what is typed; the server computes it.
const editor = $("form[data-preview]");
if (editor) {
  let typing = 0;
  editor.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(async () => {
      const fields = new URLSearchParams(new FormData(editor));
      fields.set("preview", "yes");
      const answer = await fetch(editor.action, { method: "POST", body: fields, headers: { Accept: "text/html" } }).catch(() => null);
      if (!answer) return;
      const next = new DOMParser().parseFromString(await answer.text(), "text/html");
      const told = next.getElementById("preview"), wrong = $("form [role=alert]", next);
      if (wrong) { told.textContent = ""; told.append(wrong, ...$$(".fault", next)); }
      if (told) $("#preview").replaceWith(told);
    }, 300);
  });
}

// The search box completes keys.
const search = $("#search");
let asking = 0;
search?.addEventListener("input", () => {
  clearTimeout(asking);
  if (search.value.length < 2) return;
  asking = setTimeout(async () => {
    const answer = await fetch(`${root}/api/v1/jobs?limit=10&search=${encodeURIComponent(search.value)}`).catch(() => null);
    if (!answer?.ok) return;
    const options = (await answer.json()).jobs.map((job) => Object.assign(document.createElement("option"), { value: job.key }));
    $("#keys").replaceChildren(...options);
  }, 200);
});

// -- keys ------------------------------------------------------------------------------------------

let isGoing = false;
const rows = () => $$(".rows tbody tr[data-href]");
const current = () => $(".rows tr.at");
function move(step) {
  const all = rows();
  if (!all.length) return;
  const place = all.indexOf(current());
  const next = all[Math.max(0, Math.min(all.length - 1, place + step))];
  current()?.classList.remove("at");
  next.classList.add("at");
  $("a", next)?.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
}
async function help() {
  if ($("dialog")) { $("dialog").remove(); return; }
  const answer = await fetch(`${root}/about`, { headers: { Accept: "text/html" } });
  const keys = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("keys-help");
  if (!keys) return;
  const box = document.createElement("dialog");
  box.setAttribute("aria-label", "Keys");
  box.append(...keys.childNodes);
  box.addEventListener("close", () => box.remove());
  body.append(box);
  box.showModal();
}
function button(name) { return $$("#actions button").find((one) => one.textContent === name && !one.disabled); }
const KEYS = {
  "/": () => { search?.focus(); },
  "?": help,
  j: () => move(1),
  k: () => move(-1),
  x: () => { const box = current() && $("input[type=checkbox]", current()); if (box) { box.checked = !box.checked; count(); } },
  p: () => { ($$("input[name=id]:checked").length ? $(".bulkbar button[value=pause]") : button("Pause"))?.click(); },
  w: () => { const row = current(); if (row && !$("#actions")) location.href = `${row.dataset.href.split("#")[0]}?why=true#why`; else button("Why")?.click(); },
};
document.addEventListener("keydown", (event) => {
  const isTyping = event.target.closest("input:not([type=checkbox]), textarea, select");
  if (event.key === "Escape" && isTyping) event.target.blur();
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  if (isGoing) {
    isGoing = false;
    const link = $(`[data-go="${CSS.escape(event.key)}"]`);
    if (link) { event.preventDefault(); link.click(); }
  } else if (event.key === "g") {
    isGoing = true;
    setTimeout(() => { isGoing = false; }, 1500);
  } else if (event.key === "Enter" && current() && !event.target.closest("a, button")) {
    location.href = current().dataset.href;
  } else if (Object.hasOwn(KEYS, event.key)) {
    event.preventDefault();
    KEYS[event.key]();
  }
});
$("[data-help]")?.addEventListener("click", (event) => { event.preventDefault(); help(); });
dress();
