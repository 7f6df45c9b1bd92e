// SPDX-License-Identifier: Apache-2.0
// A trace step by step: listings are kept as what each step changed of the one
// before; data.line has every text of a line once.
"use strict";
(function() {
const steps = data.steps;  // steps[0]: before the first instruction
const last = steps.length - 1;
const at = id => document.getElementById(id);
let here = -1;

// ---- listings -----------------------------------------------------------

// The rows of step k, those that went away among them: the number of the text,
// its indent, the step that it is from, and its mark.
const known = [];
function rows(k) {
  while (known.length <= k) known.push(edited(known.length));
  return known[k];
}

function listing(k) { return k < 0 ? [] : rows(k).filter(r => r[3] !== "-"); }

// The edits of step k, performed on the listing before.
function edited(k) {
  const old = listing(k - 1), out = [];
  let at = 0;
  for (const e of steps[k].edits || [["=", old.length]]) {
    if (e[0] === "+")
      for (let i = 1; i < e.length; i += 2)
        out.push([e[i], e[i + 1], k, k ? "+" : " "]);
    else
      for (let i = 0; i < e[1]; i++) {
        const [text, indent, from] = old[at++];
        out.push([text, indent + (e[2] || 0), from, e[0] === "-" ? "-" : " "]);
      }
  }
  return out;
}

// ---- the program --------------------------------------------------------

const kinds = {"+": ["ins", "new", "+"], "-": ["del", "old", "\u2212"],
               " ": ["span", "", " "]};

function show_line(parent, [text, indent, from, mark]) {
  const [tag, cls, sign] = kinds[mark];
  const line = add(parent, tag, undefined, "line " + cls);
  const link = add(line, from ? "a" : "span", from || "", "from");
  if (from) {
    link.href = "#t=" + from;
    link.tabIndex = -1;
    link.title = "from step " + from + ": " + steps[from].name;
  }
  line.append(sign + " " + " ".repeat(indent) + data.line[text] + "\n");
}

// The first line that is marked is in sight.
function show_program(k) {
  const pre = at("program");
  pre.textContent = "";
  const box = add(pre, "code");
  rows(k).forEach(r => show_line(box, r));
  const first = box.querySelector(".new, .old");
  pre.scrollTop = first ? first.offsetTop - pre.offsetTop - 60 : 0;
}

// ---- the decision -------------------------------------------------------

function show_decision(box, d) {
  box.textContent = "";
  if (!d) return;
  add(box, "p", "Decides " + d.what + ": " + d.text + ", one of " + d.count +
                    (d.count > d.rows.length ?
                         "; " + d.rows.length + " of them are listed" : "") +
                    ".");
  const timed = d.rows.some(r => r.time !== undefined);
  const head = [d.what, "probability"].concat(timed ? ["best time measured"]
                                                    : []);
  const t = table(
      box, "What it could be", head,
      d.rows.map(r => [r.text, (100 * r.probability).toPrecision(3) + " %"]
                          .concat(timed ? [r.time === undefined
                                               ? "\u2013" : duration(r.time)]
                                        : [])));
  d.rows.forEach((r, i) => {
    if (!r.chosen) return;
    const tr = t.tBodies[0].rows[i];
    tr.className = "chosen";
    tr.cells[0].textContent += " (chosen)";
  });
  if (timed)
    add(box, "p", "Times are of records that differ from this one in this " +
                      "decision alone.", "meta");
  if (d.dependents) add(box, "p", d.dependents, "meta");
}

// ---- moving -------------------------------------------------------------

function show_list(k) {
  const list = at("list");
  const old = list.querySelector("[aria-current]");
  if (old) {
    old.removeAttribute("aria-current");
    old.tabIndex = -1;
  }
  const a = list.children[k].firstChild;
  a.setAttribute("aria-current", "step");
  a.tabIndex = 0;
  const top = a.offsetTop - list.offsetTop;
  if (top < list.scrollTop || top + 40 > list.scrollTop + list.clientHeight)
    list.scrollTop = top - list.clientHeight / 2;
}

function stand(k) {
  if (k === here) return;
  here = k;
  const s = steps[k];
  at("instruction").textContent = k ? "Step " + k + ": " + s.name :
                                      "Before the first instruction";
  at("text").textContent = s.text;
  at("place").textContent =
      [s.place && "from " + s.place, s.same && "the program stays as it is",
       s.wrong && "it does not apply: " + s.wrong,
       s.time !== undefined && "the program takes " + duration(s.time)]
          .filter(Boolean).join("; ");
  show_decision(at("decision"), s.decision);
  show_program(k);
  show_list(k);
  at("slider").value = k;
  at("slider").setAttribute("aria-valuetext",
                            "step " + k + " of " + last + ", " + s.name);
  at("position").textContent = k + " of " + last;
  add(at("position"), "span", ", " + s.name, "hidden");
  at("first").disabled = at("back").disabled = k === 0;
  at("last").disabled = at("next").disabled = k === last;
}

function clamp(k) { return Math.max(0, Math.min(last, k)); }

// By keys, buttons and the slider: the address follows, and the browser's
// history stays as it is.
function go(k) {
  history.replaceState(null, "", "#t=" + clamp(k));
  stand(clamp(k));
}

function from_address() {
  const m = /^#t=(\d+)$/.exec(location.hash);
  stand(clamp(m ? Number(m[1]) : 0));
}

// Keys in what scrolls or slides by itself are its own.
function on_key(e) {
  if (e.altKey || e.ctrlKey || e.metaKey || e.shiftKey) return;
  const t = e.target, list = at("list").contains(t);
  if (t === at("slider") || t.tagName === "PRE") return;
  const to = {ArrowLeft: here - 1, ArrowRight: here + 1, Home: 0, End: last};
  if (list) Object.assign(to, {ArrowUp: here - 1, ArrowDown: here + 1});
  if (!(e.key in to)) return;
  e.preventDefault();
  go(to[e.key]);
  if (list) at("list").children[here].firstChild.focus();
}

// ---- the start ----------------------------------------------------------

at("title").textContent = data.title;
if (data.measured)
  data.facts.push("measured: " + duration(data.measured));
if (data.measured && data.unscheduled)
  data.facts.push((data.unscheduled / data.measured).toPrecision(3) +
                  " times as fast as the unscheduled program");
at("facts").textContent = data.facts.join(" \u00b7 ");
at("written").textContent = "Written by Tessera " + data.version + ".";
steps.forEach((s, k) => {
  const a = add(add(at("list"), "li"), "a",
                s.name + (s.decision ? " " + s.decision.text : ""),
                s.same ? "same" : "");
  a.href = "#t=" + k;
  a.tabIndex = -1;
  a.title = s.decision ? s.decision.what : s.text;
});
at("slider").max = last;
at("slider").oninput = e => go(Number(e.target.value));
at("first").onclick = () => go(0);
at("back").onclick = () => go(here - 1);
at("next").onclick = () => go(here + 1);
at("last").onclick = () => go(last);
at("gone").onchange = e =>
    at("program").classList.toggle("now", !e.target.checked);
addEventListener("keydown", on_key);
addEventListener("hashchange", from_address);
from_address();
})();
