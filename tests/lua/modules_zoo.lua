-- SPDX-License-Identifier: Apache-2.0
-- Every module over many operators: none fails or hangs, what one makes
-- computes the same, and each refusal says why.
local ts = require "tessera"
local ops = require "tessera.ops"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local dae = dofile((arg[0]:gsub("[^/]*$", "../support/dae.lua")))
local spaces = require "tessera.modules.spaces"

-- A constant that a block of its own makes.
local function scaled()
  local A = ts.placeholder("A", { 8 })
  local c = ts.compute("c", {}, function() return ts.const(2, "float32") end)
  local B = ts.compute("B", { 8 }, function(i) return A(i) * c() end)
  return ts.program("scaled", { A }, { B })
end

-- Rows that are columns of what is read.
local function transposed()
  local A = ts.placeholder("A", { 32, 64 })
  local B = ts.compute("B", { 64, 32 }, function(i, j) return A(j, i) end)
  return ts.program("transposed", { A }, { B })
end

local zoo = {
  scaled(), transposed(),
  ops.matmul { m = 5, n = 7, k = 3 },
  ops.matmul { m = 16, n = 16, k = 16, bias = true, relu = true },
  ops.batch_matmul { b = 2, m = 4, n = 8, k = 4 },
  ops.matmul { m = 16, n = 16, k = 16, dtype = "float16" },
  ops.conv2d_nhwc { n = 1, h = 5, w = 6, ci = 3, co = 5, k = 3, pad = 1 },
  ops.depthwise_conv2d_nhwc { n = 1, h = 6, w = 6, c = 4, k = 3 },
  ops.softmax { shape = { 3, 8 } },
  ops.softmax { shape = { 2, 256 } },
  ops.reduce { shape = { 4, 33 }, axes = { 1 } },
  ops.reduce { shape = { 8 } },
  ops.cumsum { shape = { 2, 5 } },
  ops.layer_norm { shape = { 3, 8 } },
  ops.lu { n = 40, dtype = "float64" },
  ops.conv2d_winograd_nhwc { n = 1, h = 4, w = 4, ci = 2, co = 2, tile = 2 },
}

-- The parameters that a module needs to do anything.
local function parameters_of(name)
  if name == "apply_custom_rule" then
    return { rules = { none = function(sch) return sch end } }
  end
  if name == "use_dots" then return { types = "s8s8" } end
  return {}
end

-- Products of bytes are for the tiles of AMX.
zoo[#zoo + 1] = ops.matmul { m = 16, n = 16, k = 32, dtype = "int8",
                             acc = "int32" }
-- And, laid out for it, for access-execute machines.
zoo[#zoo + 1] = dae.dense(4, 2, 2, { bias = true })
-- And a few rows by such that lie along the reduction.
zoo[#zoo + 1] = ops.matmul { m = 3, n = 4, k = 16, trans_b = true }
local amx = "llvm -mattr=+amx-tile,+amx-int8"
local dots = "llvm -mattr=+avx512vnni,+avx512bw,+avx512vl"

local applied = {}
for number, name in ipairs(spaces.modules) do
  local module = require("tessera.modules." .. name)
  local target = name == "use_amx" and amx or
                 name == "use_dots" and dots or
                 name == "use_dae" and "dae" or
                 (name == "use_mma" or name == "use_tensor_core") and
                 "cuda -arch=sm_80" or "llvm"
  for at, p in ipairs(zoo) do
    -- A checked build tries each module on some operators.
    if checks.checked and (at + number) % 3 ~= 0 then goto continue end
    local one = { module(parameters_of(name)) }
    -- These are applied to tiles.
    if name == "fuse_epilogue" or name == "pack" then
      table.insert(one, 1, require "tessera.modules.multi_level_tiling" {
        write_levels = {} })
    end
    local text = ts.space.explain(one, p, target)
    for line in text:gmatch "[^\n]+" do
      local what = assert(line:match " at [^:]*: (.*)", line)
      assert(what:find "^applied, %d" or what:find "^not applicable: %S",
             p.name and line or line)
      local who = line:match "^[%w_]+"
      if what:find "^applied" then applied[who] = true end
    end
    for i, t in ipairs(ts.space.sketches(one, p, target)) do
      if i > 2 then break end
      local ok, s = pcall(t.replay, t, p, { resample = true, seed = i })
      if ok then checks.same(s, p) else assert(s.code == "REFUSED", s) end
    end
    ::continue::
  end
end

-- Each is of use somewhere, but for those that others ask for by annotations.
for _, name in ipairs(spaces.modules) do
  assert(applied[name] or checks.checked or name == "apply_custom_rule" or
         name == "multi_level_tiling_with_intrin", name)
end
