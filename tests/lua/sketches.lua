-- SPDX-License-Identifier: Apache-2.0
-- Golden sketches: the default space of processors with AVX-512, four cores,
-- of some of the operator suite, as tests/golden/sketches/<workload>.txt has
-- them, each with the number of its points: the product of what its decisions
-- can be, where the first ones leave others open.  TESSERA_GOLDEN=write writes
-- the files anew.
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

local function text_of(program)
  local list = ts.space.sketches(ts.space.default "llvm", program, target)
  local out = { ("-- %d sketches"):format(#list) }
  for i, sketch in ipairs(list) do
    out[#out + 1] = ("-- sketch %d: %d points"):format(i,
                                                       points(sketch, program))
    local lua = sketch:lua():gsub("^%-%- tessera trace 1\n", "")
                      :gsub('^local ts = require "tessera"\n', "")
    out[#out + 1] = lua:gsub("%s+$", "")
  end
  return table.concat(out, "\n") .. "\n"
end

for _, workload in ipairs { "GMM-3", "C2D-3", "CBR-3", "SFM-3", "TBG-3",
                            "DEP-3", "NRM-3" } do
  local name, index = workload:match "^(.*)%-(%d)$"
  local text = text_of(ops.suite(name, tonumber(index)))
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
