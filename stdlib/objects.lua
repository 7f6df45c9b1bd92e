-- SPDX-License-Identifier: Apache-2.0
-- The reference of objects that a name of no function stands for: what a run
-- of ts.tune found, and kernels.  Pages and editors' stubs are made of it.
local objects = {}

-- A field is { name, type, what it is }, as in plugins.lua.
local classes = {
  { name = "tessera.Result", page = "result",
    summary = "What a run of ts.tune found.",
    more = "Fields that end in ? are nil where nothing valid was found, or " ..
           "there is nothing to say.",
    { "status", "string", '"OK"; "NOT_FOUND" where nothing valid was found; ' ..
      '"CANCELLED", "IO" and the like where the run broke off' },
    { "message?", "string", "why the run broke off, or was ended by a " ..
      "candidate that failed" },
    { "latency?", "number", "the best time in seconds: the median when the " ..
      "best few were timed again at the end" },
    { "gflops?", "number", "operations a second of the best, in 10^9" },
    { "trials", "integer", "how many there were, those of the database " ..
      "included" },
    { "failed", "integer", "how many of these failed" },
    { "curve", "number[]", "the best time after each trial; math.huge while " ..
      "nothing valid was known" },
    { "trace?", "tessera.Trace", "the best, as its trace" },
    { "schedule?", "tessera.Schedule", "the best, as a schedule: a new one " ..
      "at each reading" },
    { "kernel?", "tessera.Kernel", "the best, compiled at the first reading " ..
      "and kept" },
    { "exhausted", "boolean", "whether it ended before its trials, since " ..
      "the strategy had nothing new three times in a row" },
    { "funnel", "string", "what became of what this run drew" },
    { "ledger", "string", "where the time of this run went" },
    { "classes", "string", "how what this run measured ended, and how " ..
      "often, as JSON" },
    { "note?", "string", "one line, where the latency is far from the best " ..
      "trial's time, or the check of results sees little" } },
  { name = "tessera.Kernel", page = "kernel",
    summary = "A compiled program.",
    more = "It is called with its tensors: kernel(a, b, c)." },
}

local function fields_text(class)
  local lines = {}
  for i, f in ipairs(class) do
    lines[i] = ("- `%s` (`%s`): %s"):format(f[1], f[2], f[3])
  end
  return table.concat(lines, "\n")
end

-- The page of "result" or "kernel"; `methods` gives the lines of what can be
-- called on it.  nil for anything else.
function objects.page(name, methods)
  for _, c in ipairs(classes) do
    if c.page == name then
      local summary = c.summary .. " " .. c.more
      local lines = { "## class " .. c.name, "", summary, "" }
      if #c > 0 then lines[#lines + 1] = fields_text(c) end
      table.move(methods, 1, #methods, #lines + 1, lines)
      return table.concat(lines, "\n")
    end
  end
end

-- Lines for an index.
function objects.index()
  local lines = {}
  for i, c in ipairs(classes) do
    lines[i] = ("  %-26s %s"):format(c.page, c.summary)
  end
  return lines
end

-- Lines of the stub of a class: its fields.
function objects.stub(name)
  local lines = { "---@class " .. name }
  for _, c in ipairs(classes) do
    for _, f in ipairs(c.name == name and c or {}) do
      lines[#lines + 1] = ("---@field %s %s %s"):format(f[1], f[2], f[3])
    end
  end
  return table.concat(lines, "\n")
end

return objects
