-- SPDX-License-Identifier: Apache-2.0
-- The HTML page of a report: data, Chart.js and the script that draws, in one
-- file that needs no network.

-- Where Debian's libjs-chart.js has it.
local CHART = "/usr/share/javascript/chart.js/chart.min.js"

local function read_chart()
  local f = io.open(os.getenv "TESSERA_CHART_JS" or CHART, "rb")
  if not f then return nil end
  local text = f:read "a"
  f:close()
  -- It names the file that its debugger's map is in, which is not there.
  return (text:gsub("//# sourceMappingURL=[^\n]*", "")
              :gsub("</script", "<\\/script"))
end

local style = [[
body { font: 14px/1.45 system-ui, sans-serif; margin: 0 auto; padding: 1em 2em
  4em; max-width: 1180px; color: #1c2330; background: #fff }
h1 { font-size: 1.5em }
h2 { margin-top: 2.5em; border-top: 2px solid #ccd; padding-top: .6em }
h3 { font-size: 1em; margin: 1.4em 0 .3em }
nav a { margin-right: 1em }
.meta { color: #667; font-size: .92em }
.row { display: grid; grid-template-columns: repeat(auto-fit, minmax(430px,
  1fr)); gap: 1.2em }
.box { position: relative; height: 290px }
.small { grid-template-columns: repeat(auto-fit, minmax(300px, 1fr)) }
.small .box { height: 210px }
table { border-collapse: collapse }
td, th { padding: .15em .7em; text-align: right; border-bottom: 1px solid
  #e4e6ee }
td:first-child, th:first-child { text-align: left }
pre { background: #f5f6fa; padding: .7em; overflow: auto; font: 12px/1.4 ui-
  monospace, monospace; max-height: 32em; margin: .3em 0 }
pre .new { background: #dff3e1 }
pre .gone { background: #fbe3e3 }
.steps { display: grid; grid-template-columns: minmax(320px, 2fr) 3fr; gap:
  1em }
.steps ol { max-height: 34em; overflow: auto; margin: 0; padding: 0 0 0 3em;
  font: 12px/1.5 ui-monospace, monospace; background: #f5f6fa }
.steps li { cursor: pointer; padding: 0 .4em; white-space: pre }
.steps li.same { color: #8a90a0 }
.steps li.on { background: #cfe0ff }
]]

local script = [==[
"use strict";
(function() {
const data = JSON.parse(document.getElementById("data").textContent);
const colours = [
  "#2f6fd0", "#d1632f", "#2f9e5b", "#8a4fc4", "#b8912b", "#c43c74", "#3aa3a8",
  "#6b7280"
];
const main = document.getElementById("main");
function add(parent, tag, text, cls) {
  const e = document.createElement(tag);
  if (text !== undefined) e.textContent = text;
  if (cls) e.className = cls;
  parent.appendChild(e);
  return e;
}
function table(parent, head, rows) {
  const t = add(parent, "table");
  const h = add(t, "tr");
  head.forEach(x => add(h, "th", x));
  rows.forEach(r => {
    const tr = add(t, "tr");
    r.forEach(x => add(tr, "td", x));
  });
}
const has = typeof Chart !== "undefined";
if (has) {
  Chart.defaults.animation = false;
  Chart.defaults.font.size = 11;
}
function chart(parent, title, config, head, rows) {
  const cell = add(parent, "div");
  add(cell, "h3", title);
  if (!has) {
    table(cell, head, rows.slice(0, 60));
    return;
  }
  const box = add(cell, "div", undefined, "box");
  const canvas = add(box, "canvas");
  config.options =
      Object.assign({maintainAspectRatio: false}, config.options);
  new Chart(canvas, config);
}
const axis = (text, type) =>
    ({type: type || "linear", title: {display: true, text}});
const ms = s => s === null ? null : s * 1e3;
function label(r) {
  return r.id ?
      r.strategy + (r.model && r.model !== "random" ? " + " + r.model : "") +
          ", seed " + r.seed :
      "unknown run";
}
function lines(parent, title, x, runs, pick) {
  chart(
      parent, title, {
        type: "line",
        data: {
          datasets: runs.map((r, i) => ({
                               label: label(r),
                               borderColor: colours[i % 8],
                               backgroundColor: colours[i % 8],
                               borderWidth: 1.6,
                               pointRadius: 0,
                               stepped: true,
                               data: r.points.map(pick).filter(
                                   p => p.x !== null && p.y !== null)
                             }))
        },
        options:
            {
              scales: {x: axis(x), y: axis("best so far, ms", "logarithmic")},
              interaction: {mode: "nearest", intersect: false}
            }
      },
      ["run", x, "ms"],
      [].concat(...runs.map(
          r => r.points.map(pick)
                   .filter(p => p.y !== null)
                   .map(p => [label(r), p.x, p.y.toPrecision(4)]))));
}
function model(parent, runs) {
  const sets = runs.map((r, i) => {
                     const ok =
                         r.points.filter(p => p[3] !== null && p[4] !== null);
                     const best = Math.min(...ok.map(p => p[3]));
                     return {
                       label: label(r),
                       backgroundColor: colours[i % 8] + "b0",
                       pointRadius: 2.5,
                       data: ok.map(p => ({x: best / p[3], y: p[4]}))
                     };
                   })
                   .filter(s => s.data.length);
  if (sets.length)
    chart(
        parent, "Predicted against measured", {
          type: "scatter",
          data: {datasets: sets},
          options: {
            scales: {
              x: axis("measured throughput relative to the best"),
              y: axis("score of the model before")
            }
          }
        },
        ["run", "measured", "predicted"],
        [].concat(...sets.map(
            s =>
                s.data.map(p => [s.label, p.x.toFixed(3), p.y.toFixed(3)]))));
  const known = runs.filter(r => r.quality.length);
  const kinds = [
    ["rank accuracy", 3, []], ["top-k recall", 4, [5, 3]], ["rmse", 2, [2, 2]]
  ];
  const curves = [];
  known.forEach((r, i) => kinds.forEach(([name, k, dash]) => {
    const d =
        r.quality.filter(q => q[k] !== null).map(q => ({x: q[0], y: q[k]}));
    if (d.length)
      curves.push({
        label: name + ": " + label(r),
        data: d,
        borderColor: colours[i % 8],
        backgroundColor: colours[i % 8],
        borderDash: dash,
        borderWidth: 1.6,
        pointRadius: 2
      });
  }));
  if (curves.length)
    chart(
        parent, "The model batch by batch, before it was taught it", {
          type: "line",
          data: {datasets: curves},
          options: {
            scales: {x: axis("candidates taught"), y: axis("share, or error")}
          }
        },
        ["curve", "taught", "value"],
        [].concat(...curves.map(
            c => c.data.map(p => [c.label, p.x, p.y.toFixed(3)]))));
}
function time(parent, runs) {
  const with_time = runs.filter(r => r.ledger.length);
  if (!with_time.length) return;
  const parts =
      [...new Set([].concat(...with_time.map(r => r.ledger.map(l => l[0]))))];
  const sum = (r, part) =>
      r.ledger.filter(l => l[0] === part).reduce((a, l) => a + l[1], 0);
  chart(
      parent, "Where the time went", {
        type: "bar",
        data: {
          labels: with_time.map(label),
          datasets: parts.map((part, i) => ({
                                label: part,
                                backgroundColor: colours[i % 8],
                                data: with_time.map(r => sum(r, part))
                              }))
        },
        options: {
          indexAxis: "y",
          scales: {
            x: Object.assign(axis("seconds"), {stacked: true}),
            y: {stacked: true}
          }
        }
      },
      ["run"].concat(parts),
      with_time.map(
          r => [label(r)].concat(parts.map(p => sum(r, p).toFixed(3)))));
}
function funnel(parent, runs) {
  runs.filter(r => r.funnel.length).forEach(r => {
    const cell = add(parent, "div");
    add(cell, "h3", "Funnel: " + label(r));
    table(cell, ["what became of candidates", ""], r.funnel);
  });
}
function cut(parent, c, best) {
  const least = new Map();
  c.points.forEach(
      p => least.set(p[0], Math.min(p[1], least.get(p[0]) || Infinity)));
  const values = [...least.keys()].sort((a, b) => a - b);
  const log = values[0] > 0 && values[values.length - 1] / values[0] >= 8;
  const point = p => ({x: p[0], y: ms(p[1])});
  chart(
      parent, c.name, {
        data: {
          datasets: [
            {
              type: "line",
              label: "best of the value",
              borderColor: colours[0],
              borderWidth: 1.5,
              backgroundColor: colours[0],
              pointRadius: 0,
              data: values.map(v => ({x: v, y: ms(least.get(v))}))
            },
            {
              type: "scatter",
              label: "only this differs from the best",
              pointRadius: 4,
              backgroundColor: colours[1],
              data: c.points.filter(p => p[2]).map(point)
            },
            {
              type: "scatter",
              label: "all",
              pointRadius: 1.8,
              backgroundColor: "#9aa3b5a0",
              data: c.points.filter(p => !p[2]).map(point)
            }
          ]
        },
        options: {
          plugins: {legend: {display: false}},
          scales: {
            x: axis("value", log ? "logarithmic" : "linear"),
            y: axis("ms", "logarithmic")
          }
        }
      },
      ["value", "best ms"],
      values.map(v => [v, ms(least.get(v)).toPrecision(4)]));
}
function show(pre, step) {
  pre.textContent = "";
  const text = step.diff || step.program;
  if (text === undefined) {
    add(pre, "span", "the program stays as it is");
    return;
  }
  let gone = false;
  text.split("\n").forEach(line => {
    if (step.diff && line === "gone:") gone = true;
    const cls = !step.diff ? "" :
        gone               ? "gone" :
        line[0] === "*"    ? "new" :
                             "";
    add(pre, "span", line + "\n", cls);
  });
}
function steps(parent, list) {
  const wrap = add(parent, "div", undefined, "steps");
  const ol = add(wrap, "ol");
  ol.start = 0;
  const pre = add(wrap, "pre");
  let on = null;
  list.forEach(step => {
    const li =
        add(ol, "li", step.text, step.diff || step.program ? "" : "same");
    li.onclick = () => {
      if (on) on.classList.remove("on");
      (on = li).classList.add("on");
      show(pre, step);
    };
    if (!on) li.onclick();
  });
}
add(main, "h1", "Tuning report");
add(main, "p", data.title + ", written by Tessera " + data.version, "meta");
const nav = add(main, "nav");
if (!data.groups.length) add(main, "p", "There are no records.");
data.groups.forEach((g, i) => {
  const a = add(nav, "a", g.title);
  a.href = "#g" + i;
  add(main, "h2", g.title).id = "g" + i;
  add(main, "p", g.shapes, "meta");
  add(main, "p",
      "workload " + g.hash + " \u00b7 " + g.target + " \u00b7 " + g.policy,
      "meta");
  add(main, "p",
      g.count + " records" +
          (g.best ? "; the best is record " + g.best.id + ": " +
                   ms(g.best.seconds).toPrecision(4) + " ms" :
                    "; none that was compared with the " +
                   "unscheduled program"));
  if (g.best && g.best.params) add(main, "p", "with " + g.best.params);
  let row = add(main, "div", undefined, "row");
  lines(
      row, "Latency over trials", "trials", g.runs,
      p => ({x: p[0], y: ms(p[2])}));
  lines(
      row, "Latency over seconds", "seconds", g.runs,
      p => ({x: p[1], y: ms(p[2])}));
  model(row, g.runs);
  time(row, g.runs);
  funnel(row, g.runs);
  if (g.cuts && g.cuts.length) {
    add(main, "h3", "Cuts through the objective along each decision");
    row = add(main, "div", undefined, "row small");
    g.cuts.forEach(c => cut(row, c, g.best));
  }
  if (g.steps) {
    add(main, "h3", "The best trace, step by step");
    steps(main, g.steps);
  } else if (g.best && g.best.why)
    add(main, "p", "its trace cannot be shown: " + g.best.why);
});
})();
]==]

-- `data` is JSON, in which a text could end the element that it stands in.
return function(data)
  data = data:gsub("<", "\\u003c")
  local chart = read_chart()
  return table.concat {
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n",
    "<title>Tuning report</title>\n<link rel=\"icon\" href=\"data:,\">\n",
    "<style>\n", style, "</style>\n</head>\n<body>\n",
    "<main id=\"main\"></main>\n",
    "<script type=\"application/json\" id=\"data\">", data, "</script>\n",
    chart and "<script>" .. chart .. "</script>\n" or "",
    "<script>", script, "</script>\n</body>\n</html>\n",
  }
end
