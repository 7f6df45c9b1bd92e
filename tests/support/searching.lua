-- SPDX-License-Identifier: Apache-2.0
-- A small product, and what tests of modules and searches say shortly.
local ts = require "tessera"
local ops = require "tessera.ops"

local program = ops.matmul { m = 32, n = 32, k = 32, bias = true, relu = true }

local function module(name, apply, defaults)
  return ts.module { name = name, apply = apply, defaults = defaults }
end

local function sketches(list)
  return ts.space.sketches(ts.space.compose(list), program, "llvm")
end

-- The options of a short search, and more.
local function with(more)
  local o = { target = "llvm", trials = 6, seed = 1, min_time = 0.005,
              batch = 3 }
  for k, v in pairs(more) do o[k] = v end
  return o
end

return { program = program, module = module, sketches = sketches, with = with }
