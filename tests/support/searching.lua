-- SPDX-License-Identifier: Apache-2.0
-- A small product, and what tests of modules and searches say shortly.
local ts = require "tessera"
local ops = require "tessera.ops"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))

local program = ops.matmul { m = 32, n = 32, k = 32, bias = true, relu = true }

local function module(name, apply, parameters)
  return ts.module { name = name, apply = apply, parameters = parameters }
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

-- How often a trace calls that primitive.
local function steps(trace, primitive)
  local n = 0
  for i = 1, #trace do n = n + (trace[i].name == primitive and 1 or 0) end
  return n
end

-- A space's so many sketches of a program, of each of which draws are replayed
-- and compute what it does.
local function drawn(p, count, space)
  local list = ts.space.sketches(space or ts.space.default "llvm", p, "llvm")
  assert(#list == count, #list)
  for _, t in ipairs(list) do
    for seed = 1, checks.draws(3) do
      checks.same(t:replay(p, { resample = true, seed = seed }), p)
    end
  end
  return list
end

-- A module of Tessera's with parameters.
local function use(name, params)
  return require("tessera.modules." .. name)(params)
end

-- The sketches of modules, each drawn a few times, compute the program; what
-- is drawn may be refused, but not all of it.
local function valid(p, modules, target)
  local list = ts.space.sketches(modules, p, target)
  for _, t in ipairs(list) do
    local ndrawn = 0
    for seed = 1, 3 do
      local ok, s = pcall(t.replay, t, p, { resample = true, seed = seed })
      if ok then checks.same(s, p) else assert(s.code == "REFUSED", s) end
      ndrawn = ndrawn + (ok and 1 or 0)
      if checks.checked and ndrawn > 0 then break end
    end
    assert(ndrawn > 0, t)
  end
  return list
end

return { program = program, module = module, sketches = sketches, with = with,
         steps = steps, drawn = drawn, use = use, valid = valid }
