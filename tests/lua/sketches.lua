-- SPDX-License-Identifier: Apache-2.0
-- Golden sketches: the default space of processors with AVX-512, four cores,
-- of some of the operator suite, as tests/golden/sketches/<workload>.txt has
-- their steps, each with the number of its points: the product of what its
-- decisions can be, where the first ones leave others open.
-- TESSERA_GOLDEN=write writes the files anew.
local ts = require "tessera"
local ops = require "tessera.ops"
local here = arg[0]:gsub("[^/]*$", "")
local write = os.getenv "TESSERA_GOLDEN" == "write"
local target = "llvm -num-cores=4 -vector-bytes=64"

-- How many points the sketch has.
local function points(sketch, program)
  local n, seed = 1, 0
  local ok, sch
  repeat
    seed = seed + 1
    ok, sch = pcall(sketch.replay, sketch, program,
                    { resample = true, seed = seed })
  until ok or seed == 64
  assert(ok, sch)
  local stepper = sch:trace():stepper(program)
  repeat
    if stepper:decision() then
      n = n * select(2, stepper:alternatives(1))
    end
  until not stepper:next()
  return n
end

-- "v3" and "rv[12]" as _, lists of such as how many there are.
local function without_variables(text)
  text = text:gsub("rv%[%d+%]", "l1"):gsub("%f[%w][vlb]%d+%f[%W]", "_")
  return (text:gsub("{([_, ]+)}", function(list)
    return "{" .. select(2, list:gsub("_", "")) .. "}"
  end))
end

-- What a line of a sketch does; nil where it only looks something up.
local function step(line)
  local call = line:match "sch:(.*)$"
  if not call or call:find "^get_" then return nil end
  return (without_variables(call):gsub("%f[%w_][%w_]+ = _, ", "")
          :gsub("{[%w_]+ = _}", "{}"))
end

-- The steps of a sketch: a loop that is cut by sampled sizes is one step, and
-- the same several times is one line.
local function steps_of(sketch)
  local list, out = {}, {}
  for line in sketch:lua():gmatch "[^\n]+" do
    local text, before = step(line), list[#list]
    local sizes = before and before:match "^sample_perfect_tile{(.*)}$"
    if text and sizes and text:find "^split{factors = {%d+}}" then
      list[#list] = "tile{" .. sizes .. "}"
    else
      list[#list + 1] = text
    end
  end
  for i, text in ipairs(list) do
    local n = out[#out] and out[#out].text == text and out[#out].n or 0
    out[n > 0 and #out or #out + 1] = { text = text, n = n + 1 }
  end
  for i, x in ipairs(out) do
    out[i] = x.n == 1 and x.text or ("%s  -- %d times"):format(x.text, x.n)
  end
  return out
end

-- How many steps two sketches begin with in common.
local function shared(a, b)
  local n = 0
  while n < #a and a[n + 1] == b[n + 1] do n = n + 1 end
  return n
end

-- Of each sketch the steps that no earlier one begins with.
local function text_of(program)
  local list = ts.space.sketches(ts.space.default "llvm", program, target)
  local out, before = { ("-- %d sketches"):format(#list) }, {}
  for i, sketch in ipairs(list) do
    local steps, like, most = steps_of(sketch), 0, 0
    for k, other in ipairs(before) do
      local n = shared(steps, other)
      if n > most then like, most = k, n end
    end
    before[i] = steps
    out[#out + 1] = ("-- sketch %d: %d points"):format(i,
                                                       points(sketch, program))
    if most > 0 then
      out[#out + 1] = ("-- the first %d of sketch %d"):format(most, like)
    end
    table.move(steps, most + 1, #steps, #out + 1, out)
  end
  return table.concat(out, "\n") .. "\n"
end

for _, workload in ipairs { "GMM-3", "C2D-3", "CBR-3", "SFM-3", "TBG-3",
                            "DEP-3", "NRM-3", "lu", "cholesky" } do
  local name, index = workload:match "^(.*)%-(%d)$"
  local text = text_of(name and ops.suite(name, tonumber(index)) or
                       ops.polybench(workload, "LARGE"))
  local path = ("%s../golden/sketches/%s.txt"):format(here, workload)
  if write then
    local f <close> = assert(io.open(path, "w"))
    f:write(text)
  else
    local f <close> = assert(io.open(path))
    assert(text == f:read "a", workload .. ": its sketches have changed; " ..
           "run the test with TESSERA_GOLDEN=write and look at the difference")
  end
end
