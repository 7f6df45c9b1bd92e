-- SPDX-License-Identifier: Apache-2.0
-- Tunes the tuner: which values of a strategy's options do best on recorded
-- spaces of others (bench/peers.lua), and what that is worth on other spaces.
--   tessera bench/outer.lua 'STRATEGY:OPTION=V|V,OPTION=V|V' FILE .. [--judge
--     FILE ..] [--seeds N] [--trials N] [--model M]
-- Coordinate descent from the first value of each option: the values of one
-- after the other are tried, the best is kept, until a round changes nothing.
-- A setting's score is the mean, over files and over 25, 50, 100, 200 and 400
-- trials as far as there are so many, of 100 ln(r), r the median over the seeds
-- of the best found in times the best of the space: 0 at best, and 1 is one
-- per cent.  --judge names spaces that choose nothing: the setting that is
-- chosen and the first one are run on them at the end.
local arguments = dofile((arg[0]:gsub("[^/]*$", "support/arguments.lua")))(
  "outer.lua 'STRATEGY:OPTION=V|V,..' FILE .. [--judge FILE ..] [--seeds N] " ..
  "[--trials N] [--model M]")
local quoted, refuse = arguments.quoted, arguments.refuse
local given, chosen = arguments.options(
  { seeds = 10, trials = 100, model = "" }, { judge = true })
local judged, text = chosen.judge, table.remove(chosen, 1)
if #chosen == 0 then refuse "a strategy and files are needed" end

-- { name =, values = } of each option, in order.
local strategy, rest = text:match "^([%w_]+):(.+)$"
if not strategy then refuse("'%s' names no option", text) end
local options = {}
for word in rest:gmatch "[^,]+" do
  local name, values = word:match "^([%w_]+)=(.+)$"
  if not name then refuse("'%s' is no OPTION=V|V", word) end
  local o = { name = name, values = {} }
  for v in values:gmatch "[^|]+" do o.values[#o.values + 1] = v end
  options[#options + 1] = o
end

local function setting(at)
  local words = {}
  for k, o in ipairs(options) do
    words[k] = o.name .. "=" .. o.values[at[k]]
  end
  return strategy .. ":" .. table.concat(words, ",") ..
         (given.model ~= "" and "/" .. given.model or "")
end

local nothing = 1e3   -- in place of a ratio where nothing ran

-- The lines of bench/peers.lua for these files: { space =, search =, r = }.
local function run(files, search)
  local words = { quoted(arg[-1]),
                  quoted((arg[0]:gsub("[^/]*$", "")) .. "peers.lua") }
  for _, path in ipairs(files) do words[#words + 1] = quoted(path) end
  local f <close> = assert(io.popen(("%s --search %s --seeds %d --trials %d")
    :format(table.concat(words, " "), quoted(search), given.seeds,
            given.trials)))
  local found = {}
  for line in f:lines() do
    local space, curve = line:match "^(%S+)%s+%S+%s+([%d%.inf ]+)%s+%d+/%d+"
    local row = { space = space, r = {} }
    for r in (curve or ""):gmatch "%S+" do
      row.r[#row.r + 1] = tonumber(r) or nothing
    end
    if space then found[#found + 1] = row end
  end
  if not f:close() or #found == 0 then
    io.stderr:write("outer.lua: ", search, " did not run\n")
    os.exit(1)
  end
  return found
end

local scores = {}
local function score(at)
  local search = setting(at)
  if scores[search] then return scores[search] end
  local sum, n = 0, 0
  for _, row in ipairs(run(chosen, search)) do
    for _, r in ipairs(row.r) do sum, n = sum + 100 * math.log(r), n + 1 end
  end
  scores[search] = sum / n
  print(("%-60s %7.3f"):format(search, scores[search]))
  return scores[search]
end

-- ---- coordinate descent ----------------------------------------------------

local at = {}
for k = 1, #options do at[k] = 1 end
local first, best = setting(at), score(at)
repeat
  local changed = false
  for k, o in ipairs(options) do
    for v = 1, #o.values do
      local was = at[k]
      at[k] = v
      local s = score(at)
      if s < best then
        best, changed = s, true
      else
        at[k] = was
      end
    end
  end
until not changed
print("chosen: " .. setting(at))

for _, search in ipairs(#judged > 0 and { first, setting(at) } or {}) do
  for _, row in ipairs(run(judged, search)) do
    local words = {}
    for k, r in ipairs(row.r) do words[k] = ("%.3f"):format(r) end
    print(("judged: %-28s %s  %s"):format(row.space, table.concat(words, " "),
                                          search))
  end
end
