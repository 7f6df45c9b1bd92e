-- SPDX-License-Identifier: Apache-2.0
-- Records measured candidates of six operators for build/bench/models:
--   tessera bench/record.lua FILE COUNT [SEED]
-- A line each: the program as hexadecimal bytes, its sketches, and of COUNT
-- candidates, drawn at random, the decisions and the median seconds (none:
-- it failed).  On a quiet machine, else the times say little.
local ts = require "tessera"
local ops = require "tessera.ops"

local given = dofile((arg[0]:gsub("[^/]*$", "support/arguments.lua")))(
  "record.lua FILE COUNT [SEED]")
local file, count = given.word(1, "FILE"), given.count(2, "COUNT")
if not count then given.refuse "COUNT is missing" end
local seed = given.count(3, "SEED", 1)
given.at_most(3)

local function depthwise(h, w, c, k)
  local X = ts.placeholder("X", { h + k - 1, w + k - 1, c })
  local W = ts.placeholder("W", { k, k, c })
  local kh, kw = ts.reduce_axis("kh", k), ts.reduce_axis("kw", k)
  local Y = ts.compute("Y", { h, w, c }, function(i, j, o)
    return ts.sum(X(i + kh, j + kw, o) * W(kh, kw, o), { kh, kw })
  end)
  return ts.program("depthwise", { X, W }, { Y })
end

local function batched(b, n, k)
  local A = ts.placeholder("A", { b, n, k })
  local B = ts.placeholder("B", { b, n, k })
  local d = ts.reduce_axis("d", k)
  local C = ts.compute("C", { b, n, n }, function(h, i, j)
    return ts.sum(A(h, i, d) * B(h, j, d), d)
  end)
  return ts.program("batch_matmul", { A, B }, { C })
end

local function conv1d(n, ci, co, k)
  local X = ts.placeholder("X", { n + k - 1, ci })
  local W = ts.placeholder("W", { k, ci, co })
  local kk, c = ts.reduce_axis("kk", k), ts.reduce_axis("c", ci)
  local Y = ts.compute("Y", { n, co }, function(i, o)
    return ts.sum(X(i + kk, c) * W(kk, c, o), { kk, c })
  end)
  return ts.program("conv1d", { X, W }, { Y })
end

local operators = {
  { "GMM", ops.matmul { m = 256, n = 256, k = 256 } },
  { "GMM_bias_relu", ops.matmul { m = 256, n = 192, k = 128, bias = true,
                                  relu = true } },
  { "C2D", ops.conv2d_nhwc { n = 1, h = 14, w = 14, ci = 64, co = 64, k = 3,
                             pad = 1 } },
  { "C1D", conv1d(256, 64, 128, 3) },
  { "DEP", depthwise(56, 56, 64, 3) },
  { "TBG", batched(12, 128, 64) },
}

local function hexadecimal(program)
  local path = os.tmpname()
  program:save(path)
  local f <close> = assert(io.open(path, "rb"))
  os.remove(path)
  return (f:read "a":gsub(".", function(c)
    return ("%02x"):format(c:byte())
  end))
end

local out <close> = assert(io.open(file, "w"))
for _, o in ipairs(operators) do
  local name, program = o[1], o[2]
  local sketches = ts.space.sketches(ts.space.default "llvm", program, "llvm")
  out:write(('{"op": "%s", "program": "%s"}\n')
            :format(name, hexadecimal(program)))
  for k, t in ipairs(sketches) do
    -- On one line, without the places in Lua.
    local text = t:json():gsub(', "at": %b[]', ""):gsub("\n%s*", " ")
    out:write(('{"sketch": %d, "trace": %s}\n'):format(k - 1, text))
  end
  local function write(_, _, list)
    for _, c in ipairs(list) do
      local seconds = c.status == "OK" and ("%.9g"):format(c.seconds) or "null"
      out:write(('{"sketch": %d, "d": [%s], "seconds": %s}\n')
                :format(c.sketch - 1, table.concat(c.decisions, ","), seconds))
    end
  end
  local model = ts.cost_model {
    predict = function(_, session, list)
      local score = {}
      for i = 1, #list do score[i] = session:unit() end
      return score
    end,
    update = write,
  }
  local r = ts.tune(program, { trials = count, seed = seed, batch = 16,
                               strategy = "replay", cost_model = model,
                               space = ts.space.traces(sketches),
                               kernel_threads = 1, min_time = 0.005 })
  io.stderr:write(name, ": ", tostring(r), "\n")
end
