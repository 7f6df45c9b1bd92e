-- SPDX-License-Identifier: Apache-2.0
-- `why` on tuned traces of the default space agrees with their prefixes: the
-- last origin of a statement is the instruction behind which it stands for
-- good, and before which it did not, or stood elsewhere.
local ts = require "tessera"
local ops = require "tessera.ops"

-- A line that says more of the statement above it.
local function goes_on(text)
  return text:find "^[%w_]+: " or text:find "^alloc " or
         text:find "^reads%(" or text:find "^writes%("
end

local function lines_of(program)
  local list = {}
  for line in tostring(program):gmatch "[^\n]+" do
    list[#list + 1] = line:match "^%s*(.-)%s*$"
  end
  return list
end

-- The statements of a program: the number of the first line of each, and its
-- text without what numbers loops, which later instructions change.
local function statements(program)
  local list = {}
  for i, line in ipairs(lines_of(program)) do
    local text = line:gsub("_%d+", "")
    if #list > 0 and goes_on(line) then
      list[#list].text = list[#list].text .. " " .. text
    else
      list[#list + 1] = { line = i, text = text }
    end
  end
  return list
end

local function counted(program)
  local counts = {}
  for _, x in ipairs(statements(program)) do
    counts[x.text] = (counts[x.text] or 0) + 1
  end
  return counts
end

-- Of how many statements `why` is right.
local function check(program, trace)
  local programs, behind = {}, {}
  for k = 0, #trace do
    programs[k] = trace:prefix(k):replay(program):program()
    behind[k] = counted(programs[k])
  end
  local s = trace:stepper(program)
  s:goto_(s:size())
  local why, list = s:why(), statements(programs[#trace])
  for _, x in ipairs(list) do
    local origins = why[x.line].origins
    local last = origins[#origins]
    local k = last and last.instruction or 0
    for m = k, #trace do
      assert(behind[m][x.text],
             ("%s: not behind %d, but since %d"):format(x.text, m, k))
    end
    local before = k > 0 and behind[k - 1][x.text] or 0
    if k > 0 and last.effect == "moved" then
      assert(tostring(programs[k - 1]) ~= tostring(programs[k]), x.text)
    elseif k > 0 then
      assert(before < behind[k][x.text],
             ("%s: not changed by %s"):format(x.text, last.text))
    end
  end
  return #list
end

local programs = {
  ops.matmul { m = 64, n = 64, k = 32, relu = true },
  ops.matmul { m = 48, n = 32, k = 64 },
  ops.conv2d_nhwc { n = 1, h = 8, w = 8, ci = 4, co = 8, k = 3 },
  ops.softmax { shape = { 16, 32 } } }
local seen = 0
for seed = 1, 20 do
  local program = programs[seed % #programs + 1]
  local result = ts.tune(program, {
    trials = 8, batch = 8, seed = seed, target = "llvm -num-cores=2",
    measure = function(_, x) return 1e-6 * (1 + #tostring(x) % 7) end })
  seen = seen + check(program, result.trace)
end
assert(seen > 400, seen)
