// Pages work without this file. It renews them, sends previews as one types, and handles keys.
// Nothing here computes a time: the server has said them all, and this only adds the reader's own zone to titles.
"use strict";
const root = document.documentElement.dataset.root;
const body = document.body;
const $ = (selector, from = document) => from.querySelector(selector);
const $$ = (selector, from = document) => [...from.querySelectorAll(selector)];
const make = (name, given) => Object.assign(document.createElement(name), given);
async function read(url, given) {
  try {
    const answer = await fetch(url, { headers: { Accept: "text/html" }, signal: AbortSignal.timeout(30000), ...given });
    return [answer, new DOMParser().parseFromString(await answer.text(), "text/html")];
  } catch { return [null, document.implementation.createHTMLDocument()]; }
}

// Logging in: a link has its code behind the "#", which no server is sent.
const login = $("form[data-login]");
if (login && /^#(?!flt_)[\w-]+$/.test(location.hash)) { // no token
  login.elements.token.value = location.hash.slice(1);
  history.replaceState(null, "", location.pathname + location.search);
  login.requestSubmit();
}

// -- renewal: this page is made like the server's, element by element ------------------------------
// Elements stay, and with them what the reader did: texts, ticks, open details, places in scrolled boxes.
const canHover = matchMedia("(hover: hover)").matches; // after a tap, :hover stays for ever
let isForced = false, news = 0;
function kin(node) {
  // Two elements are the same if their id, link or name is; those without one go by their order.
  if (!(node instanceof Element)) return node.nodeName;
  const link = (node.matches("tr, li") && $("a[href]", node)) || node;
  return `${node.nodeName} ${node.id || node.dataset.href || link.getAttribute("href") || node.getAttribute("name") || ""}`;
}
function isSelected(old, chosen = getSelection()) {
  return !chosen.isCollapsed && (old.contains(chosen.anchorNode) || old.contains(chosen.focusNode));
}
function look(row) {
  // News of a row are its state and its instants, not that they are nearer; a lease is renewed all the time.
  const shown = $$(".chip, .spark, td:not([data-label=Lease]) time", row);
  return kin(row) + shown.map((one) => one.dateTime || one.getAttribute("aria-label") || one.textContent).join();
}
function changes(old, now) {
  const [before, after] = [old, now].map((list) => $$("tbody tr, li", list).map(look));
  const less = (some, others) => some.filter((row) => !others.includes(row)).length;
  return Math.max(less(after, before), less(before, after)) || Number(`${before}` !== `${after}`);
}
function waits(old, now) {
  // Rows do not move under the pointer, in a selection, or while some of them are chosen.
  if (isForced || !old.matches(".rows, .plain")) return false;
  const isTaken = isSelected(old), isPointed = canHover && $("tr:hover, li:hover", old);
  const more = isTaken || isPointed || $("[name=id]:checked", old) ? changes(old, now) : 0;
  news += more;
  return more > 0 || isTaken;
}
function alike(old, now) {
  if (old.isEqualNode(now)) return;
  if (!(old instanceof Element)) {
    if (now.data.startsWith(old.data)) old.appendData(now.data.slice(old.length)); // a selection in it stays
    else if (!isSelected(old)) old.data = now.data;
    return;
  }
  if (old.matches("datalist") || waits(old, now)) return;
  if (old.matches("details")) now.open = old.open;
  for (const mark of ["at", "nowrap"]) if (old.classList.contains(mark)) now.classList.add(mark);
  for (const { name } of [...old.attributes]) if (!now.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of now.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  const left = new Map();
  for (const node of old.childNodes) left.set(kin(node), left.get(kin(node)) || []).get(kin(node)).push(node);
  const pairs = [...now.childNodes].map((node) => [left.get(kin(node))?.shift(), node]);
  for (const node of [...left.values()].flat()) node.remove();
  let place = old.firstChild;
  for (const [kept, node] of pairs) {
    if (kept && kept === place) place = place.nextSibling;
    else old.insertBefore(kept || node, place);
    if (kept) alike(kept, node);
  }
}
function renew(next) {
  const { topics } = next.body.dataset;
  if (!topics) return false; // an error does not take the place of this page
  addZone(next);
  const focus = document.activeElement;
  news = 0;
  for (const part of ["main", "#age", "footer"]) alike($(part), $(part, next));
  isForced = false;
  if (focus.isConnected && focus !== document.activeElement) focus.focus({ preventScroll: true });
  follow();
  count();
  $("#news").replaceChildren(...(news ? [showNews] : []));
  showNews.textContent = `${news} new or changed: show`;
  if (topics !== body.dataset.topics) { body.dataset.topics = topics; tell(hello()); }
  return true;
}
const showNews = make("button", { className: "main", onclick: () => { isForced = true; reread(); } });

// -- when: after a hint, but once a second at most; and every 20 seconds, as silence gives no hint -
const PERIOD = 20000, lost = $("#lost");
let isBusy = false, timer = 0, begun = 0, misses = 0, fresh = Date.now(), typed = fresh, isMute = false, cut = "";
async function reread() {
  if (isBusy) { later(); return; }
  [isBusy, begun] = [true, Date.now()];
  const [answer, next] = await read(location.href, { redirect: "manual" });
  isBusy = false;
  if (answer?.type === "opaqueredirect") location.reload(); // it leads to the login
  const isNew = (answer?.ok || answer?.status === 503) && renew(next);
  cut = isNew ? "" : answer ? `The server answers ${answer.status}.` : "The connection is lost.";
  [misses, fresh] = cut ? [Math.min(misses + 1, 3), fresh] : [0, Date.now()];
  showLost();
}
function later() {
  const wait = Math.max(300 + 200 * Math.random(), begun + 1000 * 2 ** misses - Date.now());
  if (!document.hidden) timer ||= setTimeout(() => { timer = 0; reread(); }, wait);
}
function poll() {
  if (!document.hidden && !$("dialog[open]") && Date.now() - typed > PERIOD / 2) reread();
  setTimeout(poll, PERIOD * 2 ** misses * (0.85 + 0.3 * Math.random()));
}
function showLost() {
  const words = cut || (isMute ? "Hints do not come." : "");
  const [told, age] = lost.children; // the age is not read aloud
  lost.hidden = !words;
  if (told.textContent !== words) told.textContent = words;
  age.textContent = ` This page is ${Math.round((Date.now() - fresh) / 1000)} s old.`;
}
document.addEventListener("input", () => { typed = Date.now(); });
document.addEventListener("pointerover", ({ target }) => { if (news && !target.closest(".rows, .plain")) later(); });

// -- hints: one stream for all tabs of a browser; the tab that holds the lock has it ---------------
const own = () => (body.dataset.topics || "").split(" ").filter(Boolean);
const channel = own().length && "BroadcastChannel" in window ? new BroadcastChannel(`foliot${root}`) : null;
const me = Math.random(), hello = () => ({ from: me, want: own() }), bye = { from: me };
const wanted = new Map(); // the topics of each tab
let source = null, opened = 0, tries = 0, again = 0, isLeader = false;
function hush() { source?.close(); source = null; }
function listen() {
  const topics = [...new Set([...wanted.values()].flat())];
  const few = topics.length > 100 ? "" : topics; // more than a stream takes: then all
  const url = `${root}/api/v1/events?topics=${encodeURIComponent(few)}`;
  if (topics.length && source?.url.endsWith(url)) return;
  hush();
  if (!topics.length) return;
  source = new EventSource(url);
  source.addEventListener("changed", (event) => tell({ topic: JSON.parse(event.data).topic }));
  source.addEventListener("resync", () => tell({ topic: "" }));
  source.onopen = () => { opened = Date.now(); tell({ mute: false }); };
  source.onerror = () => { // by itself a browser never comes again after a refusal
    hush();
    if (opened && Date.now() - opened > 10000) tries = 0;
    if (tries) tell({ mute: true }); // a server ends each stream some day: that is no news
    listenIn(Math.min(30000, 1000 * 2 ** tries) * (0.5 + Math.random() / 2));
    [tries, opened] = [tries + 1, 0];
  };
}
function listenIn(wait) { again ||= setTimeout(() => { again = 0; listen(); }, wait); }
function take({ from, want, ask, topic, mute }) {
  if (want) wanted.set(from, want); else if (from) wanted.delete(from);
  if (from && isLeader) listenIn(50);
  if (ask && !document.hidden) tell(hello());
  if (topic === "" || own().includes(topic)) later();
  if (mute === !isMute) { isMute = mute; later(); showLost(); }
}
function tell(message) { channel?.postMessage(message); take(message); }
if (channel) {
  const lead = () => { isLeader = true; tell({ ask: true }); listenIn(50); return new Promise(() => {}); };
  channel.onmessage = ({ data }) => take(data);
  tell(hello());
  if (navigator.locks) navigator.locks.request(`foliot${root}`, lead); else lead();
  addEventListener("pagehide", () => { channel.postMessage(bye); source?.close(); });
  addEventListener("online", () => { later(); if (isLeader && !source) listen(); });
  let hiding = 0;
  document.addEventListener("visibilitychange", () => {
    clearTimeout(hiding);
    if (document.hidden) hiding = setTimeout(() => tell(bye), 30000);
    else { tell(hello()); later(); }
  });
  $("#news").style.cssText = "position: fixed; top: 0.5rem; left: 50%; translate: -50%; z-index: 6";
  poll();
  setInterval(() => { if (!lost.hidden) showLost(); }, 3000);
}

// -- what the script adds to a page ----------------------------------------------------------------
const zone = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" });
function addZone(page) {
  for (const time of $$("time[title]:not([data-own])", page)) {
    time.dataset.own = "";
    time.title += ` · here ${zone.format(new Date(time.dateTime))}`;
  }
}
function follow() {
  const log = $("[data-log] .log");
  log?.closest("[data-log]").classList.toggle("nowrap", !$("[data-wrap]").checked);
  if (log && $("[data-follow]")?.checked) log.scrollTop = log.scrollHeight;
}
document.addEventListener("scroll", ({ target: log }) => { // who scrolls back reads there
  const isBack = log.matches?.(".log") && log.scrollHeight - log.scrollTop - log.clientHeight > 40;
  if (isBack) $$("[data-follow]").forEach((box) => { box.checked = false; });
}, true);
function count() {
  const chosen = $$("input[name=id]:checked").length, told = $("[data-count]");
  if (told) told.textContent = chosen ? `${chosen} chosen:` : "Chosen jobs:";
}
document.addEventListener("change", (event) => {
  if (event.target.matches("[data-wrap], [data-follow]")) follow();
  if (event.target.name === "id") { count(); if (news) later(); }
});

// What was done is read aloud only if it comes into a region that was there before.
const note = $(".told");
if (note) setTimeout(() => {
  const fade = () => setTimeout(() => { if (note.matches(":hover, :focus-within")) fade(); else note.remove(); }, 10000);
  note.append(" ", make("button", { className: "quiet", textContent: "Dismiss", onclick: () => note.remove() }));
  $("#toast").append(note);
  fade();
}, 200);

// A command to many jobs goes on by itself, page by page, until Stop is pressed.
const goesOn = $("form[data-goes-on]"), pace = goesOn && setTimeout(() => goesOn.requestSubmit(), 400);
goesOn?.addEventListener("submit", () => clearTimeout(pace));
if (goesOn) $("[data-goes-on-word]").textContent = "It goes on by itself.";

// The preview of an edit follows what is typed; the server computes it.
const editor = $("form[data-preview]");
let rest = 0;
editor?.addEventListener("input", () => { clearTimeout(rest); rest = setTimeout(preview, 300); });
async function preview() {
  const fields = new URLSearchParams(new FormData(editor));
  fields.set("preview", "yes");
  const [, next] = await read(editor.action, { method: "POST", body: fields });
  const told = next.getElementById("preview"), wrong = $("form [role=alert]", next);
  if (told && wrong) told.replaceChildren(wrong, ...$$(".fault", next));
  if (told) $("#preview").replaceWith(told);
}

// The search box completes keys; Enter on one of them leads to its job.
const search = $("#search");
search?.addEventListener("input", () => { clearTimeout(rest); if (search.value.length > 1) rest = setTimeout(complete, 200); });
search?.form.addEventListener("submit", (event) => {
  const found = $$("#keys option").find((one) => one.value === search.value);
  if (found) { event.preventDefault(); location.href = `${root}/jobs/${found.jobId}`; }
});
async function complete() {
  const answer = await fetch(`${root}/api/v1/jobs?limit=10&search=${encodeURIComponent(search.value)}`).catch(() => null);
  const jobs = answer?.ok ? (await answer.json()).jobs : [];
  $("#keys").replaceChildren(...jobs.map((job) => make("option", { value: job.key, jobId: job.id })));
}

// -- keys ------------------------------------------------------------------------------------------
let going = 0;
const current = () => $(".rows tr.at");
const press = (name) => $$("#actions button:enabled, #actions a").find((one) => one.textContent.trim() === name)?.click();
function move(step) {
  const all = $$(".rows tbody tr[data-href]"), marked = current();
  const next = all[Math.max(0, Math.min(all.length - 1, all.indexOf(marked) + step))];
  if (!next) return;
  marked?.classList.remove("at");
  next.classList.add("at");
  $("a", next)?.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
}
async function help() {
  if ($("dialog")) return $("dialog").remove();
  const keys = (await read(`${root}/about`))[1].getElementById("keys-help");
  if (!keys) return;
  const box = make("dialog", { ariaLabel: "Keys", onclose: () => box.remove() });
  box.append(...keys.childNodes);
  body.append(box);
  box.showModal();
}
function choose() {
  const box = $(".rows tr.at input[name=id]");
  if (box) { box.checked = !box.checked; count(); }
}
function pause() {
  if (!$("input[name=id]:checked")) choose();
  if ($("input[name=id]:checked")) $(".bulkbar button[value=pause]")?.click(); else press("Pause");
}
function why() {
  const to = current() && new URL(current().dataset.href, location);
  if (!to?.pathname.startsWith(`${root}/jobs/`)) { press("Why"); return; } // a run or a source has no why of its own
  to.searchParams.set("why", "true");
  location.href = Object.assign(to, { hash: "why" });
}
function enter() { if (current()) location.href = current().dataset.href; }
const KEYS = { "/": () => search?.focus(), "?": help, j: () => move(1), k: () => move(-1), x: choose, p: pause, w: why, Enter: enter };
document.addEventListener("keydown", (event) => {
  const { key, target } = event;
  const isTyping = target.closest("input:not([type=checkbox]), textarea, select");
  if (isTyping && key === "Escape") target.blur();
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey || ($("dialog[open]") && key !== "?")) return;
  if (key === "Enter" && target.closest("a, button, summary")) return;
  const link = $(`[data-go="${CSS.escape(key)}"]`), isGoing = Date.now() - going < 1500;
  going = key === "g" ? Date.now() : 0;
  const act = isGoing ? link && (() => link.click()) : KEYS[key];
  if (act) { event.preventDefault(); act(); }
});
$("[data-help]")?.addEventListener("click", (event) => { event.preventDefault(); help(); });
addZone(document);
follow();
