// SPDX-License-Identifier: Apache-2.0
// What the pages share: elements, tables, times with their units.
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);

function add(parent, tag, text, cls) {
  const e = document.createElement(tag);
  if (text !== undefined) e.textContent = text;
  if (cls) e.className = cls;
  parent.appendChild(e);
  return e;
}

// A table in a box that scrolls by itself where the page is too narrow.
function table(parent, caption, head, rows) {
  const box = add(parent, "div", undefined, "scroll");
  const t = add(box, "table");
  if (caption) add(t, "caption", caption);
  const h = add(add(t, "thead"), "tr");
  head.forEach(x => { add(h, "th", x).scope = "col"; });
  const body = add(t, "tbody");
  rows.forEach(row => {
    const tr = add(body, "tr");
    row.forEach(x => add(tr, "td", x));
  });
  return t;
}

// Seconds as people read them.
function duration(s) {
  if (s >= 1) return s.toPrecision(4) + " s";
  if (s >= 1e-3) return (s * 1e3).toPrecision(4) + " ms";
  return (s * 1e6).toPrecision(4) + " \u00b5s";
}

function plural(n, what) { return n + " " + what + (n === 1 ? "" : "s"); }
