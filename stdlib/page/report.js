// SPDX-License-Identifier: Apache-2.0
// The report: charts, each with its numbers as a table below it, which is all
// there is where Chart.js is not in the page.
"use strict";
(function() {
const colours = [
  "#2f6fd0", "#d1632f", "#2f9e5b", "#8a4fc4", "#b8912b", "#c43c74", "#3aa3a8",
  "#6b7280"
];
const main = document.getElementById("main");
const has = typeof Chart !== "undefined";
if (has) {
  const style = getComputedStyle(document.documentElement);
  Chart.defaults.animation = false;
  Chart.defaults.font.size = 12;
  Chart.defaults.plugins.legend.labels.boxHeight = 2;
  Chart.defaults.plugins.legend.labels.boxWidth = 24;
  Chart.defaults.color = style.getPropertyValue("--text");
  Chart.defaults.borderColor = style.getPropertyValue("--rule");
}

// ---- charts -------------------------------------------------------------

const ms = s => s === null ? null : s * 1e3;
const colour = i => colours[i % colours.length];

function axis(text, type) {
  return {type: type || "linear", title: {display: true, text}};
}

// say(point, label): a line of the tooltip, with names and units.
function tooltip(say) {
  return {
    callbacks: {
      title: () => "",
      label: c => say(c.raw, c.dataset.label)
    }
  };
}

// `text` says what a screen reader hears of the picture; the numbers follow.
function chart(parent, title, text, config, head, rows) {
  const cell = add(parent, "div");
  add(cell, "h3", title);
  if (!has) {
    table(cell, text, head, rows);
    return;
  }
  const box = add(cell, "div", undefined, "box");
  const canvas = add(box, "canvas");
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", title + ": " + text);
  config.options =
      Object.assign({maintainAspectRatio: false}, config.options);
  new Chart(canvas, config);
  const numbers = add(cell, "details");
  add(numbers, "summary", "the numbers");
  table(numbers, title + ": " + text, head, rows);
}

function name_of(r) {
  if (!r.id) return "unknown run";
  return "run " + r.id + ": " + r.strategy +
      (r.model && r.model !== "random" ? " + " + r.model : "") + ", seed " +
      r.seed;
}

// ---- the best so far ----------------------------------------------------

// Of a run's points those at which the best became better, and the last.
function improvements(points) {
  return points.filter((p, i) => p.y !== null && p.x !== null &&
                           (i === 0 || i === points.length - 1 ||
                            p.y !== points[i - 1].y));
}

// The time of the unscheduled program as a line across.
function unscheduled_line(g, from, to) {
  return {
    label: "the unscheduled program",
    borderColor: "#888",
    backgroundColor: "#888",
    borderDash: [6, 4],
    borderWidth: 1.6,
    pointRadius: 0,
    data: [{x: from, y: ms(g.unscheduled)}, {x: to, y: ms(g.unscheduled)}]
  };
}

function best_so_far(parent, g, title, x, unit, pick) {
  const runs = g.runs.map(r => [name_of(r), r.points.map(pick).filter(
                                                p => p.x !== null &&
                                                    p.y !== null)]);
  const sets = runs.map(([label, points], i) => ({
                          label,
                          borderColor: colour(i),
                          backgroundColor: colour(i),
                          borderWidth: 1.6,
                          pointRadius: 0,
                          stepped: true,
                          data: points
                        }));
  const xs = [].concat(...runs.map(r => r[1].map(p => p.x)));
  if (g.unscheduled && xs.length)
    sets.push(unscheduled_line(g, Math.min(...xs), Math.max(...xs)));
  const say = (p, label) => label + ": " + duration(p.y / 1e3) +
      (label.startsWith("the uns") ? "" : " after " + plural(+p.x.toFixed(2),
                                                             unit));
  chart(
      parent, title, "best time in milliseconds, a line a run" +
          (g.unscheduled ? "; the unscheduled program takes " +
                   duration(g.unscheduled) : ""),
      {
        type: "line",
        data: {datasets: sets},
        options: {
          scales: {x: axis(x), y: axis("best so far, ms", "logarithmic")},
          interaction: {mode: "nearest", intersect: false},
          plugins: {tooltip: tooltip(say)}
        }
      },
      ["run", x, "best so far, ms"],
      [].concat(...runs.map(
          ([label, points]) => improvements(points).map(
              p => [label, +p.x.toFixed(2), p.y.toPrecision(4)]))));
}

// ---- the cost model -----------------------------------------------------

function predictions(parent, runs) {
  const sets = [];
  runs.forEach((r, i) => {
    const ok = r.points.filter(p => p[3] !== null && p[4] !== null);
    const best = Math.min(...ok.map(p => p[3]));
    if (ok.length)
      sets.push({
        label: name_of(r),
        backgroundColor: colour(i) + "b0",
        pointRadius: 2.5,
        data: ok.map(p => ({x: best / p[3], y: p[4], record: p[5]}))
      });
  });
  if (!sets.length) return;
  chart(
      parent, "Predicted against measured",
      "the cost model's score of each candidate before it was measured", {
        type: "scatter",
        data: {datasets: sets},
        options: {
          scales: {
            x: axis("measured throughput, as a share of the best"),
            y: axis("score of the cost model before")
          },
          plugins: {
            tooltip: tooltip(p => "record " + p.record + ": " +
                                 (100 * p.x).toFixed(1) +
                                 " % of the best, score " + p.y.toFixed(3))
          }
        }
      },
      ["run", "record", "measured, share of the best", "score"],
      [].concat(...sets.map(s => s.data.map(p => [s.label, p.record,
                                                  p.x.toFixed(3),
                                                  p.y.toFixed(3)]))));
}

const qualities = [
  ["rank accuracy", 3, []],
  ["top-k recall", 4, [5, 3]],
  ["root mean square error", 2, [2, 2]]
];

function quality(parent, runs) {
  const curves = [];
  runs.forEach((r, i) => qualities.forEach(([name, k, dash]) => {
    const d =
        r.quality.filter(q => q[k] !== null).map(q => ({x: q[0], y: q[k]}));
    if (d.length)
      curves.push({
        label: name + (runs.length > 1 ? ", run " + r.id : ""),
        data: d,
        borderColor: colour(i),
        backgroundColor: colour(i),
        borderDash: dash,
        borderWidth: 1.6,
        pointRadius: 2
      });
  }));
  if (!curves.length) return;
  chart(
      parent, "The cost model, batch by batch",
      "how well it predicted each batch before it was taught it", {
        type: "line",
        data: {datasets: curves},
        options: {
          scales: {
            x: axis("candidates that it was taught"),
            y: axis("share, or error")
          },
          plugins: {
            tooltip: tooltip((p, label) => label + ": " + p.y.toFixed(3) +
                                 " after " + plural(p.x, "candidate"))
          }
        }
      },
      ["curve", "candidates taught", "value"],
      [].concat(...curves.map(
          c => c.data.map(p => [c.label, p.x, p.y.toFixed(3)]))));
}

// ---- time and funnel ----------------------------------------------------

function time(parent, runs) {
  const with_time = runs.filter(r => r.ledger.length);
  if (!with_time.length) return;
  const parts =
      [...new Set([].concat(...with_time.map(r => r.ledger.map(l => l[0]))))];
  const sum = (r, part) =>
      r.ledger.filter(l => l[0] === part).reduce((a, l) => a + l[1], 0);
  chart(
      parent, "Where the time went", "seconds of each run by what it did", {
        type: "bar",
        data: {
          labels: with_time.map(r => "run " + r.id),
          datasets: parts.map((part, i) => ({
                                label: part,
                                backgroundColor: colour(i),
                                data: with_time.map(r => sum(r, part))
                              }))
        },
        options: {
          indexAxis: "y",
          scales: {
            x: Object.assign(axis("seconds"), {stacked: true}),
            y: {stacked: true}
          },
          plugins: {
            tooltip: tooltip((s, label) => label + ": " + s.toFixed(2) + " s")
          }
        }
      },
      ["run"].concat(parts.map(p => p + ", s")),
      with_time.map(
          r => [name_of(r)].concat(parts.map(p => sum(r, p).toFixed(3)))));
}

function funnel(parent, runs) {
  runs.filter(r => r.funnel.length).forEach(r => {
    const cell = add(parent, "div");
    add(cell, "h3", "Funnel of " + name_of(r));
    table(cell, "", ["what became of candidates", "candidates"], r.funnel);
  });
}

// ---- cuts ---------------------------------------------------------------

function cut(parent, c) {
  const least = new Map();
  c.points.forEach(
      p => least.set(p[0], Math.min(p[1], least.get(p[0]) || Infinity)));
  const values = [...least.keys()].sort((a, b) => a - b);
  const log = values[0] > 0 && values[values.length - 1] / values[0] >= 8;
  const point = p => ({x: p[0], y: ms(p[1])});
  const best = values.reduce((a, b) => least.get(b) < least.get(a) ? b : a);
  chart(
      parent, c.name,
      "best time by its value; " + best + " is the fastest with " +
          duration(least.get(best)),
      {
        data: {
          datasets: [
            {
              type: "line",
              label: "best of the value",
              borderColor: colour(0),
              borderWidth: 1.5,
              backgroundColor: colour(0),
              pointRadius: 0,
              data: values.map(v => ({x: v, y: ms(least.get(v))}))
            },
            {
              type: "scatter",
              label: "differs from the best in this alone",
              pointRadius: 4,
              pointStyle: "rectRot",
              backgroundColor: colour(1),
              data: c.points.filter(p => p[2]).map(point)
            },
            {
              type: "scatter",
              label: "other candidates",
              pointRadius: 1.8,
              backgroundColor: "#9aa3b5a0",
              data: c.points.filter(p => !p[2]).map(point)
            }
          ]
        },
        options: {
          plugins: {
            legend: {labels: {boxHeight: 6, boxWidth: 10, font: {size: 10}}},
            tooltip: tooltip((p, label) => c.name + " = " + p.x + ": " +
                                 duration(p.y / 1e3) + " (" + label + ")")
          },
          scales: {
            x: axis(c.name, log ? "logarithmic" : "linear"),
            y: axis("ms", "logarithmic")
          }
        }
      },
      ["value", "best, ms"],
      values.map(v => [v, ms(least.get(v)).toPrecision(4)]));
}

// ---- tasks --------------------------------------------------------------

function faster(g) {
  if (!g.best || !g.unscheduled) return "\u2013";
  return (g.unscheduled / g.best.seconds).toPrecision(3) + " times";
}

function overview(parent) {
  const t = table(
      parent, "Tasks", ["task", "best", "unscheduled", "speed-up", "records", "trace"],
      data.groups.map(g => ["", g.best ? duration(g.best.seconds) : "\u2013",
                            g.unscheduled ? duration(g.unscheduled) : "\u2013",
                            faster(g), g.count, ""]));
  data.groups.forEach((g, i) => {
    const cells = t.tBodies[0].rows[i].cells;
    add(cells[0], "a", g.title).href = "#g" + i;
    if (g.best && g.best.link)
      add(cells[5], "a", "record " + g.best.id).href = g.best.link;
    else
      cells[5].textContent = g.best ? "record " + g.best.id : "\u2013";
  });
}

function say_best(parent, g) {
  const p = add(parent, "p", plural(g.count, "record") + "; ");
  if (!g.best) {
    p.append("none that was compared with the unscheduled program");
    return;
  }
  p.append("the best is record " + g.best.id + ": " +
           duration(g.best.seconds));
  if (g.unscheduled)
    p.append(", " + faster(g) + " as fast as the unscheduled program, which takes " +
             duration(g.unscheduled));
  p.append(". ");
  if (g.best.link) add(p, "a", "Step through its trace").href = g.best.link;
  if (g.best.params) add(parent, "p", "with " + g.best.params);
  if (g.best.why)
    add(parent, "p", "Its trace cannot be shown: " + g.best.why);
}

function task(g, i) {
  const s = add(main, "section");
  add(s, "h2", g.title).id = "g" + i;
  s.setAttribute("aria-labelledby", "g" + i);
  add(s, "p", g.shapes, "meta");
  add(s, "p", "workload " + g.hash + " \u00b7 " + g.target + " \u00b7 " +
             g.policy, "meta");
  say_best(s, g);
  let row = add(s, "div", undefined, "row");
  best_so_far(row, g, "Best time over trials", "trials", "trial",
              p => ({x: p[0], y: ms(p[2])}));
  best_so_far(row, g, "Best time over seconds", "seconds of the run", "second",
              p => ({x: p[1], y: ms(p[2])}));
  predictions(row, g.runs);
  quality(row, g.runs);
  time(row, g.runs);
  funnel(row, g.runs);
  if (!g.cuts || !g.cuts.length) return;
  add(s, "h3", "Cuts through the objective along each decision");
  row = add(s, "div", undefined, "row small");
  g.cuts.forEach(c => cut(row, c));
}

document.getElementById("written").textContent =
    data.title + ", written by Tessera " + data.version;
if (data.groups.length) overview(document.getElementById("tasks"));
else add(main, "p", "There are no records.");
data.groups.forEach(task);
})();
