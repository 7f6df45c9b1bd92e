-- SPDX-License-Identifier: Apache-2.0
-- Times products of float16 matrices, with sums in float32, by the schedules by
-- hand of hgemm.lua (mma.sync) and wgmma.lua on the card of this machine:
--   tessera bench/gpu/by_hand.lua [SIZE [ARCH]]
-- SIZE: 4096 if not given.  With ARCH, as sm_90a, kernels are only built for
-- it, which needs no card.  One figure a line.
local ts = require "tessera"
local here = arg[0]:gsub("[^/]*$", "")
local hgemm = dofile(here .. "hgemm.lua")
local wgmma = dofile(here .. "wgmma.lua")
local size = assert(math.tointeger(tonumber(arg[1] or 4096)), "SIZE")

local found, card = pcall(ts.target, arg[2] and "cuda -arch=" .. arg[2] or
                                     "cuda")
if not found then
  print(card.message)
  return
end
local arch = tostring(card):match "%-arch=(%S+)"

local rows = {
  { "mma.sync", hgemm, " -tensor-cores=mma",
    { bm = 256, bn = 128, bk = 64, wm = 64, wn = 64, stages = 4, ahead = true,
      group = 2, pad = 8, out = "float32" } },
  { "mma.sync", hgemm, " -tensor-cores=mma",
    { bm = 128, bn = 128, bk = 64, wm = 64, wn = 64, stages = 4, ahead = true,
      group = 2, pad = 8, out = "float32" } },
}
if arch == "sm_90a" then
  for _, bn in ipairs { 128, 256 } do
    rows[#rows + 1] = { "wgmma", wgmma, "",
      { bm = 128, bn = bn, bk = 64, stages = 3, pad = 8, group = 2, lead = true,
        trans = true } }
  end
end

-- The kernel's median in seconds, and its result; only its source without a
-- card.
local function run(by, options, o)
  o.m, o.n, o.k = size, size, size
  local program = hgemm.program(o)
  local kernel = ts.build(by.schedule(program, o),
                          ts.target(tostring(card) .. options))
  if arg[2] then return #kernel:source "ptx" end
  local a = ts.tensor("float16", { size, size }, "integers", 1)
  local b = ts.tensor("float16", { size, size }, "integers", 2)
  local c = ts.tensor(o.out or "float16", { size, size })
  kernel(a, b, c)
  return kernel:time({ a, b, c }, { min_time = 0.05 }).median, c
end

local results = {}
for _, row in ipairs(rows) do
  local how, by, options, o = table.unpack(row)
  local time, c = run(by, options, o)
  local block = ("%dx%dx%d"):format(o.bm, o.bn, o.bk)
  if arg[2] then
    print(("%s, blocks of %s: %d bytes of PTX"):format(how, block, time))
  else
    local first = results[how] or c
    results[how] = first
    local _, most = c:compare(first)
    print(('{"figure": "tflops", "value": %.0f, "unit": "TFLOP/s", ' ..
           '"by": "%s", "block": "%s", "size": %d, "difference": %g}')
          :format(2 * size ^ 3 / time / 1e12, how, block, size, most))
  end
end
