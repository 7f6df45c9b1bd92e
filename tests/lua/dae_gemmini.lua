-- SPDX-License-Identifier: Apache-2.0
-- A machine that finds dependences itself, and whose weights are preloaded: a
-- table and an intrinsic.  Two layers of ResNet-18 run on it, exactly.
local ts = require "tessera"
local here = arg[0]:gsub("[^/]*$", "")
local checks = dofile(here .. "../support/checks.lua")
local dae = dofile(here .. "../support/dae.lua")

local target = "dae -model=gemmini"
for _, layer in ipairs(dae.resnet18) do
  local name, o = table.unpack(layer)
  if name == "C2" or name == "C6" then
    local p = dae.conv(o)
    local space = ts.space.default(target)
    local ran = 0
    for i, sketch in ipairs(ts.space.sketches(space, p, target)) do
      for seed = 1, checks.checked and 1 or 8 do
        local ok, s = pcall(sketch.replay, sketch, p,
                            { resample = true, seed = 10 * i + seed })
        local built, kernel = pcall(ts.build, ok and s, target)
        if built then
          local got, want = dae.tensors(p, seed)
          kernel(table.unpack(got))
          ts.build(p)(table.unpack(want))
          assert(dae.same(got, want), s)
          local stream = kernel:source "stream"
          assert(stream:find "mvin inp" and stream:find "preload compute" and
                 stream:find "mvout out" and not stream:find "p[ou][ps]h? ",
                 stream:sub(1, 2000))
          ran = ran + 1
          break
        end
      end
    end
    assert(ran > 0, name)
  end
end

-- Sums can be stored whole.
local A = ts.placeholder("A", { 16, 2, 16 }, "int8")
local B = ts.placeholder("B", { 2, 2, 16, 16 }, "int8")
local ko, ki = ts.reduce_axis("ko", 2), ts.reduce_axis("ki", 16)
local C = ts.compute("C", { 16, 2, 16 }, function(i, j, l)
  return ts.sum(ts.cast(A(i, ko, ki), "int32") *
                ts.cast(B(j, ko, l, ki), "int32"), { ko, ki })
end)
local p = ts.program("sums", { A, B }, { C })
local r = ts.tune(p, { target = target, trials = 12, min_time = 1e-7 })
assert(r.kernel:source "stream":find "mvout acc")
local got, want = dae.tensors(p, 3)
r.kernel(table.unpack(got))
ts.build(p)(table.unpack(want))
assert(dae.same(got, want))
