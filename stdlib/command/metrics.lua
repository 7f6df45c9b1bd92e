-- SPDX-License-Identifier: Apache-2.0
-- A fleet's metrics as OpenMetrics' text, which Prometheus reads.

-- Lines of one metric: its family, then each sample, { labels, value }.
local function family(out, name, kind, help, samples)
  out[#out + 1] = ("# TYPE tessera_fleet_%s %s"):format(name, kind)
  out[#out + 1] = ("# HELP tessera_fleet_%s %s"):format(name, help)
  for _, s in ipairs(samples) do
    local labels = {}
    for i = 1, #s.labels, 2 do
      local v = s.labels[i + 1]:gsub('[\\"\n]', { ["\\"] = "\\\\",
                                     ['"'] = '\\"', ["\n"] = "\\n" })
      labels[#labels + 1] = ('%s="%s"'):format(s.labels[i], v)
    end
    out[#out + 1] = ("tessera_fleet_%s%s%s %s"):format(name,
      kind == "counter" and "_total" or "",
      #labels > 0 and "{" .. table.concat(labels, ",") .. "}" or "", s.value)
  end
end

local function one(value) return { { labels = {}, value = value } } end

return function(m)
  local out = {}
  family(out, "oldest_job_seconds", "gauge",
         "How long the oldest batch in the queue has waited.", one(m.oldest))
  family(out, "queued_batches", "gauge", "Batches in the queue.", one(m.queued))
  family(out, "leased_batches", "gauge", "Batches at work.", one(m.leased))
  family(out, "leases_lost", "counter", "Leases that ran out.", one(m.lost))
  family(out, "stale_results", "counter",
         "Results that came after their lease was lost.", one(m.stale))
  family(out, "results", "counter", "Results that were taken.", one(m.finished))
  local waits = {}
  for q, v in pairs { ["0.5"] = m.waits.median, ["0.99"] = m.waits.p99 } do
    waits[#waits + 1] = { labels = { "quantile", q }, value = v }
  end
  table.sort(waits, function(a, b) return a.labels[2] < b.labels[2] end)
  family(out, "claim_wait_seconds", "gauge",
         "From queueing to the claim, in the last ten minutes.", waits)
  local dead, tables = {}, {}
  for name in pairs(m.dead_rows) do tables[#tables + 1] = name end
  table.sort(tables)
  for _, name in ipairs(tables) do
    dead[#dead + 1] = { labels = { "table", name }, value = m.dead_rows[name] }
  end
  family(out, "dead_rows", "gauge", "Rows that wait for vacuum.", dead)
  local drift, failures, bad = {}, {}, {}
  for _, d in ipairs(m.devices) do
    local labels = { "device", d.device, "key", d.key }
    if d.drift then drift[#drift + 1] = { labels = labels, value = d.drift } end
    failures[#failures + 1] = { labels = labels, value = d.failures }
    bad[#bad + 1] = { labels = labels, value = d.quarantined and 1 or 0 }
  end
  family(out, "drift_ratio", "gauge", "The reference kernel's time, as a " ..
         "multiple of its first on the device.", drift)
  family(out, "device_failures", "gauge",
         "Failures in a row of the device's machinery.", failures)
  family(out, "device_quarantined", "gauge", "Whether it is.", bad)
  out[#out + 1] = "# EOF\n"
  return table.concat(out, "\n")
end
