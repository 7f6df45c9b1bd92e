-- SPDX-License-Identifier: Apache-2.0
-- Tiles that exceed the chip, or that take too many instructions, are refused
-- as they are drawn, and no others: what verify_chip_buffers says of a schedule
-- is what compiling it says.  Layers of which few tiles fit are tuned in few
-- trials, whatever their size.
local ts = require "tessera"
local here = arg[0]:gsub("[^/]*$", "")
local checks = dofile(here .. "../support/checks.lua")
local dae = dofile(here .. "../support/dae.lua")
local machines = require "tessera.machines"
local use_dae = require "tessera.modules.use_dae"

-- ---- the same as compiling -------------------------------------------------

local function fits_compiler(s, target)
  local ok, x = pcall(ts.build, s, target)
  if ok then return true, x end
  assert(x.message:find "exceeds", x.message)
  return false, x.message
end

local seen = { [true] = 0, [false] = 0 }
-- How many instructions the kernel has, micro-operations' loads included.
local function length(kernel)
  local n = 0
  for _ in kernel:source "stream":gmatch "\n *%d+ %l" do n = n + 1 end
  return n
end

local function compare(p, target, rounds)
  local size = machines.of(ts.target(target)).buffer
  local limits = { inp = size.inp, wgt = size.wgt, acc = size.acc }
  local space = { use_dae {
    hiding = { "tiles", "both", "pipeline", "vthread", "none" } } }
  for i, sketch in ipairs(ts.space.sketches(space, p, target)) do
    for round = 1, rounds do
      local s = sketch:replay(p, { resample = true, seed = 100 * i + round })
      local fits, why = s:can("verify_chip_buffers", limits)
      local compiles, x = fits_compiler(s, target)
      assert(fits == compiles, ("%s\n%s\n%s"):format(why, x, s:program()))
      if fits then
        limits.instructions = length(x)
        assert(s:can("verify_chip_buffers", limits), s:program())
        limits.instructions = nil
      else
        checks.refused(s, "CHIP_BUFFER", "verify_chip_buffers", limits)
      end
      seen[fits] = seen[fits] + 1
    end
  end
end

local rounds = checks.checked and 1 or 6
for _, target in ipairs { "dae", "dae -model=vdla", "dae -model=gemmini" } do
  compare(dae.conv { h = 10, ic = 256, oc = 128, bias = true }, target, rounds)
  compare(dae.conv { h = 14, ic = 128, oc = 64, k = 1, stride = 2 }, target,
          rounds)
  compare(dae.dense(64, 16, 32), target, rounds)
end
assert(seen[true] > 2 and seen[false] > 2,
       ("%d fit, %d do not"):format(seen[true], seen[false]))

-- A product so large that the smallest tiles take too many instructions is
-- done by the machine, in larger ones.
local function check_length(s, target)
  local fits, why = s:can("verify_chip_buffers")
  if fits or not tostring(why):find "instructions" then return false end
  checks.refused(s, "CHIP_STREAM", "verify_chip_buffers")
  local ok, e = pcall(ts.build, s, target)
  assert(not ok and e.message:find "it takes more than 1048576 instructions")
  return true
end

local huge, long, whole = dae.dense(1024, 64, 64), 0, 0
local sketches = ts.space.sketches(ts.space.default "dae", huge, "dae")
assert(#sketches > 3)
for i = 1, 4 do
  local s = sketches[i % #sketches + 1]:replay(huge,
                                               { resample = true, seed = i })
  if check_length(s, "dae") then long = long + 1 else whole = whole + 1 end
end
assert(long > 0 and whole > 0, ("%d too long, %d not"):format(long, whole))

-- ---- tuning ----------------------------------------------------------------

-- Of most draws the weights are too large; the products are as many as a GPU
-- would compute the reference of.
local h = checks.checked and 14 or 28
local large = dae.conv { h = h, ic = 512, oc = 512 }
local r = ts.tune(large, { target = "dae -model=vdla", trials = 4, seed = 1,
                           min_time = 1e-6, timeout = 300 })
assert(r.schedule, r.funnel)
assert(r.funnel:find "rejected by verify_chip_buffers: CHIP_BUFFER" and
       not r.funnel:find "exceeds", r.funnel)

-- Sums that are never cut have weights that never fit: no sketch, and a reason.
local why = "on the host: C: [^;]*keeps 147456 bytes in local.wgt_buffer, " ..
            "more than 32768"
local deep = dae.conv { h = 7, ic = 512, oc = 512 }
r = ts.tune(deep, {
  target = "dae -model=vdla", trials = 1, min_time = 1e-6, timeout = 300,
  space = ts.space.compose { use_dae { hiding = { "tiles" } } } })
assert(r.note:find(why), r.note)
