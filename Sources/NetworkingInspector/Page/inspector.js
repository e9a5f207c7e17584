// The inspector's page: reads a HAR archive (or a live feed of its entries) and shows it as calls.
//
// Everything in the archive is untrusted. Text is inserted only through textContent, no URL from the data becomes a link,
// and a field of the wrong type is treated as missing.
"use strict";
(() => {

// MARK: Reading values that may be of any type

const text = value => typeof value === "string" ? value
  : typeof value === "number" || typeof value === "boolean" ? String(value) : "";
const list = value => Array.isArray(value) ? value : [];
const object = value => value !== null && typeof value === "object" && !Array.isArray(value) ? value : {};

function number(value) {
  if (typeof value === "string" && value.trim() !== "") value = Number(value);
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

/** A size or a duration; null if it is unknown, which HAR writes as -1. */
function amount(value) {
  const known = number(value);
  return known !== null && known >= 0 ? known : null;
}

function instant(value) {
  const time = Date.parse(text(value));
  return Number.isFinite(time) ? time : null;
}

// MARK: Formatting

const grouped = value => value.toLocaleString("en");
const counted = (count, one, many = one + "s") => `${grouped(count)} ${count === 1 ? one : many}`;

function duration(milliseconds) {
  if (milliseconds === null || milliseconds === undefined) return "–";
  if (milliseconds < 0.995) return milliseconds === 0 ? "0 ms" : `${milliseconds.toFixed(2)} ms`;
  if (milliseconds < 99.95) return `${milliseconds.toFixed(1)} ms`;
  if (milliseconds < 999.5) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 59_995) return `${(milliseconds / 1000).toFixed(2)} s`;
  const seconds = Math.round(milliseconds / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, "0")} s`;
  return `${Math.floor(seconds / 3600)} h ${String(Math.floor(seconds / 60) % 60).padStart(2, "0")} min`;
}

function bytes(count) {
  if (count === null || count === undefined) return "–";
  if (count < 1000) return `${count} B`;
  const [divisor, unit] = count < 999_950 ? [1e3, "KB"] : count < 999_950_000 ? [1e6, "MB"] : [1e9, "GB"];
  return `${(count / divisor).toFixed(1)} ${unit}`;
}

const dateFormat = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });
const clockFormat = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3 });

// Marks that change the direction of text, and invisible characters, could make a value look like another one.
const unseen = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/g;
const unseenOnLine = new RegExp(unseen.source + "|[\\t\\n]", "g");

function shape(character) {
  const code = character.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return code === 0x7f ? "␡" : `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
}

const visibleLine = value => value.replace(unseenOnLine, shape);
const visibleText = value => value.replace(/\r\n/g, "\n").replace(unseen, shape);
const clipped = (value, limit) => value.length > limit ? value.slice(0, limit) + "…" : value;
/** A value of any type as a single line of limited length. */
const line = (value, limit) => visibleLine(clipped(text(value), limit));
/** A URL for display: an archive percent-encodes the placeholder of redacted values. */
const readable = url => url.replaceAll("%3Credacted%3E", "<redacted>");

// MARK: Elements

const $ = id => document.getElementById(id);

/** Creates an element with attributes (including `text`, `on` and `class`) and children; null children are left out. */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "text") made.textContent = value;
    else if (name === "on") for (const [event, handler] of Object.entries(value)) made.addEventListener(event, handler);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat().filter(child => child !== null && child !== undefined));
  return made;
}

/** Changes a text only if it differs, because screen readers announce every change of a live region. */
function setText(target, value) {
  if (target.textContent !== value) target.textContent = value;
}

function setAttribute(target, name, value) {
  if (value === null) target.removeAttribute(name);
  else if (target.getAttribute(name) !== String(value)) target.setAttribute(name, value);
}

function announce(message) {
  $("announcer").textContent = message;
}

/** Returns a function that runs `work` once at the next frame, however often it is called before. */
function atNextFrame(work) {
  let isAsked = false;
  return () => {
    if (isAsked) return;
    isAsked = true;
    requestAnimationFrame(() => { isAsked = false; work(); });
  };
}

async function copy(value, button) {
  let isCopied = true;
  try {
    await navigator.clipboard.writeText(value);
  } catch {
    isCopied = copyBySelection(value);
  }
  const label = button.dataset.label ??= button.textContent;
  button.textContent = isCopied ? "Copied" : "Not copied";
  announce(button.textContent);
  setTimeout(() => { button.textContent = label; }, 1500);
}

// In some browsers, a page that is opened from a file cannot use the clipboard API.
function copyBySelection(value) {
  const focused = document.activeElement;
  const area = element("textarea", { class: "hidden", "aria-hidden": "true", readonly: true });
  area.value = value;
  document.body.append(area);
  area.select();
  const isCopied = document.execCommand("copy");
  area.remove();
  focused?.focus();
  return isCopied;
}

const tag = (look, words, title) => element("span", { class: look, text: words, title });
const space = () => element("span", { class: "space" });
/** The sign of an outcome; the `is-…` class of an enclosing element determines its look. */
const shapeSign = () => element("span", { class: "shape", "aria-hidden": "true" });

const button = (words, action, look = "button small") =>
  element("button", { type: "button", class: look, text: words, on: { click: action } });
const copyButton = (words, value) => button(words, event => copy(value(), event.currentTarget));

function kept(key, fallback) {
  try { return localStorage.getItem("inspector." + key) ?? fallback; } catch { return fallback; }
}

function keep(key, value) {
  try { localStorage.setItem("inspector." + key, value); } catch { /* A page that is opened from a file may have no storage. */ }
}

// MARK: From entries to calls

const slowMilliseconds = 1000;
const servedByCache = { fresh: "cache", stale: "stale", standIn: "stand-in", revalidated: "revalidated" };
let lastRow = 0;

function splitURL(url) {
  const parts = /^[a-z][a-z0-9+.-]*:\/\/(?:[^\/?#\\@]*@)?([^\/?#\\]*)([^]*)$/i.exec(url);
  return parts ? { host: parts[1].toLowerCase(), path: parts[2] || "/" } : { host: "", path: url };
}

function errorOf(entry) {
  const given = entry._error ?? object(entry.response)._error;
  if (typeof given === "string") return given === "" ? null : { kind: "", reason: given };
  const kind = text(object(given).kind), reason = text(object(given).reason);
  return kind || reason ? { kind, reason } : null;
}

function makeCall(id, entries) {
  entries = entries.map(object);
  const first = entries[0] ?? {}, last = entries[entries.length - 1] ?? {};
  const isOurs = typeof first._call === "object" && first._call !== null;
  const about = object(entries.map(entry => object(entry._call)).find(each => each.url !== undefined || each.state !== undefined));
  const call = { id, row: ++lastRow, version: ++lastRow, entries, about, isOurs };

  call.method = text(about.method) || text(object(first.request).method) || "?";
  call.url = text(about.url) || text(object(first.request).url);
  Object.assign(call, splitURL(call.url));
  call.start = instant(about.startedDateTime) ?? instant(first.startedDateTime);
  call.time = amount(about.time) ?? (isOurs ? null : amount(first.time));
  call.error = errorOf({ _error: about.error }) ?? (isOurs ? null : errorOf(first));
  call.final = object(about.response ?? last.response);
  // A call of this library states its own outcome: a cancelled call has no status, even if its exchange had one.
  call.status = amount(about.status) ?? (isOurs && about.state !== "response" ? null : amount(call.final.status) || null);
  call.state = stateOf(call);
  call.isPending = call.state === "pending";
  call.isFailed = call.state === "failure" || call.state !== "cancelled" && call.status >= 400;

  const cache = text(about.cache);
  call.cache = cache || (first._fromCache ? "fresh" : "");
  // A cache of another package has its own words for a hit.
  call.isCached = !["", "missed", "bypassed"].includes(call.cache);
  call.cacheKind = Object.hasOwn(servedByCache, call.cache) ? call.cache : "fresh";
  call.isShared = about.shared === true;
  const exchanges = isOurs ? entries.filter(entry => entry._exchange) : entries;
  call.exchanges = exchanges.length;
  call.attempts = amount(about.attempts) ?? (isOurs ? exchanges.length : 1);
  call.isRetried = (amount(about.retries) ?? call.attempts - 1) > 0;
  call.redirects = amount(about.redirects) ?? 0;
  call.sent = amount(about.sentBytes) ?? (isOurs ? 0 : sizeOf(object(first.request)));
  call.received = amount(about.receivedBytes) ?? (isOurs ? 0 : sizeOf(object(first.response)));
  call.saved = amount(about.savedBytes) ?? 0;
  call.size = call.received || amount(object(call.final.content).size) || 0;
  call.isSlow = call.time !== null && call.time >= slowMilliseconds;
  return call;
}

function stateOf({ about, error, status, isOurs, entries }) {
  const state = text(about.state);
  if (["pending", "response", "failure", "cancelled"].includes(state)) return state;
  if (error) return "failure";
  if (status) return "response";
  return isOurs || amount(object(entries[0]?.response).status) === 0 ? "failure" : "unknown";
}

/** The transferred size of a message, computed from its parts if the archive does not state it. */
function sizeOf(message) {
  const whole = amount(message._transferSize);
  return whole ?? (amount(message.headersSize) ?? 0) + (amount(message.bodySize) ?? amount(object(message.content).size) ?? 0);
}

/** The calls of an archive: entries with the same `_call.id` form one call, and each other entry is a call. */
function callsOf(archive) {
  const groups = new Map();
  list(object(object(archive).log).entries).forEach((entry, index) => {
    const id = text(object(object(entry)._call).id);
    const key = id === "" ? " " + index : id;
    if (groups.has(key)) groups.get(key).entries.push(entry);
    else groups.set(key, { id, entries: [entry] });
  });
  let unnamed = 0;
  const hasNames = [...groups.values()].some(group => group.id !== "");
  return [...groups.values()].map(({ id, entries }) => makeCall(id || `${hasNames ? "e" : ""}${++unnamed}`, entries));
}

// MARK: Spans of a call

const phases = [
  ["blocked", "wait", "queued"], ["dns", "connecting", "looking up the name"], ["connect", "connecting", "connecting"],
  ["ssl", "connecting", "securing"], ["send", "body", "sending"], ["wait", "firstByte", "waiting for the first byte"],
  ["receive", "body", "receiving"],
];

/** HAR's timings as consecutive spans. HAR counts `ssl` within `connect`. */
function spansOfTimings(timings, parent, from = 0) {
  const spans = [];
  for (const [key, kind, name] of phases) {
    let time = amount(timings[key]);
    if (key === "connect" && time !== null) time = Math.max(0, time - (amount(timings.ssl) ?? 0));
    if (!time) continue;
    spans.push({ id: `${parent}-${key}`, parent, kind, name, start: from, time, own: time });
    from += time;
  }
  return spans;
}

/** The spans in the order of a tree, each with its depth. Missing parents and cycles of parents are ignored. */
function spansOf(call) {
  if (call.spans) return call.spans;
  const given = list(call.about.spans).map(object).map((span, index) => ({
    id: text(span.id) || ` ${index}`, parent: text(span.parent), kind: text(span.kind) || "modifier", name: text(span.name) || text(span.kind) || "?",
    start: number(span.start) ?? 0, time: amount(span.time) ?? Math.max(0, elapsed(call) - (number(span.start) ?? 0)), own: amount(span.own),
  }));
  const spans = given.length ? given : [
    { id: "0", parent: "", kind: "call", name: "call", start: 0, time: elapsed(call), own: null },
    ...spansOfTimings(object(object(call.entries[0]).timings), "0"),
  ];
  const children = new Map(), byID = new Map(spans.map(span => [span.id, span])), ordered = [], seen = new Set();
  for (const span of spans) {
    const parent = byID.has(span.parent) && span.parent !== span.id ? span.parent : "";
    children.set(parent, [...children.get(parent) ?? [], span]);
  }
  const visit = (span, depth) => {
    if (seen.has(span)) return;
    seen.add(span);
    ordered.push(Object.assign(span, { depth }));
    const inner = (children.get(span.id) ?? []).sort((a, b) => a.start - b.start);
    span.own ??= Math.max(0, span.time - inner.reduce((sum, each) => sum + each.time, 0));
    inner.forEach(each => visit(each, depth + 1));
  };
  (children.get("") ?? []).forEach(span => visit(span, 0));
  spans.forEach(span => visit(span, 0));
  if (!call.isPending) call.spans = ordered;
  return ordered;
}

function outcomeOfEntry(entry) {
  const status = amount(object(entry.response).status) ?? 0;
  const error = errorOf(entry);
  if (error?.kind === "cancelled") return "cancelled";
  if (error || status >= 500) return "failed";
  return status >= 400 ? "refused" : status >= 300 ? "moved" : status > 0 ? "good" : "";
}

function outcomeOf(call) {
  if (["pending", "cancelled", "unknown"].includes(call.state)) return call.state;
  if (call.state === "failure" && !(call.status >= 400 && call.status < 500) || call.status >= 500) return "failed";
  return call.status >= 400 ? "refused" : call.status >= 300 ? "moved" : "good";
}

/** The entry with the outcome of an attempt: the last exchange that began within it, because it may have followed redirects. */
function entryOfAttempt(call, span, index) {
  const inner = call.entries.filter(entry => {
    // An entry begins with the wait before its exchange, such as a backoff.
    const blocked = Math.max(0, number(object(entry.timings).blocked) ?? 0);
    const at = (instant(entry.startedDateTime) ?? NaN) + blocked - call.start;
    return entry._exchange && at >= span.start - 2 && at <= span.start + span.time + 2;
  });
  return inner[inner.length - 1] ?? call.entries[index];
}

/** The parts of a call's bar in the list: its waits and attempts, or the whole call. Times are in milliseconds since its start. */
function partsOf(call) {
  if (call.parts) return call.parts;
  const spans = spansOf(call), attempts = spans.filter(span => span.kind === "attempt"), parts = [];
  attempts.forEach((span, index) => {
    const entry = entryOfAttempt(call, span, index);
    const fallback = index === attempts.length - 1 ? outcomeOf(call) : "failed";
    parts.push({ ...span, look: "attempt " + (entry && outcomeOfEntry(entry) || fallback) });
  });
  const succeeded = new Set(parts.filter(part => part.look === "attempt good").map(part => part.id));
  for (const span of spans) {
    if (span.kind === "wait") parts.push({ ...span, look: call.isShared ? "sharing" : "waiting" });
    // A successful attempt is paler until the first byte. For other attempts, the colour shows only the outcome.
    else if (["connecting", "firstByte"].includes(span.kind) && succeeded.has(span.parent)) parts.push({ ...span, look: "veil" });
  }
  if (!attempts.length && !call.isCached) {
    const whole = { start: 0, time: elapsed(call), look: call.isShared ? "sharing" : `attempt ${outcomeOf(call)}` };
    const waited = parts.filter(part => part.look !== "veil").reduce((sum, part) => sum + part.time, 0);
    // In an archive of another tool, the waits come before the exchange. A call of this library without an attempt only waited.
    if (!call.isOurs || waited === 0) parts.unshift({ ...whole, start: waited, time: Math.max(0, whole.time - waited) });
  }
  if (!call.isPending) call.parts = parts;
  return parts;
}

function elapsed(call) {
  if (call.time !== null) return call.time;
  if (call.start === null) return 0;
  // While the app does not respond, the time of pending calls stops.
  const now = !isLive ? store.savedAt ?? call.start : feed.failures > 0 ? feed.heardAt : Date.now();
  return Math.max(0, now - call.start);
}

const endOf = call => call.start + elapsed(call);

// MARK: The text to search

const fieldLimit = 16_384, callLimit = 65_536;

/** The text of a call for the search, in lower case, built once for each call. */
function haystackOf(call) {
  if (call.haystack !== undefined) return call.haystack;
  const parts = [call.method, call.url, call.status, call.state, call.cache, call.final.statusText, call.about.label, call.about.title,
    call.about.cacheReason, call.error?.kind, call.error?.reason];
  for (const entry of call.entries) {
    const request = object(entry.request), response = object(entry.response), failure = errorOf(entry);
    parts.push(request.url, response.status, failure?.kind, failure?.reason);
    for (const field of [...list(request.headers), ...list(response.headers)]) parts.push(object(field).name, object(field).value);
    if (!object(request.postData)._encoding) parts.push(object(request.postData).text);
    if (!object(response.content).encoding) parts.push(object(response.content).text);
  }
  let whole = "";
  for (const part of parts) {
    const segment = text(part);
    if (segment && whole.length < callLimit) whole += (segment.length > fieldLimit ? segment.slice(0, fieldLimit) : segment) + "\n";
  }
  return call.haystack = whole.toLowerCase();
}

// Builds the texts for the search while the page is idle, so that the first keystroke does not wait for 10,000 of them.
function prepareSearch() {
  const later = window.requestIdleCallback ?? (work => setTimeout(() => work({ timeRemaining: () => 8 }), 30));
  let next = 0;
  const step = deadline => {
    while (next < store.calls.length && deadline.timeRemaining() > 2) haystackOf(store.calls[next++]);
    if (next < store.calls.length) later(step);
  };
  later(step);
}

// MARK: The state of the page

const isLive = document.documentElement.dataset.mode === "live";
const store = { calls: [], byID: new Map(), archive: null, archiveText: "", savedAt: null, problem: null, hasReadFeed: false };
const filter = { words: [], kinds: new Set(), host: "", method: "", span: null };
const view = { sort: "start", isDescending: false, visible: [], whole: { from: 0, to: 1 }, selected: null, isOpen: false, tab: "timing", filterTime: 0 };

const kinds = {
  all: ["All", "Every call", () => true],
  failed: ["Failed", "Failed, or has a status of 400 or more", call => call.isFailed],
  slow: ["Slow", `Took ${duration(slowMilliseconds)} or longer`, call => call.isSlow],
  retried: ["Retried", "Sent more than once", call => call.isRetried],
  cached: ["Cached", "Served from the cache, or revalidated", call => call.isCached],
  shared: ["Shared", "Shares the response of an identical call in progress", call => call.isShared],
  pending: ["Pending", "Still in progress", call => call.isPending],
};

const orders = {
  start: call => call.start ?? 0,
  status: call => call.state === "cancelled" ? 1000 : call.status ?? (call.isPending ? -1 : 999),
  size: call => call.size,
  time: call => elapsed(call),
};

const isFiltered = () => filter.words.length > 0 || filter.kinds.size > 0 || filter.host !== "" || filter.method !== "" || filter.span !== null;

function applyFilter() {
  const began = performance.now();
  const { words, host, method, span } = filter;
  const tests = [...filter.kinds].map(kind => kinds[kind][2]);
  view.visible = !isFiltered() ? sorted() : sorted().filter(call =>
    (host === "" || call.host === host) && (method === "" || call.method === method)
    && (span === null || call.start <= span.to && endOf(call) >= span.from)
    && tests.every(test => test(call))
    && words.every(word => haystackOf(call).includes(word)));
  view.filterTime = performance.now() - began;
}

function sorted() {
  if (view.sorted) return view.sorted;
  const key = orders[view.sort], sign = view.isDescending ? -1 : 1;
  const keyed = store.calls.map(call => [key(call), call]);
  keyed.sort((a, b) => sign * (a[0] - b[0]) || (a[1].start ?? 0) - (b[1].start ?? 0));
  return view.sorted = keyed.map(pair => pair[1]);
}

/** Updates the page after calls were added, changed or removed. */
function callsChanged() {
  view.sorted = null;
  measureSession();
  const anchor = anchorOfList();
  // A host without calls is deselected, so this precedes the filter.
  showChoices();
  applyFilter();
  showTotals();
  showChips();
  showSpan();
  showList(anchor);
  if (view.isOpen) showDetailsAgain();
}

/** Updates the page after the filter or the order has changed. */
const filterChanged = atNextFrame(() => {
  applyFilter();
  showChips();
  $("grid").scrollTop = 0;
  showList();
});

function clearFilters() {
  Object.assign(filter, { words: [], host: "", method: "", span: null });
  filter.kinds.clear();
  $("search").value = $("host").value = $("method").value = "";
  showSpan();
  filterChanged();
}

// MARK: Header

function showTotals() {
  const sum = key => store.calls.reduce((total, call) => total + (call[key] || 0), 0);
  const failures = store.calls.filter(call => call.isFailed).length;
  const { from, end } = view.whole;
  const totals = [
    ["Calls", grouped(store.calls.length)], ["Exchanges", grouped(sum("exchanges"))], ["Failures", grouped(failures), failures ? "bad" : ""],
    ["Received", bytes(sum("received"))], ["Sent", bytes(sum("sent"))], ["Saved", bytes(sum("saved"))],
    ["Elapsed", store.calls.length ? duration(end - from) : "–"],
  ];
  const target = $("totals");
  if (!target.children.length) target.append(...totals.map(([name]) => element("div", {}, element("dt", { text: name }), element("dd"))));
  totals.forEach(([, value, look], index) => {
    setText(target.children[index].lastChild, value);
    target.children[index].className = look ?? "";
  });
  const page = object(list(object(object(store.archive).log).pages)[0]);
  const began = store.calls.length ? view.whole.from : instant(page.startedDateTime);
  const creator = object(object(object(store.archive).log).creator);
  const made = line([text(creator.name), text(creator.version)].join(" ").trim(), 80);
  setText($("when"), [began ? dateFormat.format(began) : "", made].filter(Boolean).join(" · "));
}

function showChips() {
  const target = $("chips");
  if (!target.children.length) {
    for (const [kind, [label, title]] of Object.entries(kinds)) {
      target.append(element("button", { type: "button", class: "chip", "data-filter": kind, title, on: { click: () => toggleKind(kind) } },
        label, " ", element("span", { class: "count" })));
    }
  }
  for (const chip of target.children) {
    const kind = chip.dataset.filter, count = kind === "all" ? store.calls.length : store.calls.filter(kinds[kind][2]).length;
    setText(chip.querySelector(".count"), grouped(count));
    setAttribute(chip, "aria-pressed", kind === "all" ? filter.kinds.size === 0 : filter.kinds.has(kind));
    chip.classList.toggle("none", count === 0);
  }
}

function toggleKind(kind) {
  if (kind === "all") filter.kinds.clear();
  else if (!filter.kinds.delete(kind)) filter.kinds.add(kind);
  filterChanged();
}

function showChoices() {
  for (const [key, all] of [["host", "All hosts"], ["method", "All methods"]]) {
    const counts = new Map();
    for (const call of store.calls) if (call[key]) counts.set(call[key], (counts.get(call[key]) ?? 0) + 1);
    const names = [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a)).slice(0, 300).sort();
    const select = $(key), known = names.join("\n");
    // Options are replaced only if they differ, because the user may have the list open.
    if (select.known === known) continue;
    select.known = known;
    select.replaceChildren(element("option", { value: "", text: all }),
      ...names.map(name => element("option", { value: name, text: line(name, 60) })));
    if (!counts.has(filter[key])) filter[key] = "";
    select.value = filter[key];
  }
}

// MARK: Overview and the shown span of time

function measureSession() {
  store.hasStacks = new Set(store.calls.map(call => call.about.number)).size > 1;
  let from = Infinity, to = -Infinity;
  for (const call of store.calls) {
    if (call.start === null) continue;
    from = Math.min(from, call.start);
    to = Math.max(to, endOf(call));
  }
  if (from === Infinity) [from, to] = [0, 1];
  const end = Math.max(to, from + 1);
  // On a live page the scale grows in steps, because bars that move with every response are hard to read.
  view.whole = { from, end, to: isLive ? from + roundedUp(end - from) : end + (end - from) * 0.01 };
}

function roundedUp(value) {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1)));
  return power * [1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10, 12.5].find(step => step * power > value * 1.02);
}

const shownSpan = () => filter.span ?? view.whole;

/** Round values within a duration, at most `count` of them. */
function ticksOf(length, count) {
  const rough = Math.max(length, 0.001) / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find(factor => factor * power >= rough);
  return Array.from({ length: Math.floor(length / step) + 1 }, (_, index) => ({ at: index * step, label: tickLabel(index * step, step) }));
}

function tickLabel(value, step) {
  if (value === 0) return "0";
  if (step >= 60_000) return `${+(value / 60_000).toFixed(1)} min`;
  return step >= 100 && value >= 1000 ? `${+(value / 1000).toFixed(2)} s` : `${+value.toFixed(2)} ms`;
}

function showTicks(target, from, length, count, end = 0.94) {
  const first = from % 1e12 && from ? from : 0;
  target.replaceChildren(...ticksOf(length, count).filter(tick => tick.at / length < end).map(tick => {
    const made = element("span", { text: tick.at === 0 && first ? duration(first) : (first ? "+" : "") + tick.label });
    made.style.left = `${tick.at / length * 100}%`;
    return made;
  }));
}

function showDensity() {
  const svg = $("density"), width = svg.clientWidth, height = svg.clientHeight;
  if (!width || !height) return;
  const bins = Math.max(20, Math.floor(width / 4)), { from, to } = view.whole, scale = bins / (to - from);
  const all = new Float64Array(bins + 1), failed = new Float64Array(bins + 1);
  for (const call of store.calls) {
    if (call.start === null) continue;
    const first = Math.min(bins - 1, Math.floor((call.start - from) * scale)), last = Math.min(bins - 1, Math.floor((endOf(call) - from) * scale));
    all[first]++; all[last + 1]--;
    // A failure is shown at its end, not over its whole duration.
    if (call.isFailed) { failed[last]++; }
  }
  let most = 1, running = 0;
  for (let bin = 0; bin < bins; bin++) { running = all[bin] += bin ? all[bin - 1] : 0; most = Math.max(most, running); }
  const path = (values, least) => {
    let d = "";
    for (let bin = 0; bin < bins; bin++) {
      if (values[bin] <= 0) continue;
      const tall = Math.max(least, Math.sqrt(values[bin] / most) * (height - 4));
      d += `M${bin * 4} ${height}v${-tall.toFixed(1)}h3v${tall.toFixed(1)}z`;
    }
    return d;
  };
  svg.setAttribute("viewBox", `0 0 ${bins * 4} ${height}`);
  svg.querySelector(".density-calls").setAttribute("d", path(all, 2));
  svg.querySelector(".density-failures").setAttribute("d", path(failed, 4));
  showTicks($("overview-ticks"), 0, to - from, Math.max(2, Math.floor(width / 110)));
}

/** Shows the chosen span on the overview and at the head of the list. */
function showSpan() {
  const { whole } = view, span = shownSpan(), length = whole.to - whole.from;
  const left = (span.from - whole.from) / length * 100, right = (span.to - whole.from) / length * 100;
  $("shade-before").style.width = $("span-from").style.left = `${left}%`;
  $("shade-after").style.width = `${100 - right}%`;
  $("span-to").style.left = `${right}%`;
  for (const [id, at] of [["span-from", left], ["span-to", right]]) {
    setAttribute($(id), "aria-valuenow", Math.round(at));
    setAttribute($(id), "aria-valuetext", duration(at / 100 * length));
  }
  $("whole").hidden = filter.span === null;
  if (filter.span) setText($("whole"), `${duration(span.to - span.from)} shown · Whole session`);
  showDensity();
  const count = Math.max(2, Math.floor($("ticks").clientWidth / 64));
  // The rows draw the same ticks as faint lines behind their bars.
  $("rows").style.setProperty("--tick", `${(ticksOf(span.to - span.from, count)[1]?.at ?? span.to - span.from) / (span.to - span.from) * 100}%`);
  showTicks($("ticks"), filter.span ? span.from - whole.from : 0, span.to - span.from, count, 1 - 90 / $("ticks").clientWidth);
}

function chooseSpan(from, to) {
  const { whole } = view;
  from = Math.max(whole.from, from);
  to = Math.min(whole.to, to);
  filter.span = from <= whole.from && to >= whole.to ? null : { from, to };
  showSpan();
  filterChanged();
}

function startOverview() {
  const track = $("overview");
  const timeAt = event => {
    const box = track.getBoundingClientRect();
    return view.whole.from + Math.min(1, Math.max(0, (event.clientX - box.left) / box.width)) * (view.whole.to - view.whole.from);
  };
  track.addEventListener("pointerdown", event => {
    if (event.button !== 0) return;
    const dragged = event.target.closest(".handle"), span = shownSpan();
    const fixed = dragged ? (dragged.id === "span-from" ? span.to : span.from) : timeAt(event), pressed = event.clientX;
    let hasMoved = false;
    track.setPointerCapture(event.pointerId);
    track.onpointermove = moved => {
      hasMoved ||= Math.abs(moved.clientX - pressed) > 4;
      if (hasMoved) chooseSpan(Math.min(fixed, timeAt(moved)), Math.max(fixed, timeAt(moved)));
    };
    track.onpointerup = track.onpointercancel = () => { track.onpointermove = track.onpointerup = track.onpointercancel = null; };
  });
  track.addEventListener("dblclick", showWholeSession);
  $("whole").addEventListener("click", () => { showWholeSession(); $("span-from").focus(); });
  for (const id of ["span-from", "span-to"]) $(id).addEventListener("keydown", event => moveHandle(event, id === "span-from"));
  new ResizeObserver(atNextFrame(showSpan)).observe(track);
}

function showWholeSession() {
  filter.span = null;
  showSpan();
  filterChanged();
}

function moveHandle(event, isStart) {
  const { whole } = view, span = shownSpan(), length = whole.to - whole.from, least = length / 200;
  const step = { ArrowLeft: -0.01, ArrowDown: -0.01, ArrowRight: 0.01, ArrowUp: 0.01, PageDown: -0.1, PageUp: 0.1, Home: -1, End: 1 }[event.key];
  if (event.key === "Escape") showWholeSession();
  else if (step === undefined) return;
  else if (isStart) chooseSpan(Math.min(span.from + step * length, span.to - least), span.to);
  else chooseSpan(span.from, Math.max(span.to + step * length, span.from + least));
  event.preventDefault();
}

// MARK: The list

const rows = new Map();
let rowHeight = 32;

/** The position to restore after an update: the first visible row, or the end of the list if that is visible. */
function anchorOfList() {
  const grid = $("grid");
  const isAtEnd = grid.scrollTop + grid.clientHeight >= grid.scrollHeight - rowHeight;
  if (isLive && isAtEnd && view.sort === "start" && !view.isDescending) return { followsEnd: true };
  const index = Math.floor(grid.scrollTop / rowHeight);
  return { id: view.visible[index]?.id, above: grid.scrollTop - index * rowHeight };
}

function showList(anchor) {
  const grid = $("grid"), count = view.visible.length;
  $("rows").style.height = `${count * rowHeight}px`;
  setAttribute(grid, "aria-rowcount", count + 1);
  if (anchor?.followsEnd) grid.scrollTop = grid.scrollHeight;
  else if (anchor?.id !== undefined && grid.scrollTop > 0) {
    const index = view.visible.findIndex(call => call.id === anchor.id);
    if (index >= 0) grid.scrollTop = index * rowHeight + anchor.above;
  }
  setText($("status"), isFiltered() ? `${grouped(count)} of ${counted(store.calls.length, "call")}` : counted(count, "call"));
  $("reset").hidden = !isFiltered() || count === 0;
  showEmpty();
  showSort();
  showRows();
}

function showEmpty() {
  const target = $("empty"), total = store.calls.length;
  target.hidden = view.visible.length > 0;
  $("grid").hidden = !target.hidden;
  if (target.hidden) return;
  const say = (title, sentence, ...more) => target.replaceChildren(element("h2", { text: title }), element("p", { text: sentence }), ...more);
  if (store.problem) say("The archive cannot be read", store.problem);
  else if (total > 0) say("No call matches", `None of the ${counted(total, "call")} passes the filters.`,
    element("button", { type: "button", class: "button", text: "Clear the filters", on: { click: () => { clearFilters(); $("search").focus(); } } }));
  else if (isLive && store.hasReadFeed) say("Nothing yet", "Calls appear here as the app makes them.");
  else if (isLive) say("Connecting …", "The calls so far are being loaded.");
  else say("No calls", "Nothing was recorded in this session.");
}

function showSort() {
  for (const button of document.querySelectorAll("[data-sort]")) {
    const isUsed = button.dataset.sort === view.sort;
    setAttribute(button.parentElement, "aria-sort", isUsed ? (view.isDescending ? "descending" : "ascending") : null);
  }
  $("sort").value = view.sort;
}

function sortBy(order, isDescending) {
  Object.assign(view, { sort: order, isDescending, sorted: null });
  filterChanged();
}

/** Creates only the visible rows; the height of the container accounts for the others. */
function showRows() {
  const grid = $("grid"), target = $("rows");
  if (grid.hidden) return;
  const from = Math.max(0, Math.floor(grid.scrollTop / rowHeight) - 6);
  const to = Math.min(view.visible.length, from + Math.ceil(grid.clientHeight / rowHeight) + 12);
  const inSight = view.visible.slice(from, to), ids = new Set(inSight.map(call => call.id)), span = shownSpan();
  const scale = `${span.from}-${span.to}`;
  for (const [id, row] of rows) if (!ids.has(id)) { row.remove(); rows.delete(id); }
  let place = target.firstElementChild;
  inSight.forEach((call, index) => {
    let row = rows.get(call.id);
    if (!row) rows.set(call.id, row = element("div", { role: "row", class: "row", "data-call": call.id }));
    if (row === place) place = place.nextElementSibling;
    else target.insertBefore(row, place);
    // An unchanged row is not filled again.
    const stamp = `${call.version} ${scale} ${call.isPending ? Math.floor(elapsed(call) / 200) : ""}`;
    if (row.stamp !== stamp) { row.stamp = stamp; fillRow(row, call, span); }
    row.style.top = `${(from + index) * rowHeight}px`;
    setAttribute(row, "aria-rowindex", from + index + 2);
    setAttribute(row, "aria-selected", view.selected === call.id);
  });
  const active = rows.get(view.selected);
  setAttribute(grid, "aria-activedescendant", active ? active.id : null);
  grid.classList.toggle("has-selection", view.selected !== null && store.byID.has(view.selected));
}

function fillRow(row, call, span) {
  row.id = `row-${call.row}`;
  row.className = `row is-${outcomeOf(call)}`;
  const cell = (name, ...children) => element("div", { role: "gridcell", class: "cell-" + name }, ...children);
  const query = call.path.search(/[?#]/), path = query < 0 ? call.path : call.path.slice(0, query);
  const title = text(call.about.title);
  const url = cell("url",
    title ? tag("call-title", line(title, 60)) : null,
    element("bdi", { class: "path" }, line(readable(path), 300), query < 0 ? null : tag("query", line(readable(call.path.slice(query)), 200))),
    element("bdi", { class: "host", text: line(call.host, 120) }));
  url.title = line(readable(call.url), 1000);
  const size = cell("size", call.isPending && !call.size ? "" : bytes(call.size));
  if (call.size && !call.received) size.classList.add("unsent");
  size.title = `${grouped(call.received)} bytes received, ${grouped(call.sent)} sent`;
  const time = cell("time", duration(elapsed(call)));
  time.title = call.time === null ? "still in progress" : `${call.time} ms`;
  row.replaceChildren(cell("status", ...statusOf(call)), cell("method", line(call.method, 12)), url, cell("badges", ...badgesOf(call)),
    size, time, cell("lane", laneOf(call, span)));
}

function statusOf(call) {
  const words = { pending: "…", cancelled: "cancelled", failure: "failed" };
  const label = call.status ? String(call.status) : words[call.state] ?? "–";
  const why = call.error ? line([call.error.kind, call.error.reason].filter(Boolean).join(": "), 300) : label;
  return [shapeSign(), tag(call.status ? "code" : "code word", label, why)];
}

function badgesOf(call) {
  const badge = (look, label, title) => element("span", { class: "badge " + look, text: label, title });
  // The hop of a redirect is an exchange too, but it has its own badge.
  const tries = call.attempts - call.redirects;
  return [
    tries > 1 ? badge("attempts", `×${tries}`, counted(tries, "attempt")) : null,
    call.redirects > 0 ? badge("redirects", `↪${call.redirects}`, counted(call.redirects, "redirect")) : null,
    call.isCached ? badge("cached", servedByCache[call.cacheKind], "The cache was used: " + call.cache) : null,
    call.isShared ? badge("shared", "shared", "Shares the response of an identical call in progress") : null,
  ];
}

/** Positions an element on a lane from `start` to `end` (fractions of its width), clipped to the lane. */
function setBar(bar, start, end) {
  const from = Math.min(1, Math.max(0, start)), to = Math.min(1, Math.max(0, end));
  bar.style.left = `${from * 100}%`;
  bar.style.width = `${Math.max(0, to - from) * 100}%`;
  bar.hidden = end < 0 || start > 1;
  return bar;
}

function laneOf(call, span) {
  const lane = element("div", { class: "lane" });
  if (call.start === null) return lane;
  const length = span.to - span.from, at = milliseconds => (call.start + milliseconds - span.from) / length;
  lane.append(setBar(element("span", { class: "thread" }), at(0), at(elapsed(call))));
  for (const part of partsOf(call)) lane.append(setBar(element("span", { class: "part " + part.look }), at(part.start), at(part.start + part.time)));
  const parts = partsOf(call).filter(part => part.name && part.look !== "veil").slice(0, 12).map(part => `${line(part.name, 40)} ${duration(part.time)}`);
  if (parts.length) lane.title = parts.join("\n");
  if (call.isPending) lane.append(setBar(element("span", { class: "moving" }), at(0), at(elapsed(call))));
  if (call.isCached) lane.append(setBar(element("span", { class: `mark ${call.cacheKind}` }), at(elapsed(call)), at(elapsed(call))));
  return lane;
}

function selectCall(id, { opens = view.isOpen, scrolls = true } = {}) {
  const index = view.visible.findIndex(call => call.id === id), grid = $("grid");
  view.selected = id;
  if (scrolls && index >= 0) {
    const head = grid.querySelector(".head").offsetHeight, top = index * rowHeight, space = grid.clientHeight - head;
    if (top < grid.scrollTop) grid.scrollTop = top;
    else if (top + rowHeight > grid.scrollTop + space) grid.scrollTop = top + rowHeight - space;
  }
  if (opens) openDetails();
  showRows();
}

function moveSelection(event) {
  const last = view.visible.length - 1, now = view.visible.findIndex(call => call.id === view.selected);
  const page = Math.max(1, Math.floor($("grid").clientHeight / rowHeight) - 2);
  const targets = { ArrowDown: now + 1, ArrowUp: now < 0 ? 0 : now - 1, Home: 0, End: last, PageDown: now + page, PageUp: now - page };
  if (event.ctrlKey || event.metaKey || event.altKey || event.target !== $("grid")) return;
  if (event.key in targets && last >= 0) selectCall(view.visible[Math.min(last, Math.max(0, targets[event.key]))].id);
  else if (event.key === "Enter" && view.selected !== null) { openDetails(); if (isNarrow()) focusDetails(); }
  else if (event.key === "Escape") closeDetails();
  else return;
  event.preventDefault();
}

/** Adapts the rows to the list: two lines for a narrow list, and taller rows for touch. */
function measureList() {
  const narrow = $("list").clientWidth < 560;
  $("list").classList.toggle("two-lines", narrow);
  $("list").classList.toggle("tight", !narrow && $("list").clientWidth < 830);
  $("list").classList.toggle("no-hosts", $("list").clientWidth < 1040);
  rowHeight = narrow ? 60 : isNarrow() || matchMedia("(pointer: coarse)").matches ? 40 : 30;
  $("list").style.setProperty("--row", `${rowHeight}px`);
  showSpan();
  showList(anchorOfList());
}

function startList() {
  const grid = $("grid");
  grid.addEventListener("scroll", atNextFrame(showRows), { passive: true });
  grid.addEventListener("keydown", moveSelection);
  $("rows").addEventListener("click", event => {
    const row = event.target.closest("[data-call]");
    if (!row) return;
    selectCall(row.dataset.call, { opens: true, scrolls: false });
    if (isNarrow()) focusDetails();
  });
  for (const button of grid.querySelectorAll("[data-sort]")) {
    const order = button.dataset.sort;
    button.addEventListener("click", () => sortBy(order, view.sort === order ? !view.isDescending : order === "size" || order === "time"));
  }
  $("sort").addEventListener("change", event => sortBy(event.target.value, ["size", "time"].includes(event.target.value)));
  new ResizeObserver(atNextFrame(measureList)).observe($("list"));
  // The bars of pending calls grow between updates.
  setInterval(() => { if (isLive && store.calls.some(call => call.isPending)) tick(); }, 250);
}

function tick() {
  const before = view.whole.to;
  measureSession();
  if (view.whole.to !== before) showSpan();
  showRows();
}

// MARK: Details

const tabs = { timing: "Timing", exchanges: "Exchanges", curl: "cURL" };
const isNarrow = () => matchMedia("(max-width: 860px)").matches;
const closedBlocks = new Set();

function openDetails() {
  const call = store.byID.get(view.selected);
  if (!call) return;
  view.isOpen = true;
  $("details").hidden = false;
  $("splitter").hidden = false;
  document.body.classList.toggle("has-details", true);
  setBackground();
  try { history.replaceState(null, "", "#call-" + encodeURIComponent(call.id)); } catch { /* The page works without it. */ }
  showDetails(call);
}

function closeDetails() {
  if (!view.isOpen) return;
  view.isOpen = false;
  $("details").hidden = $("splitter").hidden = true;
  document.body.classList.toggle("has-details", false);
  setBackground();
  try { history.replaceState(null, "", location.pathname + location.search); } catch { /* The page works without it. */ }
  $("grid").focus();
}

const focusDetails = () => $("details").querySelector("button")?.focus();

// If the details cover the page, no element behind them may receive the focus.
function setBackground() {
  const isCovered = view.isOpen && isNarrow();
  for (const part of document.querySelectorAll(".top, .totals, .overview, .filters, .list")) part.inert = isCovered;
}

/** Shows the details of a changed call, and keeps the scroll position and the focus. */
function showDetailsAgain() {
  const call = store.byID.get(view.selected), pane = $("details");
  if (!call) return closeDetails();
  if (pane.shown === call.version) return;
  const top = pane.querySelector(".panel")?.scrollTop ?? 0;
  const focused = pane.contains(document.activeElement) && document.activeElement.dataset.tab;
  showDetails(call);
  pane.querySelector(".panel").scrollTop = top;
  if (focused) pane.querySelector(`[data-tab="${focused}"]`).focus();
}

function showDetails(call) {
  const pane = $("details");
  if (pane.shown === call.version) return;
  pane.shown = call.version;
  const bar = element("div", { role: "tablist", class: "tabs", "aria-label": "Details of the call" }, ...Object.entries(tabs).map(([name, label]) =>
    element("button", { type: "button", role: "tab", id: `tab-${name}`, "data-tab": name, "aria-controls": "panel", on: { click: () => showTab(call, name) } },
      label, name === "exchanges" && call.entries.length > 1 ? tag("count", ` ${call.entries.length}`) : null)));
  bar.addEventListener("keydown", event => moveTab(event, call));
  pane.replaceChildren(headlineOf(call), bar, element("div", { role: "tabpanel", id: "panel", class: "panel", tabindex: "0" }));
  showTab(call, view.tab);
}

function moveTab(event, call) {
  const names = Object.keys(tabs), now = names.indexOf(view.tab);
  const next = { ArrowRight: (now + 1) % names.length, ArrowLeft: (now + names.length - 1) % names.length, Home: 0, End: names.length - 1 }[event.key];
  if (next === undefined) return;
  event.preventDefault();
  showTab(call, names[next]);
  $(`tab-${names[next]}`).focus();
}

function showTab(call, name) {
  view.tab = name;
  for (const button of $("details").querySelectorAll("[role=tab]")) {
    setAttribute(button, "aria-selected", button.dataset.tab === name);
    button.tabIndex = button.dataset.tab === name ? 0 : -1;
  }
  const panel = $("panel");
  panel.setAttribute("aria-labelledby", `tab-${name}`);
  panel.scrollTop = 0;
  panel.replaceChildren(...{ timing: timingOf, exchanges: exchangesOf, curl: curlOf }[name](call));
}

function headlineOf(call) {
  const close = element("button", { type: "button", class: "button small close", "aria-label": "Close the details", on: { click: closeDetails } },
    tag("close-wide", "Close"), tag("close-narrow", "← Calls"));
  const words = { pending: "In progress", cancelled: "Cancelled", failure: "Failed" }[call.state] ?? "No status";
  const status = call.status ? `${call.status} ${line(call.final.statusText, 80)}`.trim() : words;
  return element("header", { class: `headline is-${outcomeOf(call)}` },
    element("div", { class: "headline-bar" }, close, space(), copyButton("Copy URL", () => call.url)),
    element("div", { class: "headline-top" }, element("h2", {}, shapeSign(), element("bdi", { text: status })),
      tag("verb", line(call.method, 40)), ...badgesOf(call)),
    longValue(readable(call.url), 1000, "url"),
    problemOf(call.error),
    factsOf(call));
}

function problemOf(error) {
  return error && element("p", { class: "problem" },
    element("strong", { text: line(error.kind, 80) }), " ", element("bdi", { text: line(error.reason, 2000) }));
}

function factsOf(call) {
  const { about } = call;
  const facts = [
    ["Time", call.time === null ? "in progress" : duration(call.time)],
    ["Started", call.start === null ? "" : clockFormat.format(call.start)],
    ["Received", call.received || call.isOurs ? bytes(call.received) : ""], ["Sent", call.sent ? bytes(call.sent) : ""],
    ["Saved", call.saved ? bytes(call.saved) : ""],
    ["Cache", [text(about.cache) === "standIn" ? "stand-in" : text(about.cache), text(about.cacheReason)].filter(Boolean).join(": ")],
    ["Problem", problemDetailsOf(call.final)], ["Deprecated", deprecationOf(call.final)],
    ["Sunset", fieldOf(call.final, "sunset")],
    ["Name", text(about.title)], ["Log label", text(about.label)], ["Stack", store.hasStacks ? text(about.number) : ""],
  ];
  return factList(facts);
}

const fieldOf = (message, name) =>
  text(list(message.headers).map(object).find(field => text(field.name).toLowerCase() === name)?.value).trim();

/** The title and the detail of problem details (RFC 9457). */
function problemDetailsOf(message) {
  const content = object(message.content), body = text(content.text);
  if (!/^application\/problem\+json *(;|$)/i.test(fieldOf(message, "content-type")) || content.encoding || body.length > 65_536) return "";
  try {
    const problem = object(JSON.parse(body));
    return [problem.title, problem.detail].filter(each => typeof each === "string" && each !== "").join(": ");
  } catch {
    return "";
  }
}

/** The date of the field `Deprecation` (RFC 9745), or the value of an older draft. */
function deprecationOf(message) {
  const value = fieldOf(message, "deprecation"), date = /^@(\d{1,11})$/.exec(value);
  return date ? `since ${new Date(Number(date[1]) * 1000).toISOString().slice(0, 10)}` : value === "true" ? "yes" : value;
}

const factList = facts => element("dl", { class: "facts" }, ...facts.filter(fact => fact[1]).map(([name, value]) =>
  element("div", {}, element("dt", { text: name }), element("dd", {}, element("bdi", { text: line(value, 200) })))));

/** A value of any length: its beginning, with a button that shows the rest. */
function longValue(value, limit, look) {
  const shown = element("bdi", { class: look, text: line(value, limit) });
  if (value.length <= limit) return shown;
  const more = element("button", { type: "button", class: "button small", text: `Show all ${grouped(value.length)} characters` });
  more.addEventListener("click", () => { shown.textContent = visibleLine(value); more.remove(); });
  return element("div", { class: "long-value" }, shown, more);
}

// MARK: Details: timing

const kindNames = {
  call: "Call", modifier: "Modifiers", wait: "Waiting", attempt: "Attempts", connecting: "Connecting", firstByte: "Server", body: "Transfer",
  readingBody: "Reading the body",
};
const kindOf = span => Object.hasOwn(kindNames, span.kind) ? span.kind : "modifier";
const namesOfSpans = { firstByte: "waiting for the first byte", readingBody: "reading the body", body: "receiving", connecting: "connecting" };
const nameOfSpan = span => line(span.name === span.kind ? namesOfSpans[kindOf(span)] ?? span.name : span.name, 120);

function timingOf(call) {
  const spans = spansOf(call), total = Math.max(0.001, elapsed(call), ...spans.slice(0, 5000).map(span => span.start + span.time));
  const [bar, table] = sharesOf(spans);
  return [bar, treeOf(call, spans, total), table];
}

/** The own times of the spans: by kind in a bar with a legend, and by name in a table. */
function sharesOf(spans) {
  const byName = new Map(), byKind = new Map();
  for (const span of spans) {
    const kind = kindOf(span), key = `${kind} ${nameOfSpan(span).replace(/ \d+$/, "")}`;
    const share = byName.get(key) ?? { kind, name: nameOfSpan(span).replace(/ \d+$/, ""), own: 0, count: 0 };
    share.own += span.own;
    share.count++;
    byName.set(key, share);
    byKind.set(kind, (byKind.get(kind) ?? 0) + span.own);
  }
  const sum = Math.max(0.001, [...byKind.values()].reduce((total, own) => total + own, 0));
  const percent = own => own / sum >= 0.995 ? "100 %" : own / sum < 0.001 ? "<0.1 %" : `${(own / sum * 100).toFixed(own / sum < 0.1 ? 1 : 0)} %`;
  const kinds = [...byKind.keys()].filter(kind => byKind.get(kind) > 0).sort((a, b) => byKind.get(b) - byKind.get(a));
  const bar = element("div", { class: "shares", "aria-hidden": "true" }, ...kinds.map(kind => {
    const part = element("span", { class: `swatch kind-${kind}`, title: `${kindNames[kind]}: ${duration(byKind.get(kind))}` });
    part.style.flexGrow = byKind.get(kind) / sum;
    return part;
  }));
  const legend = element("ul", { class: "legend" }, ...kinds.map(kind =>
    element("li", {}, tag(`swatch kind-${kind}`), kindNames[kind], " ", element("b", { text: duration(byKind.get(kind)) }))));
  const shares = [...byName.values()].filter(share => share.own > 0).sort((a, b) => b.own - a.own).slice(0, 40);
  const table = element("table", { class: "breakdown" }, element("caption", { class: "hidden", text: "Own time of each part" }),
    element("thead", {}, element("tr", {}, ...["Part", "Kind", "Own time", "Share"].map(name => element("th", { scope: "col", text: name })))),
    element("tbody", {}, ...shares.map(share => {
      const meter = element("span", { class: `meter swatch kind-${share.kind}`, "aria-hidden": "true" });
      meter.style.width = `${share.own / sum * 100}%`;
      return element("tr", {},
        element("th", { scope: "row" }, element("bdi", { text: share.name }), share.count > 1 ? tag("times", ` ×${share.count}`) : null),
        element("td", { text: kindNames[share.kind] }),
        element("td", { text: duration(share.own), title: `${share.own} ms` }),
        element("td", {}, element("div", { class: "share" }, element("span", { text: percent(share.own) }), element("span", { class: "room" }, meter))));
    })));
  return [
    element("section", { class: "block-plain" }, element("h3", { text: "Where the time went" }), bar, legend),
    element("section", { class: "block-plain" }, element("h3", { text: "Time of each part" }), table),
  ];
}

function treeOf(call, spans, total) {
  const attempts = spans.filter(span => span.kind === "attempt");
  const outcome = span => {
    const entry = span.kind === "attempt" && call.isOurs ? entryOfAttempt(call, span, attempts.indexOf(span)) : null;
    const label = entry ? text(object(entry.response).status || errorOf(entry)?.kind) : "";
    return label ? element("span", { class: `is-${outcomeOfEntry(entry)} result` }, tag("code", line(label, 40))) : null;
  };
  const marks = list(call.about.marks).map(object).map(mark => ({ name: text(mark.name) || "?", at: amount(mark.at) ?? 0 })).slice(0, 500);
  const scale = element("div", { class: "lane-scale" });
  showTicks(scale, 0, total, $("details").clientWidth < 560 ? 2 : 4, 0.8);
  const hairs = () => marks.map(mark => setBar(element("i", { class: "hair" }), mark.at / total, mark.at / total));
  const lane = bar => element("td", { class: "tree-lane" }, element("div", { class: "lane-grid" }, ...hairs(), bar));
  const lines = spans.slice(0, 2000).map(span => {
    const bar = setBar(element("span", { class: `bar swatch kind-${kindOf(span)}` }), span.start / total, (span.start + span.time) / total);
    const name = element("th", { scope: "row" }, tag(`dot swatch kind-${kindOf(span)}`), element("bdi", { text: nameOfSpan(span) }), outcome(span));
    name.style.setProperty("--depth", Math.min(span.depth, 12));
    const own = span.own > 0 && span.own < span.time * 0.999 ? `own ${duration(span.own)}` : "";
    return element("tr", { title: `${line(span.name, 200)}: from ${duration(span.start)}, ${span.time} ms, own ${duration(span.own)}` },
      name, lane(bar), element("td", { class: "tree-time" }, element("small", { text: own }), duration(span.time)));
  });
  const ticks = marks.map(mark => element("tr", { class: "mark-line" },
    element("th", { scope: "row" }, element("span", { class: "tick-sign", "aria-hidden": "true" }), element("bdi", { text: line(mark.name, 120) })),
    lane(setBar(tag("tick"), mark.at / total, mark.at / total)), element("td", { class: "tree-time", text: `at ${duration(mark.at)}` })));
  return element("section", { class: "block-plain" }, element("h3", { text: "Timeline" }),
    element("table", { class: "tree" }, element("caption", { class: "hidden", text: "Spans of the call" }),
      element("thead", {}, element("tr", {}, element("th", { scope: "col", text: "Span" }),
        element("th", { scope: "col" }, tag("hidden", "Timeline"), scale), element("th", { scope: "col", text: "Time" }))),
      element("tbody", {}, ...lines, ...ticks)));
}

// MARK: Details: exchanges

function exchangesOf(call) {
  const exchanges = call.entries.length, made = call.entries.map((entry, index) => exchangeOf(call, entry, index, index === exchanges - 1 || exchanges <= 3));
  const final = object(call.about.response);
  if (Object.keys(final).length) {
    made.push(element("section", { class: "exchange final" },
      element("h3", {}, element("span", { text: "Response to the caller" }), tag("dim", [text(final.status), line(final.statusText, 60)].join(" ").trim())),
      ...messageBlocks("final", "Response", final, object(final.content))));
  }
  return made.length ? made : [element("p", { class: "note", text: "No exchange was recorded." })];
}

function exchangeOf(call, entry, index, isOpen) {
  const request = object(entry.request), response = object(entry.response), exchange = object(entry._exchange);
  const status = amount(response.status) || null, error = errorOf(entry);
  const isSent = !call.isOurs || entry._exchange;
  const unsent = call.isShared ? "Shared with another call" : call.isCached ? "Served from the cache" : "Not sent";
  const name = isSent ? `Exchange ${text(exchange.number) || index + 1}` : unsent;
  const outcome = status ? `${status} ${line(response.statusText, 60)}`.trim() : error ? "failed" : call.isPending ? "in progress" : "no response";
  const body = object(request.postData);
  const content = () => [
    problemOf(error),
    text(entry.comment) ? element("p", { class: "note", text: line(entry.comment, 1000) }) : null,
    text(request.url) === call.url && call.entries.length === 1 ? null
      : element("div", { class: "sent-url" }, tag("verb", line(request.method, 40)), longValue(readable(text(request.url)), 500, "url")),
    block("connection", "Connection", connectionOf(entry)),
    ...messageBlocks("request", "Request", request, body),
    ...(status || list(response.headers).length ? messageBlocks("response", "Response", response, object(response.content)) : []),
  ].filter(Boolean);
  const made = element("details", { class: `exchange is-${outcomeOfEntry(entry) || outcomeOf(call)}` },
    element("summary", {}, element("h3", {}, element("span", { text: name }), element("span", { class: "outcome" }, shapeSign(), outcome),
      tag("dim", isSent ? duration(amount(entry.time)) : ""))));
  // A closed block is filled when it is opened, because a call may have a hundred exchanges.
  const fill = () => { if (made.open && made.children.length === 1) made.append(...content()); };
  made.addEventListener("toggle", fill);
  made.open = isOpen;
  fill();
  return made;
}

/** The blocks of a request or a response; empty blocks are left out. */
function messageBlocks(key, title, message, body) {
  const kind = [text(body.mimeType).split(";")[0], body.size > 0 ? bytes(amount(body.size)) : ""].filter(Boolean).join(" · ");
  return [
    block(key + "-query", "Query", pairsOf(message.queryString)),
    block(key + "-headers", `${title} header`, pairsOf(message.headers), list(message.headers).length),
    block(key + "-cookies", `${title} cookies`, pairsOf(message.cookies)),
    block(key + "-body", `${title} body`, bodyOf(body), null, kind),
  ];
}

function block(key, title, content, count = null, aside = "") {
  if (!content) return null;
  const made = element("details", { class: "block", open: !closedBlocks.has(key) },
    element("summary", {}, element("h4", { text: title }), count ? tag("count", grouped(count)) : null,
      aside ? tag("aside", line(aside, 100)) : null), content);
  made.addEventListener("toggle", () => { if (made.open) closedBlocks.delete(key); else closedBlocks.add(key); });
  return made;
}

function pairsOf(values) {
  const pairs = list(values).map(object).filter(pair => pair.name !== undefined || pair.value !== undefined);
  if (!pairs.length) return null;
  return element("dl", { class: "pairs" }, ...pairs.slice(0, 2000).map(pair => element("div", {},
    element("dt", {}, element("bdi", { text: line(pair.name, 500) })),
    element("dd", {}, longValue(text(pair.value), 2000, pair.value === "<redacted>" ? "redacted" : "")))));
}

function connectionOf(entry) {
  const timings = object(entry.timings), spans = spansOfTimings(timings, "x"), request = object(entry.request), response = object(entry.response);
  const isReused = amount(timings.connect) === null && amount(entry.time) !== null && spans.length > 0;
  const facts = [
    ["Protocol", text(response.httpVersion) || text(request.httpVersion)], ["Address", text(entry.serverIPAddress)], ["Connection", text(entry.connection)],
    ["Reused", entry._exchange && entry.serverIPAddress ? (isReused ? "yes" : "no") : ""], ["Redirect to", text(response.redirectURL)],
    ...spans.map(span => [span.name[0].toUpperCase() + span.name.slice(1), duration(span.time)]),
  ].filter(fact => fact[1]);
  return facts.length ? factList(facts) : null;
}

// MARK: Details: bodies

const shownCharacters = 262_144, prettyLimit = 2_000_000, hexBytes = 512;
const imageTypes = ["image/png", "image/jpeg", "image/gif", "image/webp"];

function bodyOf(content) {
  const value = text(content.text), mime = text(content.mimeType).split(";")[0].trim().toLowerCase(), comment = text(content.comment);
  const note = comment ? element("p", { class: "note", text: line(comment, 1000) }) : null;
  if (value === "") return pairsOf(content.params) ?? note;
  if ((content.encoding ?? content._encoding) !== "base64") return element("div", {}, note, textBody(value, mime));
  if (imageTypes.includes(mime) && /^[A-Za-z0-9+\/=\s]+$/.test(value.slice(0, 10_000))) return element("div", {}, note, imageBody(value, mime));
  const raw = decoded(value);
  if (raw === null) return element("div", {}, note, textBody(value, mime));
  return element("div", {}, note, /json|^text\/|xml|javascript|urlencoded/.test(mime) ? textBody(new TextDecoder().decode(raw), mime) : hexBody(raw, value));
}

function decoded(value) {
  try { return Uint8Array.from(atob(value), character => character.charCodeAt(0)); } catch { return null; }
}

function imageBody(value, mime) {
  const facts = element("span", { class: "dim" }), image = element("img", { class: "image", alt: "The body as an image" });
  image.addEventListener("load", () => { facts.textContent = `${image.naturalWidth} × ${image.naturalHeight}`; });
  image.addEventListener("error", () => { image.replaceWith(element("p", { class: "note", text: "The image cannot be shown: it is damaged or incomplete." })); });
  image.src = `data:${mime};base64,${value}`;
  return element("div", { class: "body" }, element("div", { class: "body-bar" }, facts, space(), copyButton("Copy base64", () => value)), image);
}

function hexBody(raw, value) {
  const lines = [];
  for (let at = 0; at < Math.min(raw.length, hexBytes); at += 16) {
    const row = [...raw.subarray(at, Math.min(at + 16, hexBytes))];
    const hex = row.map(byte => byte.toString(16).padStart(2, "0")).join(" ").padEnd(47);
    const characters = row.map(byte => byte > 31 && byte < 127 ? String.fromCharCode(byte) : "·").join("");
    lines.push(`${at.toString(16).padStart(4, "0")}  ${hex}  ${characters}`);
  }
  const size = raw.length > hexBytes ? `the first ${hexBytes} of ${grouped(raw.length)} bytes` : `${grouped(raw.length)} bytes`;
  return element("div", { class: "body" },
    element("div", { class: "body-bar" }, tag("dim", size), space(), copyButton("Copy base64", () => value)),
    element("pre", { class: "code hex", tabindex: "0", "aria-label": "Bytes", text: lines.join("\n") }));
}

function textBody(value, mime) {
  const tokens = value.length <= prettyLimit && (/json/.test(mime) || /^\s*[\[{]/.test(value)) ? jsonTokens(value) : null;
  const pre = element("pre", { class: "code", tabindex: "0", "aria-label": "Body" });
  const bar = element("div", { class: "body-bar" }), more = element("div", { class: "body-more" });
  let isPretty = tokens !== null, isWhole = false;
  const show = () => {
    const limit = isWhole ? Infinity : shownCharacters, shown = isPretty ? prettyJSON(tokens, limit) : plainText(value, limit);
    pre.replaceChildren(...shown.children);
    more.replaceChildren();
    if (!shown.isWhole) more.append(button(`Show all ${grouped(value.length)} characters`, () => { isWhole = true; show(); pre.focus(); }));
  };
  const choose = pretty => {
    isPretty = pretty;
    choices.forEach((choice, index) => setAttribute(choice, "aria-pressed", (index === 0) === isPretty));
    show();
  };
  const choices = tokens ? [button("Pretty", () => choose(true), "chip"), button("Raw", () => choose(false), "chip")] : [];
  bar.append(...choices);
  bar.append(space(), copyButton("Copy", () => value));
  choose(isPretty);
  return element("div", { class: "body" }, bar, pre, more);
}

/** Long text in segments, split at line ends, so that the browser lays out only the visible ones. */
function plainText(value, limit) {
  const shown = value.length > limit ? value.slice(0, limit) : value, children = [];
  for (let from = 0; from < shown.length;) {
    const end = shown.indexOf("\n", from + 32_768);
    const to = end < 0 || end - from > 65_536 ? Math.min(shown.length, from + 65_536) : end + 1;
    children.push(tag("segment", visibleText(shown.slice(from, to)).replace(/\n$/, "")));
    from = to;
  }
  return { children, isWhole: shown.length === value.length };
}

// Only the layout of the text changes, because JSON.parse would lose large numbers such as 12345678901234567890 and duplicate keys.
function jsonTokens(value) {
  try { JSON.parse(value); } catch { return null; }
  return value.match(/"[^"\\]*(?:\\[^][^"\\]*)*"|[{}\[\],:]|[^\s{}\[\],:"]+/g);
}

function lookOfJSON(token, next) {
  if (token[0] === '"') return next === ":" ? "json-key" : "json-text";
  return /[\d-]/.test(token[0]) ? "json-number" : "json-word";
}

function prettyJSON(tokens, limit) {
  const children = [], coloured = tokens.length < 30_000;
  let plain = "", depth = 0, length = 0, at = 0;
  for (; at < tokens.length && length < limit; at++) {
    const token = tokens[at], next = tokens[at + 1], isOpening = token === "{" || token === "[";
    const newLine = () => "\n" + "  ".repeat(Math.min(depth, 60));
    if (isOpening) { depth++; plain += token + (next === "}" || next === "]" ? "" : newLine()); }
    else if (token === "}" || token === "]") { depth--; plain += (/^[{[]$/.test(tokens[at - 1]) ? "" : newLine()) + token; }
    else if (token === ",") plain += token + newLine();
    else if (token === ":") plain += ": ";
    else if (!coloured) plain += visibleText(token);
    else { children.push(plain, element("span", { class: lookOfJSON(token, next), text: visibleText(clipped(token, limit)) })); plain = ""; }
    length += token.length + 2;
  }
  children.push(plain);
  return { children, isWhole: at === tokens.length };
}

// MARK: Details: cURL

const hiddenNote = "Redacted values are shown as <redacted>. Replace them with the real values before you run the command.";

function curlOf(call) {
  const commands = new Map();
  call.entries.forEach((entry, index) => {
    const command = text(entry._curl) || (call.isOurs ? "" : curlFor(object(entry.request)));
    if (command && ![...commands.values()].includes(command)) commands.set(`Exchange ${text(object(entry._exchange).number) || index + 1}`, command);
  });
  if (!commands.size) return [element("p", { class: "note", text: "There is no command for this call: it was not sent." })];
  return [...commands].map(([name, command]) => element("section", { class: "block-plain" },
    commands.size > 1 ? element("h3", { text: name }) : null,
    command.includes("<redacted>") ? element("p", { class: "note", text: hiddenNote }) : null,
    element("div", { class: "body" }, element("div", { class: "body-bar" }, space(), copyButton("Copy command", () => command)),
      element("pre", { class: "code", tabindex: "0", "aria-label": "cURL command" }, ...plainText(command, 1_000_000).children))));
}

/** A command for an archive without one. */
function curlFor(request) {
  const body = object(request.postData), url = text(request.url);
  if (!url) return "";
  const parts = [`curl ${quoted(url)}`];
  if (text(request.method) && text(request.method) !== "GET") parts.push(`-X ${quoted(text(request.method))}`);
  for (const { name, value } of list(request.headers).map(object)) {
    if (!text(name) || text(name).startsWith(":") || /^content-length$/i.test(name)) continue;
    parts.push(`-H ${quoted(text(value) === "" ? `${text(name)};` : `${text(name)}: ${text(value)}`)}`);
  }
  if (text(body.text) && !body._encoding) parts.push(`--data-raw ${quoted(text(body.text))}`);
  return parts.join(" \\\n  ");
}

// Control characters are escaped, because a terminal could interpret them as keys when the command is pasted.
function quoted(value) {
  if (!/[\u0000-\u001f\u007f]/.test(value)) return `'${value.replace(/'/g, "'\\''")}'`;
  return `$'${value.replace(/[\\']/g, "\\$&").replace(/[\u0000-\u001f\u007f]/g, character => `\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}`)}'`;
}

// MARK: The live feed

const feed = { epoch: "", revision: 0, failures: 0, isPaused: false, heardAt: 0 };

/** Requests the changes repeatedly, one request at a time. */
async function followFeed() {
  for (;;) {
    try {
      const question = `calls?epoch=${encodeURIComponent(feed.epoch)}&after=${feed.revision}`;
      const response = await fetch(question, { cache: "no-store", signal: AbortSignal.timeout(40_000) });
      if (!response.ok) throw new Error(String(response.status));
      takeNews(object(await response.json()));
      feed.failures = 0;
      feed.heardAt = Date.now();
      showConnection();
    } catch (error) {
      feed.failures++;
      await waitToReconnect(Math.min(10, 2 ** (feed.failures - 1)), error);
    }
  }
}

async function waitToReconnect(seconds) {
  for (let left = seconds; left > 0; left--) {
    showConnection(left);
    await new Promise(resolve => setTimeout(resolve, 1000));
  }
}

function takeNews(news) {
  const epoch = text(news.epoch);
  if (epoch !== feed.epoch) {
    store.calls = [];
    store.byID.clear();
    if (feed.epoch !== "") filter.span = null;
  }
  const isFirst = !store.hasReadFeed;
  Object.assign(feed, { epoch, revision: number(news.revision) ?? 0, isPaused: news.isPaused === true });
  store.hasReadFeed = true;
  // The app has removed the calls before the oldest one.
  const oldest = number(news.oldest) ?? 0;
  for (const id of [...store.byID.keys()]) if (Number(id) < oldest) store.byID.delete(id);
  for (const each of list(news.calls).map(object)) {
    const id = text(each.id);
    if (id === "") continue;
    const call = makeCall(id, list(each.entries)), known = store.byID.get(id);
    if (known) call.row = known.row;
    store.byID.set(id, call);
  }
  store.calls = [...store.byID.values()];
  callsChanged();
  prepareSearch();
  if (isFirst || !view.isOpen) openLinkedCall();
}

function showConnection(secondsLeft) {
  const [look, words] = feed.failures === 0 ? (feed.isPaused ? ["paused", "Paused"] : ["connected", "Live"])
    : feed.failures < 3 ? ["lost", "Not connected"] : ["lost", "The app has ended"];
  const target = $("connection");
  target.hidden = false;
  target.className = "connection " + look;
  target.title = feed.failures ? "The app does not respond. The page tries again until it does." : "";
  setText(target, words);
  target.dataset.again = secondsLeft ? ` · again in ${secondsLeft} s` : "";
  const pause = feed.isPaused ? "Resume" : "Pause";
  setText($("pause").querySelector(".long"), pause);
  setAttribute($("pause"), "aria-label", pause);
  $("pause").classList.toggle("is-paused", feed.isPaused);
  $("pause").disabled = $("clear").disabled = feed.failures > 0;
}

async function send(command) {
  try {
    const response = await fetch(command, { method: "POST", cache: "no-store" });
    if (!response.ok) throw new Error(String(response.status));
  } catch {
    announce(`The app did not carry out “${command}”.`);
  }
}

function startLive() {
  $("pause").hidden = $("clear").hidden = false;
  $("pause").addEventListener("click", () => send(feed.isPaused ? "resume" : "pause"));
  $("clear").addEventListener("click", () => send("clear"));
  followFeed();
}

// MARK: The page as a whole

function download() {
  const link = element("a", { download: "archive.har" });
  if (isLive) link.href = "archive.har";
  else {
    link.href = URL.createObjectURL(new Blob([store.archiveText], { type: "application/json" }));
    link.download = `${$("title").textContent.replace(/[^\p{L}\p{N} ._-]+/gu, "-").trim().slice(0, 80) || "archive"}.har`;
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  }
  document.body.append(link);
  link.click();
  link.remove();
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  $("theme").title = `Theme: ${theme}`;
  $("theme").setAttribute("aria-label", `Theme: ${theme}`);
}

function startTheme() {
  const themes = ["system", "light", "dark"];
  setTheme(themes.includes(kept("theme", "")) ? kept("theme") : "system");
  $("theme").addEventListener("click", () => {
    setTheme(themes[(themes.indexOf(document.documentElement.dataset.theme) + 1) % 3]);
    keep("theme", document.documentElement.dataset.theme);
  });
}

function startFilters() {
  $("search").addEventListener("input", event => {
    filter.words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
    filterChanged();
  });
  $("search").addEventListener("keydown", event => {
    if (event.key === "ArrowDown" || event.key === "Enter") $("grid").focus();
    else if (event.key !== "Escape") return;
    else if (event.target.value === "") $("grid").focus();
    else { event.target.value = ""; filter.words = []; filterChanged(); }
    event.preventDefault();
    event.stopPropagation();
  });
  for (const key of ["host", "method"]) $(key).addEventListener("change", event => { filter[key] = event.target.value; filterChanged(); });
  $("reset").addEventListener("click", () => { clearFilters(); $("search").focus(); });
}

function startKeyboard() {
  document.addEventListener("keydown", event => {
    const isTyping = event.target.closest("input, select, textarea");
    const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey;
    if (event.key === "/" && isPlain && !isTyping && !(view.isOpen && isNarrow())) {
      event.preventDefault();
      $("search").select();
      $("search").focus();
    } else if (event.key === "Escape" && !isTyping && view.isOpen && !event.defaultPrevented) closeDetails();
  });
}

function startSplitter() {
  const splitter = $("splitter"), split = $("split");
  const set = percent => {
    percent = Math.round(Math.min(75, Math.max(25, percent)));
    split.style.setProperty("--share", `${percent}%`);
    splitter.setAttribute("aria-valuenow", percent);
    keep("share", percent);
  };
  set(number(kept("share", "48")) ?? 48);
  splitter.addEventListener("pointerdown", event => {
    splitter.setPointerCapture(event.pointerId);
    splitter.onpointermove = moved => set((split.getBoundingClientRect().right - moved.clientX) / split.clientWidth * 100);
    splitter.onpointerup = splitter.onpointercancel = () => { splitter.onpointermove = null; };
    event.preventDefault();
  });
  splitter.addEventListener("keydown", event => {
    const step = { ArrowLeft: 2, ArrowRight: -2 }[event.key];
    if (step) { event.preventDefault(); set(Number(splitter.getAttribute("aria-valuenow")) + step); }
  });
}

/** Selects the call that the URL names, such as `#call-17`. */
function openLinkedCall() {
  const match = /^#call-(.+)$/.exec(location.hash);
  if (!match) return;
  let id = match[1];
  try { id = decodeURIComponent(id); } catch { /* A malformed id is used unchanged. */ }
  if (store.byID.has(id)) selectCall(id, { opens: true });
}

function readArchive() {
  store.archiveText = $("archive").textContent;
  try {
    store.archive = JSON.parse(store.archiveText);
  } catch (error) {
    store.problem = `Its JSON is malformed: ${line(error.message, 300)}`;
    return;
  }
  if (!Array.isArray(object(object(store.archive).log).entries)) store.problem = isLive ? null : "It has no list of entries.";
  store.calls = callsOf(store.archive);
  // The bars of calls that were pending when the archive was written end at the last known time.
  store.savedAt = store.calls.reduce((latest, call) => Math.max(latest, (call.start ?? 0) + (call.time ?? 0)), 0) || null;
  store.byID = new Map(store.calls.map(call => [call.id, call]));
}

window.inspector = Object.freeze({ calls: () => store.calls.length, visible: () => view.visible.length, filterMilliseconds: () => view.filterTime });

startTheme();
startFilters();
startKeyboard();
startSplitter();
startOverview();
startList();
$("download").addEventListener("click", download);
addEventListener("hashchange", openLinkedCall);
matchMedia("(max-width: 860px)").addEventListener("change", setBackground);
readArchive();
callsChanged();
measureList();
openLinkedCall();
prepareSearch();
if (isLive) startLive();

})();
