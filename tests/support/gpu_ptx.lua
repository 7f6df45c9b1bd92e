-- SPDX-License-Identifier: Apache-2.0
-- PTX for an assembler, as files NAME.ARCH.ptx in the folder arg[1]: the layer
-- of examples/bert_dense.lua at its real size, a product in registers and
-- shared memory, and a draw of use_mma, for the architectures arg[2] and on.
local ts = require "tessera"
local ops = require "tessera.ops"
local spaces = require "tessera.modules.spaces"
local example = assert(io.open((arg[0]:gsub("[^/]*$",
                                            "../../examples/bert_dense.lua"))))
local source = example:read "a":match "^(.-)%-%- At its real size"
example:close()
local dense, schedule, tensorize =
  load(source .. "\nreturn dense, schedule, tensorize")()
local bert = ts.schedule(dense(1024, 4096, 1024))
schedule(bert, { i = { 8, 1, 2, 2, 2 }, j = { 1, 32, 4, 2, 1 },
                 k = { 32, 2, 1 } })
tensorize(bert)
local p = ops.matmul{ m = 128, n = 128, k = 128 }
local t = ts.space.sketches(spaces.modules_for "cuda", p)[1]
local gemm
for seed = 1, 50 do
  local ok, s = pcall(t.replay, t, p, { resample = true, seed = seed })
  if ok and pcall(ts.build, s, "cuda -arch=sm_75") then
    gemm = s
    break
  end
end
local half = ops.matmul{ m = 512, n = 512, k = 512, dtype = "float16",
                         acc = "float32", bias = true, relu = true }
local function draw_ahead(arch)
  local target = "cuda -arch=" .. arch
  local list = ts.space.sketches(spaces.modules_for(target), half, target,
                                 { postprocs = true })
  for seed = 1, 20 do
    local ok, s = pcall(list[1].replay, list[1], half,
                        { resample = true, seed = seed })
    if ok then return s end
  end
end
local hopper = dofile((arg[0]:gsub("[^/]*$", "hopper.lua")))
local group = hopper.schedule(hopper.product(16, 2, 8), 16, true)
local function write(name, sch, arch, how)
  local f <close> = assert(io.open(("%s/%s.%s.ptx"):format(arg[1], name, arch),
                                   "w"))
  f:write(ts.build(sch, ("cuda -arch=%s%s"):format(arch, how)):source "ptx")
end
for i = 2, #arg do
  write("wmma", bert, arg[i], "")
  write("gemm", gemm, arg[i], "")
  if arg[i] == "sm_90a" then write("wgmma", group, arg[i], "") end
  if arg[i] >= "sm_80" then
    write("mma", bert, arg[i], " -tensor-cores=mma")
    write("ahead", draw_ahead(arg[i]), arg[i], "")
  end
end
